/**
 * An operator makes a backup of the running log, and later, when the machine has been lost, restores it: with the
 * product's own restore, into an emptied directory. Whatever happened in between is gone, and every fence since then
 * is below the restored log, also when that was an older backup's turn to be restored.
 *
 * The first try is killed on the way. What it leaves must be refused, or be the restored log; the next one starts over in
 * the same directory.
 *
 * The operator's own clock is right. By the rule in docs/operating.md it is not enough once a backup of a restored log has
 * been restored: then the operator says which number is the newest.
 */
import { LOG_FORMAT, LOG_VERSION } from '../../../src/core/state.ts';
import { RESTORING_NAME } from '../../../src/engines/file/file-names.ts';
import { verifyLog } from '../../../src/engines/file/inspect.ts';
import { restoreLog } from '../../../src/engines/file/restore.ts';
import { RESTORE_JUMP } from '../../../src/engines/restored-seq.ts';
import { copySnapshot } from '../../support/copy-snapshot.ts';
import { Random } from './random.ts';
import { trueWallMs } from './sim-clock.ts';
import { DATA_DIR } from './sim-disk.ts';
import type { SimProcess } from './sim-process.ts';
import type { SimWorld } from './sim-world.ts';

const TRIES = 100;
const PAUSE_MS = 300;
/** A restore takes a few steps of the disk for each file. */
const KILLED_WITHIN_MS = 15;

interface Restored {
  /** When the backup was made, by the world's time, and the newest position in it. */
  readonly madeAtMs: number;
  readonly lastSeq: number;
  /** Where the restored log goes on. */
  readonly seq: number;
}

export async function restoreBackup(
  { authority, kernel }: SimWorld,
  laterMs: number,
): Promise<Restored | null> {
  const { running, disk, restores } = authority;
  if (running === null) return null;
  const operator = authority.newProcess('operator');
  const files = disk.filesFor(operator);
  const backupDir = `/backup-${authority.processes}`;
  const madeAtMs = kernel.nowMs;
  try {
    const snapshot = await running.core.authority.log.snapshot();
    if (snapshot === null) return null;
    await copySnapshot(snapshot, files, backupDir);
    await snapshot.release();
    // An unverified backup does not count: the disk under it may be damaged.
    await verifyLog(files, backupDir);
  } catch {
    // The authority or the disk failed under it: there is no backup to restore.
    return null;
  }
  await operator.sleep(laterMs);
  if (authority.isBeingRestored) return null;
  const isOlder = authority.restores !== restores;
  const aboveSeq = isOlder && authority.isAheadOfClock ? authority.newestSeq : undefined;
  authority.isAheadOfClock ||= restores > 0;
  authority.restores += 1;
  // First, no authority is started any more, neither now nor by a pending restart.
  authority.kill('kill', Number.POSITIVE_INFINITY, 'restore');
  authority.isBeingRestored = true;
  // No other process may use the directory when it is removed.
  while (authority.rivals > 0) await operator.sleep(PAUSE_MS);
  const restoreBy = (process: SimProcess) =>
    restoreLog({
      files: disk.filesFor(process, true),
      backupDir,
      dir: DATA_DIR,
      nowMs: trueWallMs(kernel),
      seed: authority.restores,
      aboveSeq,
      format: LOG_FORMAT,
      version: LOG_VERSION,
    });
  disk.moveAside(DATA_DIR, `${backupDir}-lost`);
  await killedOnTheWay(authority, operator, restoreBy);
  for (let attempt = 1; ; attempt++) {
    if (!(await files.list(DATA_DIR))?.includes(RESTORING_NAME)) {
      disk.moveAside(DATA_DIR, `${backupDir}-lost-${attempt}`);
    }
    try {
      const restored = await restoreBy(operator);
      authority.isBeingRestored = false;
      authority.downUntilMs = kernel.nowMs;
      authority.boot();
      return { madeAtMs, lastSeq: restored.backup.lastSeq, seq: restored.seq };
    } catch (fault) {
      if (attempt >= TRIES) throw fault;
      await operator.sleep(PAUSE_MS);
    }
  }
}

/** A server that is started where a restore was killed must not begin a new log. */
async function killedOnTheWay(
  authority: SimWorld['authority'],
  operator: SimProcess,
  restoreBy: (process: SimProcess) => Promise<unknown>,
): Promise<void> {
  const killed = authority.newProcess('killed operator');
  restoreBy(killed).catch(() => undefined);
  const random = new Random(authority.plan.seed, `${killed.name}-${authority.processes}`);
  await operator.sleep(random.span(0, KILLED_WITHIN_MS));
  killed.die();
  const names = await authority.disk.filesFor(operator).list(DATA_DIR);
  // It had not begun: the directory is as it was.
  if (names === null || names.length === 0) return;
  const server = authority.newProcess('server on an unfinished restore');
  const log = await authority
    .engineFor(server)
    .open({ image() {}, entry() {} })
    .catch(() => null);
  server.die();
  if (log !== null && log.position.lastSeq < RESTORE_JUMP) {
    throw new Error(`A server began a new log in an unfinished restore (${names.join(', ')}).`);
  }
}
