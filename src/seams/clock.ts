/**
 * Clocks, timers and ids: a seam. `src/world` has the real ones, tests have simulated ones. No other code reads the
 * time or waits.
 */
export interface Clock {
  /** Milliseconds since 1970 by the wall clock, which may jump. */
  wallMs(): number;
  /** Milliseconds since an arbitrary moment. Never jumps; on some systems it stops during suspend. */
  monotonicMs(): number;
}

/** The clocks of a machine that an authority runs on. */
export interface UptimeClock extends Clock {
  /** Milliseconds since an arbitrary moment, suspends included. May be coarse (10 ms) and slow to read. */
  uptimeMs(): number;
}

export interface Timer {
  cancel(): void;
}

export interface Timers {
  /** Calls back after at least `ms`. Does not keep the process alive. */
  after(ms: number, call: () => void): Timer;
  /** Calls back after everything that is ready has run. */
  soon(call: () => void): void;
  /** Keeps the process alive until cancelled, for a caller that waits for a timer. */
  hold(): Timer;
}
