/**
 * The moment until which a client may rely on a lease. It counts from before the request that acquired or last renewed
 * the lease was sent, so it never ends after the authority's expiry. It is over as soon as either clock says so: a wall
 * clock that is set back cannot extend it, nor can a monotonic clock that stopped while the machine slept.
 *
 * A margin is subtracted for clock drift and for the time between a check and its effect: a twentieth of the TTL, at
 * least 50 ms, but at most a quarter, so that short leases stay usable.
 */
import type { Clock } from './clock.ts';

const MARGIN_SHARE = 1 / 20;
const MARGIN_MIN_MS = 50;
const MARGIN_SHARE_MAX = 1 / 4;

export function marginMs(lastsMs: number): number {
  return Math.min(Math.max(lastsMs * MARGIN_SHARE, MARGIN_MIN_MS), lastsMs * MARGIN_SHARE_MAX);
}

/** One moment by both clocks. */
export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export function momentOf(clock: Clock): Moment {
  return { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
}

export class Deadline {
  /** Before the request that this deadline counts from was sent. */
  readonly sentMs: number;
  readonly monotonicMs: number;
  readonly wallMs: number;

  /** `lastsMs` is the remaining time when the authority decided, which was after the request was sent. */
  constructor(sent: Moment, lastsMs: number) {
    const usableMs = lastsMs - marginMs(lastsMs);
    this.sentMs = sent.monotonicMs;
    this.monotonicMs = sent.monotonicMs + usableMs;
    this.wallMs = sent.wallMs + usableMs;
  }

  /** The remaining time by the clock that gives less. Zero or below: over. */
  remainingMs(clock: Clock): number {
    return Math.min(this.monotonicMs - clock.monotonicMs(), this.wallMs - clock.wallMs());
  }

  isOver(clock: Clock): boolean {
    return this.remainingMs(clock) <= 0;
  }
}
