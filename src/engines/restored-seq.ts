/**
 * Where a restored log goes on: above every number that may have been given out since its backup was made, and above
 * those of whatever was restored before, also from the same backup or a newer one. A backup knows nothing of either, but
 * the clock does: every millisecond since 2020 has numbers of its own, more than a log can give out in one, and a log
 * that began with those of its moment never overtakes the clock.
 *
 * The time is an argument. When it cannot help, the operator must: see "Restore" in docs/operating.md.
 */

/** A restored log jumps ahead by at least this much, so that no fence in the world goes back. */
export const RESTORE_JUMP = 2 ** 40;

/** The beginning of 2020. From then on the numbers last until 2299. */
const COUNTED_FROM_MS = 1_577_836_800_000;
const SEQS_PER_MS = 1024;

/** What is left above the place where a restored log goes on. */
const SEQ_MAX = 2 ** 53 - RESTORE_JUMP;

export interface RestoredFrom {
  /** The newest position in the backup. */
  readonly lastSeq: number;
  readonly nowMs: number;
  /** A number that is known to have been given out. */
  readonly aboveSeq?: number | undefined;
}

/** Throws when too few numbers would be left. */
export function restoredSeq({ lastSeq, nowMs, aboveSeq = 0 }: RestoredFrom): number {
  const byTime = Math.floor(nowMs - COUNTED_FROM_MS) * SEQS_PER_MS;
  const seq = Math.max(lastSeq + RESTORE_JUMP, aboveSeq + RESTORE_JUMP, byTime);
  if (seq <= SEQ_MAX) return seq;
  throw new Error(
    `The log would go on at seq ${seq}, which leaves fewer than 2^40 numbers below 2^53. Nothing was restored; check the clock, and the number given with --above.`,
  );
}
