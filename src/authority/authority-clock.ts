/**
 * The authority's time: a monotonic clock anchored at the start to wall time, or the clock that all writers of the log
 * share, and never behind the newest time in the log. A wall clock that is set back or forward while we run changes
 * nothing; one that was set back across a restart makes time go on from the end of the log.
 *
 * A shared clock is followed all the time. Where the log was ahead of it, so are we, by less and less: time runs a
 * hundredth slower until the lead is used up, so it never goes back.
 */
import type { Clock } from './seams.ts';

/** The clock of a log: null when the machine's own will do, and then always. It never goes back. */
export interface SharedClock {
  nowMs(): number | null;
}

const LEAD_LOST_SHARE = 1 / 100;

export class AuthorityClock {
  private readonly clock: Clock;
  private readonly shared: SharedClock | null;
  private readonly anchorMs: number;
  /** How far the log was ahead of the shared clock, at this monotonic time. */
  private readonly leadMs: number;
  private readonly fromMs: number;

  constructor(clock: Clock, newestInLogMs: number, shared: SharedClock) {
    this.clock = clock;
    const sharedMs = shared.nowMs();
    this.shared = sharedMs === null ? null : shared;
    this.fromMs = clock.monotonicMs();
    this.leadMs = Math.max(0, newestInLogMs - (sharedMs ?? newestInLogMs));
    this.anchorMs = Math.max(clock.wallMs(), newestInLogMs) - this.fromMs;
  }

  nowMs(): number {
    if (this.shared !== null) return Math.floor(this.shared.nowMs()! + this.restOfLeadMs());
    return Math.floor(this.anchorMs + this.clock.monotonicMs());
  }

  private restOfLeadMs(): number {
    const goneMs = this.clock.monotonicMs() - this.fromMs;
    return Math.max(0, this.leadMs - goneMs * LEAD_LOST_SHARE);
  }
}
