/**
 * Until when a program may rely on a lease that a database keeps. It counts from before the statement that won or
 * renewed the lease was sent, and is over as soon as the monotonic or the wall clock says so: neither a clock that was
 * set back nor one that stood still in suspend can stretch it. The clocks only measure; the instants are the database's.
 */
export interface Clock {
  /** Milliseconds since 1970 by the wall clock, which may jump. */
  wallMs(): number;
  /** Milliseconds since some moment; never jumps, stands still in suspend on some systems. */
  monotonicMs(): number;
}

export interface Timer {
  cancel(): void;
}

export interface Timers {
  /** Calls back after at least `ms`; does not keep the process alive by itself. */
  after(ms: number, call: () => void): Timer;
  /** Keeps the process alive until cancelled. */
  hold(): Timer;
}

/** Time, as a lease sees it. */
export interface LeaseWorld {
  readonly clock: Clock;
  readonly timers: Timers;
}

/** For clocks that run at different speeds, and for the way from a check to its effect. */
const MARGIN_SHARE = 1 / 20;

export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export function momentOf(clock: Clock): Moment {
  return { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
}

export class Deadline {
  readonly sent: Moment;
  private readonly usableMs: number;

  /** `lastsMs` is what the database said was left, and it said so after the statement was sent. */
  constructor(sent: Moment, lastsMs: number) {
    this.sent = sent;
    this.usableMs = lastsMs * (1 - MARGIN_SHARE);
  }

  /** What is left by the clock that says less; zero or below means over. */
  remainingMs(clock: Clock): number {
    const goneMs = Math.max(clock.monotonicMs() - this.sent.monotonicMs, clock.wallMs() - this.sent.wallMs);
    return this.usableMs - goneMs;
  }
}

export async function pause({ timers }: LeaseWorld, ms: number): Promise<void> {
  const hold = timers.hold();
  await new Promise<void>((resolve) => {
    timers.after(ms, resolve);
  });
  hold.cancel();
}
