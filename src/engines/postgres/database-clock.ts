/**
 * The database's clock, read from afar: one that all who ever write the log share, so that a lease ends at the same
 * moment whichever server leads by then. What the database says is the time at some moment between the question and the
 * answer; taken for the middle of the two it is wrong by at most half the round trip. So it is asked several times and
 * the quickest answer counts, and an answer that is not quick enough is none: a leader whose clock is behind writes
 * down ends that are too early, and the next leader would end those leases while their holders rely on them.
 *
 * A step of that clock must end no lease. So only the first leader takes it as it is. From then on time is the leader's
 * (`DatabaseClock`): every renewal of its guard brings the database's, and its own follows, slowly. The next leader goes
 * on with the time of the one before (`guard-watch.ts`).
 */

import type { GuardWorld, Reading } from '../../seams/database.ts';
import { LogTooFarError } from '../log.ts';

/** An expression: the time there, in milliseconds. */
export const DATABASE_MS = 'extract(epoch FROM clock_timestamp()) * 1000';

const SAMPLES_MIN = 5;
const SAMPLES_MAX = 20;
/** Two leaders then differ by no more than a holder takes off the end of a lease of five seconds (`lease-deadline.ts`). */
const ROUND_TRIP_MS_MAX = 250;
/**
 * How much faster or slower than the monotonic clock time may run while it follows: a fifth of the margin that a holder
 * takes off for clocks of different speeds, and a hundred times what an ordinary clock drifts.
 */
const FOLLOW_SHARE = 1 / 100;
/** For all answers together. */
const SAMPLING_MS_MAX = 5_000;

/** What must be added to the monotonic clock to get the database's. */
export async function readDatabaseClock(
  connection: Pick<Reading, 'query'>,
  { clock }: Pick<GuardWorld, 'clock'>,
): Promise<number> {
  let anchorMs = 0;
  let quickestMs = Number.POSITIVE_INFINITY;
  let samples = 0;
  const untilMs = clock.monotonicMs() + SAMPLING_MS_MAX;
  while (samples < SAMPLES_MAX && (samples < SAMPLES_MIN || clock.monotonicMs() < untilMs)) {
    const sentMs = clock.monotonicMs();
    const [row] = await connection.query(`SELECT ${DATABASE_MS}`);
    const tookMs = clock.monotonicMs() - sentMs;
    if (tookMs < quickestMs) {
      quickestMs = tookMs;
      anchorMs = Number(row![0]) - (sentMs + tookMs / 2);
    }
    samples += 1;
    if (samples >= SAMPLES_MIN && quickestMs <= ROUND_TRIP_MS_MAX) return anchorMs;
  }
  throw new LogTooFarError(
    `The database is too far away to lead by its clock: the quickest of ${samples} answers took ` +
      `${Math.round(quickestMs)} ms, and at most ${ROUND_TRIP_MS_MAX} ms will do.`,
  );
}

/** Time as a leader counts it: it follows the database's, never jumps and never goes back. */
export class DatabaseClock {
  readonly #clock: GuardWorld['clock'];
  /** What had to be added to the monotonic clock then, and by how much that was wrong. */
  #fromMs: number;
  #offsetMs: number;
  #errorMs: number;

  /** Both are to be added to the monotonic clock: one gives the time to start with, the other the database's. */
  constructor(clock: GuardWorld['clock'], offsetMs: number, databaseOffsetMs = offsetMs) {
    this.#clock = clock;
    this.#fromMs = clock.monotonicMs();
    this.#offsetMs = offsetMs;
    this.#errorMs = databaseOffsetMs - offsetMs;
  }

  nowMs(): number {
    const monotonicMs = this.#clock.monotonicMs();
    return monotonicMs + this.#offsetAt(monotonicMs);
  }

  /**
   * What the database said to a question sent then. It was said at some moment up to now, so an error of half the round
   * trip may be none; only what is beyond that is one, and to follow no further can never make the clock worse.
   */
  note(sentMs: number, databaseMs: number): void {
    const monotonicMs = this.#clock.monotonicMs();
    const doubtMs = (monotonicMs - sentMs) / 2;
    if (2 * doubtMs > ROUND_TRIP_MS_MAX) return;
    const offsetMs = this.#offsetAt(monotonicMs);
    const seemsMs = databaseMs - (sentMs + doubtMs + offsetMs);
    this.#fromMs = monotonicMs;
    this.#offsetMs = offsetMs;
    this.#errorMs = Math.sign(seemsMs) * Math.max(0, Math.abs(seemsMs) - doubtMs);
  }

  /** The log is ahead: time goes on from its end, and comes back to the database's as slowly as ever. */
  advanceTo(newestInLogMs: number): void {
    const aheadMs = newestInLogMs - this.nowMs();
    if (aheadMs <= 0) return;
    const monotonicMs = this.#clock.monotonicMs();
    const offsetMs = this.#offsetAt(monotonicMs);
    this.#errorMs += this.#offsetMs - offsetMs - aheadMs;
    this.#offsetMs = offsetMs + aheadMs;
    this.#fromMs = monotonicMs;
  }

  #offsetAt(monotonicMs: number): number {
    const mostMs = (monotonicMs - this.#fromMs) * FOLLOW_SHARE;
    return this.#offsetMs + Math.min(Math.max(this.#errorMs, -mostMs), mostMs);
  }
}
