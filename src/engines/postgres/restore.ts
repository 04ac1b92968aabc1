/**
 * After a database came back without its newest rows (restored from a copy, or failed over to a replica that was
 * behind): begins a new epoch 2^40 and more above everything that is left, and above whatever was restored before. What is
 * lost is lost, but every lease has ended, and no number that was given out in the lost rows can ever be given out again.
 */
import { LOG_FORMAT, LOG_VERSION } from '../../core/state.ts';
import type { Engine } from '../log.ts';
import { restoredSeq } from '../restored-seq.ts';

export interface RestoredRows {
  /** The newest entry that was left. */
  readonly lastSeq: number;
  /** The `seq` of the new epoch. */
  readonly seq: number;
  readonly epoch: number;
}

/**
 * The engine must have been told that its log `isRestored`. Reads and verifies all of the log first. Throws LogHeldError while anybody has the guard. `aboveSeq` is a number that
 * is known to have been given out.
 */
export async function markRestored(engine: Engine, aboveSeq?: number): Promise<RestoredRows> {
  const log = await engine.open({ image() {}, entry() {} });
  try {
    const { lastSeq, lastAtMs } = log.position;
    const nowMs = log.nowMs() ?? 0;
    const seq = restoredSeq({ lastSeq, nowMs, aboveSeq });
    log.begin(seq, Math.floor(Math.max(nowMs, lastAtMs)));
    log.add({
      type: 'EpochStarted',
      epoch: log.epoch,
      format: LOG_FORMAT,
      version: LOG_VERSION,
      restored: true,
    });
    await log.append();
    return { lastSeq, seq, epoch: log.epoch };
  } finally {
    await log.close();
  }
}
