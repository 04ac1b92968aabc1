/**
 * The database's clock, which all writers of a log share, so that a lease ends at the same moment whichever server
 * leads. The database answers with a time between question and answer; taken as the middle of the two, the error is
 * at most half the round trip. So several samples are taken and the fastest counts. A slow answer is rejected: a
 * leader whose clock is behind would record expiries that are too early, and the next leader would end leases that
 * holders rely on.
 *
 * A step of the database's clock must not end a lease. So only the first leader adopts it as it is. From then on the
 * leader keeps time (`DatabaseClock`): each guard renewal returns the database's time, and the leader's clock slews
 * towards it. The next leader continues the time of the previous one (`guard-watch.ts`).
 */

import type { GuardWorld, Reading } from '../../seams/database.ts';
import { SlewedOffset } from '../../seams/slewed-offset.ts';
import { LogTooFarError } from '../log.ts';

/** An SQL expression: the database's time in milliseconds. */
export const DATABASE_MS = 'extract(epoch FROM clock_timestamp()) * 1000';

const SAMPLES_MIN = 5;
const SAMPLES_MAX = 20;
/**
 * Two leaders then differ by less than the margin a holder subtracts from a lease of five seconds
 * (`lease-deadline.ts`).
 */
const ROUND_TRIP_MS_MAX = 250;
/** Limit for all samples together. */
const SAMPLING_MS_MAX = 5_000;

/** The offset from the monotonic clock to the database's clock. */
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
    `This server is too far from the database to lead: the fastest of ${samples} answers took ` +
      `${Math.round(quickestMs)} ms, and the limit is ${ROUND_TRIP_MS_MAX} ms.`,
  );
}

/** The leader's time. It slews towards the database's clock, never jumps and never goes back. */
export class DatabaseClock {
  readonly #clock: GuardWorld['clock'];
  readonly #offset: SlewedOffset;

  /** Offsets from the monotonic clock: the time to start with, and the database's time. */
  constructor(clock: GuardWorld['clock'], offsetMs: number, databaseOffsetMs = offsetMs) {
    this.#clock = clock;
    this.#offset = new SlewedOffset(clock.monotonicMs(), offsetMs, databaseOffsetMs);
  }

  nowMs(): number {
    const monotonicMs = this.#clock.monotonicMs();
    return monotonicMs + this.#offset.at(monotonicMs);
  }

  /**
   * Records the database's answer to a question sent at `sentMs`. The answer may be up to a round trip old, so an
   * error within half the round trip may be none. Only the error beyond that is corrected, which never makes the
   * clock worse.
   */
  note(sentMs: number, databaseMs: number): void {
    const monotonicMs = this.#clock.monotonicMs();
    const doubtMs = (monotonicMs - sentMs) / 2;
    if (2 * doubtMs > ROUND_TRIP_MS_MAX) return;
    const offsetMs = this.#offset.at(monotonicMs);
    const seemsMs = databaseMs - (sentMs + doubtMs + offsetMs);
    const errorMs = Math.sign(seemsMs) * Math.max(0, Math.abs(seemsMs) - doubtMs);
    this.#offset.aim(monotonicMs, offsetMs + errorMs);
  }

  /** The log is ahead: time continues from its end and slews back to the database's clock. */
  advanceTo(newestInLogMs: number): void {
    const aheadMs = newestInLogMs - this.nowMs();
    if (aheadMs > 0) this.#offset.advance(this.#clock.monotonicMs(), aheadMs);
  }
}
