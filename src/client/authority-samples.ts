/**
 * When the authority's instants came by our own clocks, at the earliest. A sample is an exchange: both local clocks before the
 * request was sent, and the authority's time when it answered, which was later. So the authority's instant `g` came at
 * `p + (g − s)` at the earliest, less what the clocks may differ in rate. A sample counts in its epoch only, is used for
 * 10 s, and is dropped when the two local clocks have moved apart: then one of them was set, or stood still.
 */
import type { Clock } from '../seams/clock.ts';
import { type Moment, momentOf } from '../seams/deadline.ts';

/** How old a sample may be; while anything waits, one is exchanged twice in this time. */
const AGE_MAX_MS = 10_000;
export const EXCHANGE_MS = AGE_MAX_MS / 2;
/** The authority may slew by 1 %, and local clocks drift by less than the rest. */
const RATE = 0.015;
/** The authority's time is whole milliseconds, at both ends. */
const ROUNDING_MS = 1;
/** Local clocks further apart than that disagree. */
const APART_MS = 50;

interface Sample {
  readonly sent: Moment;
  readonly atMs: number;
  readonly epoch: number;
}

export class AuthoritySamples {
  readonly #clock: Clock;
  #best: Sample | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `sent`: before the request was sent that this time came with, or before any earlier one. */
  note(sent: Moment, atMs: number, epoch: number): void {
    const best = this.#usable(epoch);
    const isOld = best === null || sent.monotonicMs - best.sent.monotonicMs > EXCHANGE_MS;
    // The later it was sent before the same instant, the less time was lost on the way.
    if (isOld || sent.monotonicMs - atMs >= best.sent.monotonicMs - best.atMs)
      this.#best = { sent, atMs, epoch };
  }

  /** The earliest moment at which the authority's clock can have shown this instant of the epoch; null when unknown. */
  earliest(atMs: number, epoch: number): Moment | null {
    const sample = this.#usable(epoch);
    if (sample === null) return null;
    const passedMs = atMs - sample.atMs;
    const earliestMs = passedMs - RATE * Math.abs(passedMs) - ROUNDING_MS;
    const { monotonicMs, wallMs } = sample.sent;
    return { monotonicMs: monotonicMs + earliestMs, wallMs: wallMs + earliestMs };
  }

  #usable(epoch: number): Sample | null {
    const sample = this.#best;
    if (sample === null || sample.epoch !== epoch) return null;
    const now = momentOf(this.#clock);
    const agedMs = now.monotonicMs - sample.sent.monotonicMs;
    const agedByWallMs = now.wallMs - sample.sent.wallMs;
    const isGood =
      agedMs <= AGE_MAX_MS && agedByWallMs <= AGE_MAX_MS && Math.abs(agedMs - agedByWallMs) < APART_MS;
    if (!isGood) this.#best = null;
    return isGood ? sample : null;
  }
}
