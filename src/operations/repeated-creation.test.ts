// A task id that is known already: the same payload is a repeat, another one a conflict, and every byte of it counts.
import { crc32 } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import { HeldEngine } from '../../test/support/held-engine.ts';
import { isSettled, ManualWorld } from '../../test/support/manual-world.ts';
import { TestDisk } from '../../test/support/test-disk.ts';
import type { Leasehold } from '../client/leasehold.ts';
import { fileEngine } from '../engines/file/file-engine.ts';
import { LogCompactedError } from '../engines/log.ts';
import { openCore, openWith } from '../open.ts';

/** Two payloads of the same length and CRC-32. */
const [PAYLOAD, LOOKALIKE] = ['plumless', 'buckeroo'];
const TASK = { task_id: 'chosen', payload: PAYLOAD };
const CONFLICT = { ok: false, code: 'TASK_ID_CONFLICT' };
const REPEAT = { ok: true, task_id: 'chosen', seq: 2, duplicate: true };

let world: ManualWorld;
let disk: TestDisk;
let engine: HeldEngine;
let lh: Leasehold;

beforeEach(async () => {
  world = new ManualWorld();
  disk = new TestDisk();
  await open();
});

async function open(): Promise<void> {
  engine = new HeldEngine(fileEngine({ dir: '/data', files: disk, segmentBytes: 64 * 1024 }));
  lh = await world.finish(openWith(engine, world));
}

async function reopen(): Promise<void> {
  await world.finish(lh.close());
  await open();
}

const create = (payload: unknown, task_id = 'chosen') =>
  world.finish(lh.call('task.create', { task_id, payload }));

describe('a task id that is known already', () => {
  it('is a conflict with a payload that only has the same length and checksum', async () => {
    expect(crc32(JSON.stringify(LOOKALIKE))).toBe(crc32(JSON.stringify(PAYLOAD)));
    await create(PAYLOAD);
    expect(await create(LOOKALIKE)).toMatchObject(CONFLICT);
    expect(await create(PAYLOAD)).toMatchObject(REPEAT);
    expect((await world.finish(lh.status())).seq).toBe(2);
  });

  it('is judged in the same way in the batch that creates it', async () => {
    const calls = [
      lh.call('task.create', TASK),
      lh.call('task.create', { ...TASK, payload: LOOKALIKE }),
      lh.call('task.create', TASK),
    ];
    const [first, other, again] = await world.finish(Promise.all(calls));
    expect([first, other, again]).toMatchObject([{ ok: true, seq: 2, state: 'WAITING' }, CONFLICT, REPEAT]);
    expect(first).not.toHaveProperty('duplicate');
  });

  it('is judged in the same way when we made it', async () => {
    const made = await world.finish(lh.call('task.create', { payload: PAYLOAD }));
    if (!made.ok) throw new Error(made.detail);
    expect(await create(LOOKALIKE, made.task_id)).toMatchObject(CONFLICT);
    expect(await create(PAYLOAD, made.task_id)).toMatchObject({ ...REPEAT, task_id: made.task_id });
  });

  it('is judged by what is on the disk when memory has it no longer', async () => {
    await create(PAYLOAD);
    await reopen();
    engine.isHoldingReads = true;
    const [other, again] = [
      lh.call('task.create', { ...TASK, payload: LOOKALIKE }),
      lh.call('task.create', TASK),
    ];
    await world.settle();
    for (const call of [other, again]) expect(await isSettled(call)).toBe(false);
    engine.letGo();
    expect(await world.finish(other)).toMatchObject(CONFLICT);
    expect(await world.finish(again)).toMatchObject(REPEAT);
  });

  it('is judged by bytes that a compaction has moved meanwhile', async () => {
    await create(PAYLOAD);
    engine.isHoldingReads = true;
    const call = lh.call('task.create', { ...TASK, payload: LOOKALIKE });
    await world.settle();
    engine.isHoldingReads = false;
    engine.fail(new LogCompactedError('The file is gone.'));
    expect(await world.finish(call)).toMatchObject(CONFLICT);
  });

  it('is judged by length and checksum when the payload was damaged on the disk', async () => {
    await create(PAYLOAD);
    await world.finish(lh.close());
    const segment = disk.paths().find((path) => path.endsWith('.seg'))!;
    disk.tamper(segment, (content) => {
      content[content.indexOf(PAYLOAD)]! ^= 1;
      return content;
    });
    await open();
    expect(await create(PAYLOAD)).toMatchObject(REPEAT);
    expect(await create('somebody')).toMatchObject(CONFLICT);
  });

  it('is no answer when the payload cannot be read', async () => {
    await create(PAYLOAD);
    engine.isHoldingReads = true;
    const call = lh.call('task.create', TASK);
    await world.settle();
    engine.fail(new Error('EIO: the disk does not answer'));
    await expect(world.finish(call)).rejects.toThrow('EIO');
    engine.isHoldingReads = false;
    expect(await create(PAYLOAD)).toMatchObject(REPEAT);
  });

  it('is counted by what its caller was told', async () => {
    await world.finish(lh.close());
    const core = await world.finish(openCore(engine, world));
    const call = (payload: string) => world.finish(core.calls['task.create']({ task_id: 'chosen', payload }));
    for (const payload of [PAYLOAD, LOOKALIKE, PAYLOAD]) await call(payload);
    const counts = [...core.authority.stats.answers()].filter(({ command }) => command === 'CreateTask');
    expect(counts.map(({ outcome, count }) => [outcome, count])).toEqual([
      ['ok', 2],
      ['TASK_ID_CONFLICT', 1],
    ]);
  });
});
