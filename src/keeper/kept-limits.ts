/**
 * When a program that runs under a lease has to be gone, as the keeper is told: killed one margin before the client
 * stops relying on the lease, which is one margin before the lease ends; asked to end one grace earlier.
 */
import type { Clock } from '../seams/clock.ts';
import { type Moment, marginMs, momentOf } from '../seams/deadline.ts';
import type { Limits } from './keeper.ts';

/** Of the time of a lease; long enough to clean up, short enough to leave renewals a second and third chance. */
const GRACE_SHARE = 1 / 6;
const GRACE_MAX_MS = 5_000;
/** A lease that is lost may already be somebody else's. */
const LOST_GRACE_MAX_MS = 1_000;
const SAME_MS = 5;

/** `remainingMs` asks the lease; the clock is read before, so that a pause in between makes the limits earlier. */
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

/** How often the limits are told anew: renewals come three times in the life of a lease. */
export function tellEveryMs(ttlMs: number): number {
  return Math.min(Math.max(ttlMs / 30, 10), 250);
}

/** Whether a renewal lies between the two; reading clocks one after the other makes for small differences. */
export function hasMoved(before: Limits, after: Limits): boolean {
  return Math.abs(after.killBy.monotonicMs - before.killBy.monotonicMs) > SAME_MS;
}

function later({ monotonicMs, wallMs }: Moment, ms: number): Moment {
  return { monotonicMs: monotonicMs + ms, wallMs: wallMs + ms };
}
