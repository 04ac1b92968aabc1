// Following the log in process.
import { describe, expect, it } from 'vitest';
import { heardBy } from '../../test/support/heard-by.ts';
import { HeldEngine } from '../../test/support/held-engine.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { memoryEngine } from '../engines/memory/memory-engine.ts';
import { openWith } from '../open.ts';

describe('a follower', () => {
  it('hears of the batch that was on its way to the disk when it came, even if nothing follows', async () => {
    const world = new ManualWorld();
    const engine = new HeldEngine(memoryEngine());
    const lh = await world.finish(openWith(engine, world));
    engine.holding = true;
    const call = lh.call('task.create', { payload: 1 });
    await world.settle();
    const heard = heardBy(lh);
    await world.settle();
    expect(heard).toEqual([]);
    engine.letGo();
    await world.finish(call);
    await world.settle();
    expect(heard).toEqual(['TaskCreated']);
    engine.holding = false;
    await world.finish(lh.close());
  });

  it('keeps the process while it waits, and no longer', async () => {
    const world = new ManualWorld();
    let holds = 0;
    const hold = () => {
      holds += 1;
      const cancel = () => {
        holds -= 1;
      };
      return { cancel };
    };
    const timers = { value: { ...world.timers, hold } };
    const lh = await world.finish(openWith(memoryEngine(), Object.create(world, { timers }) as ManualWorld));
    lh.follow();
    const entries = lh.follow()[Symbol.asyncIterator]();
    expect(holds).toBe(0);
    const next = entries.next();
    await world.settle();
    expect(holds).toBe(1);
    await world.finish(lh.call('task.create', { payload: 1 }));
    expect(await world.finish(next)).toMatchObject({ value: { type: 'TaskCreated' } });
    expect(holds).toBe(0);
    await world.finish(lh.close());
  });
});
