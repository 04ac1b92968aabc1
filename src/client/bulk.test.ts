// Requeueing and cancelling many tasks, by filter and by their ids.
import { beforeEach, describe, expect, it } from 'vitest';
import { openStage } from '../../test/support/lease-stage.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import type { Bulk, BulkOutcome } from './bulk.ts';
import type { Leasehold } from './leasehold.ts';

let world: ManualWorld;
let lh: Leasehold;

beforeEach(async () => {
  world = new ManualWorld();
  ({ lh } = (await openStage(world)).client());
});

async function create(...ids: readonly string[]): Promise<void> {
  await world.finish(
    Promise.all(ids.map((task_id) => lh.call('task.create', { task_id, payload: task_id, queue: 'q' }))),
  );
}

async function dead(...ids: readonly string[]): Promise<void> {
  await create(...ids);
  await world.finish(Promise.all(ids.map((task_id) => lh.call('task.kill', { task_id, reason: 'broken' }))));
}

const outcomesOf = (bulk: Bulk): Promise<BulkOutcome[]> =>
  world.finish(
    (async () => {
      const outcomes: BulkOutcome[] = [];
      for await (const outcome of bulk) outcomes.push(outcome);
      return outcomes;
    })(),
  );
const stateOf = async (taskId: string) => (await world.finish(lh.tasks.get(taskId))).state;
const numbered = (count: number): string[] => Array.from({ length: count }, (_, index) => `t${index}`);

async function* given(ids: readonly string[]): AsyncGenerator<string> {
  yield* ids;
}

describe('many tasks by filter', () => {
  it('are requeued when that is awaited, and the totals told', async () => {
    await dead('a', 'b');
    const bulk = lh.tasks.requeueMany({ queue: 'q', state: 'DEAD' }, { queue: 'again', reason: 'mended' });
    expect((await world.finish(lh.tasks.get('a'))).requeuedAs).toBeUndefined();
    expect(await world.finish(Promise.resolve(bulk))).toEqual({ done: 2, refused: 0 });
    const { items } = await world.finish(Promise.resolve(lh.tasks.find({ queue: 'again' })));
    expect(items).toMatchObject([{ requeuedFrom: 'a' }, { requeuedFrom: 'b' }]);
  });

  it('give an outcome each, with the code of those that are refused', async () => {
    await dead('ended');
    await create('waiting');
    expect(await outcomesOf(lh.tasks.cancelMany({ queue: 'q' }))).toEqual([
      { taskId: 'waiting', ok: true },
      { taskId: 'ended', ok: false, code: 'TASK_TERMINAL' },
    ]);
  });

  it('go on call by call, and stop at the limit or when the loop is left', async () => {
    await create(...numbered(1_500));
    const filter = { queue: 'q', state: 'WAITING', createdAfter: new Date(0) } as const;
    expect(await world.finish(Promise.resolve(lh.tasks.cancelMany(filter, { limit: 2 })))).toEqual({
      done: 2,
      refused: 0,
    });
    const leave = async (): Promise<void> => {
      for await (const { ok } of lh.tasks.cancelMany(filter)) if (ok) return;
    };
    await world.finish(leave());
    expect([await stateOf('t2'), await stateOf('t1499')]).toEqual(['DEAD', 'WAITING']);
    expect(await world.finish(Promise.resolve(lh.tasks.cancelMany(filter)))).toEqual({
      done: 498,
      refused: 0,
    });
  });

  it('need a filter that says something, with fields that are known', async () => {
    await expect(world.finish(Promise.resolve(lh.tasks.cancelMany({})))).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    expect(() => lh.tasks.cancelMany({ limit: 3 } as object)).toThrow(
      'The option limit of cancelMany is not known',
    );
    expect(() => lh.tasks.cancelMany('t1' as never)).toThrow(TypeError);
    expect(() => lh.tasks.requeueMany({ queue: 'q' }, { limit: 0 })).toThrow(TypeError);
  });

  it('reject with the reason of the signal', async () => {
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(
      world.finish(Promise.resolve(lh.tasks.requeueMany({ queue: 'q' }, { signal }))),
    ).rejects.toThrow('enough');
  });
});

describe('many tasks by their ids', () => {
  it('are requeued or cancelled in the order of the ids, however many', async () => {
    const ids = numbered(300);
    await create(...ids);
    expect(await world.finish(Promise.resolve(lh.tasks.cancelMany(given(ids), { limit: 299 })))).toEqual({
      done: 299,
      refused: 0,
    });
    const outcomes = await outcomesOf(lh.tasks.requeueMany(given(['none', 't0', 't299'])));
    expect(outcomes).toEqual([
      { taskId: 'none', ok: false, code: 'TASK_NOT_FOUND' },
      { taskId: 't0', ok: true },
      { taskId: 't299', ok: false, code: 'TASK_NOT_ENDED' },
    ]);
  });

  it('may come from a list', async () => {
    await create('a', 'b');
    expect(await outcomesOf(lh.tasks.cancelMany(['a', 'b']))).toEqual([
      { taskId: 'a', ok: true },
      { taskId: 'b', ok: true },
    ]);
  });
});
