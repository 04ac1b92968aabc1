// A backup, from a log that is still written to the directory it is restored from: whole, of one position, or not there at all.
import { describe, expect, it } from 'vitest';
import { Chronicle } from '../../test/support/chronicle.ts';
import { inlineThreads } from '../../test/support/inline-threads.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { diskError, TestDisk } from '../../test/support/test-disk.ts';
import { stateHash } from '../core/state-hash.ts';
import { fileEngine } from '../engines/file/file-engine.ts';
import { verifyLog } from '../engines/file/inspect.ts';
import { restoreLog } from '../engines/file/restore.ts';
import { LogDamagedError } from '../engines/log.ts';
import { openCore } from '../open.ts';
import { Json } from '../protocol/json.ts';
import { backupStream } from '../server/backup.ts';
import { tarArchive } from '../server/tar.ts';
import { receiveBackup } from './receive-backup.ts';
import { ArchiveError, untar } from './untar.ts';

const CLOCK = { wallMs: () => Date.UTC(2026, 0, 1) };
const DIR = '/backups/monday';
const SMALL = {
  segmentBytes: 8 * 1024,
  batchBytesMax: 1024,
  operationBytesMax: 1024,
  partBytesMax: 6 * 1024,
};
const engineOn = (files: TestDisk, dir = '/data') =>
  fileEngine({ dir, files, threads: inlineThreads(files), ...SMALL, compactionBytesMin: 20 * 1024 });
const EPOCH = { format: 'leasehold', version: 1, nowMs: 1_800_000_000_000, seed: 0 };

/** A log of a checkpoint and several segments. */
async function lived(): Promise<Chronicle> {
  const chronicle = await Chronicle.open(engineOn(new TestDisk()));
  await chronicle.start();
  for (let i = 0; i < 25; i++) await chronicle.live();
  await chronicle.compact();
  for (let i = 0; i < 12; i++) await chronicle.live();
  return chronicle;
}

async function archived(chronicle: Chronicle): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of backupStream(chronicle, CLOCK)) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function* sent(...pieces: Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* pieces;
}

const contentsOf = (disk: TestDisk) => disk.paths().map((path) => [path, disk.contentOf(path)] as const);
const receive = (disk: TestDisk, archive: Buffer) => receiveBackup(disk, DIR, async () => sent(archive));

/** The archive with its members changed. */
async function repacked(
  archive: Buffer,
  change: (members: { name: string; content: Buffer }[]) => { name: string; content: Buffer }[],
): Promise<Buffer> {
  const members = [];
  for await (const { name, content } of untar(sent(archive))) {
    const pieces: Uint8Array[] = [];
    for await (const piece of content) pieces.push(piece);
    members.push({ name, content: Buffer.concat(pieces) });
  }
  const changed = change(members).map(({ name, content }) => ({
    name,
    bytes: content.length,
    content: [content],
  }));
  const pieces: Uint8Array[] = [];
  for await (const piece of tarArchive(changed, 0)) pieces.push(piece);
  return Buffer.concat(pieces);
}

describe('receiving a backup', () => {
  it('gives a verified copy that replays to the state at its seq, and can be restored', async () => {
    const chronicle = await lived();
    const { hash } = chronicle;
    const { lastSeq } = chronicle.log.position;
    const archive = await archived(chronicle);
    const disk = new TestDisk();
    const { manifest, report } = await receive(disk, archive);
    expect(manifest).toMatchObject({ seq: lastSeq, epoch: 1, at: '2026-01-01T00:00:00.000Z' });
    expect(report).toMatchObject({ lastSeq, epoch: 1, torn: null, damagedOpaques: [] });
    expect(report.checkpointSeq).toBeGreaterThan(0);
    const names = [...manifest.files.map(({ name }) => name), 'backup.json'].sort();
    expect([...(await disk.list(DIR))!].sort()).toEqual(names);

    // All of it is durable when it is told.
    const next = disk.afterPowerCut();
    const restored = await restoreLog({ files: next, backupDir: DIR, dir: '/new', ...EPOCH });
    expect(restored.seq).toBeGreaterThanOrEqual(lastSeq + 2 ** 40);
    expect(await next.list('/new')).not.toContain('backup.json');
    await Chronicle.open(engineOn(next, '/new'));
    next.unlinkBehindTheBack(`${DIR}/backup.json`);
    expect((await Chronicle.open(engineOn(next, DIR))).hash).toBe(hash);
  });

  it('takes the directory as it is when it is empty, and touches nothing when it is not', async () => {
    const archive = await archived(await lived());
    const disk = new TestDisk();
    await disk.makeDir('/backups');
    await disk.makeDir(DIR);
    await receive(disk, archive);
    const before = disk.operations.length;
    const download = () => Promise.reject(new Error('it must not be requested'));
    await expect(receiveBackup(disk, DIR, download)).rejects.toThrow(`${DIR} is not empty`);
    expect(disk.operations.slice(before).map(({ name }) => name)).toEqual(['list']);
  });

  it('creates nothing when there is no backup', async () => {
    const disk = new TestDisk();
    await expect(receiveBackup(disk, DIR, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await disk.list('/backups')).toBe(null);
  });

  it('notices wherever the archive is cut off, and leaves nothing', async () => {
    const archive = await archived(await lived());
    for (let length = 0; length < archive.length; length += 509) {
      const disk = new TestDisk();
      await expect(receive(disk, archive.subarray(0, length)), `${length} bytes`).rejects.toThrow(
        ArchiveError,
      );
      expect(disk.paths()).toEqual([]);
      expect(await disk.list('/backups')).toBe(null);
    }
  });

  it('notices any byte that changed on the way, and leaves nothing', async () => {
    const archive = await archived(await lived());
    const end = archive.lastIndexOf('backup.json');
    const whole = new TestDisk();
    await receive(whole, archive);
    for (let at = 7; at < end; at += 211) {
      const damaged = Buffer.from(archive);
      damaged[at]! ^= 0x08;
      const disk = new TestDisk();
      const outcome = await receive(disk, damaged).catch((error: unknown) => error);
      // Zeros that only fill up to the next block say nothing.
      if (!(outcome instanceof Error)) {
        expect(contentsOf(disk), `byte ${at}`).toEqual(contentsOf(whole));
        continue;
      }
      expect(disk.paths(), `byte ${at}`).toEqual([]);
      expect(await disk.list('/backups')).toBe(null);
    }
  });

  it('refuses what a backup is not made of', async () => {
    const archive = await archived(await lived());
    const file = (name: string) => ({ name, content: Buffer.from('{}') });
    const bad = [
      await repacked(archive, (members) => [file('.bashrc'), ...members]),
      await repacked(archive, (members) => [file('LOCK'), ...members]),
      await repacked(archive, (members) => [file('0000000000000099.seg.tmp'), ...members]),
      await repacked(archive, (members) => [members[0]!, ...members]),
      await repacked(archive, (members) => [...members, file('0000000000000099.seg')]),
      await repacked(archive, (members) => [...members, members.at(-1)!]),
      await repacked(archive, (members) => members.slice(0, -1)),
      await repacked(archive, (members) => members.slice(1)),
      await repacked(archive, (members) => [file('0000000000000099.seg'), ...members]),
      await repacked(archive, (members) => [...members.slice(0, -1), file('backup.json')]),
      await repacked(archive, () => []),
    ];
    for (const [i, archived] of bad.entries()) {
      const disk = new TestDisk();
      const outcome = await receive(disk, archived).catch((error: unknown) => error);
      expect(outcome instanceof ArchiveError || outcome instanceof LogDamagedError, `archive ${i}`).toBe(
        true,
      );
      expect(disk.paths()).toEqual([]);
    }
  });

  it('verifies the log as a whole: a backup of a damaged one is none', async () => {
    const disk = new TestDisk();
    const chronicle = await Chronicle.open(engineOn(disk));
    await chronicle.start();
    for (let i = 0; i < 25; i++) await chronicle.live();
    const [path] = disk.paths().filter((name) => name.endsWith('.seg'));
    disk.tamper(path!, (content) => content.fill(0xee, 200, 204));
    const target = new TestDisk();
    await expect(receive(target, await archived(chronicle))).rejects.toThrow(LogDamagedError);
    expect(target.paths()).toEqual([]);
  });

  it('keeps a backup in which a payload is damaged as it is in the original, and says so', async () => {
    const disk = new TestDisk();
    const chronicle = await Chronicle.open(engineOn(disk));
    await chronicle.start();
    for (let i = 0; i < 25; i++) await chronicle.live();
    const [path] = disk.paths().filter((name) => name.endsWith('.seg'));
    const at = disk.contentOf(path!).indexOf('payload 10000');
    disk.tamper(path!, (content) => content.fill('X', at, at + 3));
    const target = new TestDisk();
    const { report } = await receive(target, await archived(chronicle));
    expect(report.damagedOpaques).toHaveLength(1);
    expect(target.paths()).toContain(`${DIR}/backup.json`);
  });

  it('leaves nothing when the disk fails at any operation', async () => {
    const archive = await archived(await lived());
    const whole = new TestDisk();
    await receive(whole, archive);
    const count = whole.operations.length;
    expect(count).toBeGreaterThan(50);
    for (let failing = 0; failing < count; failing++) {
      const disk = new TestDisk();
      let left = failing;
      disk.gate = () => {
        if (left-- === 0) throw diskError('ENOSPC');
      };
      const where = `operation ${failing}: ${whole.operations[failing]!.name}`;
      await expect(receive(disk, archive), where).rejects.toMatchObject({ code: 'ENOSPC' });
      expect(disk.paths(), where).toEqual([]);
      expect(await disk.list(DIR), where).toBe(null);
    }
  });

  it('says so when it cannot remove what it wrote', async () => {
    const archive = await archived(await lived());
    const disk = new TestDisk();
    disk.gate = ({ name }) => {
      if (name === 'remove') throw diskError('EIO');
    };
    await expect(receive(disk, archive.subarray(0, 9_000))).rejects.toThrow(
      /^The archive ends .* could not be removed/,
    );
  });

  it('that is cut short by a power cut at any operation is whole or no log at all', async () => {
    const chronicle = await lived();
    const { lastSeq } = chronicle.log.position;
    const archive = await archived(chronicle);
    const whole = new TestDisk();
    await receive(whole, archive);
    let logs = 0;
    let parts = 0;
    for (let last = 0; last < whole.operations.length; last++) {
      const disk = new TestDisk();
      let left = last;
      disk.gate = () => void (left-- === 0 && disk.cutPower());
      await expect(receive(disk, archive)).rejects.toThrow('The power is cut.');
      for (const survivors of [{}, { names: true }, { names: true, sector: () => true }]) {
        const next = disk.copy(survivors);
        const found = await verifyLog(next, DIR).catch((error: Error) => error);
        if (found instanceof Error) {
          expect(found instanceof LogDamagedError || found.message.startsWith('There is no log')).toBe(true);
        } else {
          expect(found).toMatchObject({ lastSeq, torn: null });
          logs += 1;
        }
        // An incomplete backup is neither continued nor restored from.
        if (((await next.list(DIR)) ?? []).length === 0) continue;
        const before = next.paths();
        const opening = await Chronicle.open(engineOn(next, DIR)).catch((error: Error) => error);
        if (before.some((path) => path.endsWith('.part'))) {
          expect(opening).toBeInstanceOf(LogDamagedError);
          expect(opening).toMatchObject({ file: expect.stringMatching(/\.part$/), offset: 0 });
          expect(String(opening)).toContain('a backup into this directory was interrupted');
          expect(found).toMatchObject({ message: (opening as Error).message });
          const restoring = restoreLog({ files: next, backupDir: DIR, dir: '/new', ...EPOCH });
          await expect(restoring).rejects.toThrow('a backup into this directory was interrupted');
          parts += 1;
        } else {
          expect(String(opening)).toContain('is a backup');
        }
        expect(next.paths()).toEqual(before);
      }
    }
    expect(logs).toBeGreaterThan(0);
    expect(parts).toBeGreaterThan(50);
  });
});

describe('a backup in its directory', () => {
  const received = async () => {
    const disk = new TestDisk();
    const { manifest } = await receive(disk, await archived(await lived()));
    return { disk, manifest };
  };

  it('is not opened for writing, and the refusal says what to do', async () => {
    const { disk } = await received();
    const before = disk.paths();
    await expect(Chronicle.open(engineOn(disk, DIR))).rejects.toThrow(
      /is a backup .* "leasehold wal restore"/,
    );
    expect(disk.paths()).toEqual(before);
    // An incomplete directory is refused as a target too: it could not be opened afterwards.
    const left = disk.copy();
    for (const path of before) if (!path.endsWith('.json')) left.unlinkBehindTheBack(path);
    await left.makeDir('/new');
    await left.rename(`${DIR}/backup.json`, '/new/backup.json');
    await receive(left, await archived(await lived()));
    await expect(restoreLog({ files: left, backupDir: DIR, dir: '/new', ...EPOCH })).rejects.toThrow(
      '/new already holds a log',
    );
    await left.rename('/new/backup.json', '/new/backup.json.part');
    await expect(restoreLog({ files: left, backupDir: DIR, dir: '/new', ...EPOCH })).rejects.toThrow(
      '/new already holds a log',
    );
  });

  it('is verified against backup.json: what is missing, shorter or too much is damage', async () => {
    const { disk, manifest } = await received();
    const newest = `${DIR}/${manifest.files[0]!.name}`;
    await verifyLog(disk, DIR);
    // By itself it would be a whole log that ends one mark or one batch earlier.
    const shorter = disk.copy();
    shorter.tamper(newest, (content) => content.subarray(0, content.length - 56));
    await expect(verifyLog(shorter, DIR)).rejects.toThrow(
      `backup.json says that it has ${manifest.files[0]!.bytes}`,
    );
    await expect(restoreLog({ files: shorter, backupDir: DIR, dir: '/new', ...EPOCH })).rejects.toThrow(
      LogDamagedError,
    );
    expect(await shorter.list('/new')).toBe(null);
    const missing = disk.copy();
    missing.unlinkBehindTheBack(newest);
    await expect(verifyLog(missing, DIR)).rejects.toThrow(LogDamagedError);
    const strange = disk.copy();
    const file = await strange.open(`${DIR}/0000000000000099.seg`, { create: true });
    await file.write(Buffer.alloc(64), 0);
    await expect(verifyLog(strange, DIR)).rejects.toThrow('it is not in backup.json');
    const other = disk.copy();
    other.tamper(`${DIR}/backup.json`, (content) =>
      Buffer.from(content.toString().replace(/"seq": \d+/, `"seq": ${manifest.seq + 1}`)),
    );
    await expect(verifyLog(other, DIR)).rejects.toThrow(`but the log ends at seq ${manifest.seq}`);
    const unreadable = disk.copy();
    unreadable.tamper(`${DIR}/backup.json`, (content) => content.subarray(0, 40));
    await expect(verifyLog(unreadable, DIR)).rejects.toThrow('it is not valid JSON');
  });
});

describe('a backup of a running authority', () => {
  it('is of one position while calls are answered and a compaction deletes files under it', async () => {
    const world = new ManualWorld();
    const source = new TestDisk();
    const { authority, calls } = await world.finish(
      openCore(
        fileEngine({
          ...SMALL,
          dir: '/data',
          files: source,
          threads: inlineThreads(source),
          compactionBytesMin: 16 * 1024,
        }),
        world,
      ),
    );
    const create = () => calls['task.create']({ payload: Json.of({ pad: 'x'.repeat(300) }) });
    for (let i = 0; i < 20; i++) await world.finish(create());
    const hash = stateHash(authority.state);
    const { lastSeq, firstSeq } = authority.log.position;
    expect(firstSeq).toBe(1);

    // Between any two pieces of the archive the authority takes another call.
    async function* slowly(): AsyncGenerator<Uint8Array> {
      for await (const piece of backupStream(authority, world.clock)) {
        await world.finish(create());
        yield piece;
      }
      for (let tries = 0; tries < 200 && authority.log.position.firstSeq === 1; tries++)
        await world.finish(create());
    }
    const target = new TestDisk();
    const { manifest } = await world.finish(receiveBackup(target, DIR, async () => slowly()));
    expect(authority.log.position.lastSeq).toBeGreaterThan(lastSeq);
    expect(authority.log.position.firstSeq).toBeGreaterThan(1);
    expect(manifest.seq).toBe(lastSeq);
    target.unlinkBehindTheBack(`${DIR}/backup.json`);
    const copy = await Chronicle.open(engineOn(target, DIR));
    expect(stateHash(copy.state)).toBe(hash);
    await world.finish(authority.close());
  });
});
