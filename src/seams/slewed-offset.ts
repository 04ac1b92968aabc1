/**
 * An offset from the monotonic clock that follows another clock and never jumps there: the time it gives runs at most 1 %
 * faster or slower than the monotonic clock. That is a fifth of the margin that a holder subtracts from its lease
 * (`deadline.ts`), within the 1.5 % of its samples (`client/authority-samples.ts`), and a hundred times the drift of an
 * ordinary clock.
 */
const SHARE = 1 / 100;

export class SlewedOffset {
  #fromMs: number;
  #offsetMs: number;
  #targetMs: number;

  /** Offsets from the monotonic clock: the one to start with, and the one to follow. */
  constructor(monotonicMs: number, offsetMs: number, targetMs: number) {
    this.#fromMs = monotonicMs;
    this.#offsetMs = offsetMs;
    this.#targetMs = targetMs;
  }

  at(monotonicMs: number): number {
    const mostMs = (monotonicMs - this.#fromMs) * SHARE;
    const errorMs = this.#targetMs - this.#offsetMs;
    return this.#offsetMs + Math.min(Math.max(errorMs, -mostMs), mostMs);
  }

  /** Follows another target from now on. */
  aim(monotonicMs: number, targetMs: number): void {
    this.#offsetMs = this.at(monotonicMs);
    this.#fromMs = monotonicMs;
    this.#targetMs = targetMs;
  }

  /** Moves the offset ahead. The target stays, so the excess is slewed back. */
  advance(monotonicMs: number, byMs: number): void {
    this.#offsetMs = this.at(monotonicMs) + byMs;
    this.#fromMs = monotonicMs;
  }
}
