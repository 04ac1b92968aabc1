// How a backup leaves the server: nothing before the snapshot, and the snapshot is let go of however it ends.
import { describe, expect, it } from 'vitest';
import { Chronicle } from '../../test/support/chronicle.ts';
import { diskError, TestDisk } from '../../test/support/test-disk.ts';
import { fileEngine } from '../engines/file/file-engine.ts';
import type { Log, LogSnapshot } from '../engines/log.ts';
import { memoryEngine } from '../engines/memory/memory-engine.ts';
import { backupStream, NoBackupError } from './backup.ts';

const CLOCK = { wallMs: () => Date.UTC(2026, 0, 1) };

/** A log on a disk, and how many snapshots of it are held. */
async function watchedLog() {
  const disk = new TestDisk();
  const { log, ...chronicle } = await lived(disk);
  const held = { count: 0 };
  const take = log.snapshot.bind(log);
  log.snapshot = async (): Promise<LogSnapshot> => {
    const snapshot = (await take())!;
    held.count += 1;
    return {
      ...snapshot,
      async release() {
        held.count -= 1;
        await snapshot.release();
      },
    };
  };
  return { disk, log, held, ...chronicle };
}

async function lived(disk: TestDisk) {
  const chronicle = await Chronicle.open(fileEngine({ dir: '/data', files: disk, segmentBytes: 64 * 1024 }));
  await chronicle.start();
  for (let i = 0; i < 60; i++) await chronicle.live();
  return { log: chronicle.log, live: () => chronicle.live() };
}

async function drain(archive: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of archive) pieces.push(piece);
  return Buffer.concat(pieces);
}

describe('a backup that leaves the server', () => {
  it('is the files of one snapshot, and at its end what they must be', async () => {
    const { log, held } = await watchedLog();
    const archive = await drain(backupStream({ log }, CLOCK));
    expect(held.count).toBe(0);
    const at = archive.indexOf('backup.json');
    expect(at % 512).toBe(0);
    const text = archive.toString('utf8', at + 512).replaceAll('\0', '');
    const names = (await log.snapshot())!.files.map(({ name }) => name);
    expect(JSON.parse(text)).toEqual({
      seq: log.position.lastSeq,
      epoch: 1,
      at: '2026-01-01T00:00:00.000Z',
      files: names.map((name) => ({ name, bytes: expect.any(Number), crc32: expect.any(Number) })),
    });
  });

  it('holds nothing before the first byte is asked for', async () => {
    const { log, held } = await watchedLog();
    const archive = backupStream({ log }, CLOCK);
    expect(held.count).toBe(0);
    await archive.next();
    expect(held.count).toBe(1);
    await archive.return(undefined);
  });

  it('releases the snapshot when its reader stops, at whatever byte', async () => {
    const { log, held } = await watchedLog();
    for (let pieces = 1; pieces < 6; pieces++) {
      const archive = backupStream({ log }, CLOCK);
      for (let i = 0; i < pieces; i++) await archive.next();
      expect(held.count).toBe(1);
      await archive.return(undefined);
      expect(held.count).toBe(0);
    }
  });

  it('lets go of the snapshot when the disk fails, and says why', async () => {
    const { log, held, disk, live } = await watchedLog();
    disk.gate = ({ name }) => {
      if (name === 'read') throw diskError('EIO');
    };
    await expect(drain(backupStream({ log }, CLOCK))).rejects.toMatchObject({ code: 'EIO' });
    expect(held.count).toBe(0);
    disk.gate = () => {};
    await live();
    await drain(backupStream({ log }, CLOCK));
  });

  it('fails before the first byte when the log is closed, or is not in files', async () => {
    const { log } = await watchedLog();
    await log.close();
    await expect(backupStream({ log }, CLOCK).next()).rejects.toThrow(/closed/);
    const memory: Log = await memoryEngine().open({ image() {}, entry() {} });
    await expect(backupStream({ log: memory }, CLOCK).next()).rejects.toThrow(NoBackupError);
  });
});
