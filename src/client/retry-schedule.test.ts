// How long a server that refused is left alone: as long as it asks for, unless another one may answer instead.
import { describe, expect, it } from 'vitest';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { type RetryLimits, RetrySchedule } from './retry-schedule.ts';

const schedule = (servers: number) => new RetrySchedule(new ManualWorld().clock, servers);

describe('what a server asks for when it refuses', () => {
  it.each([
    ['OVERLOADED', 1, 3_000],
    ['OVERLOADED', 2, 3_000],
    ['UNAVAILABLE', 1, 3_000],
    ['UNAVAILABLE', 2, 0],
    ['NOT_LEADER', 1, 0],
    ['NOT_LEADER', 2, 0],
  ])('with %s, as one of %i, is heeded for %i ms', (code, servers, pauseMs) => {
    expect(schedule(servers).pauseOf(code, 3_000)).toBe(pauseMs);
  });

  it('is no longer than the time there is: then it is over', () => {
    const tries = { failures: 0, sinceMs: 0 };
    expect(schedule(1).delayAfter(tries, 5_000)).toBe(5_000);
    expect(schedule(1).delayAfter({ failures: 0, sinceMs: 0 }, 5_001)).toBe(null);
  });
});

describe('a call that no server answers', () => {
  /** For how long it is retried. */
  const retriedMs = (servers: number, limits: RetryLimits): number => {
    const world = new ManualWorld();
    const retries = new RetrySchedule(world.clock, servers, limits);
    const tries = { failures: 0, sinceMs: 0 };
    const fromMs = world.clock.monotonicMs();
    for (let delayMs = retries.delayAfter(tries, 0); delayMs !== null; delayMs = retries.delayAfter(tries, 0))
      world.monotonicMs += delayMs;
    return world.clock.monotonicMs() - fromMs;
  };

  it.each([1, 3])('is retried for as long as it is told, with %i servers', (servers) => {
    expect(retriedMs(servers, { maxMs: 60_000 })).toBe(60_000);
  });

  it('is retried for five seconds by default, and half a minute where another server may take over', () => {
    expect([retriedMs(1, {}), retriedMs(3, {})]).toEqual([5_000, 30_000]);
  });

  it('is tried as often as it is told', () => {
    expect(retriedMs(1, { tries: 3, maxMs: 60_000 })).toBe(150);
  });
});
