/**
 * Until when the client itself may rely on a lease. It counts from before the request that won or last renewed
 * the lease was sent, so it never ends after the authority's; and it is over as soon as the monotonic or the wall
 * clock says so: a wall clock that is set back cannot stretch it, and a monotonic clock that stood still while
 * the machine slept cannot either.
 *
 * A margin is taken off for clocks that run at different speeds and for the way from a check to its effect: a
 * twentieth of the time, at least 50 ms, but never more than a quarter, so that short leases can be used at all.
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
  /** Before the request was sent that this deadline counts from. */
  readonly sentMs: number;
  readonly monotonicMs: number;
  readonly wallMs: number;

  /** `lastsMs` is what the authority said was left when it decided, which was after the request was sent. */
  constructor(sent: Moment, lastsMs: number) {
    const usableMs = lastsMs - marginMs(lastsMs);
    this.sentMs = sent.monotonicMs;
    this.monotonicMs = sent.monotonicMs + usableMs;
    this.wallMs = sent.wallMs + usableMs;
  }

  /** What is left by the clock that says less; zero or below means over. */
  remainingMs(clock: Clock): number {
    return Math.min(this.monotonicMs - clock.monotonicMs(), this.wallMs - clock.wallMs());
  }

  isOver(clock: Clock): boolean {
    return this.remainingMs(clock) <= 0;
  }
}
