// Limits through the handle: set by hand, carried by definitions, applied by workers.
import { beforeEach, describe, expect, it } from 'vitest';
import { openStage, type Stage } from '../../test/support/lease-stage.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { defineTask } from './define-task.ts';
import type { Leasehold } from './leasehold.ts';
import type { Limits } from './limits.ts';

let world: ManualWorld;
let stage: Stage;
let lh: Leasehold;

beforeEach(async () => {
  world = new ManualWorld();
  stage = await openStage(world);
  ({ lh } = stage.client());
});

const limitsOf = async (queue: string) =>
  (await world.finish(lh.queues.list())).find((each) => each.queue === queue)?.limits;

describe('setLimits', () => {
  it.each<Limits>([
    { concurrency: 3 },
    { rate: { count: 10, per: 1_000 } },
    { concurrency: 3, perKey: { concurrency: 1, rate: { count: 2, per: 60_000 } } },
  ])('sets %j, which the list of queues shows', async (limits) => {
    await world.finish(lh.queues.setLimits('mail', { concurrency: 99 }));
    await world.finish(lh.queues.setLimits('mail', limits));
    expect(await limitsOf('mail')).toEqual(limits);
  });

  it('takes durations, and null removes all', async () => {
    await world.finish(lh.queues.setLimits('mail', { rate: { count: 10, per: '1s' } }));
    expect(await limitsOf('mail')).toEqual({ rate: { count: 10, per: 1_000 } });
    await world.finish(lh.queues.setLimits('mail', null));
    expect(await limitsOf('mail')).toBeUndefined();
  });

  it('refuses two rates, unknown options and numbers below one', async () => {
    const rate = { count: 1, per: 1_000 };
    await expect(lh.queues.setLimits('mail', { rate, perKey: { rate } })).rejects.toThrow('two rates');
    await expect(lh.queues.setLimits('mail', { concurency: 1 } as Limits)).rejects.toThrow('concurency');
    const wrong = world.finish(lh.queues.setLimits('mail', { concurrency: 0 }));
    await expect(wrong).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});

describe('the limits of a definition', () => {
  const calls = defineTask<{ customer: string }>('calls', {
    key: ({ customer }) => customer,
    limits: { perKey: { concurrency: 1 } },
  });

  it('are checked where they are written', () => {
    const limits = { rate: { count: 1, per: 'soon' } } as unknown as Limits;
    expect(() => defineTask('calls', { limits })).toThrow('duration');
  });

  it('are applied by apply, and replace those of an earlier deployment', async () => {
    const before = defineTask('calls', { limits: { concurrency: 7 } });
    const plain = defineTask('plain');
    expect(await world.finish(lh.apply([before, plain]))).toEqual([
      { task: 'calls', limits: 'applied' },
      { task: 'plain' },
    ]);
    await world.finish(lh.apply([calls]));
    expect(await limitsOf('calls')).toEqual({ perKey: { concurrency: 1 } });
  });

  it('leave alone what an operator has set, until that is removed', async () => {
    await world.finish(lh.queues.setLimits('calls', { concurrency: 2 }));
    expect(await world.finish(lh.apply([calls]))).toEqual([{ task: 'calls', limits: 'kept' }]);
    expect(await limitsOf('calls')).toEqual({ concurrency: 2 });
    await world.finish(lh.queues.setLimits('calls', null));
    expect(await world.finish(lh.apply([calls]))).toEqual([{ task: 'calls', limits: 'applied' }]);
  });

  it('are applied by a worker before its first lease', async () => {
    for (const customer of ['a', 'a', 'b']) await world.finish(lh.enqueue(calls, { customer }));
    const running: string[] = [];
    const ends: (() => void)[] = [];
    const worker = lh.work(calls, { concurrency: 9 }, ({ key }) => {
      running.push(key!);
      return new Promise<void>((resolve) => ends.push(resolve));
    });
    await world.settle();
    expect(running.sort()).toEqual(['a', 'b']);
    for (const end of ends.splice(0)) end();
    await world.settle();
    expect(running).toEqual(['a', 'b', 'a']);
    for (const end of ends.splice(0)) end();
    await world.finish(worker.drain());
  });
});
