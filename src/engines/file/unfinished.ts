/** A directory into which a restore or a backup was cut short. It is no log, and no directory for a new one. */
import type { Files } from '../../seams/files.ts';
import { LogDamagedError } from '../log.ts';
import { MANIFEST_NAME } from './backup-manifest.ts';
import { numberedNames, PART, RESTORING_NAME, RESTORING_SUFFIX } from './file-names.ts';

export function assertFinished(dir: string, names: readonly string[]): void {
  if (names.includes(RESTORING_NAME)) throw unfinishedRestore(dir, dir);
  // Of versions that made no marker.
  const restored = numberedNames(names).find(({ kind }) => kind === 'seg.tmp');
  if (restored) {
    throw new LogDamagedError(
      restored.name,
      0,
      'a restore into this directory was cut short; empty it first',
    );
  }
  const received = names.find(isPart);
  if (received === undefined) return;
  throw new LogDamagedError(
    received,
    0,
    'a backup into this directory was cut short; empty it and make the backup again',
  );
}

/**
 * A restore into a missing directory begins in one beside it, so that the directory never appears without its marker. A
 * new log in its place would give out old numbers.
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

/** Whether a name is one that `leasehold backup` gives to what it has not yet received as a whole. */
export function isPart(name: string): boolean {
  if (!name.endsWith(PART)) return false;
  const whole = name.slice(0, -PART.length);
  return whole === MANIFEST_NAME || numberedNames([whole]).length > 0;
}
