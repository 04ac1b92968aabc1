// A write that a crash cut short was never acknowledged: it is cut off, whatever part of it reached the disk, and its
// bytes never come back.
import { describe, expect, it } from 'vitest';
import {
  appendBatch,
  collect,
  openHeard,
  payloadOf,
  payloadText,
  readText,
  taskCreated,
} from '../../../test/support/log-story.ts';
import { SECTOR_BYTES, TestDisk } from '../../../test/support/test-disk.ts';
import type { Log } from '../log.ts';
import { fileEngine } from './file-engine.ts';
import { verifyLog } from './inspect.ts';

const DIR = '/data';
const SEGMENT = '/data/0000000000000001.seg';
const SMALL = {
  segmentBytes: 64 * 1024,
  batchBytesMax: 4 * 1024,
  operationBytesMax: 4 * 1024,
  recentBytesMax: 0,
};

const engineOn = (files: TestDisk, sizes: object = {}) => fileEngine({ dir: DIR, files, ...SMALL, ...sizes });
const upTo = (seq: number) => Array.from({ length: seq }, (_, i) => i + 1);

/** Opens, expects exactly the entries up to `lastSeq`, each with its payload, and that the log continues from there. */
async function expectLogOf(disk: TestDisk, lastSeq: number, sizes: object = {}): Promise<void> {
  const { log, heard } = await openHeard(engineOn(disk, sizes));
  expect(heard.seqs).toEqual(upTo(lastSeq));
  for (const { entry, seq } of heard.logged) {
    const payload = payloadOf(entry);
    expect(await readText(log, payload)).toBe(payloadText(seq, payload.length));
  }
  await appendBatch(log, 1);
  const again = await openHeard(engineOn(disk.afterPowerCut(), sizes));
  expect(again.heard.seqs).toEqual(upTo(lastSeq + 1));
}

describe('a log cut at any byte of its last frame', () => {
  async function logOfThree() {
    const disk = new TestDisk();
    const { log } = await openHeard(engineOn(disk));
    await appendBatch(log, 2);
    await appendBatch(log, 2);
    const start = log.size.bytes;
    await appendBatch(log, 3, (seq) => taskCreated(seq, 150));
    const end = log.size.bytes;
    return { disk: disk.afterPowerCut(), start, end };
  }

  it('is refused when the file ends there: a crash leaves the space that was allocated', async () => {
    const { disk, start, end } = await logOfThree();
    expect(end - start).toBeGreaterThan(500);
    for (let cut = start + 1; cut < end - 8; cut++) {
      const copy = disk.copy();
      copy.tamper(SEGMENT, (content) => content.subarray(0, cut));
      const opening = openHeard(engineOn(copy));
      await expect(opening).rejects.toMatchObject({ file: '0000000000000001.seg', offset: start });
      await expect(verifyLog(copy, DIR)).rejects.toThrow(`it was cut`);
    }
  });

  it('loses that frame when the file ends right before it, as a restored one may', async () => {
    const { disk, start } = await logOfThree();
    const copy = disk.copy();
    copy.tamper(SEGMENT, (content) => content.subarray(0, start));
    await expectLogOf(copy, 4);
  });

  it('is refused when the file ends within its head or the very first frame', async () => {
    const disk = new TestDisk();
    const { log } = await openHeard(engineOn(disk));
    await appendBatch(log, 2);
    for (let cut = 5; cut < log.size.bytes - 8; cut++) {
      const copy = disk.afterPowerCut();
      copy.tamper(SEGMENT, (content) => content.subarray(0, cut));
      await expect(openHeard(engineOn(copy))).rejects.toThrow('it was cut');
    }
  });

  it('is reported when nothing is left of the file, which a first start that was interrupted may leave', async () => {
    const { disk } = await logOfThree();
    disk.tamper(SEGMENT, (content) => content.subarray(0, 0));
    const torn = { file: '0000000000000001.seg', offset: 0 };
    expect((await verifyLog(disk, DIR)).torn).toEqual(torn);
    const told: object[] = [];
    const { heard } = await openHeard(engineOn(disk, { onTornTail: (tail: object) => told.push(tail) }));
    expect(heard.seqs).toEqual([]);
    expect(told).toEqual([torn]);
  });

  it('is reported when nothing is left of the newest file, which may have been new when a crash came', async () => {
    const disk = new TestDisk();
    const sizes = { segmentBytes: 8 * 1024, batchBytesMax: 2 * 1024, operationBytesMax: 1024 };
    const { log } = await openHeard(engineOn(disk, sizes));
    while (log.size.bytes < 9 * 1024) await appendBatch(log, 1, (seq) => taskCreated(seq, 333));
    const newest = '/data/0000000000000002.seg';
    const copy = disk.afterPowerCut();
    for (const path of copy.paths()) if (path > newest) copy.unlinkBehindTheBack(path);
    copy.tamper(newest, (content) => content.subarray(0, 0));
    const told: object[] = [];
    await openHeard(engineOn(copy, { ...sizes, onTornTail: (tail: object) => told.push(tail) }));
    expect(told).toEqual([{ file: '0000000000000002.seg', offset: 0 }]);
  });

  it('loses that frame and nothing else when zeros follow', async () => {
    const { disk, start, end } = await logOfThree();
    for (let cut = start; cut < end - 8; cut++) {
      const copy = disk.copy();
      copy.tamper(SEGMENT, (content) => content.fill(0, cut));
      // The last bytes may have been zeros anyway: then nothing is missing.
      const isWhole = copy.contentOf(SEGMENT).equals(disk.contentOf(SEGMENT));
      await expectLogOf(copy, isWhole ? 7 : 4);
    }
  });
});

describe('a batch of which some sectors reached the disk', () => {
  /** Cuts the power in the middle of the write of the last batch, and looks at every set of sectors that may survive. */
  async function everySubset(before: (log: Log) => Promise<void>, sizes: object = {}) {
    const disk = new TestDisk();
    const { log } = await openHeard(engineOn(disk, sizes));
    await before(log);
    const lastSeq = log.position.lastSeq;
    let path = '';
    disk.gate = (operation) => {
      if (operation.name !== 'write') return;
      path = operation.path;
      disk.cutPower();
    };
    await expect(appendBatch(log, 4, (seq) => taskCreated(seq, 600))).rejects.toThrow('power');
    const seen = new Set<number>();
    disk.copy({ sector: (file, sector) => file === path && !!seen.add(sector) });
    const sectors = [...seen];
    expect(sectors.length).toBeGreaterThan(4);
    for (let subset = 0; subset < 2 ** sectors.length; subset++) {
      const survives = (file: string, sector: number) =>
        file === path && (subset & (1 << sectors.indexOf(sector))) !== 0;
      const isWhole = subset === 2 ** sectors.length - 1;
      await expectLogOf(disk.copy({ sector: survives }), isWhole ? lastSeq + 4 : lastSeq, sizes);
    }
  }

  it('is either whole or gone, in the middle of a segment', async () => {
    await everySubset(async (log) => {
      await appendBatch(log, 3, (seq) => taskCreated(seq, 333));
    });
  });

  it('is either whole or gone, when it is the first of all', async () => {
    await everySubset(async () => {});
  });

  it('is either whole or gone, at the beginning of a new segment', async () => {
    const sizes = { segmentBytes: 8 * 1024, batchBytesMax: 2 * 1024, operationBytesMax: 1024 };
    await everySubset(async (log) => {
      while (log.size.bytes < 5 * 1024) await appendBatch(log, 1, (seq) => taskCreated(seq, 333));
    }, sizes);
  });
});

describe('a tail that was never acknowledged', () => {
  it('does not come back when shorter batches are written over its beginning', async () => {
    const disk = new TestDisk();
    const { log } = await openHeard(engineOn(disk));
    await appendBatch(log, 2);
    // A long batch of which everything but the first sector is on disk: its later part looks like anything.
    disk.gate = (operation) => void (operation.name === 'write' && disk.cutPower());
    await expect(appendBatch(log, 4, (seq) => taskCreated(seq, 900))).rejects.toThrow();
    let next = disk.afterPowerCut({ sector: (_, sector) => sector > 0 });
    const torn = next.contentOf(SEGMENT);
    expect(torn.subarray(SECTOR_BYTES, 3_000).some((byte) => byte !== 0)).toBe(true);
    for (let seq = 3; seq < 12; seq++) {
      const opened = await openHeard(engineOn(next));
      expect(opened.heard.seqs).toEqual(upTo(seq - 1));
      await appendBatch(opened.log, 1);
      const { bytes } = opened.log.size;
      next = next.afterPowerCut();
      expect(
        next
          .contentOf(SEGMENT)
          .subarray(bytes)
          .every((byte) => byte === 0),
      ).toBe(true);
    }
  });

  it('is on disk for certain once it has been replayed, even if it was only in a cache', async () => {
    const disk = new TestDisk();
    const { log } = await openHeard(engineOn(disk));
    await appendBatch(log, 2);
    disk.gate = (operation) => void (operation.name === 'write' && disk.cutPower());
    await expect(appendBatch(log, 2)).rejects.toThrow();
    // The process died and the kernel has all of it: never acknowledged, but intact.
    const killed = disk.afterKill();
    const again = await openHeard(engineOn(killed));
    expect(again.heard.seqs).toEqual(upTo(4));
    const writes = killed.operations.filter(({ name }) => name === 'write');
    expect(writes.map(({ path }) => path)).toContain(SEGMENT);
    await expectLogOf(killed.afterPowerCut(), 4);
  });

  it('is told to the owner of the log, with its place, and only then', async () => {
    const disk = new TestDisk();
    const told: object[] = [];
    const telling = { onTornTail: (tail: object) => told.push(tail) };
    const { log } = await openHeard(engineOn(disk, telling));
    await appendBatch(log, 2);
    const offset = log.size.bytes;
    disk.gate = (operation) => void (operation.name === 'write' && disk.cutPower());
    await expect(appendBatch(log, 4, (seq) => taskCreated(seq, 900))).rejects.toThrow();
    expect(told).toEqual([]);
    const next = disk.afterPowerCut({ sector: (_, sector) => sector < 4 });
    await openHeard(engineOn(next, telling));
    expect(told).toEqual([{ file: '0000000000000001.seg', offset }]);
    await openHeard(engineOn(next.afterPowerCut(), telling));
    expect(told).toHaveLength(1);
  });

  it('is cut before anything can be read', async () => {
    const disk = new TestDisk();
    const { log } = await openHeard(engineOn(disk));
    await appendBatch(log, 2);
    disk.gate = (operation) => void (operation.name === 'write' && disk.cutPower());
    await expect(appendBatch(log, 4, (seq) => taskCreated(seq, 900))).rejects.toThrow();
    const next = disk.afterPowerCut({ sector: (_, sector) => sector < 4 });
    const { log: opened } = await openHeard(engineOn(next));
    expect((await collect(opened.entries(1, 100))).map(({ seq }) => seq)).toEqual([1, 2]);
    expect(opened.position.lastSeq).toBe(2);
  });
});
