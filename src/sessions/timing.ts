/**
 * The durations of an orchestrator, and the deadlines of its pipelines.
 *
 *   guard   sent ──heartbeat──▶ renewed ──▶ … ──no answer when the next is due──▶ stop, dead one second before its end
 *   lease   asked to end one grace before this client stops relying on it, and killed then
 *
 * The earlier one counts. Everything is measured from before the request was sent that acquired or renewed the lease,
 * so it is never later than the authority's own expiry.
 */

import type { Limits } from '../keeper/keeper.ts';
import { LIMITS } from '../protocol/limits.ts';
import { type Moment, marginMs } from '../seams/deadline.ts';

export interface Timing {
  readonly guardTtlMs: number;
  readonly heartbeatMs: number;
  /** TTL of the service and slot leases of a session. */
  readonly leaseTtlMs: number;
  /** Between SIGTERM and SIGKILL when a session is stopped. */
  readonly graceMs: number;
}

/** A lost lease may soon be held by another client: enough for a program to close its files, and no more. */
export const LOST_GRACE_MS = 500;

const HEARTBEAT_MIN_MS = 100;
const HEARTBEATS_MIN = 3;
/** Pipelines are dead this long before the guard expires; a third of a very short guard. */
const GUARD_LEAD_MS = 1_000;
const GUARD_LEAD_SHARE = 1 / 3;
const GUARD_SLACK_MS = 100;
const GRACE_SHARE_MAX = 1 / 3;

/** Why these durations cannot work, as a sentence; null when they can. */
export function wrongTiming({ guardTtlMs, heartbeatMs, leaseTtlMs, graceMs }: Timing): string | null {
  if (heartbeatMs < HEARTBEAT_MIN_MS) return `The heartbeat must be at least ${HEARTBEAT_MIN_MS} ms.`;
  for (const [what, ttlMs] of [
    ['guard', guardTtlMs],
    ['leases of sessions', leaseTtlMs],
  ] as const) {
    if (ttlMs < HEARTBEATS_MIN * heartbeatMs) {
      return `The TTL of the ${what} (${ttlMs} ms) must be at least three heartbeats (${HEARTBEATS_MIN * heartbeatMs} ms).`;
    }
    if (ttlMs > LIMITS.ttlMaxMs) return `The TTL of the ${what} may be at most ${LIMITS.ttlMaxMs} ms.`;
  }
  return graceMs > LIMITS.ttlMaxMs ? `The grace may be at most ${LIMITS.ttlMaxMs} ms.` : null;
}

/** Until when a lease requested at `sent`, with `lastsMs` left then, allows pipelines to run. */
export interface Span {
  readonly terminateBy: Moment;
  readonly killBy: Moment;
}

export function leaseSpan(sent: Moment, lastsMs: number, { graceMs }: Timing): Span {
  const killMs = lastsMs - marginMs(lastsMs);
  return {
    terminateBy: later(sent, killMs - Math.min(graceMs, lastsMs * GRACE_SHARE_MAX)),
    killBy: later(sent, killMs),
  };
}

/** A renewal answered when the next is due is in time, so no pipeline is stopped before that moment. */
export function guardSpan(sent: Moment, lastsMs: number, { heartbeatMs, graceMs }: Timing): Span {
  const leadMs = Math.min(GUARD_LEAD_MS, lastsMs * GUARD_LEAD_SHARE);
  const killMs = lastsMs - leadMs - Math.min(GUARD_SLACK_MS, heartbeatMs / 10);
  const terminateMs = Math.min(killMs, Math.max(killMs - graceMs, 2 * heartbeatMs));
  return { terminateBy: later(sent, terminateMs), killBy: later(sent, killMs) };
}

export function limitsWithin(guard: Span, lease: Span): Limits {
  return {
    terminateBy: sooner(guard.terminateBy, lease.terminateBy),
    killBy: sooner(guard.killBy, lease.killBy),
    graceMs: LOST_GRACE_MS,
  };
}

function sooner(a: Moment, b: Moment): Moment {
  return { monotonicMs: Math.min(a.monotonicMs, b.monotonicMs), wallMs: Math.min(a.wallMs, b.wallMs) };
}

function later({ monotonicMs, wallMs }: Moment, ms: number): Moment {
  return { monotonicMs: monotonicMs + ms, wallMs: wallMs + ms };
}
