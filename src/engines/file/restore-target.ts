/**
 * The directory a backup is restored into. `RESTORING` is durable in it before anything else and until the restored
 * log is complete; a directory with this marker is neither a log nor a place for a new one (`unfinished-copy.ts`). A
 * created directory appears with the marker inside. So wherever a restore is killed, the directory is unchanged, is
 * refused, or holds the restored log.
 *
 * A restore that finds the marker starts over: only restores write into such a directory.
 */
import { dirname, join } from 'node:path';
import type { Files, HeldLock } from '../../seams/files.ts';
import { LogHeldError } from '../log.ts';
import { MANIFEST_NAME } from './backup-manifest.ts';
import { makeDirs, missingDirs, ownerOf, takeLock } from './data-dir.ts';
import { numberedNames, RESTORING_NAME, RESTORING_SUFFIX } from './file-names.ts';
import { isPart } from './unfinished-copy.ts';

/** Written into the lock file, for servers and other restores that find it held. */
const PURPOSE = 'restoring a backup';

/** Marks and locks the directory. If it holds a log or a server uses it, throws and changes nothing. */
export async function claimTarget(files: Files, dir: string): Promise<HeldLock> {
  const names = await files.list(dir);
  const isAgain = names?.includes(RESTORING_NAME) === true;
  if (names === null) {
    await makeMarked(files, dir);
  } else {
    if (!isAgain) assertWithoutLog(dir, names);
    const owner = await ownerOf(files, dir);
    if (owner?.isRunning) throw new LogHeldError(owner.name);
    // Also for existing directories: a killed restore may not have synced the directory or its marker.
    await makeDirs(files, dir);
    await mark(files, dir);
  }
  const lock = await takeLock(files, dir, PURPOSE).catch(async (fault: unknown) => {
    // A server took the lock first and must not find a marker at its next start. Another restore needs the marker.
    const isServer = fault instanceof LogHeldError && !fault.holder.endsWith(PURPOSE);
    if (isServer && !isAgain) await unmark(files, dir);
    throw fault;
  });
  if (isAgain) return lock;
  try {
    // A server may have started and stopped before the marker existed.
    assertWithoutLog(dir, (await files.list(dir)) ?? []);
    return lock;
  } catch (fault) {
    await unmark(files, dir);
    await lock.release();
    throw fault;
  }
}

/** Removes the copied files. The marker stays: a new log in this directory would issue old numbers again. */
export async function clearTarget(files: Files, dir: string): Promise<void> {
  for (const { name } of numberedNames((await files.list(dir)) ?? [])) await files.remove(join(dir, name));
}

/** From here on the directory is a log. */
export async function unmark(files: Files, dir: string): Promise<void> {
  await files.remove(join(dir, RESTORING_NAME));
  await files.syncDir(dir);
}

function assertWithoutLog(dir: string, names: readonly string[]): void {
  if (numberedNames(names).length === 0 && !names.includes(MANIFEST_NAME) && !names.some(isPart)) return;
  throw new Error(`${dir} already holds a log. Restore into an empty directory.`);
}

async function makeMarked(files: Files, dir: string): Promise<void> {
  const parent = dirname(dir);
  const made = dir + RESTORING_SUFFIX;
  const missing = [...(await missingDirs(files, parent)), made];
  try {
    await makeDirs(files, parent);
    await files.makeDir(made);
    const names = (await files.list(made)) ?? [];
    // A directory with only the marker is from a restore that was killed here.
    if (names.some((name) => name !== RESTORING_NAME)) throw new Error(`${made} is in the way; remove it.`);
    await mark(files, made);
    await files.rename(made, dir);
  } catch (fault) {
    await removeMade(files, missing).catch(() => {
      // Neither an empty directory nor one with this suffix is opened as a log.
    });
    throw fault;
  }
  await files.syncDir(parent);
}

async function removeMade(files: Files, missing: readonly string[]): Promise<void> {
  for (const path of missing.toReversed()) {
    const names = await files.list(path);
    if (names === null) continue;
    if (names.includes(RESTORING_NAME)) await files.remove(join(path, RESTORING_NAME));
    await files.removeDir(path);
  }
}

async function mark(files: Files, dir: string): Promise<void> {
  const file = await files.open(join(dir, RESTORING_NAME), { create: true });
  try {
    await file.sync();
  } finally {
    await file.close();
  }
  await files.syncDir(dir);
}
