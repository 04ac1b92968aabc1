// A handler that takes longer than it may: it is told, and if it does not heed that, its task goes on without it.
import { beforeEach, describe, expect, it } from 'vitest';
import { openStage, type Stage } from '../../test/support/lease-stage.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { defineTask } from './define-task.ts';
import type { Duration } from './durations.ts';
import type { Leasehold } from './leasehold.ts';
import type { TaskContext } from './task-context.ts';
import { TaskTimeout } from './task-errors.ts';
import type { TaskVerdict } from './task-verdict.ts';
import type { WorkerOptions } from './worker-options.ts';

let world: ManualWorld;
let stage: Stage;
let lh: Leasehold;
let verdicts: TaskVerdict[];

const slow = defineTask('slow', { timeout: '1m', retry: { backoff: '1h' } });

beforeEach(async () => {
  world = new ManualWorld();
  stage = await openStage(world);
  ({ lh } = stage.client());
  verdicts = [];
});

async function work(
  handler: (task: TaskContext<unknown>) => unknown,
  options: WorkerOptions = {},
): Promise<string> {
  const { taskId } = await world.finish(lh.enqueue(slow, 1));
  const onVerdict = (verdict: TaskVerdict): void => void verdicts.push(verdict);
  lh.work(slow, { onVerdict, ...options }, handler);
  await world.settle();
  return taskId;
}

async function taskOf(taskId: string) {
  return world.finish(lh.call('task.get', { task_id: taskId }));
}

describe('a handler that takes longer than its timeout', () => {
  it('is told by its signal, and what it throws then is why the task failed', async () => {
    const taskId = await work(
      ({ signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    );
    await world.advance(59_999);
    expect(verdicts).toEqual([]);
    await world.advance(1);
    expect(verdicts).toMatchObject([{ verb: 'fail', outcome: 'COMMITTED', error: expect.any(TaskTimeout) }]);
    expect(await taskOf(taskId)).toMatchObject({
      state: 'WAITING',
      failures: 1,
      reason: 'The handler took longer than 60000 ms.',
    });
  });

  it('and throws what Node throws when something is aborted has failed for want of time all the same', async () => {
    const taskId = await work(async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      throw new DOMException('The operation was aborted', 'AbortError');
    });
    await world.advance(60_000);
    expect(await taskOf(taskId)).toMatchObject({ reason: 'The handler took longer than 60000 ms.' });
  });

  it('and does not heed that has failed a second later, and its place is free', async () => {
    const held: TaskContext<unknown>[] = [];
    const taskId = await work((task) => {
      held.push(task);
      return new Promise(() => undefined);
    });
    await world.advance(60_999);
    expect(await taskOf(taskId)).toMatchObject({ state: 'LEASED' });
    await world.advance(1);
    expect(await taskOf(taskId)).toMatchObject({ state: 'WAITING', failures: 1 });
    expect(held[0]!.assertHeld).toThrow(expect.objectContaining({ code: 'LEASE_LOST' }));
    await world.finish(lh.enqueue(slow, 2));
    await world.settle();
    expect(held.map(({ input }) => input)).toEqual([1, 2]);
  });

  it('and finishes within that second is completed', async () => {
    const taskId = await work(
      ({ signal }) => new Promise((resolve) => signal.addEventListener('abort', () => resolve('at last'))),
    );
    await world.advance(60_000);
    expect(await taskOf(taskId)).toMatchObject({ state: 'COMPLETED' });
  });

  it('has what the worker says, whatever the definition does', async () => {
    const taskId = await work(() => new Promise(() => undefined), { timeout: '5s' });
    await world.advance(6_000);
    expect(await taskOf(taskId)).toMatchObject({ failures: 1 });
  });
});

describe('a handler that is done in time', () => {
  it('leaves no timer behind', async () => {
    const taskId = await work(() => 'done');
    expect(await taskOf(taskId)).toMatchObject({ state: 'COMPLETED' });
    await world.advance(120_000);
    expect(verdicts).toMatchObject([{ verb: 'complete', outcome: 'COMMITTED' }]);
  });
});

describe('a timeout that is none', () => {
  it.each(['0', 0, '25d', 'soon'])('is refused: %j', (timeout) => {
    expect(() => lh.work(slow, { timeout: timeout as Duration }, () => 1)).toThrow(TypeError);
  });
});
