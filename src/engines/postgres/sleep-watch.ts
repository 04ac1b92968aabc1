/**
 * Detects suspends of this machine. On Linux the monotonic clock stands still during a suspend, so times counted by it
 * are late by as long as the machine slept. The uptime includes suspends but is slow to read: it is read once a second,
 * and when the wall clock has moved ahead of the monotonic clock, as after a suspend.
 */
import type { GuardWorld } from '../../seams/database.ts';

/** More than the error of the uptime, and less than the shortest margin that a holder subtracts from its lease. */
const SLEEP_MS_MIN = 40;
const READ_MS = 1_000;

export class SleepWatch {
  readonly #clock: GuardWorld['clock'];
  #sleptMs: number;
  #wallOffsetMs: number;
  #readMs: number;

  constructor(clock: GuardWorld['clock']) {
    this.#clock = clock;
    // The highest of several readings: one that is too low would make every later one look like a suspend.
    this.#sleptMs = Math.max(this.#sleptInAllMs(), this.#sleptInAllMs(), this.#sleptInAllMs());
    this.#readMs = clock.monotonicMs();
    this.#wallOffsetMs = clock.wallMs() - this.#readMs;
  }

  /** Whether the machine slept since the last call that returned true, or since the start. */
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
    // The order matters: a process paused between the two readings then gets too low a value, never a false suspend.
    return this.#clock.uptimeMs() - this.#clock.monotonicMs();
  }
}
