/**
 * The data directory: created durably, checked to be local, locked by one writer. Also tells which process holds it.
 */
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import type { Files, HeldLock } from '../../seams/files.ts';
import { LogHeldError } from '../log.ts';
import { LOCK_NAME } from './file-names.ts';

/** The directories that do not exist yet, the outermost first. */
export async function missingDirs(files: Files, dir: string): Promise<string[]> {
  const missing: string[] = [];
  for (let path = dir; (await isMissing(files, path)) && path !== dirname(path); path = dirname(path)) {
    missing.unshift(path);
  }
  return missing;
}

async function isMissing(files: Files, path: string): Promise<boolean> {
  try {
    return (await files.list(path)) === null;
  } catch (fault) {
    if (!(fault instanceof Error && 'code' in fault && fault.code === 'ENOTDIR')) throw fault;
    throw new Error(`${path} cannot be a data directory: a file is in the way.`, { cause: fault });
  }
}

/**
 * Creates missing directories and syncs each into its parent, or a power failure could lose the log. A process that
 * died here may have created one directory more than it synced, so the deepest existing one is synced too.
 */
export async function makeDirs(files: Files, dir: string): Promise<void> {
  const missing = await missingDirs(files, dir);
  const deepest = missing.length === 0 ? dir : dirname(missing[0]!);
  await files.syncDir(dirname(deepest)).catch(ignoreForeign);
  for (const path of missing) {
    await files.makeDir(path);
    await files.syncDir(dirname(path));
  }
}

/** A directory that we may not read contains nothing that we created. */
function ignoreForeign(error: unknown): void {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  if (code !== 'EACCES' && code !== 'EPERM') throw error;
}

export async function assertLocal(files: Files, dir: string): Promise<void> {
  const kind = await files.networkKind(dir);
  if (kind === null) return;
  throw new Error(
    `${dir} is on a network file system (${kind}), where two machines might both believe they hold the lock. ` +
      'Use a local disk, or set allowNetworkFileSystem if you are sure.',
  );
}

const NAMELESS = 'a process that has not written its name yet';

/** `purpose` is shown to processes that find the lock held. */
export async function takeLock(files: Files, dir: string, purpose?: string): Promise<HeldLock> {
  const name = `process ${process.pid} on ${hostname()}`;
  const lock = await files.lock(join(dir, LOCK_NAME), purpose === undefined ? name : `${name}, ${purpose}`);
  if ('heldBy' in lock) throw new LogHeldError(lock.heldBy || NAMELESS);
  return lock;
}

/** The process that has the directory open, or had it open when it died. */
export interface Owner {
  readonly name: string;
  /** Whether it still holds the lock. The kernel knows; a process id could have been reused. Null: unknown. */
  readonly isRunning: boolean | null;
}

/** Null when the last writer closed the log. Takes no lock and changes nothing. */
export async function ownerOf(files: Files, dir: string): Promise<Owner | null> {
  const path = join(dir, LOCK_NAME);
  const isRunning = await files.isLocked(path);
  const name = (await files.list(dir))?.includes(LOCK_NAME) ? await textOf(files, path) : '';
  if (name === '' && isRunning !== true) return null;
  return { name: name || NAMELESS, isRunning };
}

async function textOf(files: Files, path: string): Promise<string> {
  const file = await files.open(path, { readOnly: true });
  try {
    const bytes = Buffer.alloc(256);
    const count = await file.read(bytes, 0, bytes.length, 0);
    return bytes.toString('utf8', 0, count).trim();
  } finally {
    await file.close();
  }
}
