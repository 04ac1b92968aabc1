/** The metrics of queues, read as Prometheus reads them and held against what happened. */
import { beforeEach, describe, expect, it } from 'vitest';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { family, parseMetrics } from '../../test/support/parse-metrics.ts';
import type { Authority } from '../authority/authority.ts';
import { MemoryDisk } from '../engines/memory/memory-disk.ts';
import { memoryEngine } from '../engines/memory/memory-engine.ts';
import { openCore } from '../open.ts';
import type { CheckedCalls } from '../operations/calls.ts';
import { HttpCounts } from './http-counts.ts';
import { Metrics } from './metrics.ts';

const QUEUES_MAX = 200;

interface Leased {
  readonly task_id: string;
  readonly lease_id: string;
}

let world: ManualWorld;
let disk: MemoryDisk;
let authority: Authority;
let calls: CheckedCalls;
let metrics: Metrics;

async function open(): Promise<void> {
  ({ authority, calls } = await world.finish(openCore(memoryEngine(disk), world)));
  metrics = new Metrics(authority, new HttpCounts());
}

beforeEach(async () => {
  world = new ManualWorld();
  disk = new MemoryDisk();
  await open();
});

async function look(name: string): Promise<Record<string, number>> {
  return family(parseMetrics(await world.finish(metrics.text())), name);
}

function run(operation: keyof CheckedCalls, request: object): Promise<object> {
  return world.finish(calls[operation](request));
}

async function lease(queue = 'default', ttl_ms = 60_000): Promise<Leased> {
  const { leases } = (await run('task.lease', { worker_id: 'w', queues: [queue], ttl_ms })) as {
    leases: Leased[];
  };
  return { task_id: leases[0]!.task_id, lease_id: leases[0]!.lease_id };
}

function createIn(queues: readonly string[]): Promise<object[]> {
  return world.finish(Promise.all(queues.map((queue) => calls['task.create']({ payload: 1, queue }))));
}

/** What is not zero, of one queue. */
async function tasksOf(queue: string): Promise<Record<string, number>> {
  const found = Object.entries(await look('leasehold_queue_tasks')).map(
    ([labels, value]) => [/state="([a-z]+)"/.exec(labels)![1], value, labels] as const,
  );
  return Object.fromEntries(
    found.filter(([, value, labels]) => value > 0 && labels.includes(`queue="${queue}"`)),
  );
}

describe('the tasks of a queue', () => {
  it('are ready, delayed, backing off, leased, failed or dead', async () => {
    const retry = { max_failures: 2, backoff_ms: 5_000 };
    for (let task = 0; task < 3; task++) await run('task.create', { payload: task, retry });
    await run('task.create', { payload: 'later', delay_ms: 2_000 });
    await run('task.create', { payload: 'killed', task_id: 'killed' });
    await run('task.kill', { task_id: 'killed', reason: 'no use' });
    expect(await tasksOf('default')).toEqual({ ready: 3, delayed: 1, dead: 1 });
    await run('task.fail', { ...(await lease()), reason: 'broken' });
    await run('task.release', { ...(await lease()), delay_ms: 1_000 });
    await lease();
    expect(await tasksOf('default')).toEqual({ delayed: 2, backoff: 1, leased: 1, dead: 1 });
    await world.advance(2_000);
    expect(await tasksOf('default')).toEqual({ ready: 2, backoff: 1, leased: 1, dead: 1 });
    await world.advance(60_000);
    await run('task.fail', { ...(await lease()), reason: 'broken' });
    expect(await tasksOf('default')).toEqual({ ready: 3, failed: 1, dead: 1 });
  });

  it('are counted alike after a restart', async () => {
    await run('task.create', { payload: 1 });
    await run('task.fail', { ...(await lease()), reason: 'broken' });
    await run('task.create', { payload: 2, delay_ms: 10_000 });
    const before = await tasksOf('default');
    await world.finish(authority.close());
    await open();
    expect(before).toEqual({ delayed: 1, backoff: 1 });
    expect(await tasksOf('default')).toEqual(before);
  });

  it('show for how long the oldest has been ready, whatever its priority', async () => {
    await run('task.create', { payload: 'delayed', delay_ms: 4_000 });
    await world.advance(1_000);
    await run('task.create', { payload: 'low', priority: -5 });
    await world.advance(2_000);
    await run('task.create', { payload: 'high', priority: 5 });
    expect(await look('leasehold_queue_oldest_ready_seconds')).toEqual({ '{queue="default"}': 2 });
    await world.advance(2_000);
    await lease();
    await lease();
    // The delayed one has been ready for a second.
    expect(await look('leasehold_queue_oldest_ready_seconds')).toEqual({ '{queue="default"}': 4 });
    await lease();
    expect(await look('leasehold_queue_oldest_ready_seconds')).toEqual({ '{queue="default"}': 0 });
  });
});

describe('what happened to tasks', () => {
  async function events(): Promise<Record<string, number>> {
    const found = Object.entries(await look('leasehold_tasks_total'));
    return Object.fromEntries(found.map(([labels, value]) => [/event="([a-z]+)"/.exec(labels)![1], value]));
  }

  it('is counted by event', async () => {
    for (let task = 0; task < 4; task++) await run('task.create', { payload: task });
    await run('task.complete', await lease());
    await run('task.fail', { ...(await lease()), reason: 'broken' });
    await run('task.kill', { task_id: (await lease()).task_id, reason: 'no use' });
    const late = await lease('default', 1_000);
    await world.advance(1_000);
    await run('task.complete', late);
    await run('task.complete', late);
    expect(await events()).toEqual({
      created: 4,
      leased: 4,
      completed: 1,
      failed: 1,
      expired: 1,
      cancelled: 0,
      late: 1,
      dead: 1,
    });
  });

  it('tells an end by cancellation from other ends', async () => {
    await run('task.create', { payload: 1, task_id: 'unwanted' });
    await run('task.kill', { task_id: 'unwanted', reason: 'CANCELLED' });
    expect(await events()).toMatchObject({ cancelled: 1, dead: 0 });
  });

  it('is counted since the start of the server, with zeros for the queues that are there', async () => {
    await run('task.create', { payload: 1 });
    await world.finish(authority.close());
    await open();
    expect(await look('leasehold_tasks_total')).toMatchObject({
      '{queue="default",event="created"}': 0,
    });
  });
});

describe('the time of tasks', () => {
  it('is from ready to leased, and from leased to the end of the lease', async () => {
    await run('task.create', { payload: 1, delay_ms: 1_000 });
    await world.advance(1_400);
    const first = await lease();
    await world.advance(3_000);
    await run('task.release', first);
    await world.advance(20);
    await lease('default', 10_000);
    await world.advance(10_000);
    expect(await look('leasehold_task_wait_seconds_bucket')).toMatchObject({
      '{queue="default",le="0.005"}': 0,
      '{queue="default",le="0.025"}': 1,
      '{queue="default",le="0.5"}': 2,
      '{queue="default",le="+Inf"}': 2,
    });
    expect((await look('leasehold_task_wait_seconds_sum'))['{queue="default"}']).toBeCloseTo(0.42, 9);
    expect(await look('leasehold_task_run_seconds_sum')).toEqual({ '{queue="default"}': 13 });
    expect(await look('leasehold_task_run_seconds_count')).toEqual({ '{queue="default"}': 2 });
  });

  it('goes over a restart', async () => {
    await run('task.create', { payload: 1 });
    const leased = await lease();
    await world.advance(2_000);
    await world.finish(authority.close());
    await open();
    await run('task.complete', leased);
    expect(await look('leasehold_task_run_seconds_sum')).toEqual({ '{queue="default"}': 2 });
  });
});

describe('queues beyond 200', () => {
  const names = Array.from({ length: QUEUES_MAX + 3 }, (_, n) => `q${n}`);

  it('share the name other, also with a queue that is called so', async () => {
    await createIn([...names, 'other']);
    const ready = Object.entries(await look('leasehold_queue_tasks')).filter(([key]) =>
      key.includes('ready'),
    );
    expect(ready).toHaveLength(QUEUES_MAX + 1);
    expect(Object.fromEntries(ready)).toMatchObject({
      '{queue="q199",state="ready"}': 1,
      '{queue="other",state="ready"}': 4,
    });
    expect(await look('leasehold_tasks_total')).toMatchObject({
      '{queue="q199",event="created"}': 1,
      '{queue="other",event="created"}': 4,
    });
    expect(await look('leasehold_queues')).toMatchObject({ '{paused="false"}': QUEUES_MAX + 4 });
  });

  it('get a name of their own when another queue is gone', async () => {
    await createIn(names);
    await run('task.complete', await lease('q7'));
    // Ended tasks are kept for a day; with the last one its queue goes.
    await world.advance(25 * 3_600_000);
    await look('leasehold_queues');
    const counted = await look('leasehold_tasks_total');
    expect(counted).not.toHaveProperty('{queue="q7",event="created"}');
    expect(counted).toHaveProperty('{queue="q200",event="created"}', 0);
    await createIn(['q200']);
    expect(await look('leasehold_tasks_total')).toMatchObject({
      '{queue="q200",event="created"}': 1,
      '{queue="other",event="created"}': 3,
    });
  });
});
