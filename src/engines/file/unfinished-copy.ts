/**
 * Refuses a directory into which a restore or backup was interrupted. It is neither a log nor a place for a new one.
 */
import type { Files } from '../../seams/files.ts';
import { LogDamagedError } from '../log.ts';
import { MANIFEST_NAME } from './backup-manifest.ts';
import { numberedNames, PART, RESTORING_NAME, RESTORING_SUFFIX } from './file-names.ts';

export function assertFinished(dir: string, names: readonly string[]): void {
  if (names.includes(RESTORING_NAME)) throw unfinishedRestore(dir, dir);
  // Older versions wrote no marker.
  const restored = numberedNames(names).find(({ kind }) => kind === 'seg.tmp');
  if (restored) {
    throw new LogDamagedError(
      restored.name,
      0,
      'a restore into this directory was interrupted; empty the directory first',
    );
  }
  const received = names.find(isPart);
  if (received === undefined) return;
  throw new LogDamagedError(
    received,
    0,
    'a backup into this directory was interrupted; empty the directory and run the backup again',
  );
}

/**
 * A restore into a missing directory starts in a sibling directory, so that the target never appears without its
 * marker. A new log at the target would issue old numbers again.
 */
export async function assertNoRestoreBegun(files: Files, dir: string): Promise<void> {
  if (await isDirectory(files, dir)) return;
  const begun = dir + RESTORING_SUFFIX;
  if (await isDirectory(files, begun)) throw unfinishedRestore(dir, begun);
}

async function isDirectory(files: Files, path: string): Promise<boolean> {
  try {
    return (await files.list(path)) !== null;
  } catch (fault) {
    if (fault instanceof Error && 'code' in fault && fault.code === 'ENOTDIR') return false;
    throw fault;
  }
}

function unfinishedRestore(dir: string, left: string): LogDamagedError {
  const why = 'a restore into this directory has not finished';
  const says = `${dir} holds no log: a restore into it has not finished. Run "leasehold wal restore BACKUP ${dir}" again, which starts over, or remove ${left}.`;
  return new LogDamagedError(RESTORING_NAME, 0, why, says);
}

/** Whether `leasehold backup` gives this name to a file that it has not received completely. */
export function isPart(name: string): boolean {
  if (!name.endsWith(PART)) return false;
  const whole = name.slice(0, -PART.length);
  return whole === MANIFEST_NAME || numberedNames([whole]).length > 0;
}
