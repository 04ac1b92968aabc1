// How a worker stops: when it is drained, when it is asked to by a signal or by SIGTERM, and when the handle is closed.
import { getEventListeners } from 'node:events';
import { beforeEach, describe, expect, it } from 'vitest';
import { openStage, type Stage, type TestWire } from '../../test/support/lease-stage.ts';
import { isSettled, ManualWorld } from '../../test/support/manual-world.ts';
import { defineTask } from './define-task.ts';
import type { Leasehold } from './leasehold.ts';
import type { TaskContext } from './task-context.ts';
import { WorkerStopping } from './task-errors.ts';
import type { TaskVerdict } from './task-verdict.ts';
import type { Worker } from './worker.ts';
import type { WorkerOptions } from './worker-options.ts';
import type { DrainSignal } from './world.ts';

let world: ManualWorld;
let stage: Stage;
let lh: Leasehold;
let wire: TestWire;
/** Another client of the same authority. */
let other: Leasehold;
let running: {
  readonly task: TaskContext<unknown>;
  finish(value: unknown): void;
  fail(error: unknown): void;
}[];
let verdicts: TaskVerdict[];
/** Who wants to hear of SIGTERM. */
let hooks: Record<DrainSignal, Set<() => void>>;

const mail = defineTask('mail');

beforeEach(async () => {
  world = new ManualWorld();
  stage = await openStage(world);
  hooks = { SIGTERM: new Set(), SIGINT: new Set() };
  const { clock, timers, newToken } = world;
  const onSignal = (signal: DrainSignal, call: () => void): (() => void) => {
    hooks[signal].add(call);
    return () => void hooks[signal].delete(call);
  };
  ({ lh, wire } = stage.client({ clock, timers, newToken, onSignal }));
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
  const worker = lh.work(mail, { ttl: '30s', grace: '10s', onVerdict, ...options }, (task) => {
    return new Promise((resolve, reject) => running.push({ task, finish: resolve, fail: reject }));
  });
  await world.settle();
  return worker;
}

/** State, attempts and failures of a task. */
async function stateOf(taskId: string): Promise<string> {
  const task = await world.finish(other.call('task.get', { task_id: taskId }));
  return task.ok ? `${task.state} ${task.attempt} ${task.failures}` : task.code;
}

describe('draining', () => {
  it('ends an idle worker at once, and its poll is called off', async () => {
    const worker = await start();
    await world.finish(worker.drain());
    expect(await isSettled(worker.done)).toBe(true);
    expect(wire.count('task.lease')).toBe(1);
    expect(world.holds).toBe(0);
    const [taskId] = await add(1);
    expect(await stateOf(taskId!)).toBe('WAITING 0 0');
  });

  it('takes no more tasks and lets running handlers finish', async () => {
    const [first, second] = await add(2);
    const worker = await start();
    const drained = worker.drain();
    await world.advance(9_000);
    expect(running[0]!.task.signal.aborted).toBe(false);
    expect(await isSettled(drained)).toBe(false);
    running[0]!.finish('done');
    await world.finish(drained);
    expect(await stateOf(first!)).toBe('COMPLETED 1 0');
    expect(await stateOf(second!)).toBe('WAITING 0 0');
  });

  it('keeps renewing the leases of what still runs', async () => {
    await add(1);
    const worker = await start({ ttl: '3s' });
    const drained = worker.drain();
    await world.advance(9_999);
    expect(running[0]!.task.signal.aborted).toBe(false);
    running[0]!.finish(1);
    await world.finish(drained);
    expect(worker.counts).toMatchObject({ completed: 1 });
  });

  it('aborts the signals once the grace period is over, and what gives up is handed back', async () => {
    const [taskId] = await add(1);
    const worker = await start();
    const drained = worker.drain();
    await world.advance(10_000);
    const { reason } = running[0]!.task.signal;
    expect(reason).toBeInstanceOf(WorkerStopping);
    running[0]!.fail(reason);
    await world.finish(drained);
    expect(verdicts).toMatchObject([{ outcome: 'COMMITTED', verb: 'release', state: 'WAITING' }]);
    expect(worker.counts).toMatchObject({ released: 1, failed: 0 });
    expect(await stateOf(taskId!)).toBe('WAITING 1 0');
  });

  it('still takes the result of a handler that finishes when it is told to stop', async () => {
    const [taskId] = await add(1);
    const worker = await start();
    const drained = worker.drain();
    await world.advance(10_000);
    running[0]!.finish('just in time');
    await world.finish(drained);
    expect(await stateOf(taskId!)).toBe('COMPLETED 1 0');
  });

  it('hands back what does not heed its signal, and ends', async () => {
    const [taskId] = await add(1);
    const worker = await start();
    const drained = worker.drain();
    await world.advance(11_000);
    await world.finish(drained);
    expect(await stateOf(taskId!)).toBe('WAITING 1 0');
    const { assertHeld, remaining, extend } = running[0]!.task;
    expect(assertHeld).toThrow(
      expect.objectContaining({ code: 'LEASE_LOST', details: expect.objectContaining({ loss: 'released' }) }),
    );
    expect(remaining()).toBe(0);
    await expect(extend('1m')).rejects.toMatchObject({ code: 'LEASE_LOST' });
    running[0]!.finish('nobody listens');
    await world.settle();
    expect(wire.count('task.complete')).toBe(0);
    expect(verdicts).toHaveLength(1);
  });

  it('hands back what was granted while it began to stop', async () => {
    const [first, second] = await add(2);
    const worker = await start();
    wire.hold('task.lease');
    running[0]!.finish(1);
    await world.settle();
    const drained = worker.drain();
    await world.settle();
    wire.letGo();
    await world.finish(drained);
    expect(running).toHaveLength(1);
    expect(await stateOf(first!)).toBe('COMPLETED 1 0');
    expect(await stateOf(second!)).toBe('WAITING 1 0');
  });

  it('twice is draining once', async () => {
    await add(1);
    const worker = await start();
    const drained = worker.drain();
    await world.advance(5_000);
    expect(worker.drain()).toBe(drained);
    await world.advance(5_000);
    expect(running[0]!.task.signal.aborted).toBe(true);
  });

  it('ends although the server is away, and says how many of its words were not answered', async () => {
    await add(1);
    const worker = await start();
    wire.let(null, 'fails');
    running[0]!.finish(1);
    await world.settle();
    const drained = worker.drain();
    await world.advance(9_999);
    expect(await isSettled(drained)).toBe(false);
    await world.advance(1);
    await world.finish(drained);
    expect(worker.counts).toMatchObject({ unanswered: 1, completed: 0 });
    expect(world.holds).toBe(0);
  });

  it('waits for no word about a lease that is over by our own clocks, for there is none left to say', async () => {
    const [taskId] = await add(1);
    const worker = await start({ ttl: '4s', grace: '30s' });
    wire.let(null, 'fails');
    running[0]!.fail(new Error('no'));
    await world.advance(3_799);
    expect(verdicts).toEqual([]);
    // Found out when it would be repeated.
    await world.advance(3_000);
    expect(verdicts).toMatchObject([{ outcome: 'LATE', verb: 'fail', loss: 'expired', taskId }]);
    await world.finish(worker.drain());
    expect(worker.counts).toMatchObject({ late: 1, failed: 0, unanswered: 0 });
    expect(world.holds).toBe(0);
  });

  it('repeats a result also when its lease is over: a late one is kept for inspection', async () => {
    await add(1);
    await start({ ttl: '4s' });
    wire.let(null, 'fails');
    running[0]!.finish('late');
    await world.advance(5_000);
    wire.mend();
    await world.advance(5_000);
    expect(verdicts).toMatchObject([{ outcome: 'LATE', verb: 'complete', loss: 'expired' }]);
  });

  it('ends although nothing is answered at all', async () => {
    await add(1);
    const worker = await start();
    wire.let(null, 'hangs');
    const drained = worker.drain();
    await world.advance(12_000);
    await world.finish(drained);
    expect(worker.counts).toMatchObject({ unanswered: 1, running: 0 });
    wire.mend();
    await world.finish(lh.close());
    expect(worker.counts).toMatchObject({ unanswered: 1 });
    expect(world.holds).toBe(0);
  });

  it('renews nothing any more once it is done: leases that were not released expire', async () => {
    const [taskId] = await add(1);
    const worker = await start();
    wire.let('task.release', 'hangs');
    const drained = worker.drain();
    await world.advance(12_000);
    await world.finish(drained);
    await world.advance(60_000);
    expect(wire.count('worker.heartbeat')).toBe(1);
    expect(await stateOf(taskId!)).toBe('WAITING 1 0');
  });

  it('renews nothing any more once it is done, though its last heartbeat fails only then', async () => {
    await add(1);
    const worker = await start();
    wire.let('task.release', 'hangs');
    wire.let('worker.heartbeat', 'lingers', 1);
    const drained = worker.drain();
    await world.advance(12_000);
    await world.finish(drained);
    await world.finish(other.close());
    wire.letGo();
    await world.advance(60_000);
    expect(wire.count('worker.heartbeat')).toBe(1);
  });

  it('happens at the end of an await using block', async () => {
    const worker = await start();
    await world.finish(worker[Symbol.asyncDispose]());
    expect(await isSettled(worker.done)).toBe(true);
  });
});

describe('what drains a worker', () => {
  it('is the signal in its options', async () => {
    const stop = new AbortController();
    const worker = await start({ signal: stop.signal });
    stop.abort(new Error('enough'));
    await world.finish(worker.done);
  });

  it('is that signal for however many workers, with one listener for all of them', async () => {
    const { signal } = new AbortController();
    const workers = await Promise.all(Array.from({ length: 20 }, () => start({ signal })));
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    await world.finish(Promise.all(workers.map((worker) => worker.drain())));
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  it('is that signal too when it has aborted before: then nothing is leased', async () => {
    const worker = await start({ signal: AbortSignal.abort() });
    await world.finish(worker.done);
    expect(wire.sent).toEqual([]);
  });

  it('is SIGTERM, within the grace period, and the hook is gone when the worker is', async () => {
    const [taskId] = await add(1);
    const worker = await start();
    expect(hooks.SIGTERM.size).toBe(1);
    for (const call of hooks.SIGTERM) call();
    await world.settle();
    expect(await isSettled(worker.done)).toBe(false);
    // Still there: a second SIGTERM while it drains must not kill the process.
    expect(hooks.SIGTERM.size).toBe(1);
    running[0]!.finish(1);
    await world.finish(worker.done);
    expect(hooks.SIGTERM.size).toBe(0);
    expect(await stateOf(taskId!)).toBe('COMPLETED 1 0');
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('is %s alone for a worker that was told so', async (signal) => {
    const worker = await start({ drainOn: [signal] });
    expect(hooks.SIGTERM.size + hooks.SIGINT.size).toBe(1);
    for (const call of hooks[signal]) call();
    await world.finish(worker.done);
    expect(hooks[signal].size).toBe(0);
  });

  it('cannot be another signal', async () => {
    await expect(start({ drainOn: ['SIGHUP' as 'SIGINT'] })).rejects.toThrow(/SIGTERM and SIGINT/);
  });

  it('is no signal for a worker that was told in the way of 0.1 to leave them alone', async () => {
    await start({ handleSignals: false });
    expect(hooks.SIGTERM.size + hooks.SIGINT.size).toBe(0);
  });

  it('is not SIGTERM for a worker that was told to leave signals alone', async () => {
    await start({ drainOn: [] });
    expect(hooks.SIGTERM.size).toBe(0);
  });
});

describe('closing the handle', () => {
  it('hands back what is running before the connection goes', async () => {
    const [taskId] = await add(1);
    const worker = await start();
    const { signal } = running[0]!.task;
    // The authority belongs to another handle here; only this client's own way to it ends.
    wire.close = () => Promise.resolve();
    await world.finish(lh.close());
    await world.finish(worker.done);
    expect(signal.reason).toBeInstanceOf(WorkerStopping);
    expect(await stateOf(taskId!)).toBe('WAITING 1 0');
    expect(world.holds).toBe(0);
  });

  it('is seen by the authority in the same process before it closes', async () => {
    await add(1);
    const worker = await start();
    await world.finish(lh.close());
    await world.finish(worker.done);
    expect(worker.counts).toMatchObject({ released: 1 });
  });

  it('lets no worker start afterwards', async () => {
    await world.finish(lh.close());
    expect(() => lh.work(mail, {}, () => 1)).toThrow(expect.objectContaining({ code: 'UNAVAILABLE' }));
  });
});
