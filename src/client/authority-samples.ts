/**
 * Maps the authority's timestamps to the earliest moment they can have occurred by the local clocks. A sample pairs
 * `p`, both local clocks before a request was sent, with `s`, the authority's time when it answered, which was later.
 * So the authority's instant `g` came at `p + (g − s)` at the earliest, less the possible difference in clock rate. A
 * sample is valid in its epoch only and for 10 s. It is dropped when the two local clocks diverge: one of them was set,
 * or stood still.
 */
import type { Clock } from '../seams/clock.ts';
import { type Moment, momentOf } from '../seams/deadline.ts';

/** The maximum age of a sample. While a call waits, samples are exchanged twice in this time. */
const AGE_MAX_MS = 10_000;
export const EXCHANGE_MS = AGE_MAX_MS / 2;
/** The authority's clock may slew by 1 %; the rest is more than local clocks drift. */
const RATE = 0.015;
/** The authority rounds both instants to whole milliseconds. */
const ROUNDING_MS = 1;
/** Local clocks that diverge by this much disagree. */
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

  /** `sent` is a moment before the request that returned `atMs` was sent, or before any earlier request. */
  note(sent: Moment, atMs: number, epoch: number): void {
    const best = this.#usable(epoch);
    const isOld = best === null || sent.monotonicMs - best.sent.monotonicMs > EXCHANGE_MS;
    // For the same instant, a later `sent` means less time spent in transit, so a tighter bound.
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
