// The timers of the machine, on a clock that is moved by hand.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemTimers } from './system-clock.ts';
import { webWorld } from './web-world.ts';

const DAY_MS = 86_400_000;
/** A timer of Node or of a browser that is set further ahead goes off at once. */
const STEP_MS = 2 ** 31 - 1;

let calls: number;
const call = (): void => {
  calls += 1;
};

beforeEach(() => {
  calls = 0;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('a timer of the system', () => {
  it.each([1, STEP_MS, STEP_MS + 1, 30 * DAY_MS, 3 * STEP_MS])('goes off after %d ms, and once', (ms) => {
    systemTimers.after(ms, call);
    vi.advanceTimersByTime(ms - 1);
    expect(calls).toBe(0);
    vi.advanceTimersByTime(1);
    expect(calls).toBe(1);
    vi.advanceTimersByTime(100 * DAY_MS);
    expect(calls).toBe(1);
  });

  it('is taken back in whichever step it is', () => {
    for (const passedMs of [0, STEP_MS + 1]) {
      const timer = systemTimers.after(2 * STEP_MS, call);
      vi.advanceTimersByTime(passedMs);
      timer.cancel();
    }
    vi.advanceTimersByTime(100 * DAY_MS);
    expect([calls, vi.getTimerCount()]).toEqual([0, 0]);
  });

  it('never goes off when it waits for ever', () => {
    const timer = systemTimers.after(Number.POSITIVE_INFINITY, call);
    vi.advanceTimersByTime(100 * DAY_MS);
    expect(calls).toBe(0);
    timer.cancel();
  });
});

describe('a timer of a browser', () => {
  it('goes off at the end of what it can wait for, and not at once', () => {
    webWorld.timers.after(30 * DAY_MS, call);
    vi.advanceTimersByTime(STEP_MS - 1);
    expect(calls).toBe(0);
    vi.advanceTimersByTime(1);
    expect(calls).toBe(1);
  });
});
