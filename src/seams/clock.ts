/**
 * The world, as the authority sees it. The real one is in `src/world`, the simulated ones in the tests;
 * nothing else here may know what time it is or wait for anything.
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
  /** Calls back once everything that is ready to run has run. */
  soon(call: () => void): void;
  /** Keeps the process alive until cancelled: somebody waits for an answer that only time can bring. */
  hold(): Timer;
}
