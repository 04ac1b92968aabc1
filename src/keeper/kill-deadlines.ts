/**
 * When a program under a lease must have ended: killed one margin before the client stops relying on the lease, which
 * is one margin before the lease ends; asked to end one grace earlier.
 */
import type { Clock } from '../seams/clock.ts';
import { type Moment, marginMs, momentOf } from '../seams/deadline.ts';
import type { Limits } from './keeper.ts';

/** A share of the TTL: long enough to clean up, short enough to leave time for a second and third renewal. */
const GRACE_SHARE = 1 / 6;
const GRACE_MAX_MS = 5_000;
/** A lost lease may already be held by another client. */
const LOST_GRACE_MAX_MS = 1_000;
const SAME_MS = 5;

/** `remainingMs` asks the lease. The clock is read first, so that a pause in between makes the limits earlier. */
export function limitsOf(clock: Clock, ttlMs: number, remainingMs: () => number): Limits {
  const now = momentOf(clock);
  const killMs = remainingMs() - marginMs(ttlMs);
  const graceMs = Math.min(ttlMs * GRACE_SHARE, GRACE_MAX_MS);
  return {
    terminateBy: later(now, killMs - graceMs),
    killBy: later(now, killMs),
    graceMs: Math.min(graceMs, LOST_GRACE_MAX_MS),
  };
}

/** How often limits are sent: leases are renewed three times per TTL. */
export function tellEveryMs(ttlMs: number): number {
  return Math.min(Math.max(ttlMs / 30, 10), 250);
}

/** Whether a renewal happened between the two. Clocks read one after the other differ slightly without one. */
export function hasMoved(before: Limits, after: Limits): boolean {
  return Math.abs(after.killBy.monotonicMs - before.killBy.monotonicMs) > SAME_MS;
}

function later({ monotonicMs, wallMs }: Moment, ms: number): Moment {
  return { monotonicMs: monotonicMs + ms, wallMs: wallMs + ms };
}
