/**
 * The authority's time: a monotonic clock anchored at the start to wall time, or to the clock that all writers of
 * the log share, and never behind the newest time in the log. A wall clock that is set back or forward while we run
 * changes nothing; one that was set back across a restart makes time go on from the end of the log.
 */
import type { Clock } from './seams.ts';

export class AuthorityClock {
  private readonly clock: Clock;
  private readonly anchorMs: number;

  /** `sharedMs` is the time by the clock of the log; null when the machine's own will do. */
  constructor(clock: Clock, newestInLogMs: number, sharedMs: number | null = null) {
    this.clock = clock;
    this.anchorMs = Math.max(sharedMs ?? clock.wallMs(), newestInLogMs) - clock.monotonicMs();
  }

  nowMs(): number {
    return Math.floor(this.anchorMs + this.clock.monotonicMs());
  }
}
