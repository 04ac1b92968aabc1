// Looking into a log from outside, and restoring one from a backup.
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Chronicle } from '../../../test/support/chronicle.ts';
import { copySnapshot } from '../../../test/support/copy-snapshot.ts';
import { inlineThreads } from '../../../test/support/inline-threads.ts';
import { collect } from '../../../test/support/log-story.ts';
import { PowerCutError, TestDisk } from '../../../test/support/test-disk.ts';
import type { Files } from '../../seams/files.ts';
import { LogDamagedError, LogHeldError } from '../log.ts';
import { fileEngine } from './file-engine.ts';
import { inspectLog, statLog, verifyLog } from './inspect.ts';
import { restoreLog } from './restore.ts';
import { truncatedView } from './truncated-view.ts';

const SMALL = {
  segmentBytes: 8 * 1024,
  batchBytesMax: 1024,
  operationBytesMax: 1024,
  partBytesMax: 6 * 1024,
};
const engineOn = (files: TestDisk, dir = '/data') =>
  fileEngine({ dir, files, threads: inlineThreads(files), ...SMALL });

async function lived({ compact }: { readonly compact: boolean }) {
  const disk = new TestDisk();
  const chronicle = await Chronicle.open(engineOn(disk));
  await chronicle.start();
  for (let i = 0; i < 50; i++) await chronicle.live();
  if (compact) await chronicle.compact();
  for (let i = 0; i < 5; i++) await chronicle.live();
  return { disk, chronicle };
}

/** A disk on which a stretch of a file reads as zeros in the first so many scans, as it does before it is written. */
function lateStretch(disk: TestDisk, name: string, from: number, end: number, scans: number): Files {
  let opened = 0;
  const files: Files = truncatedView(disk, name, Number.POSITIVE_INFINITY);
  return {
    ...files,
    list: (dir) => disk.list(dir),
    async open(path, mode) {
      const file = await files.open(path, mode);
      if (!path.endsWith(name)) return file;
      opened += 1;
      if (opened > scans) return file;
      return {
        ...file,
        async read(into, at, length, position) {
          const count = await file.read(into, at, length, position);
          const start = Math.max(from, position);
          const stop = Math.min(end, position + count);
          if (start < stop) into.fill(0, at + start - position, at + stop - position);
          return count;
        },
      };
    },
  };
}

interface End {
  readonly bytes: number;
  readonly lastSeq: number;
}

describe('a log that is written while it is read', () => {
  /** Where in one segment a batch ends, and the next, and two more, with the newest number there was then. */
  async function written() {
    const { disk, chronicle } = await lived({ compact: false });
    let name = '';
    let ends: End[] = [];
    while (ends.length < 4) {
      const { lastSeq, files } = await statLog(disk, '/data');
      const newest = files.find((file) => file.lastSeq === lastSeq)!;
      if (newest.name !== name) ends = [];
      name = newest.name;
      ends.push({ bytes: newest.bytes, lastSeq });
      await chronicle.live();
    }
    // Later segments are not part of what was there at an earlier moment.
    const isNewest = async () => (await statLog(disk, '/data')).files.at(-1)!.name === name;
    while (await isNewest()) await chronicle.live();
    for (let i = 0; i < 10; i++) await chronicle.live();
    return { disk, name, ends: ends as [End, End, End, End] };
  }

  it('is not called damaged because an earlier frame was read before a later one was written', async () => {
    const { disk, name, ends } = await written();
    const report = await verifyLog(lateStretch(disk, name, ends[0].bytes, ends[1].bytes, 1), '/data');
    expect(report.lastSeq).toBeGreaterThan(ends[3].lastSeq);
  });

  it('is read as it was at the first look when there is something new at every look', async () => {
    const { disk, name, ends } = await written();
    const [first, second, third] = ends;
    const looks = [
      lateStretch(disk, name, first.bytes, second.bytes, 99),
      lateStretch(disk, name, second.bytes, third.bytes, 99),
      disk,
    ];
    let opened = 0;
    const moving: Files = {
      ...truncatedView(disk, name, Number.POSITIVE_INFINITY),
      list: (dir) => disk.list(dir),
      open(path, mode) {
        const look = looks[Math.min(opened, 2)]!;
        if (path.endsWith(name)) opened += 1;
        return look.open(path, mode);
      },
    };
    const report = await verifyLog(moving, '/data');
    expect(report).toMatchObject({ lastSeq: first.lastSeq, torn: null, damagedOpaques: [] });
    expect(report.files.find((file) => file.name === name)!.bytes).toBe(first.bytes);
  });

  it('is called damaged when the same place is unreadable twice', async () => {
    const { disk, name, ends } = await written();
    const verified = verifyLog(lateStretch(disk, name, ends[0].bytes, ends[1].bytes, 99), '/data');
    await expect(verified).rejects.toMatchObject({
      name: 'LogDamagedError',
      file: name,
      offset: ends[0].bytes,
    });
  });
});

/** Continues a log for a while, and returns the newest number issued. */
async function newestAfterUse(disk: TestDisk, dir: string): Promise<number> {
  const chronicle = await Chronicle.open(engineOn(disk, dir));
  await chronicle.start();
  for (let i = 0; i < 10; i++) await chronicle.write(() => [{ type: 'QueuePaused', queue: `queue ${i}` }]);
  await chronicle.log.close();
  return chronicle.log.position.lastSeq;
}

const EPOCH = { format: 'leasehold', version: 1, nowMs: 1_800_000_000_000, seed: 0 };

describe('verify', () => {
  it('reports a healthy log, also while its writer runs', async () => {
    for (const compact of [false, true]) {
      const { disk, chronicle } = await lived({ compact });
      const report = await verifyLog(disk, '/data');
      const { firstSeq, lastSeq, lastAtMs } = chronicle.log.position;
      expect(report).toMatchObject({ firstSeq, lastSeq, lastAtMs, epoch: 1, torn: null, damagedOpaques: [] });
      expect(report.entries).toBe(lastSeq - firstSeq + 1);
      expect(report.checkpointSeq).toBe(compact ? firstSeq - 1 : null);
      expect(report.imageRecords > 0).toBe(compact);
      expect(report.files.some(({ kind }) => kind === 'checkpoint')).toBe(compact);
      expect(await statLog(disk, '/data')).toEqual(report);
      await chronicle.live();
    }
  });

  it('finds damage anywhere: in frames as a refusal, in opaque bytes by file and offset', async () => {
    for (const compact of [false, true]) {
      const { disk, chronicle } = await lived({ compact });
      await chronicle.log.close();
      for (const path of disk.paths()) {
        const content = disk.contentOf(path);
        const at = content.indexOf('payload 10000');
        if (at === -1) continue;
        const opaque = disk.copy();
        opaque.tamper(path, (bytes) => bytes.fill('X', at, at + 3));
        const { damagedOpaques } = await verifyLog(opaque, '/data');
        expect(damagedOpaques).toHaveLength(1);
        expect(damagedOpaques[0]).toMatchObject({ file: path, offset: at - 1, length: 42 });
        expect((await statLog(opaque, '/data')).damagedOpaques).toEqual([]);
        const frame = disk.copy();
        frame.tamper(path, (bytes) => bytes.fill(0xee, 80, 84));
        await expect(verifyLog(frame, '/data')).rejects.toThrow(LogDamagedError);
      }
    }
  });

  it('says where an unfinished write begins, and leaves it alone', async () => {
    const { disk, chronicle } = await lived({ compact: false });
    disk.gate = ({ name }) => void (name === 'write' && disk.cutPower());
    await expect(chronicle.live(500)).rejects.toThrow(PowerCutError);
    const torn = disk.copy({ sector: (_, sector) => sector % 2 === 0 });
    const before = torn.operations.length;
    const report = await verifyLog(torn, '/data');
    expect(report.torn).toMatchObject({ file: expect.stringMatching(/\.seg$/) });
    expect(report.lastSeq).toBe(chronicle.log.position.lastSeq);
    const names = torn.operations.slice(before).map(({ name }) => name);
    const looks: readonly string[] = ['list', 'open', 'read', 'isLocked'];
    expect(names.filter((name) => !looks.includes(name))).toEqual([]);
  });

  it('says that there is no log where there is none', async () => {
    await expect(verifyLog(new TestDisk(), '/data')).rejects.toThrow('There is no log in /data.');
  });
});

describe('cat', () => {
  it('lists the entries and reads the bytes behind them', async () => {
    for (const compact of [false, true]) {
      const { disk, chronicle } = await lived({ compact });
      const all = await collect(chronicle.log.entries(1, Number.POSITIVE_INFINITY));
      const inspection = await inspectLog(disk, '/data', { opaques: false });
      expect(await collect(inspection.entries(1, Number.POSITIVE_INFINITY))).toEqual(all);
      const middle = all[20]!.seq;
      expect(await collect(inspection.entries(middle, 3))).toEqual(all.slice(20, 23));
      for (const { entry } of all) {
        if (entry.type === 'TaskCreated') expect(await inspection.read(entry.payload)).not.toBe(null);
      }
      await inspection.close();
    }
  });
});

describe('restore', () => {
  it('copies the backup and begins an epoch above every fence there can be', async () => {
    for (const compact of [false, true]) {
      const { disk, chronicle } = await lived({ compact });
      const { lastSeq } = chronicle.log.position;
      const texts = (await chronicle.texts()).sort();
      await chronicle.log.close();
      const restored = await restoreLog({ files: disk, backupDir: '/data', dir: '/restored/here', ...EPOCH });
      expect(restored).toMatchObject({ epoch: 2, backup: { lastSeq } });
      expect(restored.seq).toBeGreaterThanOrEqual(lastSeq + 2 ** 40);
      const next = disk.afterPowerCut();
      const again = await Chronicle.open(engineOn(next, '/restored/here'));
      expect(again.state.lastSeq).toBe(restored.seq);
      expect(again.state.epoch).toBe(2);
      expect(again.log.epoch).toBe(3);
      // Every lease has ended, so the rows come in another order; the bytes are all there.
      expect((await again.texts()).sort()).toEqual(texts);
      await again.start();
      expect(again.log.position.lastSeq).toBe(restored.seq + 1);
    }
  });

  it('lets no time go backwards, though the clock is behind that of the backup', async () => {
    const { disk, chronicle } = await lived({ compact: false });
    const { lastAtMs } = chronicle.log.position;
    await chronicle.log.close();
    const nowMs = lastAtMs - 60_000;
    await restoreLog({ files: disk, backupDir: '/data', dir: '/restored', ...EPOCH, nowMs });
    const again = await Chronicle.open(engineOn(disk, '/restored'));
    expect(again.log.position.lastAtMs).toBe(lastAtMs);
    await again.log.close();
  });

  it('leaves out what was torn in the backup', async () => {
    const { disk, chronicle } = await lived({ compact: false });
    const { lastSeq } = chronicle.log.position;
    disk.gate = ({ name }) => void (name === 'write' && disk.cutPower());
    await expect(chronicle.live(500)).rejects.toThrow();
    const torn = disk.copy({ sector: (_, sector) => sector % 2 === 0 });
    const options = { files: torn, backupDir: '/data', dir: '/restored', ...EPOCH };
    const { backup, seq } = await restoreLog(options);
    expect(backup.lastSeq).toBe(lastSeq);
    expect(await verifyLog(torn, '/restored')).toMatchObject({ torn: null, lastSeq: seq });
  });

  it('of one backup gives out no number again that an earlier one of it has given out', async () => {
    const { disk, chronicle } = await lived({ compact: false });
    await chronicle.log.close();
    const backup = { files: disk, backupDir: '/data', ...EPOCH };
    await restoreLog({ ...backup, dir: '/first' });
    const given = await newestAfterUse(disk, '/first');
    const again = await restoreLog({ ...backup, dir: '/second', nowMs: EPOCH.nowMs + 1_000 });
    expect(again.seq).toBeGreaterThan(given);
  });

  it('of an older backup gives out no number again that one of a newer backup has given out', async () => {
    const { disk, chronicle } = await lived({ compact: false });
    await copySnapshot((await chronicle.log.snapshot())!, disk, '/older');
    for (let i = 0; i < 20; i++) await chronicle.live();
    await chronicle.log.close();
    await restoreLog({ files: disk, backupDir: '/data', dir: '/first', ...EPOCH });
    const given = await newestAfterUse(disk, '/first');
    const nowMs = EPOCH.nowMs + 1_000;
    const older = await restoreLog({ files: disk, backupDir: '/older', dir: '/second', ...EPOCH, nowMs });
    expect(older.backup.lastSeq).toBeLessThan(chronicle.log.position.lastSeq);
    expect(older.seq).toBeGreaterThan(given);
  });

  it('begins above the number that the operator names, also with a clock that stands still or is wrong', async () => {
    const { disk, chronicle } = await lived({ compact: false });
    await chronicle.log.close();
    const { lastSeq } = chronicle.log.position;
    const backup = { files: disk, backupDir: '/data', ...EPOCH };
    await restoreLog({ ...backup, dir: '/first' });
    const given = await newestAfterUse(disk, '/first');
    const named = await restoreLog({ ...backup, dir: '/second', aboveSeq: given });
    expect(named.seq).toBeGreaterThanOrEqual(given + 2 ** 40);
    expect((await Chronicle.open(engineOn(disk, '/second'))).state.lastSeq).toBe(named.seq);
    // Before 2020 the clock is of no help, and does no harm.
    const nowMs = 86_400_000;
    const wrong = await restoreLog({ ...backup, dir: '/third', nowMs });
    expect(wrong.seq).toBeGreaterThanOrEqual(lastSeq + 2 ** 40);
    const both = await restoreLog({ ...backup, dir: '/fourth', nowMs, aboveSeq: named.seq });
    expect(both.seq).toBeGreaterThanOrEqual(named.seq + 2 ** 40);
  });

  it('is refused when too few numbers are left, and writes nothing', async () => {
    const { disk, chronicle } = await lived({ compact: true });
    await chronicle.log.close();
    const options = {
      files: disk,
      backupDir: '/data',
      dir: '/new',
      ...EPOCH,
      aboveSeq: 2 ** 53 - 2 ** 41 + 1,
    };
    await expect(restoreLog(options)).rejects.toThrow(/leaves fewer than 2\^40 numbers below 2\^53/);
    expect(await disk.list('/new')).toBe(null);
    await restoreLog({ ...options, aboveSeq: 2 ** 53 - 2 ** 41 });
  });

  it('refuses a damaged backup and a directory that is not empty', async () => {
    const { disk, chronicle } = await lived({ compact: false });
    await chronicle.log.close();
    await restoreLog({ files: disk, backupDir: '/data', dir: '/full', ...EPOCH });
    await expect(restoreLog({ files: disk, backupDir: '/data', dir: '/full', ...EPOCH })).rejects.toThrow(
      'already holds a log',
    );
    disk.tamper(disk.paths()[0]!, (bytes) => bytes.fill(0xee, 80, 84));
    await expect(restoreLog({ files: disk, backupDir: '/data', dir: '/new', ...EPOCH })).rejects.toThrow(
      LogDamagedError,
    );
    expect(await disk.list('/new')).toBe(null);
  });

  it('refuses a directory that has a writer, names it, and says what to do instead', async () => {
    const { disk, chronicle } = await lived({ compact: false });
    const options = { files: disk, backupDir: '/data', dir: '/new', ...EPOCH };
    const refusal = await restoreLog(options).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(LogHeldError);
    expect(String(refusal)).toMatch(/\/data is in use by .*: make a backup of it with "leasehold backup"/);
    expect(await disk.list('/new')).toBe(null);
    // What was taken of it meanwhile as a backup can be restored.
    await copySnapshot((await chronicle.log.snapshot())!, disk, '/copy');
    await restoreLog({ ...options, backupDir: '/copy' });
    await chronicle.log.close();
    await restoreLog({ ...options, dir: '/other' });
  });

  it('refuses a directory that is opened by a writer while it is read, and writes nothing', async () => {
    const { disk, chronicle } = await lived({ compact: false });
    await chronicle.log.close();
    const before = disk.paths();
    let hasCome = false;
    disk.gate = ({ name, path }) => {
      if (name !== 'read' || hasCome) return;
      hasCome = true;
      void disk.lock(`${dirname(path)}/LOCK`, 'somebody');
    };
    const options = { files: disk, backupDir: '/data', dir: '/new', ...EPOCH };
    await expect(restoreLog(options)).rejects.toThrow(LogHeldError);
    expect(disk.paths()).toEqual(before);
    expect(await disk.list('/new')).toBe(null);
  });

  it('refuses a directory in its backup, around it, or the backup itself, and writes nothing', async () => {
    const { disk, chronicle } = await lived({ compact: false });
    await disk.makeDir('/backups');
    await copySnapshot((await chronicle.log.snapshot())!, disk, '/backups/monday');
    await chronicle.log.close();
    const before = disk.paths();
    for (const [dir, says] of [
      ['/backups/monday', '/backups/monday is the backup itself. '],
      ['/backups/monday/', '/backups/monday/ is the backup itself. '],
      ['/backups/monday/new/one', '/backups/monday/new/one lies in the backup /backups/monday. '],
      ['/backups', 'The backup /backups/monday lies in /backups. '],
      ['/', 'The backup /backups/monday lies in /. '],
    ] as const) {
      const restoring = restoreLog({ files: disk, backupDir: '/backups/monday', dir, ...EPOCH });
      await expect(restoring).rejects.toThrow(says);
    }
    expect(disk.paths()).toEqual(before);
    expect(await disk.list('/backups/monday/new')).toBe(null);
  });
});
