/**
 * The database's clock, read from afar: one that all who ever write the log share, so that a lease ends at the same
 * moment whoever leads by then. What the database says is the time at some moment between the question and the
 * answer; taken for the middle of the two it is wrong by at most half the round trip. So it is asked several times and
 * the quickest answer counts, and an answer that is not quick enough is none: a leader whose clock is behind writes
 * down ends that are too early, and the next leader would end those leases while their holders rely on them.
 */
import { LogTooFarError } from '../log.ts';
import type { GuardWorld, Reading } from './sql.ts';

/** An expression: the time there, in milliseconds. */
export const DATABASE_MS = 'extract(epoch FROM clock_timestamp()) * 1000';

const SAMPLES_MIN = 5;
const SAMPLES_MAX = 20;
/** Two leaders then differ by no more than a holder takes off the end of a lease of five seconds (`lease-deadline.ts`). */
const ROUND_TRIP_MS_MAX = 250;
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
