// A snapshot is a log of its own that ends at one position, whatever the log it was taken of does meanwhile: write,
// compact, delete, close.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { Chronicle } from '../../../test/support/chronicle.ts';
import { copySnapshot } from '../../../test/support/copy-snapshot.ts';
import { inlineThreads } from '../../../test/support/inline-threads.ts';
import { appendBatch, openHeard } from '../../../test/support/log-story.ts';
import { diskError, PowerCutError, TestDisk } from '../../../test/support/test-disk.ts';
import type { Files } from '../../seams/files.ts';
import { nodeFiles } from '../../world/node-files.ts';
import type { LogSnapshot } from '../log.ts';
import { LogDamagedError } from '../log.ts';
import { fileEngine } from './file-engine.ts';
import { verifyLog } from './inspect.ts';
import { restoreLog } from './restore.ts';

const SMALL = {
  segmentBytes: 8 * 1024,
  batchBytesMax: 1024,
  operationBytesMax: 1024,
  recentBytesMax: 0,
  cacheBytesMax: 1,
  compactionBytesMin: 20 * 1024,
  partBytesMax: 6 * 1024,
};
const engineOn = (files: Files, dir = '/data') =>
  fileEngine({ dir, files, threads: inlineThreads(files), ...SMALL });

async function lived(files: Files, rounds: number, dir = '/data'): Promise<Chronicle> {
  const chronicle = await Chronicle.open(engineOn(files, dir));
  await chronicle.start();
  for (let i = 0; i < rounds; i++) await chronicle.live();
  return chronicle;
}

/** A snapshot beside what the log was when it was taken. */
interface Moment {
  readonly snapshot: LogSnapshot;
  readonly seq: number;
  readonly hash: string;
  readonly texts: readonly (string | null)[];
}

async function momentOf(chronicle: Chronicle): Promise<Moment> {
  const { hash } = chronicle;
  const snapshot = (await chronicle.log.snapshot())!;
  return { snapshot, seq: chronicle.log.position.lastSeq, hash, texts: (await chronicle.texts()).sort() };
}

/** Copies the snapshot to a disk of its own and holds it against the moment it was taken. */
async function check({ snapshot, seq, hash, texts }: Moment): Promise<TestDisk> {
  const disk = new TestDisk();
  await copySnapshot(snapshot, disk, '/copy');
  expect(snapshot.seq).toBe(seq);
  const { epoch } = snapshot;
  expect(await verifyLog(disk, '/copy')).toMatchObject({
    lastSeq: seq,
    epoch,
    torn: null,
    history: null,
    leftovers: [],
    damagedOpaques: [],
  });
  const copy = await Chronicle.open(engineOn(disk.copy(), '/copy'));
  expect(copy.hash).toBe(hash);
  expect((await copy.texts()).sort()).toEqual(texts);
  return disk;
}

const EPOCH = { format: 'leasehold', version: 1, nowMs: 1_800_000_000_000, seed: 0 };

describe('a snapshot', () => {
  it('is the log at that position, of however many segments it consists', async () => {
    for (const rounds of [0, 1, 7, 60]) {
      const chronicle = await lived(new TestDisk(), rounds);
      const moment = await momentOf(chronicle);
      for (let i = 0; i < 20; i++) await chronicle.live();
      expect(moment.snapshot.files.length > 3).toBe(rounds === 60);
      await check(moment);
    }
  });

  it('holds nothing of what is written while it is read, piece by piece', async () => {
    const chronicle = await lived(new TestDisk(), 30);
    const moment = await momentOf(chronicle);
    const files = moment.snapshot.files.map((file) => ({
      ...file,
      async *read() {
        for await (const piece of file.read()) {
          await chronicle.live();
          yield piece;
        }
      },
    }));
    await check({ ...moment, snapshot: { ...moment.snapshot, files } });
    expect(chronicle.log.position.lastSeq).toBeGreaterThan(moment.seq);
  });

  it('can be taken at any moment of a compaction and read after the old files are gone', async () => {
    const disk = new TestDisk();
    const chronicle = await lived(disk, 0);
    const moments: Moment[] = [];
    let drops = 0;
    for (let i = 0; i < 120; i++) {
      await chronicle.live();
      if (i % 7 === 0) moments.push(await momentOf(chronicle));
      if (!chronicle.log.wantsCompaction) continue;
      const compacting = chronicle.log.compact();
      moments.push(await momentOf(chronicle));
      await chronicle.live();
      const relocation = (await compacting)!;
      moments.push(await momentOf(chronicle));
      chronicle.adopt(relocation);
      const before = disk.paths().length;
      const dropping = chronicle.log.dropOld();
      moments.push(await momentOf(chronicle));
      await dropping;
      expect(disk.paths().length).toBeLessThan(before);
      drops += 1;
    }
    expect(drops).toBeGreaterThan(1);
    for (const moment of moments) await check(moment);
  });

  it('is whole when a commit mark is on its way, and when one has just been written', async () => {
    const disk = new TestDisk();
    const chronicle = await lived(disk, 5);
    let arrive = () => {};
    disk.slow = ({ path }) => (path.endsWith('.seg') ? new Promise((resolve) => (arrive = resolve)) : null);
    const marking = chronicle.log.mark();
    const taking = momentOf(chronicle);
    arrive();
    disk.slow = () => null;
    await marking;
    await check(await taking);
    await check(await momentOf(chronicle));
  });

  it('can be taken of a log that was just opened, and of one whose end was torn', async () => {
    const disk = new TestDisk();
    const before = await lived(disk, 9);
    disk.gate = ({ name }) => void (name === 'write' && disk.cutPower());
    await expect(before.live(500)).rejects.toThrow(PowerCutError);
    const torn = disk.copy({ sector: (_, sector) => sector % 2 === 0 });
    expect((await verifyLog(torn, '/data')).torn).not.toBe(null);
    const chronicle = await Chronicle.open(engineOn(torn));
    const moment = await momentOf(chronicle);
    expect(moment.snapshot.epoch).toBe(1);
    await check(moment);
  });

  it('that is released twice releases once: another snapshot may hold the same files', async () => {
    const disk = new TestDisk();
    const chronicle = await lived(disk, 40);
    const [first, second] = [await momentOf(chronicle), await momentOf(chronicle)];
    await first.snapshot.release();
    await first.snapshot.release();
    await chronicle.compact();
    await check(second);
    await second.snapshot.release();
    await chronicle.log.close();
    expect(disk.openPaths).toEqual([]);
  });

  it('is a fault, and not zeros, where a file has become shorter', async () => {
    const disk = new TestDisk();
    const { snapshot } = await momentOf(await lived(disk, 40));
    const { name } = snapshot.files.at(-1)!;
    disk.tamper(`/data/${name}`, (content) => content.subarray(0, 1_000));
    await expect(copySnapshot(snapshot, new TestDisk(), '/copy')).rejects.toThrow(`${name} ends before`);
  });

  it('can be restored from', async () => {
    const chronicle = await lived(new TestDisk(), 40);
    await chronicle.compact();
    for (let i = 0; i < 20; i++) await chronicle.live();
    const moment = await momentOf(chronicle);
    const disk = await check(moment);
    const restored = await restoreLog({ files: disk, backupDir: '/copy', dir: '/new', ...EPOCH });
    expect(restored).toMatchObject({ backup: { lastSeq: moment.seq }, epoch: 2 });
    expect(restored.seq).toBeGreaterThanOrEqual(moment.seq + 2 ** 40);
    const again = await Chronicle.open(engineOn(disk, '/new'));
    expect((await again.texts()).sort()).toEqual(moment.texts);
    await again.log.close();
    expect(disk.openPaths.filter((path) => path.startsWith('/copy'))).toEqual([]);
  });

  it('of a log in which nothing has happened yet can be restored from as well', async () => {
    const { log } = await openHeard(engineOn(new TestDisk()));
    const disk = new TestDisk();
    await copySnapshot((await log.snapshot())!, disk, '/copy');
    const { seq } = await restoreLog({ files: disk, backupDir: '/copy', dir: '/new', ...EPOCH });
    const { heard } = await openHeard(engineOn(disk, '/new'));
    expect(heard.seqs).toEqual([seq]);
  });

  it('tells damage to its newest batch from a torn write, because it says that the batch was durable', async () => {
    const { log } = await openHeard(engineOn(new TestDisk()));
    await appendBatch(log, 3);
    await appendBatch(log, 1);
    const disk = new TestDisk();
    await copySnapshot((await log.snapshot())!, disk, '/copy');
    const [path] = disk.paths();
    disk.tamper(path!, (content) => {
      content[content.lastIndexOf('default')]! ^= 1;
      return content;
    });
    await expect(verifyLog(disk, '/copy')).rejects.toThrow(LogDamagedError);
  });

  it.each([
    ['with', true],
    ['without', false],
  ])('that was not copied to its end is not opened as a log, %s a checkpoint', async (_, hasCheckpoint) => {
    const chronicle = await lived(new TestDisk(), 40);
    if (hasCheckpoint) await chronicle.compact();
    for (let i = 0; i < 40; i++) await chronicle.live();
    const snapshot = (await chronicle.log.snapshot())!;
    const names = snapshot.files.map(({ name }) => name);
    expect(names.filter((name) => name.endsWith('.seg')).length).toBeGreaterThan(2);
    expect(names.filter((name) => name.endsWith('.ckpt')).length > 1).toBe(hasCheckpoint);
    for (let count = 1; count < names.length; count++) {
      const disk = new TestDisk();
      await copySnapshot({ ...snapshot, files: snapshot.files.slice(0, count) }, disk, '/copy');
      await expect(verifyLog(disk, '/copy'), `${count} files`).rejects.toThrow(LogDamagedError);
      const cut = disk.paths().find((path) => path.endsWith(names[count - 1]!))!;
      disk.tamper(cut, (content) => content.subarray(0, content.length / 2));
      await expect(verifyLog(disk, '/copy'), `${count} files, the last in half`).rejects.toThrow(
        LogDamagedError,
      );
    }
  });

  it('passes on what the disk says against it, and leaves the log as it is', async () => {
    const disk = new TestDisk();
    const chronicle = await lived(disk, 20);
    const snapshot = (await chronicle.log.snapshot())!;
    disk.gate = ({ name }) => {
      if (name === 'read') throw diskError('EIO');
    };
    await expect(copySnapshot(snapshot, new TestDisk(), '/copy')).rejects.toMatchObject({ code: 'EIO' });
    disk.gate = () => {};
    await snapshot.release();
    await chronicle.live();
    await check(await momentOf(chronicle));
  });
});

describe('a snapshot on a real disk', () => {
  let parent = '';
  afterEach(() => rmSync(parent, { recursive: true }));

  it('keeps deleted files open until it is released, over the closing of the log, and no longer', async () => {
    parent = mkdtempSync(join(tmpdir(), 'leasehold-snapshot-'));
    const open = new Set<string>();
    let opened = 0;
    const files: Files = {
      ...nodeFiles,
      async open(path, mode) {
        const file = await nodeFiles.open(path, mode);
        const key = `${path} ${opened++}`;
        open.add(key);
        const close = file.close.bind(file);
        file.close = async () => {
          open.delete(key);
          await close();
        };
        return file;
      },
    };
    const dir = join(parent, 'log');
    const chronicle = await lived(files, 60, dir);
    const moment = await momentOf(chronicle);
    const reading = moment.snapshot.files.at(-1)!.read()[Symbol.asyncIterator]();
    await reading.next();
    await chronicle.compact();
    const there = (await nodeFiles.list(dir))!;
    expect(moment.snapshot.files.filter(({ name }) => !there.includes(name)).length).toBeGreaterThan(3);
    await chronicle.log.close();
    await check(moment);
    await moment.snapshot.release();
    // The one that is being read goes with its reader.
    expect([...open].map((key) => key.split(' ')[0])).toEqual([
      join(dir, moment.snapshot.files.at(-1)!.name),
    ]);
    while (!(await reading.next()).done);
    expect([...open]).toEqual([]);
    await expect(copySnapshot(moment.snapshot, new TestDisk(), '/copy')).rejects.toThrow('was released');
  });
});
