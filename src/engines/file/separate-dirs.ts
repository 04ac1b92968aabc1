/**
 * Refuses to restore a backup into itself. Neither directory may contain the other: the restored log would become
 * part of the backup, and removing one would remove both. Symbolic links are resolved first.
 */
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { Files } from '../../seams/files.ts';
import { missingDirs } from './data-dir.ts';

/** The arguments make no sense. Nothing was changed. */
class OverlappingDirsError extends Error {
  override readonly name = 'OverlappingDirsError';
}

export async function assertSeparate(files: Files, backupDir: string, dir: string): Promise<void> {
  const from = await realPathOf(files, backupDir);
  const to = await realPathOf(files, dir);
  const advice = 'Restore into a directory outside the backup that does not contain it';
  if (from === to) throw new OverlappingDirsError(`${dir} is the backup itself. ${advice}.`);
  if (isIn(from, to)) throw new OverlappingDirsError(`${dir} lies in the backup ${backupDir}. ${advice}.`);
  if (isIn(to, from)) throw new OverlappingDirsError(`The backup ${backupDir} lies in ${dir}. ${advice}.`);
}

/** Resolves links in the existing part of the path; the rest need not exist yet. */
async function realPathOf(files: Files, dir: string): Promise<string> {
  const path = resolve(dir);
  const [first] = await missingDirs(files, path);
  const there = first === undefined ? path : dirname(first);
  return join(await files.realPath(there), relative(there, path));
}

function isIn(outer: string, inner: string): boolean {
  const way = relative(outer, inner);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
