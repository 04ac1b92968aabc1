// A worker over HTTP: what it sends, and that nothing is lost or done twice when requests and replies are.
import { beforeEach, describe, expect, it } from 'vitest';
import { type Loopback, openLoopback } from '../../test/support/loopback-http.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { defineTask } from './define-task.ts';
import { Leasehold } from './leasehold.ts';
import type { Worker } from './worker.ts';

let world: ManualWorld;
let http: Loopback['http'];
let lh: Leasehold;

const double = defineTask<number, number>('double');

beforeEach(async () => {
  world = new ManualWorld();
  const loopback = await openLoopback(world);
  ({ http } = loopback);
  lh = new Leasehold(loopback.transport, world);
});

async function add(count: number): Promise<string[]> {
  const made = Array.from({ length: count }, (_, index) => lh.enqueue(double, index));
  return (await world.finish(Promise.all(made))).map(({ taskId }) => taskId);
}

/** What was sent from here on. */
function watch(): () => readonly (readonly string[])[] {
  const from = http.sent.length;
  return () => http.operations.slice(from);
}

async function results(taskIds: readonly string[]): Promise<unknown[]> {
  const calls = taskIds.map((taskId) => lh.receipt(double, taskId).result());
  return await world.finish(Promise.all(calls));
}

function start(concurrency: number): Worker {
  return lh.work(double, { concurrency }, ({ input }) => 2 * input);
}

describe('a worker over HTTP', () => {
  it('completes what is done and asks for what comes next at once', async () => {
    await add(2);
    const sent = watch();
    start(1);
    await world.settle();
    expect(sent()).toEqual([
      ['task.lease'],
      ['task.complete'],
      ['task.lease'],
      ['task.complete'],
      ['task.lease'],
      ['task.lease'],
    ]);
  });

  it('takes a hundred tasks in one request, and then waits for more', async () => {
    const taskIds = await add(100);
    const sent = watch();
    start(100);
    await world.settle();
    const completed = Array.from({ length: 100 }, () => 'task.complete');
    expect(sent().flat().sort()).toEqual([...completed, 'task.lease', 'task.lease', 'task.lease']);
    expect(await results(taskIds)).toEqual(
      taskIds.map((_, index) => ({ state: 'COMPLETED', output: 2 * index })),
    );
  });

  it('ends when it is drained, and its poll with it', async () => {
    const worker = start(1);
    await world.settle();
    await world.finish(worker.drain());
    const [taskId] = await add(1);
    expect(await results([taskId!])).toEqual([{ state: 'WAITING' }]);
  });

  it.each(['reply lost', 'request lost'] as const)(
    'does every task once although every other time the %s',
    async (fate) => {
      const taskIds = await add(20);
      let turn = 0;
      http.fate = () => {
        turn += 1;
        return turn % 2 === 0 ? fate : 'answered';
      };
      const inputs: number[] = [];
      const worker = lh.work(double, { concurrency: 7 }, ({ input }) => {
        inputs.push(input);
        return 2 * input;
      });
      await world.advance(5_000);
      expect(inputs.sort((a, b) => a - b)).toEqual(taskIds.map((_, index) => index));
      expect(worker.counts).toMatchObject({ completed: 20, late: 0, rejected: 0 });
      const history = await world.finish(http.authority.call('task.list', { queue: 'double' }));
      if (!history.ok) throw new Error(history.detail);
      expect(history.tasks.map(({ state, attempt }) => `${state} ${attempt}`)).toEqual(
        taskIds.map(() => 'COMPLETED 1'),
      );
    },
  );

  it('hands back what is running when the client is closed', async () => {
    const [taskId] = await add(1);
    let signal: AbortSignal | undefined;
    const worker = lh.work(double, {}, (task) => {
      ({ signal } = task);
      return new Promise<number>(() => undefined);
    });
    await world.settle();
    await world.finish(lh.close());
    await world.finish(worker.done);
    expect(signal!.aborted).toBe(true);
    expect(worker.counts).toMatchObject({ released: 1, unanswered: 0 });
    const task = await world.finish(http.authority.call('task.get', { task_id: taskId! }));
    expect(task).toMatchObject({ state: 'WAITING', attempt: 1 });
  });
});
