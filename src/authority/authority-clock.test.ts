// The authority's time, from the clock of its machine or from one that the log has, moved by hand.
import { beforeEach, describe, expect, it } from 'vitest';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { AuthorityClock } from './authority-clock.ts';

const NONE = { nowMs: () => null };

let world: ManualWorld;

/** Time passes, and both clocks say so. */
function pass(ms: number): void {
  world.monotonicMs += ms;
  world.wallMs += ms;
}

beforeEach(() => {
  world = new ManualWorld();
});

describe('time without a clock of the log', () => {
  it('starts with the wall clock, or at the end of the log if that is later, and counts by itself', () => {
    const plain = new AuthorityClock(world.clock, 0, NONE);
    const ahead = new AuthorityClock(world.clock, world.wallMs + 5_000, NONE);
    const fromMs = world.wallMs;
    pass(1_000);
    expect([plain.nowMs(), ahead.nowMs()]).toEqual([fromMs + 1_000, fromMs + 5_990]);
  });

  it.each([1, -1])(
    'follows a wall clock that was set by a hundredth of the time that passes (%i)',
    (sign) => {
      const clock = new AuthorityClock(world.clock, 0, NONE);
      const fromMs = world.wallMs;
      world.setWall(fromMs + sign * 60_000);
      expect(clock.nowMs()).toBe(fromMs);
      pass(100_000);
      expect(clock.nowMs()).toBe(fromMs + 100_000 + sign * 1_000);
      pass(10_000_000);
      expect([clock.nowMs(), clock.aheadMs()]).toEqual([world.wallMs, 0]);
    },
  );

  it('has counted a suspend at the next reading, but for a second that the kernel may be wrong by', () => {
    const clock = new AuthorityClock(world.clock, 0, NONE);
    const fromMs = world.wallMs;
    world.suspend(8 * 3_600_000);
    expect(clock.nowMs()).toBe(fromMs + 8 * 3_600_000 - 1_000);
    pass(100_000);
    expect(clock.aheadMs()).toBe(0);
  });

  it('counts no suspend that a wall clock set back has hidden, once leases may have been granted since', () => {
    const clock = new AuthorityClock(world.clock, 0, NONE);
    const fromMs = world.wallMs;
    world.suspend(3_600_000);
    world.setWall(fromMs);
    expect(clock.nowMs()).toBe(fromMs);
    pass(1_000);
    clock.nowMs();
    world.setWall(world.wallMs + 3_600_000);
    expect(clock.nowMs()).toBe(fromMs + 1_000);
  });

  it('takes a process that was stopped for no suspend, wherever it was stopped', () => {
    for (const place of [0, 1, 2, 3, 4]) {
      const stopped = new ManualWorld();
      let readings = Number.NEGATIVE_INFINITY;
      const stop = (): void => {
        if (readings++ === place) {
          stopped.monotonicMs += 3_600_000;
          stopped.wallMs += 3_600_000;
        }
      };
      const stoppable = (read: () => number) => () => {
        stop();
        return read();
      };
      const { wallMs, monotonicMs, uptimeMs } = stopped.clock;
      const clocks = {
        wallMs: stoppable(wallMs),
        monotonicMs: stoppable(monotonicMs),
        uptimeMs: stoppable(uptimeMs),
      };
      const clock = new AuthorityClock(clocks, 0, NONE);
      const fromMs = stopped.wallMs;
      // The uptime is read by then.
      stopped.monotonicMs += 2_000;
      stopped.wallMs += 2_000;
      readings = 0;
      // It may slew by one wrong look, but never jumps.
      for (let count = 0; count < 5; count++) {
        expect(clock.nowMs()).toBeLessThanOrEqual(stopped.wallMs + 36_000);
      }
      expect(stopped.wallMs).toBe(fromMs + 3_602_000);
    }
  });
});

describe('time by the clock of the log', () => {
  const FROM_MS = 1_700_000_000_000;
  let sharedMs: number;
  const shared = { nowMs: () => sharedMs };

  beforeEach(() => {
    sharedMs = FROM_MS;
  });

  it('follows it all the time, whatever the clock of the machine does', () => {
    const clock = new AuthorityClock(world.clock, FROM_MS - 1, shared);
    pass(1_000);
    sharedMs += 1_007;
    world.setWall(0);
    expect(clock.nowMs()).toBe(FROM_MS + 1_007);
  });
});
