// How long a server that refused is left alone: as long as it asks for, unless another one may answer instead.
import { describe, expect, it } from 'vitest';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { RetrySchedule } from './retry-schedule.ts';

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
