// How a worker comes by its tasks: one poll at a time, what is done and what comes next in one turn, no task lost with a
// reply, and schedule with a server that is away.
import { beforeEach, describe, expect, it } from 'vitest';
import { openStage, type Stage, type TestWire } from '../../test/support/lease-stage.ts';
import { isSettled, ManualWorld } from '../../test/support/manual-world.ts';
import { transportOf } from './client.ts';
import { defineTask } from './define-task.ts';
import { Leasehold } from './leasehold.ts';

let world: ManualWorld;
let stage: Stage;
let lh: Leasehold;
let wire: TestWire;
/** Another client of the same authority. */
let other: Leasehold;

const mail = defineTask('mail');

beforeEach(async () => {
  world = new ManualWorld();
  stage = await openStage(world);
  ({ lh, wire } = stage.client());
  other = stage.client().lh;
});

async function add(count: number): Promise<string[]> {
  const receipts = Array.from({ length: count }, (_, index) => other.enqueue(mail, index));
  return (await world.finish(Promise.all(receipts))).map(({ taskId }) => taskId);
}

/** What was sent since the last look. */
let looked = 0;
function sent(): string[] {
  const names = wire.sent.slice(looked).map(({ operation, request: { max, wait_ms } }) => {
    if (operation !== 'task.lease') return operation;
    return `lease ${max}${wait_ms === undefined ? '' : ' waiting'}`;
  });
  looked = wire.sent.length;
  return names;
}

beforeEach(() => {
  looked = 0;
});

describe('stopping when empty', () => {
  const stopWhenEmpty = true;

  it('ends at the first answer without tasks', async () => {
    await add(2);
    const worker = lh.work(mail, { stopWhenEmpty }, () => 1);
    await world.finish(worker.done);
    expect(worker.counts.completed).toBe(2);
  });

  it('waits for tasks that only a rate holds back', async () => {
    await world.finish(other.queues.setLimits('mail', { rate: { count: 1, per: '10s' } }));
    await add(3);
    const worker = lh.work(mail, { stopWhenEmpty }, () => 1);
    await world.settle();
    await world.advance(9_999);
    expect(worker.counts.completed).toBe(1);
    await world.advance(10_001);
    await world.finish(worker.done);
    expect(worker.counts.completed).toBe(3);
  });

  it('ends when the task that a limit held back can be had no longer', async () => {
    await world.finish(other.queues.setLimits('mail', { concurrency: 1 }));
    await add(2);
    let finish = (): void => undefined;
    const first = other.work(mail, {}, () => new Promise<void>((resolve) => (finish = resolve)));
    await world.settle();
    const second = lh.work(mail, { stopWhenEmpty }, () => 1);
    await world.advance(5_000);
    expect(await isSettled(second.done)).toBe(false);
    await world.finish(other.queues.pause('mail'));
    await world.advance(500);
    await world.finish(second.done);
    finish();
    await world.finish(first.drain());
  });
});

describe('leasing', () => {
  it('waits in one poll for as many tasks as there is room for', async () => {
    lh.work(mail, { concurrency: 7 }, () => 1);
    await world.settle();
    expect(sent()).toEqual(['lease 7 waiting']);
    await world.advance(5_000);
    expect(sent()).toEqual([]);
  });

  it('goes on without waiting while every answer brings as many as one may, some hundreds', async () => {
    await add(600);
    lh.work(mail, { concurrency: 1_000 }, () => new Promise<void>(() => undefined));
    await world.settle();
    expect(sent()).toEqual(['lease 256 waiting', 'lease 256', 'lease 256', 'lease 256 waiting']);
  });

  it('asks for no more than there is room for', async () => {
    await add(600);
    lh.work(mail, { concurrency: 300 }, () => new Promise<void>(() => undefined));
    await world.settle();
    expect(sent()).toEqual(['lease 256 waiting', 'lease 44']);
  });

  it('travels with the completions while there is plenty, although there is room for more', async () => {
    await add(512);
    lh.work(mail, { concurrency: 1_000 }, async () => 1);
    await world.settle();
    const round = [...Array.from({ length: 256 }, () => 'task.complete'), 'lease 256'];
    const first = ['lease 256 waiting', 'lease 256'];
    expect(sent()).toEqual([...first, ...round, 'lease 256', ...round, 'lease 256 waiting']);
  });

  it('goes out in the same turn as the completion before it, and only then back to the poll', async () => {
    await add(2);
    lh.work(mail, {}, () => 1);
    await world.settle();
    expect(sent()).toEqual([
      'lease 1 waiting',
      'task.complete',
      'lease 1',
      'task.complete',
      'lease 1',
      'lease 1 waiting',
    ]);
  });

  it('asks once for everything that was finished in one turn', async () => {
    await add(30);
    lh.work(mail, { concurrency: 10 }, async () => 1);
    await world.settle();
    const completions = Array.from({ length: 10 }, () => 'task.complete');
    const round = [...completions, 'lease 10'];
    expect(sent()).toEqual(['lease 10 waiting', ...round, ...round, ...round, 'lease 10 waiting']);
  });

  it('asks for nothing more while a poll waits, because that is the proof that there is nothing', async () => {
    await add(1);
    let finish = (): void => undefined;
    lh.work(mail, { concurrency: 2 }, () => new Promise<void>((resolve) => (finish = resolve)));
    await world.settle();
    expect(sent()).toEqual(['lease 2 waiting', 'lease 1 waiting']);
    finish();
    await world.settle();
    expect(sent()).toEqual(['task.complete']);
  });

  it('takes what comes while handlers run, up to the concurrency', async () => {
    const running: (() => void)[] = [];
    lh.work(mail, { concurrency: 3 }, () => new Promise<void>((resolve) => running.push(resolve)));
    for (let index = 0; index < 4; index++) await add(1);
    await world.settle();
    expect(running).toHaveLength(3);
    expect(sent()).toEqual(['lease 3 waiting', 'lease 2 waiting', 'lease 1 waiting']);
  });
});

describe('a lost reply', () => {
  it('costs no task and no attempt: the same request gets the same leases', async () => {
    const [taskId] = await add(1);
    wire.let('task.lease', 'loses', 1);
    const attempts: number[] = [];
    lh.work(mail, {}, ({ attempt }) => void attempts.push(attempt));
    await world.settle();
    expect(attempts).toEqual([]);
    await world.advance(100);
    expect(attempts).toEqual([1]);
    const [first, second] = wire.sent.map(({ request }) => request.request_id);
    expect(second).toBe(first);
    expect(await world.finish(other.call('task.get', { task_id: taskId! }))).toMatchObject({ attempt: 1 });
  });

  it('starts nothing twice when the transport repeats a call by itself', async () => {
    await add(2);
    wire.let('task.lease', 'repeats');
    const inputs: unknown[] = [];
    lh.work(mail, { concurrency: 2 }, ({ input }) => void inputs.push(input));
    await world.settle();
    expect(inputs).toEqual([0, 1]);
  });

  it('to a completion is asked for again, and the work is done once', async () => {
    const [taskId] = await add(1);
    wire.let('task.complete', 'loses', 1);
    let runs = 0;
    const worker = lh.work(mail, {}, () => {
      runs += 1;
    });
    await world.advance(100);
    expect(runs).toBe(1);
    expect(worker.counts).toMatchObject({ completed: 1 });
    expect(await world.finish(other.call('task.get', { task_id: taskId! }))).toMatchObject({
      state: 'COMPLETED',
    });
  });
});

describe('a server that is away', () => {
  it('is asked again with growing delays, for ever, and served again when it is back', async () => {
    wire.let('task.lease', 'fails');
    const inputs: unknown[] = [];
    lh.work(mail, {}, ({ input }) => void inputs.push(input));
    const askedAtMs: number[] = [];
    const from = world.monotonicMs;
    await world.settle();
    for (let seen = 1; seen < 9; ) {
      await world.advance(50);
      for (; seen < wire.count('task.lease'); seen++) askedAtMs.push(world.monotonicMs - from);
    }
    expect(askedAtMs).toEqual([100, 300, 700, 1_500, 3_100, 6_300, 11_300, 16_300]);
    await add(1);
    wire.mend();
    await world.advance(5_000);
    expect(inputs).toEqual([0]);
  });

  it('is left time when it says that it has too much to do', async () => {
    await add(1);
    wire.let('task.lease', 'refuses', 1);
    const inputs: unknown[] = [];
    lh.work(mail, {}, ({ input }) => void inputs.push(input));
    await world.advance(99);
    expect(inputs).toEqual([]);
    await world.advance(1);
    expect(inputs).toEqual([0]);
  });

  it('is not asked for more and more while it does not take what is done', async () => {
    const taskIds = await add(20);
    wire.let('task.complete', 'refuses');
    const worker = lh.work(mail, { concurrency: 2 }, () => 1);
    await world.advance(10_000);
    expect(worker.counts).toMatchObject({ leased: 4, running: 0, completed: 0 });
    wire.mend();
    await world.advance(10_000);
    expect(worker.counts).toMatchObject({ completed: taskIds.length, late: 0 });
  });

  it('does not disturb a handler while its lease lasts, and gets its result when it is back', async () => {
    const [taskId] = await add(1);
    let finish = (_value: string): void => undefined;
    let signal: AbortSignal | undefined;
    lh.work(mail, { ttl: '30s' }, (task) => {
      signal = task.signal;
      return new Promise((resolve) => (finish = resolve));
    });
    await world.settle();
    wire.let(null, 'fails');
    await world.advance(20_000);
    expect(signal!.aborted).toBe(false);
    finish('in spite of all');
    await world.advance(2_000);
    wire.mend();
    await world.advance(5_000);
    const task = await world.finish(other.call('task.get', { task_id: taskId! }));
    if (!task.ok) throw new Error(task.detail);
    expect([task.state, task.result!.parse()]).toEqual(['COMPLETED', 'in spite of all']);
  });
});

describe('a refusal that will not pass', () => {
  it('of what is done ends the worker as well', async () => {
    await add(1);
    wire.let('task.complete', 'garbles');
    const worker = lh.work(mail, {}, () => 1);
    await expect(world.finish(worker.done)).rejects.toMatchObject({ code: 'PROTOCOL' });
    expect(worker.counts).toMatchObject({ running: 0, unanswered: 0 });
    expect(world.holds).toBe(0);
  });

  it('ends the worker, and done rejects with it', async () => {
    const worker = lh.work(mail, { workerId: 'with/slashes' }, () => 1);
    await expect(world.finish(worker.done)).rejects.toMatchObject({
      name: 'LeaseholdError',
      code: 'INVALID_ARGUMENT',
      effect: 'none',
    });
    expect(world.holds).toBe(0);
  });
});

describe('the option wait', () => {
  it('is reported as deprecated, once', async () => {
    const said: string[] = [];
    const warned = Object.assign(world, { onDeprecated: (says: string) => void said.push(says) });
    const own = new Leasehold(transportOf(lh), warned);
    for (const _ of [1, 2]) own.work(defineTask('waits'), { wait: '1s' }, () => undefined);
    await world.settle();
    expect(said).toEqual([expect.stringContaining('option wait of a worker is deprecated')]);
  });
});
