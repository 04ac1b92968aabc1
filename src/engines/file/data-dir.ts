/** The data directory itself: made so that no power cut can take it back, local, and locked; and who has it. */
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import type { Files, HeldLock } from '../../seams/files.ts';
import { LogHeldError } from '../log.ts';
import { LOCK_NAME } from './file-names.ts';

/** The directories that would have to be made, the outermost first. */
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
 * Every directory that is made is synced into its parent, or a power cut could take the log with it. A process that
 * died here may have made one more than it synced, so the deepest one that is there is synced as well.
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

/** A directory we may not read is none in which we made anything. */
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

const NAMELESS = 'a process that has not said its name yet';

/** `purpose` is told to the processes that find the lock taken. */
export async function takeLock(files: Files, dir: string, purpose?: string): Promise<HeldLock> {
  const name = `process ${process.pid} on ${hostname()}`;
  const lock = await files.lock(join(dir, LOCK_NAME), purpose === undefined ? name : `${name}, ${purpose}`);
  if ('heldBy' in lock) throw new LogHeldError(lock.heldBy || NAMELESS);
  return lock;
}

/** The process that has a directory open, or had when it died. */
export interface Owner {
  readonly name: string;
  /** Whether it still has the directory: the kernel says so, not its number, which others have too. Null: unknown. */
  readonly isRunning: boolean | null;
}

/** Null when the last writer has closed the log. Nobody is kept out and nothing is changed. */
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
