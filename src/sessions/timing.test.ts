// When pipelines have to be gone.
import { describe, expect, it } from 'vitest';
import { guardSpan, leaseSpan, limitsWithin, wrongTiming } from './timing.ts';

const SENT = { monotonicMs: 0, wallMs: 1_000_000 };
const TIMING = { guardTtlMs: 15_000, heartbeatMs: 5_000, leaseTtlMs: 30_000, graceMs: 5_000 };

describe('the times of an orchestrator', () => {
  it.each([
    ['a guard under three heartbeats', { guardTtlMs: 14_999 }, /guard .*three heartbeats/],
    ['leases under three heartbeats', { leaseTtlMs: 14_999 }, /leases of sessions .*three heartbeats/],
    ['a heartbeat that is too quick', { heartbeatMs: 50 }, /heartbeat/],
    ['leases that last too long', { leaseTtlMs: 1e12 }, /at most/],
  ])('may not have %s', (_what, change, says) => {
    expect(wrongTiming({ ...TIMING, ...change })).toMatch(says);
  });

  it('may be what they are by default', () => {
    expect(wrongTiming(TIMING)).toBeNull();
  });
});

describe.each([
  ['by default', 15_000, 5_000, 5_000],
  ['with the shortest guard there may be', 3_000, 1_000, 5_000],
  ['with quick heartbeats', 15_000, 500, 1_000],
  ['of a test', 900, 300, 300],
])('for the sake of the guard, %s, pipelines', (_which, guardTtlMs, heartbeatMs, graceMs) => {
  const timing = { guardTtlMs, heartbeatMs, leaseTtlMs: 30_000, graceMs };
  const { terminateBy, killBy } = guardSpan(SENT, guardTtlMs, timing);

  it('are dead a second before it ends, or a third of it', () => {
    expect(killBy.monotonicMs).toBeLessThan(guardTtlMs - Math.min(1_000, guardTtlMs / 3));
  });

  it('are left alone while the next renewal may still be answered in time', () => {
    const untilMs = 2 * heartbeatMs - heartbeatMs / 10;
    expect(terminateBy.monotonicMs).toBeGreaterThanOrEqual(untilMs);
    expect(terminateBy.monotonicMs).toBeLessThanOrEqual(killBy.monotonicMs);
  });

  it('go by both clocks', () => {
    expect(killBy.wallMs - SENT.wallMs).toBe(killBy.monotonicMs);
  });
});

describe('for the sake of their own leases pipelines', () => {
  it('are asked to end one grace before they are killed, which is before the lease ends', () => {
    const { terminateBy, killBy } = leaseSpan(SENT, 30_000, TIMING);
    expect(killBy.monotonicMs).toBeLessThan(30_000);
    expect(killBy.monotonicMs - terminateBy.monotonicMs).toBe(5_000);
  });

  it('are not asked to end before a renewal had its chance, however long the grace', () => {
    const { terminateBy } = leaseSpan(SENT, 3_000, { ...TIMING, heartbeatMs: 1_000 });
    expect(terminateBy.monotonicMs).toBeGreaterThan(1_500);
  });
});

it('whichever comes first is the limit', () => {
  const guard = guardSpan(SENT, 15_000, TIMING);
  const lease = leaseSpan(SENT, 30_000, TIMING);
  expect(limitsWithin(guard, lease)).toMatchObject(guard);
  const late = { monotonicMs: 60_000, wallMs: 1_060_000 };
  expect(limitsWithin(guardSpan(late, 15_000, TIMING), lease)).toMatchObject(lease);
});
