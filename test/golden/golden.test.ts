// Old logs replay for ever: every golden log gives the entries and the records it gave when it was made.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fileEngine } from '../../src/engines/file/file-engine.ts';
import { inspectLog } from '../../src/engines/file/inspect.ts';
import { openWith } from '../../src/open.ts';
import { entryBody } from '../../src/operations/entry-bodies.ts';
import { jsonText } from '../../src/protocol/json.ts';
import { nodeFiles } from '../../src/world/node-files.ts';
import { ManualWorld } from '../support/manual-world.ts';

interface Golden {
  readonly nowMs: number;
  readonly files: Record<string, string>;
  readonly entries: unknown[];
  /** What could be asked when it was made; of the status only what was counted then. */
  readonly records: Record<'status' | 'tasks' | 'leases' | 'object' | 'queues', Record<string, unknown>> & {
    readonly sessions?: Record<string, unknown>;
    readonly schedules?: Record<string, unknown>;
  };
}

const HERE = new URL('.', import.meta.url);
const NAMES = readdirSync(HERE).filter((name) => name.endsWith('.json'));
let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'leasehold-golden-'));
});

afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

function unpack(name: string): Golden {
  const golden: Golden = JSON.parse(readFileSync(new URL(name, HERE), 'utf8'));
  for (const [file, packed] of Object.entries(golden.files)) {
    writeFileSync(join(dir, file), gunzipSync(Buffer.from(packed, 'base64')));
  }
  return golden;
}

describe.each(NAMES)('the golden log %s', (name) => {
  it('gives the same entries', async () => {
    const golden = unpack(name);
    const inspection = await inspectLog(nodeFiles, dir, { opaques: true });
    const entries: unknown[] = [];
    for await (const logged of inspection.entries(1, Number.POSITIVE_INFINITY)) {
      entries.push(JSON.parse(jsonText(await entryBody(inspection, logged))));
    }
    await inspection.close();
    expect(entries).toEqual(golden.entries);
    expect(inspection.report.damagedOpaques).toEqual([]);
  });

  it('gives the same records', async () => {
    const golden = unpack(name);
    const world = new ManualWorld();
    world.setWall(golden.nowMs);
    const engine = fileEngine({ dir, files: nodeFiles, segmentBytes: 64 * 1024 });
    const lh = await world.finish(openWith(engine, world));
    const { status, ...records } = golden.records;
    const found = {
      tasks: await world.finish(lh.call('task.list', { limit: 1_000 })),
      leases: await world.finish(lh.call('lease.list', { limit: 1_000 })),
      object: await world.finish(lh.call('object.get', { object_id: 'object' })),
      queues: await world.finish(lh.call('queue.list', {})),
      ...(records.sessions && { sessions: await world.finish(lh.call('session.list', { limit: 1_000 })) }),
      ...(records.schedules && { schedules: await world.finish(lh.call('schedule.list', { limit: 1_000 })) }),
    };
    // When these were made tasks were listed by row, and queues as they came. Now tasks are in order of creation, and
    // queues by name.
    type Task = { readonly created_at: string; readonly seq: number; readonly task_id: string };
    const { tasks } = records.tasks as { readonly tasks: Task[] };
    const listed = (JSON.parse(jsonText(found.tasks)) as { readonly tasks: readonly Task[] }).tasks;
    expect(listed.every((task, at) => at === 0 || listed[at - 1]!.created_at <= task.created_at)).toBe(true);
    const placeOf = ({ task_id: id }: Task): number => listed.findIndex((task) => task.task_id === id);
    tasks.sort((a, b) => placeOf(a) - placeOf(b));
    const { queues } = records.queues as { readonly queues: { readonly queue: string }[] };
    queues.sort((a, b) => (a.queue < b.queue ? -1 : 1));
    expect(JSON.parse(jsonText(found))).toEqual(records);
    const { seq, epoch, counts } = await world.finish(lh.status());
    expect({ seq, epoch, counts }).toMatchObject({
      seq: (status.seq as number) + 1,
      epoch: (status.epoch as number) + 1,
      counts: status.counts,
    });
    await world.finish(lh.close());
  });
});

describe.each(['v2-vod.json', 'v2-vod-compacted.json'])('the recordings in %s', (name) => {
  it('keep the names they were leased under, and give them back at their end', async () => {
    const golden = unpack(name);
    const world = new ManualWorld();
    world.setWall(golden.nowMs);
    const open = () => world.finish(openWith(fileEngine({ dir, files: nodeFiles }), world));
    let lh = await open();
    const sessions = await world.finish(lh.call('session.list', { limit: 1_000 }));
    if (!sessions.ok) throw new Error(sessions.code);
    const idOf = (recordingID: string): string =>
      sessions.sessions.find((session) => session.recordingID === recordingID)!.session_id;
    const left = async (): Promise<string[]> => {
      const reply = await world.finish(lh.call('lease.list', { prefix: 'lease:', limit: 1_000 }));
      return reply.ok ? reply.leases.map((lease) => lease.name).sort() : [reply.code];
    };
    const others = ['lease:service:after the restart', 'lease:service:ard', 'lease:tuner:0'];
    const film = ['lease:service:film', 'lease:tuner:2'];
    const series = 'lease:service:series';
    expect(await left()).toEqual([...others, ...film, series].sort());
    await world.finish(lh.call('session.stop', { session_id: idOf('series') }));
    await world.finish(lh.call('session.stop', { session_id: idOf('film') }));
    expect(await left()).toEqual([...others, ...film].sort());
    await world.finish(lh.close());
    lh = await open();
    await world.finish(lh.call('lease.break', { name: 'lease:service:film', reason: 'by hand' }));
    expect(await left()).toEqual(others);
    await world.finish(lh.close());
  });
});

describe('golden logs', () => {
  it('are there', () => {
    expect(NAMES).toEqual([
      'v1.json',
      'v2-compacted.json',
      'v2-vod-compacted.json',
      'v2-vod.json',
      'v2.json',
      'v3-compacted.json',
      'v3.json',
      'v4-compacted.json',
      'v4.json',
      'v5-compacted.json',
      'v5.json',
    ]);
  });
});
