/**
 * An operator makes a backup of the running log, and later, when the machine has been lost, restores it: with the
 * product's own restore, into an emptied directory. Whatever happened in between is gone, and every fence since then
 * is below the restored log.
 */
import { LOG_FORMAT, LOG_VERSION } from '../../../src/core/state.ts';
import { verifyLog } from '../../../src/engines/file/inspect.ts';
import { restoreLog } from '../../../src/engines/file/restore.ts';
import { copySnapshot } from '../../support/copy-snapshot.ts';
import { DATA_DIR } from './sim-disk.ts';
import type { SimWorld } from './sim-world.ts';

const TRIES = 100;
const PAUSE_MS = 300;

export async function restoreBackup(
  { authority, kernel }: SimWorld,
  laterMs: number,
): Promise<{ lastSeq: number; seq: number } | null> {
  const { running, disk, clock, restores } = authority;
  if (running === null) return null;
  const operator = authority.newProcess('operator');
  const files = disk.filesFor(operator);
  const backupDir = `/backup-${authority.processes}`;
  try {
    const snapshot = await running.core.authority.log.snapshot();
    if (snapshot === null) return null;
    await copySnapshot(snapshot, files, backupDir);
    await snapshot.release();
    // A backup that nobody has looked at is none: the disk under it may be damaged.
    await verifyLog(files, backupDir);
  } catch {
    // The authority or the disk failed under it: there is no backup to restore.
    return null;
  }
  await operator.sleep(laterMs);
  // A backup from before an earlier restore knows nothing of the numbers that were given out since; see docs/testing.md.
  if (authority.isBeingRestored || authority.restores !== restores) return null;
  authority.restores += 1;
  authority.isBeingRestored = true;
  authority.kill('kill', Number.POSITIVE_INFINITY, 'restore');
  // Nobody else may be at the directory when it is taken away.
  while (authority.rivals > 0) await operator.sleep(PAUSE_MS);
  for (let attempt = 1; ; attempt++) {
    disk.moveAside(DATA_DIR, `${backupDir}-lost-${attempt}`);
    try {
      const nowMs = clock.wallMs();
      const format = { format: LOG_FORMAT, version: LOG_VERSION };
      const restored = await restoreLog({ files, backupDir, dir: DATA_DIR, nowMs, ...format });
      authority.isBeingRestored = false;
      authority.downUntilMs = kernel.nowMs;
      authority.boot();
      return { lastSeq: restored.backup.lastSeq, seq: restored.seq };
    } catch (fault) {
      if (attempt >= TRIES) throw fault;
      await operator.sleep(PAUSE_MS);
    }
  }
}
