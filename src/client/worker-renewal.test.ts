// The leases of a worker: renewed together, and every handler told when its own is lost.
import { beforeEach, describe, expect, it } from 'vitest';
import { openStage, type Stage, type TestWire } from '../../test/support/lease-stage.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { LIMITS } from '../protocol/limits.ts';
import { defineTask } from './define-task.ts';
import type { Leasehold } from './leasehold.ts';
import type { TaskContext } from './task-context.ts';
import type { TaskVerdict } from './task-verdict.ts';
import type { Worker } from './worker.ts';
import type { WorkerOptions } from './worker-options.ts';

let world: ManualWorld;
let stage: Stage;
let lh: Leasehold;
let wire: TestWire;
/** Another client of the same authority. */
let other: Leasehold;
/** The tasks being worked on, with the way to end their handlers. */
let running: { readonly task: TaskContext<unknown>; finish(): void; fail(error: Error): void }[];
let verdicts: TaskVerdict[];

const mail = defineTask('mail');

beforeEach(async () => {
  world = new ManualWorld();
  stage = await openStage(world);
  ({ lh, wire } = stage.client());
  other = stage.client().lh;
  running = [];
  verdicts = [];
});

async function add(count: number): Promise<string[]> {
  const receipts = Array.from({ length: count }, (_, index) => other.enqueue(mail, index));
  return (await world.finish(Promise.all(receipts))).map(({ taskId }) => taskId);
}

/** A worker whose handlers run until they are told to finish. */
async function start(options: WorkerOptions = {}): Promise<Worker> {
  const onVerdict = (verdict: TaskVerdict): void => void verdicts.push(verdict);
  const worker = lh.work(mail, { ttl: '30s', onVerdict, ...options }, (task) => {
    return new Promise<void>((resolve, reject) => running.push({ task, finish: resolve, fail: reject }));
  });
  await world.settle();
  return worker;
}

async function stateOf(taskId: string): Promise<string> {
  const task = await world.finish(other.call('task.get', { task_id: taskId }));
  return task.ok ? `${task.state} ${task.attempt}` : task.code;
}

describe('renewal', () => {
  it('is one heartbeat for all leases, every third of their time', async () => {
    const taskIds = await add(20);
    await start({ concurrency: 20 });
    await world.advance(9_999);
    expect(wire.count('worker.heartbeat')).toBe(0);
    await world.advance(1);
    expect(wire.count('worker.heartbeat')).toBe(1);
    const { request, options } = wire.sent.at(-1)!;
    expect(request).toMatchObject({ ttl_ms: 30_000 });
    expect((request.leases as { task_id: string }[]).map(({ task_id }) => task_id)).toEqual(taskIds);
    expect(options).toMatchObject({ isRenewal: true });
    await world.advance(20_000);
    expect(wire.count('worker.heartbeat')).toBe(3);
  });

  it('takes as many heartbeats as it needs for each to fit into a request, however long the ids are', async () => {
    const ids = Array.from({ length: 3_200 }, (_, index) => `${'"'.repeat(250)}${index}`);
    await world.finish(Promise.all(ids.map((taskId) => other.enqueue(mail, 1, { taskId }))));
    await start({ concurrency: ids.length });
    await world.advance(10_000);
    const beats = wire.sent.filter(({ operation }) => operation === 'worker.heartbeat');
    expect(beats.flatMap(({ request }) => request.leases)).toHaveLength(ids.length);
    for (const { request } of beats) {
      expect(JSON.stringify(request).length).toBeLessThan(LIMITS.bodyBytes);
    }
  });

  it('keeps a handler at work for as long as it takes', async () => {
    const [taskId] = await add(1);
    await start();
    await world.advance(3_600_000);
    expect(await stateOf(taskId!)).toBe('LEASED 1');
    expect(running[0]!.task.signal.aborted).toBe(false);
    running[0]!.finish();
    await world.settle();
    expect(verdicts).toMatchObject([{ outcome: 'COMMITTED', state: 'COMPLETED' }]);
  });

  it('stops when there is nothing left to renew, and begins again with the next task', async () => {
    await add(1);
    await start();
    running[0]!.finish();
    await world.advance(60_000);
    expect(wire.count('worker.heartbeat')).toBe(0);
    await add(1);
    await world.advance(10_000);
    expect(wire.count('worker.heartbeat')).toBeGreaterThan(0);
    expect(running).toHaveLength(2);
  });

  it('that failed is tried again soon, and again, while the lease lasts', async () => {
    await add(1);
    await start();
    wire.let('worker.heartbeat', 'fails', 11);
    await world.advance(26_000);
    expect(wire.count('worker.heartbeat')).toBe(12);
    await world.advance(60_000);
    expect(running[0]!.task.signal.aborted).toBe(false);
  });

  it('gives each lease the time that the authority names for it', async () => {
    await add(2);
    await start({ concurrency: 2 });
    await world.finish(running[0]!.task.extend('10m'));
    await world.advance(10_000);
    expect(wire.count('worker.heartbeat')).toBe(1);
    expect(running[1]!.task.remaining()).toBe(28_500);
  });

  it('loses nothing by the answer to an earlier heartbeat that was overtaken', async () => {
    await add(1);
    await start();
    wire.let('worker.heartbeat', 'lingers', 1);
    await world.advance(20_000);
    expect(wire.count('worker.heartbeat')).toBe(2);
    wire.letGo();
    await world.settle();
    expect(running[0]!.task.remaining()).toBe(28_500);
  });

  it('happens at once when the machine has slept', async () => {
    await add(1);
    await start();
    world.setWall(world.wallMs + 5_000);
    await world.advance(1_000);
    expect(wire.count('worker.heartbeat')).toBe(1);
  });
});

describe('a grant that had to be waited for', () => {
  it('is confirmed by one renewal before a handler relies on it', async () => {
    await start({ concurrency: 5 });
    await world.advance(25_000);
    wire.hold('worker.heartbeat');
    await add(1);
    await world.settle();
    expect(wire.count('worker.heartbeat')).toBe(1);
    expect(running).toHaveLength(0);
    wire.letGo();
    await world.settle();
    expect(running).toHaveLength(1);
    expect(running[0]!.task.remaining()).toBe(28_500);
  });

  it('needs no confirmation when it came soon', async () => {
    await start();
    await world.advance(5_000);
    await add(1);
    await world.settle();
    expect(wire.count('worker.heartbeat')).toBe(0);
    // It counts from before the poll was sent, less a margin.
    expect(running[0]!.task.remaining()).toBe(23_500);
  });

  it('is handed back when it cannot be confirmed', async () => {
    await start();
    await world.advance(25_000);
    wire.let('worker.heartbeat', 'fails', 1);
    const [taskId] = await add(1);
    await world.settle();
    expect(verdicts).toMatchObject([{ outcome: 'COMMITTED', verb: 'release' }]);
    // The worker itself takes it again, and that is neither a failure nor an attempt that counts.
    expect(await stateOf(taskId!)).toBe('LEASED 2');
    expect(running).toHaveLength(1);
  });

  it('is begun by no handler when it is lost by then', async () => {
    await start();
    await world.advance(25_000);
    wire.let('worker.heartbeat', 'lingers', 1);
    const [taskId] = await add(1);
    await world.finish(other.call('task.kill', { task_id: taskId!, reason: 'enough' }));
    wire.letGo();
    await world.settle();
    expect(running).toEqual([]);
    expect(verdicts).toMatchObject([{ outcome: 'LATE', loss: 'killed', taskId }]);
  });
});

describe('a lost lease', () => {
  it('aborts the signal of its handler alone, with the cause the authority names', async () => {
    const [first] = await add(2);
    await start({ concurrency: 2 });
    await world.finish(other.call('task.kill', { task_id: first!, reason: 'enough' }));
    const { signal } = running[0]!.task;
    expect(signal.aborted).toBe(false);
    await world.advance(10_000);
    expect(signal.reason).toMatchObject({
      name: 'LeaseLostError',
      code: 'LEASE_LOST',
      details: { loss: 'killed' },
    });
    expect(running[1]!.task.signal.aborted).toBe(false);
  });

  it('is one whose deadline passes by our own clocks, before it is over for the authority', async () => {
    const [taskId] = await add(1);
    await start({ ttl: '10s' });
    wire.let('worker.heartbeat', 'fails');
    await world.advance(9_499);
    expect(running[0]!.task.signal.aborted).toBe(false);
    expect(running[0]!.task.remaining()).toBe(1);
    await world.advance(1);
    expect(running[0]!.task.signal.reason).toMatchObject({
      code: 'LEASE_LOST',
      details: { loss: 'unreachable' },
    });
    expect(running[0]!.task.remaining()).toBe(0);
    expect(await stateOf(taskId!)).toBe('LEASED 1');
  });

  it('is lost too when heartbeats are not answered at all', async () => {
    await add(1);
    await start({ ttl: '10s' });
    wire.let('worker.heartbeat', 'hangs');
    await world.advance(9_500);
    expect(running[0]!.task.signal.reason).toMatchObject({
      code: 'LEASE_LOST',
      details: { loss: 'unreachable' },
    });
  });

  it('is found out by assertHeld when nothing else had the time to', async () => {
    await add(1);
    await start({ ttl: '10s' });
    const { assertHeld, signal } = running[0]!.task;
    assertHeld();
    // The event loop was blocked: time went by and no timer ran.
    world.monotonicMs += 9_500;
    world.wallMs += 9_500;
    expect(assertHeld).toThrow(
      expect.objectContaining({ code: 'LEASE_LOST', details: expect.objectContaining({ loss: 'expired' }) }),
    );
    expect(signal.aborted).toBe(true);
  });

  it('is found out by the wall clock when the monotonic one stood still in sleep', async () => {
    await add(1);
    await start({ ttl: '10s' });
    world.setWall(world.wallMs + 3_600_000);
    await world.advance(1_000);
    expect(running[0]!.task.signal.reason).toMatchObject({
      code: 'LEASE_LOST',
      details: { loss: 'expired' },
    });
  });

  it('has run out, and was not out of reach, when renewals had got through until the machine slept', async () => {
    await add(1);
    await start({ ttl: '30s' });
    await world.advance(20_000);
    expect(wire.count('worker.heartbeat')).toBe(2);
    world.setWall(world.wallMs + 3_600_000);
    await world.advance(1_000);
    expect(running[0]!.task.signal.reason).toMatchObject({
      code: 'LEASE_LOST',
      details: { loss: 'expired' },
    });
  });

  it('no longer concerns a handler that is done', async () => {
    const [taskId] = await add(1);
    await start();
    const { signal } = running[0]!.task;
    wire.let('task.complete', 'hangs');
    running[0]!.finish();
    await world.finish(other.call('task.kill', { task_id: taskId!, reason: 'enough' }));
    await world.advance(10_000);
    expect(wire.count('worker.heartbeat')).toBe(1);
    expect(signal.aborted).toBe(false);
  });

  it('gives a handler that asks for its signal only then one that has aborted', async () => {
    await add(1);
    await start({ ttl: '10s' });
    wire.let('worker.heartbeat', 'fails');
    await world.advance(9_500);
    expect(running[0]!.task.signal.aborted).toBe(true);
  });

  it('needs no word from a handler that gives up: the verdict is LATE', async () => {
    const [taskId] = await add(1);
    await start();
    await world.finish(other.call('task.kill', { task_id: taskId!, reason: 'enough' }));
    await world.advance(10_000);
    running[0]!.fail(running[0]!.task.signal.reason);
    await world.settle();
    expect(verdicts).toMatchObject([{ outcome: 'LATE', verb: 'fail', loss: 'killed', taskId }]);
    expect(wire.count('task.fail')).toBe(0);
  });

  it('leaves room for the next task only once its handler is done', async () => {
    const [taskId] = await add(2);
    await start();
    await world.finish(other.call('task.kill', { task_id: taskId!, reason: 'enough' }));
    await world.advance(20_000);
    expect(running).toHaveLength(1);
    running[0]!.fail(new Error('gave up'));
    await world.settle();
    expect(running).toHaveLength(2);
  });
});

describe('extending a lease', () => {
  it('makes it last at least that long, and renewals do not shorten it', async () => {
    const [taskId] = await add(1);
    await start({ ttl: '10s' });
    await world.finish(running[0]!.task.extend('10m'));
    expect(running[0]!.task.remaining()).toBe(570_000);
    wire.let('worker.heartbeat', 'fails');
    await world.advance(300_000);
    expect(running[0]!.task.signal.aborted).toBe(false);
    expect(await stateOf(taskId!)).toBe('LEASED 1');
  });

  it('throws LEASE_LOST once it is over, and that is the reason of the signal too', async () => {
    const [taskId] = await add(1);
    await start();
    await world.finish(other.call('task.kill', { task_id: taskId!, reason: 'enough' }));
    const { extend, signal } = running[0]!.task;
    await expect(world.finish(extend('1m'))).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(signal.reason).toMatchObject({ code: 'LEASE_LOST' });
  });
});
