/**
 * Two directories of which neither may be in the other: a log that is restored into its own backup would be part of it
 * from then on, and whoever removes the one removes the other. Symbolic links do not hide it.
 */
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { Files } from '../../seams/files.ts';
import { missingDirs } from './data-dir.ts';

/** The command line asks for something that makes no sense; nothing was touched. */
class OverlappingDirsError extends Error {
  override readonly name = 'OverlappingDirsError';
}

export async function assertApart(files: Files, backupDir: string, dir: string): Promise<void> {
  const from = await realPathOf(files, backupDir);
  const to = await realPathOf(files, dir);
  const advice = 'Restore into a directory apart from it';
  if (from === to) throw new OverlappingDirsError(`${dir} is the backup itself. ${advice}.`);
  if (isIn(from, to)) throw new OverlappingDirsError(`${dir} lies in the backup ${backupDir}. ${advice}.`);
  if (isIn(to, from)) throw new OverlappingDirsError(`The backup ${backupDir} lies in ${dir}. ${advice}.`);
}

/** Also of a directory that is still to be made. */
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
