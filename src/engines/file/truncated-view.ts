/**
 * A view of a data directory truncated at one offset: bytes after it read as zeros, and later segments are hidden. A
 * reader needs it when it runs beside a writer and has read a later frame before an earlier one.
 */
import { basename } from 'node:path';
import type { Files, OpenFile } from '../../seams/files.ts';
import { numberedNames } from './file-names.ts';

export function truncatedView(files: Files, name: string, offset: number): Files {
  const last = numberedNames([name])[0]?.number ?? Number.POSITIVE_INFINITY;
  const isLater = (each: string): boolean =>
    numberedNames([each]).some(({ kind, number }) => kind === 'seg' && number > last);
  return {
    list: async (dir) => (await files.list(dir))?.filter((each) => !isLater(each)) ?? null,
    async open(path, mode) {
      const file = await files.open(path, mode);
      return basename(path) === name ? endingAt(file, offset) : file;
    },
    makeDir: (dir) => files.makeDir(dir),
    removeDir: (dir) => files.removeDir(dir),
    syncDir: (dir) => files.syncDir(dir),
    rename: (from, to) => files.rename(from, to),
    remove: (path) => files.remove(path),
    lock: (path, owner) => files.lock(path, owner),
    isLocked: (path) => files.isLocked(path),
    realPath: (dir) => files.realPath(dir),
    networkKind: (dir) => files.networkKind(dir),
  };
}

function endingAt(file: OpenFile, end: number): OpenFile {
  const cut = (into: Uint8Array, at: number, count: number, position: number): number => {
    const kept = Math.max(0, end - position);
    if (kept < count) into.fill(0, at + kept, at + count);
    return count;
  };
  return {
    size: () => file.size(),
    read: async (into, at, length, position) =>
      cut(into, at, await file.read(into, at, length, position), position),
    readSync: (into, at, length, position) =>
      cut(into, at, file.readSync(into, at, length, position), position),
    write: (bytes, position) => file.write(bytes, position),
    writeSync: (bytes, position) => file.writeSync(bytes, position),
    sync: () => file.sync(),
    close: () => file.close(),
  };
}
