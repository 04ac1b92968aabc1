// A restore that does not come to its end: killed, cut off from power, or out of space at any of its steps. The directory is
// as it was before, is refused, or holds the restored log; never a log that gives out old numbers. It can be run again.
import { beforeAll, describe, expect, it } from 'vitest';
import { Chronicle } from '../../../test/support/chronicle.ts';
import { inlineThreads } from '../../../test/support/inline-threads.ts';
import {
  diskError,
  type Operation,
  type OperationName,
  type Survivors,
  TestDisk,
} from '../../../test/support/test-disk.ts';
import { LogDamagedError, LogHeldError } from '../log.ts';
import { fileEngine } from './file-engine.ts';
import { statLog } from './inspect.ts';
import { restoreLog } from './restore.ts';

const SMALL = {
  segmentBytes: 4 * 1024,
  batchBytesMax: 512,
  operationBytesMax: 512,
  partBytesMax: 3 * 1024,
};
const BACKUP = '/data';
const NOW_MS = 1_800_000_000_000;
const RESTORE = { backupDir: BACKUP, format: 'leasehold', version: 1, nowMs: NOW_MS, seed: 0 };

const openedIn = (disk: TestDisk, dir: string): Promise<Chronicle> =>
  Chronicle.open(fileEngine({ dir, files: disk, threads: inlineThreads(disk), ...SMALL }));

let backupDisk: TestDisk;
/** Tells a restored log from a new one. */
let texts: readonly (string | null)[];

/** A log of a checkpoint in several parts and several segments, closed, and an empty directory beside it. */
beforeAll(async () => {
  const disk = new TestDisk();
  const chronicle = await openedIn(disk, BACKUP);
  await chronicle.start();
  for (let i = 0; i < 12; i++) await chronicle.live();
  await chronicle.compact();
  for (let i = 0; i < 6; i++) await chronicle.live();
  texts = (await chronicle.texts()).sort();
  await chronicle.log.close();
  await disk.makeDir('/empty');
  await disk.syncDir('/');
  backupDisk = disk.copy();
});

/** What survives of unsynced changes: everything after a kill, anything after a power failure. */
const EVERYTHING: Survivors = { names: true, sector: () => true };
const WITHOUT_MARKER: Survivors = { names: (path) => !path.endsWith('/RESTORING'), sector: () => true };
const LEFT: Record<string, Survivors> = {
  'a kill': EVERYTHING,
  'a power cut': {},
  'a power cut that keeps names': { names: true },
  'a power cut that keeps bytes': { sector: () => true },
  'a power cut that keeps every name but the marker': WITHOUT_MARKER,
  'a power cut that keeps no name but the marker': { names: (path) => path.endsWith('/RESTORING') },
};

/** A restore that ends before one of its steps. */
async function cutShort(files: TestDisk, dir: string, step: number): Promise<void> {
  let before = step;
  files.gate = () => void (before-- === 0 && files.cutPower());
  await expect(restoreLog({ ...RESTORE, files, dir })).rejects.toThrow();
}

/** Nothing of it must be there, or it must be empty as before, or be refused, or hold the restored log of this position. */
async function stateOf(
  disk: TestDisk,
  dir: string,
  seq: number,
): Promise<'untouched' | 'refused' | 'restored'> {
  const names = await disk.list(dir);
  if (names === null && (await disk.list(`${dir}.restoring`)) !== null) {
    await expect(openedIn(disk.copy(EVERYTHING), dir)).rejects.toThrow(`${dir} holds no log`);
    return 'refused';
  }
  if (names === null || (dir === '/empty' && names.length === 0)) return 'untouched';
  const opened = await openedIn(disk.copy(EVERYTHING), dir).catch((fault: unknown) => fault);
  if (!(opened instanceof Chronicle)) {
    expect(opened).toBeInstanceOf(LogDamagedError);
    expect(String(opened)).toContain(
      `${dir} holds no log: a restore into it has not finished. Run "leasehold wal`,
    );
    await expect(statLog(disk, dir)).rejects.toThrow('has not finished');
    await expect(restoreLog({ ...RESTORE, files: disk, backupDir: dir, dir: '/other' })).rejects.toThrow(
      'has not finished',
    );
    return 'refused';
  }
  expect(opened.state.lastSeq).toBe(seq);
  expect((await opened.texts()).sort()).toEqual(texts);
  return 'restored';
}

/** The same command, given once more, restores the log as if nothing had been there. */
async function runAgain(disk: TestDisk, dir: string): Promise<void> {
  const { seq } = await restoreLog({ ...RESTORE, files: disk, dir, nowMs: NOW_MS + 1_000 });
  expect(await stateOf(disk.afterPowerCut(), dir, seq)).toBe('restored');
  expect(disk.paths().filter((path) => /RESTORING|\.tmp/.test(path))).toEqual([]);
}

describe.each(['/new', '/deep/er/new', '/empty'])('a restore into %s', (dir) => {
  /** The steps that change something, by their place among all of them, and where a restored log begins. */
  async function stepsOn(
    disk: TestDisk,
  ): Promise<{ readonly changing: [number, Operation][]; readonly seq: number }> {
    const { seq } = await restoreLog({ ...RESTORE, files: disk, dir });
    expect(await stateOf(disk.copy(), dir, seq)).toBe('restored');
    const reading = new Set<OperationName>(['list', 'read', 'isLocked']);
    const changing = [...disk.operations.entries()].filter(
      ([, { name, path }]) => !reading.has(name) && !path.startsWith(BACKUP),
    );
    expect(changing.length).toBeGreaterThan(20);
    return { changing, seq };
  }

  it.each(Object.entries(LEFT))('that ends at any step by %s', async (_, survivors) => {
    const { changing, seq } = await stepsOn(backupDisk.copy());
    const seen = new Set<string>();
    for (const [step] of changing) {
      const files = backupDisk.copy();
      await cutShort(files, dir, step);
      const next = files.copy(survivors);
      const state = await stateOf(next, dir, seq);
      seen.add(state);
      if (state !== 'restored') await runAgain(next, dir);
    }
    expect([...seen]).toEqual(expect.arrayContaining(['untouched', 'refused']));
  });

  it('that was killed while it marked the directory, and is run again until the power goes', async () => {
    const { changing } = await stepsOn(backupDisk.copy());
    const marking = changing.slice(0, changing.findIndex(([, { name }]) => name === 'lock') + 1);
    let isRefused = false;
    for (const [step] of marking) {
      const killed = async (): Promise<TestDisk> => {
        const first = backupDisk.copy();
        await cutShort(first, dir, step);
        return first.afterKill();
      };
      const again = await stepsOn(await killed());
      for (const [next] of again.changing) {
        const second = await killed();
        await cutShort(second, dir, next);
        const state = await stateOf(second.copy(WITHOUT_MARKER), dir, again.seq);
        isRefused ||= state === 'refused';
      }
    }
    expect(isRefused).toBe(true);
  });

  it('that fails at any step says why, gives back the space, and is refused until it is run again', async () => {
    const { changing } = await stepsOn(backupDisk.copy());
    const isThere = (path: string): boolean => path.startsWith(`${dir}/`) && /\d/.test(path);
    for (const [step, { name, path }] of changing) {
      // From here on the log is whole.
      if (name === 'remove') break;
      const files = backupDisk.copy();
      let before = step;
      files.gate = () => {
        if (before-- === 0) throw diskError('ENOSPC');
      };
      const where = `step ${step}: ${name} ${path}`;
      const isCopy = isThere(path);
      await expect(restoreLog({ ...RESTORE, files, dir }), where).rejects.toThrow(
        isCopy
          ? /^The restore into .* failed: the disk is full \(ENOSPC\)\. What it had copied was removed\. /
          : 'ENOSPC',
      );
      expect(files.paths().filter(isThere), where).toEqual([]);
      const names = await files.list(dir);
      if (names !== null && names.length > 0) expect(await stateOf(files, dir, 0), where).toBe('refused');
      await runAgain(files, dir);
    }
  });

  it('onto a disk that is too small leaves nothing but the marker', async () => {
    const files = backupDisk.copy();
    const used = files.paths().reduce((sum, path) => sum + files.contentOf(path).length, 0);
    files.capacityBytes = used + 10_000;
    files.writesShort = true;
    await expect(restoreLog({ ...RESTORE, files, dir })).rejects.toThrow('the disk is full (ENOSPC)');
    expect(files.paths().filter((path) => path.startsWith(dir))).toEqual([`${dir}/RESTORING`]);
    expect(await stateOf(files, dir, 0)).toBe('refused');
    files.capacityBytes = Number.POSITIVE_INFINITY;
    await runAgain(files, dir);
  });
});

describe('the target of a restore', () => {
  it('is not marked while a server has it, though there is no log in it yet', async () => {
    const disk = backupDisk.copy();
    await disk.lock('/empty/LOCK', 'a server');
    await expect(restoreLog({ ...RESTORE, files: disk, dir: '/empty' })).rejects.toThrow(LogHeldError);
    expect(await disk.list('/empty')).toEqual([]);
  });

  it('is not left marked when a server takes it at the same moment', async () => {
    const disk = backupDisk.copy();
    disk.gate = ({ name, path }) => {
      if (name === 'open' && path === '/empty/RESTORING') void disk.lock('/empty/LOCK', 'a server');
    };
    await expect(restoreLog({ ...RESTORE, files: disk, dir: '/empty' })).rejects.toThrow(LogHeldError);
    expect(await disk.list('/empty')).toEqual([]);
  });

  it('stays marked when another restore takes it at the same moment', async () => {
    const disk = backupDisk.copy();
    disk.gate = ({ name, path }) => {
      if (name === 'open' && path === '/empty/RESTORING')
        void disk.lock('/empty/LOCK', 'process 7 on a machine, restoring a backup');
    };
    await expect(restoreLog({ ...RESTORE, files: disk, dir: '/empty' })).rejects.toThrow(
      'in use by process 7 on a machine, restoring a backup',
    );
    expect(await disk.list('/empty')).toEqual(['RESTORING']);
  });

  it('keeps the log of a server that came and went before the marker was there', async () => {
    const disk = backupDisk.copy();
    const other = await openedIn(disk, '/other');
    await other.start();
    await other.log.close();
    const [path] = disk.paths().filter((name) => name.startsWith('/other/'));
    const bytes = disk.contentOf(path!);
    let isFirst = true;
    disk.gate = ({ name, path: opened }) => {
      if (name !== 'open' || opened !== '/empty/RESTORING' || !isFirst) return;
      isFirst = false;
      void disk.rename(path!, '/empty/0000000000000001.seg');
    };
    await expect(restoreLog({ ...RESTORE, files: disk, dir: '/empty' })).rejects.toThrow(
      'already holds a log',
    );
    expect(await disk.list('/empty')).toEqual(['0000000000000001.seg']);
    expect(disk.contentOf('/empty/0000000000000001.seg')).toEqual(bytes);
  });

  it('is not made from a directory in use', async () => {
    const disk = backupDisk.copy();
    await disk.makeDir('/new.restoring');
    await disk.open('/new.restoring/mine', { create: true });
    await expect(restoreLog({ ...RESTORE, files: disk, dir: '/new' })).rejects.toThrow(
      '/new.restoring is in the way',
    );
    expect(await disk.list('/new.restoring')).toEqual(['mine']);
    expect(await disk.list('/new')).toBe(null);
  });
});

describe('two restores of one backup', () => {
  it('begin different epochs, though they begin in the same millisecond', async () => {
    const disk = backupDisk.copy();
    const epochs: number[] = [];
    for (const seed of [1, 0x7fff_ffff, -5]) {
      const dir = `/restored-${epochs.length}`;
      const { epoch } = await restoreLog({ ...RESTORE, files: disk, dir, seed });
      const log = await openedIn(disk, dir);
      expect(log.state.epoch).toBe(epoch);
      expect(log.log.epoch).toBe(epoch + 1);
      await log.start();
      epochs.push(epoch);
    }
    expect(new Set(epochs).size).toBe(3);
    expect(Math.min(...epochs)).toBeGreaterThan(1);
  });
});
