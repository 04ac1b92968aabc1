// A grant that no caller was told of is given back, whatever happens meanwhile; one that a caller was told of is kept.

import { beforeEach, describe, expect, it } from 'vitest';
import { HeldEngine } from '../../test/support/held-engine.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { transportOf } from '../client/client.ts';
import type { Leasehold } from '../client/leasehold.ts';
import { MemoryDisk } from '../engines/memory/memory-disk.ts';
import { memoryEngine } from '../engines/memory/memory-engine.ts';
import { openWith } from '../open.ts';

const GONE = new Error('gone');
const REQUEST = { name: 'n', holder: 'a', ttl_ms: 600_000, token: 'chosen-by-the-caller' };
let world: ManualWorld;
let disk: MemoryDisk;
let engine: HeldEngine;
let lh: Leasehold;
let gone: AbortController;

beforeEach(async () => {
  world = new ManualWorld();
  disk = new MemoryDisk();
  engine = new HeldEngine(memoryEngine(disk));
  lh = await world.finish(openWith(engine, world));
  await world.finish(lh.call('task.create', { payload: 1 }));
  gone = new AbortController();
});

async function goOn(): Promise<void> {
  engine.holding = false;
  engine.letGo();
  await world.settle();
}
const isHeld = async (): Promise<boolean> => (await world.finish(lh.call('lease.get', { name: 'n' }))).ok;
async function isLeased(): Promise<boolean> {
  const tasks = await world.finish(lh.call('task.list', { state: 'LEASED' }));
  return tasks.ok && tasks.tasks.length > 0;
}

describe('a grant whose caller has gone', () => {
  it.each(['the same', 'the next'])('is kept when a renewal in %s batch has been answered', async (batch) => {
    engine.holding = true;
    lh.call('lease.acquire', REQUEST, gone).catch(() => undefined);
    if (batch === 'the next') await world.settle();
    const renewed = lh.call('lease.renew', { ...REQUEST, ttl_ms: 700_000 });
    await world.settle();
    gone.abort(GONE);
    await goOn();
    expect(await world.finish(renewed)).toMatchObject({ ok: true });
    expect(await isHeld()).toBe(true);
  });

  it.each(['a name', 'a task'])('is given back although the authority closes: %s', async (what) => {
    engine.holding = true;
    if (what === 'a name') lh.call('lease.acquire', REQUEST, gone).catch(() => undefined);
    else lh.call('task.lease', { worker_id: 'w', ttl_ms: 600_000 }, gone).catch(() => undefined);
    await world.settle();
    gone.abort(GONE);
    const closed = lh.close();
    await goOn();
    await world.finish(closed);
    lh = await world.finish(openWith(memoryEngine(disk), world));
    expect(what === 'a name' ? await isHeld() : await isLeased()).toBe(false);
  });

  it('leaves no verdict behind when its task was killed meanwhile, because no worker has said anything', async () => {
    const created = await world.finish(lh.call('task.create', { payload: 1, task_id: 't', queue: 'q' }));
    expect(created.ok).toBe(true);
    engine.holding = true;
    lh.call('task.lease', { worker_id: 'w', queues: ['q'], ttl_ms: 600_000 }, gone).catch(() => undefined);
    await world.settle();
    const killed = lh.call('task.kill', { task_id: 't', reason: 'stuck' });
    gone.abort(GONE);
    await goOn();
    expect(await world.finish(killed)).toMatchObject({ ok: true, state: 'DEAD' });
    const log = await world.finish(
      transportOf(lh).log({ types: ['LeaseGranted', 'TaskDead', 'TaskCancelled'] }),
    );
    expect(log.ok && log.entries.map(({ type }) => type)).toEqual(['LeaseGranted', 'TaskDead']);
  });

  it('is given back although its payload cannot be read', async () => {
    engine.isHoldingReads = true;
    lh.call('task.lease', { worker_id: 'w', ttl_ms: 600_000 }, gone).catch(() => undefined);
    await world.settle();
    gone.abort(GONE);
    engine.isHoldingReads = false;
    engine.fail(new Error('EIO'));
    await world.settle();
    expect(await isLeased()).toBe(false);
  });
});
