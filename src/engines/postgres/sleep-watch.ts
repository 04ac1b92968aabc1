/**
 * Whether this machine was suspended. On Linux its monotonic clock stands still meanwhile, so a time that it counts is late
 * by as long as the machine slept. The uptime, which counts suspends, is slow to read: it is read when the wall clock has
 * moved ahead of the monotonic one, as it does after a suspend, and once a second.
 */
import type { GuardWorld } from '../../seams/database.ts';

/** More than the uptime is wrong by, and less than the shortest margin that a holder takes off its lease. */
const SLEEP_MS_MIN = 40;
const READ_MS = 1_000;

export class SleepWatch {
  readonly #clock: GuardWorld['clock'];
  #sleptMs: number;
  #wallOffsetMs: number;
  #readMs: number;

  constructor(clock: GuardWorld['clock']) {
    this.#clock = clock;
    // The highest of several: one that was too low would make every later one look like a sleep.
    this.#sleptMs = Math.max(this.#sleptInAllMs(), this.#sleptInAllMs(), this.#sleptInAllMs());
    this.#readMs = clock.monotonicMs();
    this.#wallOffsetMs = clock.wallMs() - this.#readMs;
  }

  /** Whether it slept since it last said so, or since the beginning. */
  hasSlept(): boolean {
    const monotonicMs = this.#clock.monotonicMs();
    const wallOffsetMs = this.#clock.wallMs() - monotonicMs;
    const isAhead = wallOffsetMs - this.#wallOffsetMs >= SLEEP_MS_MIN;
    this.#wallOffsetMs = wallOffsetMs;
    if (!isAhead && monotonicMs - this.#readMs < READ_MS) return false;
    this.#readMs = monotonicMs;
    const sleptMs = this.#sleptInAllMs();
    if (sleptMs - this.#sleptMs < SLEEP_MS_MIN) return false;
    this.#sleptMs = sleptMs;
    return true;
  }

  #sleptInAllMs(): number {
    // In this order: a process that is stopped between the two readings finds too little, and never a sleep that was none.
    return this.#clock.uptimeMs() - this.#clock.monotonicMs();
  }
}
