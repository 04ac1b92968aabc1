// Checkpoints and cancellation as a handler sees them, in process and over HTTP.
import { beforeEach, describe, expect, it } from 'vitest';
import { openStage } from '../../test/support/lease-stage.ts';
import { openLoopback } from '../../test/support/loopback-http.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { Json } from '../protocol/json.ts';
import { defineTask } from './define-task.ts';
import type { EnqueueReceipt } from './enqueue.ts';
import { Leasehold } from './leasehold.ts';
import type { StandardSchema } from './standard-schema.ts';
import type { TaskContext } from './task-context.ts';
import type { TaskVerdict } from './task-verdict.ts';

const page: StandardSchema<{ page: number }> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) =>
      typeof (value as { page?: unknown } | null)?.page === 'number'
        ? { value: value as { page: number } }
        : { issues: [{ message: 'Expected a number', path: ['page'] }] },
  },
};
const crawl = defineTask('crawl', { checkpoint: page, retry: { maxFailures: 3, backoff: 0 } });

type Crawl = TaskContext<unknown, { page: number }>;

let world: ManualWorld;
let lh: Leasehold;
let running: { readonly task: Crawl; finish(): void; fail(error: Error): void }[];
let verdicts: TaskVerdict[];

/** One task, and a worker whose handler runs until it is told to end. */
async function begin(): Promise<EnqueueReceipt<unknown>> {
  const receipt = await world.finish(lh.enqueue(crawl, 'https://example.org', { key: 'ada' }));
  const onVerdict = (verdict: TaskVerdict): void => void verdicts.push(verdict);
  lh.work(crawl, { ttl: '30s', onVerdict }, (task) => {
    return new Promise<void>((resolve, reject) => running.push({ task, finish: resolve, fail: reject }));
  });
  await world.settle();
  return receipt;
}

async function saved(taskId: string): Promise<unknown> {
  return (await world.finish(lh.tasks.get(taskId))).checkpoint?.parse();
}

/** The pages of all checkpoints in the log. */
async function pages(taskId: string): Promise<unknown[]> {
  const { items } = await world.finish(Promise.resolve(lh.tasks.history(taskId)));
  return items.flatMap((entry) => (entry.type === 'TaskCheckpointed' ? [entry.value?.parse()] : []));
}

const WAYS: readonly (readonly [string, () => Promise<Leasehold>])[] = [
  ['in process', async () => (await openStage(world)).client().lh],
  ['over HTTP', async () => new Leasehold((await openLoopback(world)).transport, world)],
];

describe.each(WAYS)('%s', (_, make) => {
  beforeEach(async () => {
    world = new ManualWorld();
    lh = await make();
    running = [];
    verdicts = [];
  });

  describe('a checkpoint', () => {
    it('is durable once it resolves, and the next attempt finds it', async () => {
      const { taskId } = await begin();
      const { task, fail } = running[0]!;
      expect(task).toMatchObject({ lastCheckpoint: undefined, key: 'ada', traceparent: null });
      await world.finish(task.checkpoint({ page: 7 }));
      expect(await saved(taskId)).toEqual({ page: 7 });
      fail(new Error('later'));
      await world.settle();
      expect(running[1]!.task).toMatchObject({ attempt: 2, lastCheckpoint: { page: 7 } });
      running[1]!.finish();
      await world.settle();
      expect(await saved(taskId)).toBeUndefined();
    });

    it('that is not awaited is sent once a second at most, always the newest', async () => {
      const { taskId } = await begin();
      const { checkpoint } = running[0]!.task;
      await world.finish(checkpoint({ page: 1 }));
      void checkpoint({ page: 2 });
      void checkpoint({ page: 3 });
      await world.advance(999);
      expect(await pages(taskId)).toEqual([{ page: 1 }]);
      await world.advance(1);
      expect(await pages(taskId)).toEqual([{ page: 1 }, { page: 3 }]);
    });

    it('that is awaited is sent at once, or a newer one is', async () => {
      const { taskId } = await begin();
      const { checkpoint } = running[0]!.task;
      for (const number of [1, 2, 3]) await world.finish(checkpoint({ page: number }));
      expect(await pages(taskId)).toEqual([{ page: 1 }, { page: 2 }, { page: 3 }]);
      const fourth = checkpoint({ page: 4 });
      await world.settle();
      void checkpoint({ page: 5 });
      await world.finish(fourth);
      expect(await pages(taskId)).toEqual([{ page: 1 }, { page: 2 }, { page: 3 }, { page: 5 }]);
    });

    it('that waits for its turn is saved before a failure is told', async () => {
      await begin();
      const { task, fail } = running[0]!;
      await world.finish(task.checkpoint({ page: 1 }));
      void task.checkpoint({ page: 2 });
      fail(new Error('later'));
      await world.settle();
      expect(running[1]!.task.lastCheckpoint).toEqual({ page: 2 });
    });

    it('that waits for its turn is dropped by a completion', async () => {
      const { taskId } = await begin();
      const { task, finish } = running[0]!;
      await world.finish(task.checkpoint({ page: 1 }));
      const second = task.checkpoint({ page: 2 });
      finish();
      await world.settle();
      await expect(second).rejects.toMatchObject({ code: 'LEASE_LOST' });
      expect(await pages(taskId)).toEqual([{ page: 1 }]);
      expect(verdicts).toMatchObject([{ verb: 'complete', outcome: 'COMMITTED' }]);
    });

    it('that does not fit the definition is not saved', async () => {
      const { taskId } = await begin();
      const { task } = running[0]!;
      await expect(task.checkpoint({ page: 'one' } as never)).rejects.toMatchObject({
        code: 'INVALID_TASK',
        details: { issues: [{ message: 'Expected a number', path: ['page'] }] },
      });
      await expect(task.checkpoint(undefined as never)).rejects.toMatchObject({ code: 'INVALID_TASK' });
      expect(await saved(taskId)).toBeUndefined();
    });

    it('of an earlier version that no longer fits fails the task', async () => {
      const { taskId } = await begin();
      const { task, fail } = running[0]!;
      const old = { task_id: taskId, lease_id: (await world.finish(lh.tasks.get(taskId))).currentLeaseId! };
      await world.finish(lh.call('task.checkpoint', { ...old, value: Json.of({ line: 3 }) }));
      fail(new Error('later'));
      await world.settle();
      expect(running).toHaveLength(1);
      expect(verdicts.at(-1)).toMatchObject({
        verb: 'fail',
        error: { code: 'INVALID_TASK' },
        state: 'FAILED',
      });
      expect(task.lastCheckpoint).toBeUndefined();
    });

    it('says that the lease is lost once it is', async () => {
      const { taskId } = await begin();
      const { task } = running[0]!;
      await world.finish(lh.call('task.kill', { task_id: taskId, reason: 'enough' }));
      const lost = { code: 'LEASE_LOST', details: { loss: 'killed', taskId } };
      await expect(world.finish(task.checkpoint({ page: 1 }))).rejects.toMatchObject(lost);
      expect(task.signal.reason).toMatchObject(lost);
    });
  });

  describe('a task that is cancelled', () => {
    it('while it waits ends at once', async () => {
      const receipt = await world.finish(lh.enqueue(crawl, 1));
      await world.finish(receipt.cancel('not needed'));
      expect(await world.finish(receipt.result())).toEqual({
        state: 'DEAD',
        reason: 'CANCELLED',
        reasonDetail: 'not needed',
      });
      await expect(world.finish(receipt.output())).rejects.toMatchObject({
        code: 'TASK_CANCELLED',
        details: { taskId: receipt.taskId, reason: 'not needed' },
      });
    });

    it('while it runs is told by its signal with the next renewal, and ends with what the handler throws', async () => {
      const receipt = await begin();
      const { task, fail } = running[0]!;
      const cancelled = await world.finish(lh.tasks.cancel(receipt.taskId, { reason: 'the customer left' }));
      expect(cancelled).toMatchObject({ state: 'LEASED', duplicate: false });
      expect(await world.finish(lh.tasks.cancel(receipt.taskId))).toMatchObject({ duplicate: true });
      await world.advance(10_000);
      expect(task.signal.reason).toMatchObject({ code: 'LEASE_LOST', details: { loss: 'cancelled' } });
      task.assertHeld();
      fail(task.signal.reason);
      await world.settle();
      expect(verdicts).toMatchObject([{ verb: 'release', outcome: 'COMMITTED', state: 'DEAD' }]);
      await expect(world.finish(receipt.output())).rejects.toMatchObject({ code: 'TASK_CANCELLED' });
      await world.advance(60_000);
      expect(running).toHaveLength(1);
    });

    it('keeps its lease while its handler goes on, and a result still counts', async () => {
      const receipt = await begin();
      const { task, finish } = running[0]!;
      await world.finish(receipt.cancel());
      await world.finish(task.extend('1m'));
      expect(task.signal.aborted).toBe(true);
      await world.advance(120_000);
      finish();
      await world.settle();
      expect(await world.finish(receipt.result())).toMatchObject({ state: 'COMPLETED' });
      await expect(world.finish(receipt.cancel())).rejects.toMatchObject({ code: 'TASK_TERMINAL' });
    });
  });

  describe('an ended task', () => {
    it('is run again as a new task, once', async () => {
      const receipt = await world.finish(lh.enqueue(crawl, 1, { taskId: 'first' }));
      await expect(world.finish(lh.tasks.requeue('first'))).rejects.toMatchObject({ code: 'TASK_NOT_ENDED' });
      await world.finish(receipt.cancel());
      const made = await world.finish(
        lh.tasks.requeue('first', { taskId: 'second', delay: '1m', priority: 3, reason: 'again' }),
      );
      expect(made).toMatchObject({
        taskId: 'second',
        requeuedFrom: 'first',
        state: 'WAITING',
        duplicate: false,
      });
      expect(await world.finish(lh.tasks.requeue('first'))).toMatchObject({
        taskId: 'second',
        duplicate: true,
      });
      expect(await world.finish(lh.tasks.get('second'))).toMatchObject({
        requeuedFrom: 'first',
        priority: 3,
      });
      expect(await world.finish(receipt.result())).toMatchObject({ state: 'DEAD', requeuedAs: 'second' });
    });

    it('is what a repeated enqueue says', async () => {
      const receipt = await world.finish(lh.enqueue(crawl, 1, { taskId: 'first' }));
      expect(receipt).toMatchObject({ duplicate: false, state: 'WAITING' });
      await world.finish(receipt.cancel());
      const again = await world.finish(lh.enqueue(crawl, 1, { taskId: 'first' }));
      expect(again).toMatchObject({ duplicate: true, state: 'DEAD', reason: 'CANCELLED' });
    });
  });

  describe('tasks', () => {
    it('are found by key, worker, state, queue and time, oldest or newest first', async () => {
      const mail = defineTask<{ to: string }>('mail', { key: ({ to }) => to });
      const ids: string[] = [];
      for (const to of ['ada', 'bob', 'ada']) {
        ids.push((await world.finish(lh.enqueue(mail, { to }))).taskId);
        await world.advance(1_000);
      }
      const found = async (filter: Parameters<Leasehold['tasks']['find']>[0]): Promise<number[]> =>
        (await world.finish(Promise.resolve(lh.tasks.find(filter)))).items.map(({ taskId }) =>
          ids.indexOf(taskId),
        );
      expect(await found({ key: 'ada' })).toEqual([0, 2]);
      expect(await found({ queue: 'mail', order: 'newest' })).toEqual([2, 1, 0]);
      const { createdAt } = await world.finish(lh.tasks.get(ids[1]!));
      expect(await found({ createdAfter: createdAt })).toEqual([2]);
      expect(await found({ createdBefore: new Date(createdAt), state: 'WAITING' })).toEqual([0]);
      await world.finish(lh.call('task.lease', { worker_id: 'w', queues: ['mail'] }));
      expect(await found({ workerId: 'w' })).toEqual([0]);
    });
  });
});
