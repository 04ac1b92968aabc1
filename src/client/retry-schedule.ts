/**
 * How often and how long a call is retried: first at once on every other server, then after 50 ms, doubling each time,
 * until the tries or the time since the first failure are used up. With several servers one of them takes over
 * eventually, so calls are retried longer and at shorter intervals.
 */
import type { Clock } from '../seams/clock.ts';
import type { Duration } from './durations.ts';

export interface RetryOptions {
  /**
   * The maximum number of attempts per server, including the first. Default 8, 100 with several servers; no limit when `within`
   * is given.
   */
  readonly tries?: number;
  /** How long a call may be retried after its first failure. Default '5s'; '30s' with several servers. */
  readonly within?: Duration;
  /** @deprecated since 0.2, gone in 0.3: `within`. */
  readonly maxMs?: number;
}

/** The same with durations in milliseconds. */
export interface RetryLimits {
  readonly tries?: number;
  readonly maxMs?: number;
  /** The longest pause between two tries. */
  readonly delayMaxMs?: number;
}

/** The failures of a call so far. */
export interface Tries {
  failures: number;
  /** When the first failure was. */
  sinceMs: number;
  /** Whether one of them was a timeout. */
  wasLate?: boolean;
}

/** For one server and for several, whose guard runs out within 15 s by default. */
const TRIES = [8, 100];
const MAX_MS = [5_000, 30_000];
const FIRST_DELAY_MS = 50;
const DELAY_MAX_MS = [5_000, 400];
const LAST_TRY_MS = 1_000;

export class RetrySchedule {
  readonly #clock: Clock;
  readonly #servers: number;
  readonly #tries: number;
  readonly #maxMs: number;
  /** The longest pause between two tries. */
  readonly delayMaxMs: number;

  constructor(clock: Clock, servers: number, { tries, maxMs, delayMaxMs }: RetryLimits = {}) {
    const kind = Number(servers > 1);
    this.#clock = clock;
    this.#servers = servers;
    this.#tries = tries ?? (maxMs === undefined ? TRIES[kind]! : Number.POSITIVE_INFINITY);
    this.#maxMs = maxMs ?? MAX_MS[kind]!;
    this.delayMaxMs = delayMaxMs ?? DELAY_MAX_MS[kind]!;
  }

  /** How long not to ask a server again that refused with this code. Other servers may be asked at once. */
  pauseOf(code: unknown, retryAfterMs: number): number {
    const isOthers = code === 'NOT_LEADER' || (this.#servers > 1 && code === 'UNAVAILABLE');
    return isOthers ? 0 : retryAfterMs;
  }

  /** The timeout of the next try of a call that timed out before: the time left, but enough for an answer. */
  limitMs({ wasLate, sinceMs }: Tries): number {
    if (!wasLate) return Number.POSITIVE_INFINITY;
    return Math.max(LAST_TRY_MS, sinceMs + this.#maxMs - this.#clock.monotonicMs());
  }

  /** Counts a failure and returns the delay before the next try; null when the call has failed for good. */
  delayAfter(tries: Tries, retryAfterMs: number): number | null {
    const nowMs = this.#clock.monotonicMs();
    if (tries.failures === 0) tries.sinceMs = nowMs;
    tries.failures += 1;
    const leftMs = tries.sinceMs + this.#maxMs - nowMs;
    const rounds = Math.floor(tries.failures / this.#servers);
    if (rounds >= this.#tries || leftMs <= 0 || retryAfterMs > leftMs) return null;
    if (retryAfterMs > 0) return retryAfterMs;
    if (tries.failures % this.#servers !== 0) return 0;
    return Math.min(FIRST_DELAY_MS * 2 ** (rounds - 1), leftMs, this.delayMaxMs);
  }
}
