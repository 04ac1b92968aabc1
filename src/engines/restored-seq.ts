/**
 * Where a restored log continues: above every number that may have been issued after the backup, and above those of
 * earlier restores from the same or a newer backup. The backup knows neither, but the clock does: each millisecond
 * since 2020 has its own range of numbers, more than a log can issue in it, so a log that starts with the range of
 * the current moment never overtakes the clock.
 *
 * The time is an argument. If the clock is wrong, the operator must help: see "Restore" in docs/operating.md.
 */

/** A restored log jumps ahead by at least this much, so that no fence ever goes back. */
export const RESTORE_JUMP = 2 ** 40;

/** The start of 2020. The numbers last until 2299. */
const COUNTED_FROM_MS = 1_577_836_800_000;
const SEQS_PER_MS = 1024;

/** The highest start of a restored log, so that enough numbers are left above it. */
const SEQ_MAX = 2 ** 53 - RESTORE_JUMP;

export interface RestoredFrom {
  /** The newest position in the backup. */
  readonly lastSeq: number;
  readonly nowMs: number;
  /** A number known to have been issued. */
  readonly aboveSeq?: number | undefined;
}

/** Throws when too few numbers would be left. */
export function restoredSeq({ lastSeq, nowMs, aboveSeq = 0 }: RestoredFrom): number {
  const byTime = Math.floor(nowMs - COUNTED_FROM_MS) * SEQS_PER_MS;
  const seq = Math.max(lastSeq + RESTORE_JUMP, aboveSeq + RESTORE_JUMP, byTime);
  if (seq <= SEQ_MAX) return seq;
  throw new Error(
    `The log would continue at seq ${seq}, which leaves fewer than 2^40 numbers below 2^53. Nothing was restored; check the clock, and the number given with --above.`,
  );
}
