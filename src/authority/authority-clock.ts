/**
 * The authority's time: a monotonic clock anchored at the start to wall time, or the clock that all writers of the log
 * share, and never behind the newest time in the log. A wall clock that is set back or forward while we run changes
 * nothing; one that was set back across a restart makes time continue from the end of the log. A shared clock is followed
 * all the time.
 */
import type { Clock } from '../seams/clock.ts';

/** The clock of a log: null when the machine's own will do, and then always. Never behind the log, and never going back. */
export interface SharedClock {
  nowMs(): number | null;
}

export class AuthorityClock {
  private readonly clock: Clock;
  private readonly shared: SharedClock | null;
  private readonly anchorMs: number;

  constructor(clock: Clock, newestInLogMs: number, shared: SharedClock) {
    this.clock = clock;
    this.shared = shared.nowMs() === null ? null : shared;
    this.anchorMs = Math.max(clock.wallMs(), newestInLogMs) - clock.monotonicMs();
  }

  nowMs(): number {
    if (this.shared !== null) return Math.floor(this.shared.nowMs()!);
    return Math.floor(this.anchorMs + this.clock.monotonicMs());
  }
}
