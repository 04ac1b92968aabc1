/**
 * The authority's time: a monotonic clock anchored to wall time at the start, never behind the newest
 * time in the log. A wall clock that is set back or forward while we run changes nothing; one that was
 * set back across a restart makes time stand still at the log's end until it has caught up.
 */
import type { Clock } from './seams.ts';

export class AuthorityClock {
  private readonly clock: Clock;
  private readonly anchorMs: number;

  constructor(clock: Clock, newestInLogMs: number) {
    this.clock = clock;
    this.anchorMs = Math.max(clock.wallMs(), newestInLogMs) - clock.monotonicMs();
  }

  nowMs(): number {
    return Math.floor(this.anchorMs + this.clock.monotonicMs());
  }
}
