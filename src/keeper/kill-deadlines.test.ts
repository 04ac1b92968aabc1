// When a program has to be gone.
import { describe, expect, it } from 'vitest';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { Deadline, momentOf } from '../seams/deadline.ts';
import { limitsOf } from './kill-deadlines.ts';

describe('the limits of a program', () => {
  it.each([500, 1_000, 15_000, 60_000, 3_600_000])(
    'lie before the deadline of a lease of %i ms, which lies before its end',
    (ttlMs) => {
      const { clock } = new ManualWorld();
      const deadline = new Deadline(momentOf(clock), ttlMs);
      const { terminateBy, killBy } = limitsOf(clock, ttlMs, () => deadline.remainingMs(clock));
      expect(terminateBy.monotonicMs).toBeLessThan(killBy.monotonicMs);
      expect(killBy.monotonicMs).toBeLessThan(deadline.monotonicMs);
      expect(deadline.monotonicMs).toBeLessThan(clock.monotonicMs() + ttlMs);
      // Renewals are sent after a third; the program must not be bothered before they had a second chance.
      expect(terminateBy.monotonicMs - clock.monotonicMs()).toBeGreaterThan(ttlMs / 3);
    },
  );

  it.each([
    [15_000, 11_000, 13_500, 1_000],
    [30_000, 22_000, 27_000, 1_000],
    [60_000, 49_000, 54_000, 1_000],
    [3_000, 2_200, 2_700, 500],
  ])('are those that docs/cli.md tells of a --ttl of %i ms', (ttlMs, terminateMs, killMs, graceMs) => {
    const { clock } = new ManualWorld();
    const renewed = new Deadline(momentOf(clock), ttlMs);
    const { terminateBy, killBy, ...rest } = limitsOf(clock, ttlMs, () => renewed.remainingMs(clock));
    const lasts = [terminateBy, killBy].map(({ monotonicMs }) => monotonicMs - clock.monotonicMs());
    expect([...lasts, rest.graceMs]).toEqual([terminateMs, killMs, graceMs]);
  });

  it('are earlier, not later, when we were paused between looking at the clock and asking the lease', () => {
    const world = new ManualWorld();
    const { clock } = world;
    const deadline = new Deadline(momentOf(clock), 15_000);
    const prompt = limitsOf(clock, 15_000, () => deadline.remainingMs(clock));
    const paused = limitsOf(clock, 15_000, () => {
      world.monotonicMs += 5_000;
      world.wallMs += 5_000;
      return deadline.remainingMs(clock);
    });
    expect(paused.killBy.monotonicMs).toBeLessThan(prompt.killBy.monotonicMs);
  });
});
