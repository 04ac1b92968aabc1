// A pause ends with its time or with a signal, and many of them may hang on one signal.
import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { sleep } from './sleep.ts';

describe('a pause', () => {
  it('lasts as long as it is told, and keeps the process alive meanwhile', async () => {
    const world = new ManualWorld();
    let isOver = false;
    void sleep(world.timers, 100).then(() => {
      isOver = true;
    });
    await world.advance(99);
    expect([isOver, world.holds]).toEqual([false, 1]);
    await world.advance(1);
    expect([isOver, world.holds]).toEqual([true, 0]);
  });

  it('shares one listener with all others on the same signal, and leaves none behind', async () => {
    const world = new ManualWorld();
    const ending = new AbortController();
    const listeners = () => getEventListeners(ending.signal, 'abort').length;
    const pauses = Array.from({ length: 50 }, (_, index) => sleep(world.timers, 100 + index, ending.signal));
    expect(listeners()).toBe(1);
    await world.advance(100);
    expect(listeners()).toBe(1);
    ending.abort();
    await Promise.all(pauses);
    expect([listeners(), world.holds]).toEqual([0, 0]);
    const other = new AbortController();
    const last = sleep(world.timers, 10, other.signal);
    await world.advance(10);
    await last;
    expect(getEventListeners(other.signal, 'abort')).toEqual([]);
  });
});
