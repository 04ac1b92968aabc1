/**
 * Continues a log whose database lost its newest rows (restored from a copy, or failed over to a lagging replica):
 * starts a new epoch at least 2^40 above everything that is left and above all earlier restores. The lost entries
 * stay lost, but every lease has ended, and no number issued in them is ever issued again.
 */
import { LOG_FORMAT, LOG_VERSION } from '../../core/state.ts';
import type { Engine } from '../log.ts';
import { restoredSeq } from '../restored-seq.ts';

export interface RestoredRows {
  /** The newest entry that is left. */
  readonly lastSeq: number;
  /** The `seq` at which the new epoch starts. */
  readonly seq: number;
  readonly epoch: number;
}

/**
 * The engine must have been opened with `isRestored`. Reads and verifies the whole log first. Throws LogHeldError
 * while another process holds the guard. `aboveSeq` is a number known to have been issued.
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
