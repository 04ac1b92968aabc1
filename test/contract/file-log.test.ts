// The file engine keeps the promises of a log: on a disk in memory that forgets what was not synced, and on a real one.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FileEngineOptions } from '../../src/engines/file/file-engine.ts';
import { fileEngine } from '../../src/engines/file/file-engine.ts';
import type { Files, HeldLock } from '../../src/seams/files.ts';
import { nodeFiles } from '../../src/world/node-files.ts';
import { copySnapshot } from '../support/copy-snapshot.ts';
import { TestDisk } from '../support/test-disk.ts';
import { describeLog } from './log-contract.ts';

const SMALL = { segmentBytes: 1024 * 1024, operationBytesMax: 512 * 1024 };

const SIZES: Record<string, Partial<FileEngineOptions>> = {
  'with segments of 1 MiB': SMALL,
  'with next to no memory': { ...SMALL, recentBytesMax: 0, cacheBytesMax: 1 },
};

for (const [name, sizes] of Object.entries(SIZES)) {
  describeLog(`file (${name}, on a disk that loses what was not synced)`, () => {
    let disk = new TestDisk();
    return {
      engine: () => fileEngine({ dir: '/data/log', files: disk, ...sizes }),
      crash: () => {
        disk = disk.afterPowerCut();
      },
      secondOpener: 'is refused',
      engineFrom: async (snapshot) => {
        const files = new TestDisk();
        await copySnapshot(snapshot, files, '/copy');
        return fileEngine({ dir: '/copy', files, ...sizes });
      },
    };
  });
}

describeLog('file (of the usual size, on a real disk)', () => {
  const parent = mkdtempSync(join(tmpdir(), 'leasehold-contract-'));
  const locks: HeldLock[] = [];
  /** A writer that vanishes keeps nothing but what is on disk; in one process, its lock has to be taken from it. */
  const files: Files = {
    ...nodeFiles,
    async lock(path, owner) {
      const lock = await nodeFiles.lock(path, owner);
      if ('release' in lock) locks.push(lock);
      return 'release' in lock ? { ...lock, release: async () => releaseOnce(lock) } : lock;
    },
  };
  const releaseOnce = async (lock: HeldLock) => {
    if (locks.includes(lock)) await locks.splice(locks.indexOf(lock), 1)[0]!.release();
  };
  return {
    engine: () => fileEngine({ dir: join(parent, 'log'), files }),
    crash: async () => {
      for (const lock of [...locks]) await releaseOnce(lock);
    },
    secondOpener: 'is refused',
    engineFrom: async (snapshot) => {
      const dir = mkdtempSync(join(parent, 'copy-'));
      await copySnapshot(snapshot, nodeFiles, dir);
      return fileEngine({ dir, files: nodeFiles });
    },
    dispose: () => rmSync(parent, { recursive: true }),
  };
});
