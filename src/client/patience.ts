/**
 * How often and how long a call is tried again: first at once on every other server, then after 50 ms, then
 * after twice as long each time, until the number of tries or the time since the first failure is used up.
 */
import type { Clock } from '../authority/seams.ts';

export interface RetryOptions {
  /** How often a call is tried on each server, the first time included. 8 unless told. */
  readonly tries?: number;
  /** How long after its first failure a call may be tried again. 5 000 unless told. */
  readonly maxMs?: number;
}

/** What a call has been through. */
export interface Tries {
  failures: number;
  /** When the first of them was. */
  sinceMs: number;
}

const TRIES = 8;
const MAX_MS = 5_000;
const FIRST_DELAY_MS = 50;

export class Patience {
  readonly #clock: Clock;
  readonly #servers: number;
  readonly #tries: number;
  readonly #maxMs: number;

  constructor(clock: Clock, servers: number, { tries = TRIES, maxMs = MAX_MS }: RetryOptions = {}) {
    this.#clock = clock;
    this.#servers = servers;
    this.#tries = tries;
    this.#maxMs = maxMs;
  }

  /** Notes a failure and gives how long to wait before the next try; null when it is over. */
  delayAfter(tries: Tries, retryAfterMs: number): number | null {
    const nowMs = this.#clock.monotonicMs();
    if (tries.failures === 0) tries.sinceMs = nowMs;
    tries.failures += 1;
    const leftMs = tries.sinceMs + this.#maxMs - nowMs;
    const rounds = Math.floor(tries.failures / this.#servers);
    if (rounds >= this.#tries || leftMs <= 0 || retryAfterMs > leftMs) return null;
    if (retryAfterMs > 0) return retryAfterMs;
    if (tries.failures % this.#servers !== 0) return 0;
    return Math.min(FIRST_DELAY_MS * 2 ** (rounds - 1), leftMs);
  }
}
