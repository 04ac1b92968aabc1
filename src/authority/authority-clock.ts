/**
 * The authority's time: a monotonic clock that starts with the wall clock, or with the newest time in the log if that is
 * later, counts suspends, and follows the wall clock by slewing at most 1 %. A log that several writers share brings its
 * own clock instead.
 *
 * Between any two readings it gains at most 1 % on real time, so no lease ends before its holder stops relying on it
 * (`seams/deadline.ts`). Counting a suspend keeps to that: the time was real, and nothing was decided in it. Setting the wall
 * clock only makes time slew. The counted suspend is bounded by two clocks that the kernel moves together when the machine
 * wakes up (the uptime, and the wall clock since the last reading), less the error of the kernel.
 */
import type { UptimeClock } from '../seams/clock.ts';
import { SlewedOffset } from '../seams/slewed-offset.ts';

/** The clock of a log: always null when the clock of the machine is used. Never behind the log; never goes back. */
export interface SharedClock {
  nowMs(): number | null;
}

/** The resolution of the wall clock; smaller differences are ignored. */
const WALL_RESOLUTION_MS = 1;
/** The kernel may measure a suspend by a hardware clock with a resolution of one second. What is not counted is slewed. */
const SUSPEND_ERROR_MS = 1_000;
/**
 * The uptime is slow to read, so it is read when the wall clock has moved ahead, and at this interval. The interval keeps a
 * suspend that was hidden by setting the wall clock back from being counted later, when leases have been granted since.
 */
const UPTIME_READ_MS = 1_000;

export class AuthorityClock {
  private readonly clock: UptimeClock;
  private readonly shared: SharedClock | null;
  private readonly offset: SlewedOffset;
  /** The wall clock less the monotonic clock, at the last reading. */
  private wallOffsetMs: number;
  private suspendedMs: number;
  private uptimeReadMs: number;

  constructor(clock: UptimeClock, newestInLogMs: number, shared: SharedClock) {
    this.clock = clock;
    this.shared = shared.nowMs() === null ? null : shared;
    const monotonicMs = clock.monotonicMs();
    this.wallOffsetMs = clock.wallMs() - monotonicMs;
    const startMs = Math.max(clock.wallMs(), newestInLogMs);
    this.offset = new SlewedOffset(monotonicMs, startMs - monotonicMs, this.wallOffsetMs);
    this.suspendedMs = clock.uptimeMs() - clock.monotonicMs();
    this.uptimeReadMs = monotonicMs;
  }

  nowMs(): number {
    if (this.shared !== null) return Math.floor(this.shared.nowMs()!);
    const monotonicMs = this.clock.monotonicMs();
    const wallOffsetMs = this.clock.wallMs() - monotonicMs;
    const gainedMs = wallOffsetMs - this.wallOffsetMs;
    if (gainedMs > SUSPEND_ERROR_MS || monotonicMs - this.uptimeReadMs >= UPTIME_READ_MS) {
      this.countSuspend(monotonicMs, gainedMs);
    }
    this.wallOffsetMs = wallOffsetMs;
    const offsetMs = this.offset.at(monotonicMs);
    const isOff = Math.abs(wallOffsetMs - offsetMs) >= WALL_RESOLUTION_MS;
    this.offset.aim(monotonicMs, isOff ? wallOffsetMs : offsetMs);
    return Math.floor(monotonicMs + offsetMs);
  }

  /** How far this time is ahead of the wall clock of the machine; negative when it is behind. */
  aheadMs(): number {
    return this.nowMs() - Math.floor(this.clock.wallMs());
  }

  private countSuspend(monotonicMs: number, wallGainedMs: number): void {
    // In this order: a pause of the process between the two readings must not count as a suspend.
    const suspendedMs = this.clock.uptimeMs() - this.clock.monotonicMs();
    const countedMs = Math.min(suspendedMs - this.suspendedMs, wallGainedMs) - SUSPEND_ERROR_MS;
    if (countedMs > 0) this.offset.advance(monotonicMs, countedMs);
    this.suspendedMs = suspendedMs;
    this.uptimeReadMs = monotonicMs;
  }
}
