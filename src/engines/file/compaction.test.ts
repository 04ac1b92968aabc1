// Compaction changes no answer: not while it runs, not between checkpoint and adoption, not after the old files are
// gone, and not when it is cut short at any operation of the disk.
import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { Chronicle } from '../../../test/support/chronicle.ts';
import { inlineThreads } from '../../../test/support/inline-threads.ts';
import { collect } from '../../../test/support/log-story.ts';
import { diskError, PowerCutError, TestDisk } from '../../../test/support/test-disk.ts';
import { opaque } from '../../core/opaque.ts';
import type { Threads } from '../../seams/threads.ts';
import { FILE_SPAN } from '../frame.ts';
import { LogCompactedError, LogDamagedError } from '../log.ts';
import { fileEngine } from './file-engine.ts';

const SMALL = {
  segmentBytes: 8 * 1024,
  batchBytesMax: 1024,
  operationBytesMax: 1024,
  recentBytesMax: 0,
  cacheBytesMax: 1,
  compactionBytesMin: 20 * 1024,
};
const engineOn = (files: TestDisk, sizes: object = {}) =>
  fileEngine({ dir: '/data', files, threads: inlineThreads(files), ...SMALL, ...sizes });

async function lived(disk: TestDisk, rounds: number, sizes: object = {}): Promise<Chronicle> {
  const chronicle = await Chronicle.open(engineOn(disk, sizes));
  await chronicle.start();
  for (let i = 0; i < rounds; i++) await chronicle.live();
  return chronicle;
}

const opaqueOf = (text: string) => opaque(Buffer.from(text), crc32(text));
const pathsOf = (disk: TestDisk, end: string) => disk.paths().filter((path) => path.endsWith(end));

describe('compaction', () => {
  it('is wanted once enough has been sealed, and not again before as much has come on top', async () => {
    const disk = new TestDisk();
    const chronicle = await Chronicle.open(engineOn(disk));
    await chronicle.start();
    expect(chronicle.log.wantsCompaction).toBe(false);
    expect(await chronicle.log.compact()).toBe(null);
    while (!chronicle.log.wantsCompaction) await chronicle.live();
    expect(chronicle.log.size.bytes).toBeGreaterThanOrEqual(20 * 1024);
    expect(await chronicle.compact()).toBe(true);
    expect(chronicle.log.wantsCompaction).toBe(false);
    const { bytes } = chronicle.log.size;
    while (!chronicle.log.wantsCompaction) await chronicle.live();
    expect(chronicle.log.size.bytes).toBeGreaterThan(bytes + 20 * 1024);
  });

  it('makes the log smaller and leaves every answer as it was', async () => {
    const disk = new TestDisk();
    const chronicle = await lived(disk, 60);
    const { hash } = chronicle;
    const texts = await chronicle.texts();
    expect(texts.length).toBeGreaterThan(150);
    expect(texts).not.toContain(null);
    const files = pathsOf(disk, '.seg').length;
    expect(await chronicle.compact()).toBe(true);
    expect(pathsOf(disk, '.seg').length).toBeLessThan(files / 2);
    expect(pathsOf(disk, '.ckpt')).toHaveLength(1);
    expect(chronicle.hash).toBe(hash);
    expect(await chronicle.texts()).toEqual(texts);
    const again = await Chronicle.open(engineOn(disk.afterPowerCut()));
    expect(again.hash).toBe(hash);
    expect(await again.texts()).toEqual(texts);
    expect(again.log.epoch).toBe(chronicle.log.epoch + 1);
  });

  it('can be repeated for ever: checkpoint after checkpoint, over restarts', async () => {
    let disk = new TestDisk();
    let compactions = 0;
    for (let writer = 0; writer < 6; writer++) {
      const chronicle = await lived(disk, 0);
      for (let i = 0; i < 60; i++) {
        await chronicle.live();
        if (chronicle.log.wantsCompaction && (await chronicle.compact())) compactions += 1;
      }
      const { hash } = chronicle;
      const texts = await chronicle.texts();
      expect(texts).not.toContain(null);
      if (writer % 2 === 0) await chronicle.log.close();
      disk = disk.afterPowerCut();
      const check = disk.copy();
      const again = await Chronicle.open(engineOn(check));
      expect(again.hash).toBe(hash);
      expect(await again.texts()).toEqual(texts);
    }
    expect(compactions).toBeGreaterThan(3);
  });

  it('spreads a large checkpoint over several parts', async () => {
    const disk = new TestDisk();
    const sizes = { partBytesMax: 6 * 1024 };
    const chronicle = await lived(disk, 80, sizes);
    const { hash } = chronicle;
    const texts = await chronicle.texts();
    expect(await chronicle.compact()).toBe(true);
    expect(pathsOf(disk, '.ckpt').length).toBeGreaterThan(2);
    for (let i = 0; i < 40; i++) await chronicle.live();
    expect(await chronicle.compact()).toBe(true);
    expect(hash).not.toBe(chronicle.hash);
    const after = { hash: chronicle.hash, texts: await chronicle.texts() };
    expect(after.texts.length).toBeGreaterThan(texts.length);
    const again = await Chronicle.open(engineOn(disk.afterPowerCut(), sizes));
    expect(again.hash).toBe(after.hash);
    expect(await again.texts()).toEqual(after.texts);
  });

  it('copies metadata once that a thousand names share, and so needs no more parts than it was given', async () => {
    const disk = new TestDisk();
    const sizes = { segmentBytes: 64 * 1024, operationBytesMax: 8 * 1024, compactionBytesMin: 64 * 1024 };
    const parts = { ...sizes, partBytesMax: 4 * sizes.compactionBytesMin };
    const chronicle = await lived(disk, 0, parts);
    await chronicle.write(() => [
      {
        type: 'NameLeased',
        names: Array.from({ length: 1_000 }, (_, index) => `name ${index}`),
        holder: 'holder',
        tokenHash: 'x'.repeat(32),
        expiresAtMs: 9e12,
        metadata: opaqueOf(JSON.stringify('m'.repeat(4_096))),
      },
    ]);
    while (!chronicle.log.wantsCompaction) await chronicle.live();
    const { hash } = chronicle;
    const texts = await chronicle.texts();
    const { bytes } = chronicle.log.size;
    await chronicle.compact();
    expect(chronicle.log.size.bytes).toBeLessThan(2 * bytes);
    const again = await Chronicle.open(engineOn(disk.afterPowerCut(), parts));
    expect(again.hash).toBe(hash);
    expect(await again.texts()).toEqual(texts);
  });

  it('lets the log go on while it runs', async () => {
    const disk = new TestDisk();
    const chronicle = await lived(disk, 60);
    const compacting = chronicle.log.compact();
    for (let i = 0; i < 30; i++) await chronicle.live();
    const relocation = (await compacting)!;
    for (let i = 0; i < 10; i++) await chronicle.live();
    const texts = await chronicle.texts();
    chronicle.adopt(relocation);
    expect(await chronicle.texts()).toEqual(texts);
    await chronicle.live();
    await chronicle.log.dropOld();
    expect((await chronicle.texts()).slice(0, 10)).toEqual(texts.slice(0, 10));
    expect(await chronicle.texts()).not.toContain(null);
    const { hash } = chronicle;
    const again = await Chronicle.open(engineOn(disk.afterPowerCut()));
    expect(again.hash).toBe(hash);
  });

  it('is one at a time, until what it made superfluous is dropped', async () => {
    const chronicle = await lived(new TestDisk(), 60);
    const compacting = chronicle.log.compact();
    expect(chronicle.log.wantsCompaction).toBe(false);
    expect(await chronicle.log.compact()).toBe(null);
    chronicle.adopt((await compacting)!);
    expect(chronicle.log.wantsCompaction).toBe(false);
    expect(await chronicle.log.compact()).toBe(null);
    await chronicle.log.dropOld();
    while (!chronicle.log.wantsCompaction) await chronicle.live();
    expect(await chronicle.compact()).toBe(true);
  });

  it('keeps old positions good until they are dropped, and says so afterwards', async () => {
    const disk = new TestDisk();
    const chronicle = await lived(disk, 60);
    const relocation = (await chronicle.log.compact())!;
    expect([...relocation.oldAt]).toEqual([...relocation.oldAt].sort((a, b) => a - b));
    expect(relocation.gone.has(Math.floor(relocation.oldAt[0]! / FILE_SPAN))).toBe(true);
    const texts = await chronicle.texts();
    expect(texts).not.toContain(null);
    const [entry] = await collect(chronicle.log.entries(2, 1));
    const stale = entry!.entry.type === 'TaskCreated' ? entry!.entry.payload : null;
    expect(await chronicle.log.read(stale!)).not.toBe(null);
    chronicle.adopt(relocation);
    await chronicle.log.dropOld();
    await expect(Promise.resolve(chronicle.log.read(stale!))).rejects.toThrow(LogCompactedError);
  });

  it('moves the first seq that can be read, and lists from there', async () => {
    const disk = new TestDisk();
    const chronicle = await lived(disk, 60);
    expect(chronicle.log.position.firstSeq).toBe(1);
    const slow = chronicle.log.entries(1, Number.POSITIVE_INFINITY)[Symbol.asyncIterator]();
    expect((await slow.next()).value).toMatchObject({ seq: 1 });
    await chronicle.compact();
    const { firstSeq, lastSeq } = chronicle.log.position;
    expect(firstSeq).toBeGreaterThan(1);
    const seqs = (await collect(chronicle.log.entries(1, Number.POSITIVE_INFINITY))).map(({ seq }) => seq);
    expect(seqs).toEqual(Array.from({ length: lastSeq - firstSeq + 1 }, (_, i) => firstSeq + i));
    // A reader that was active when the files were deleted reads to the end.
    let last = 1;
    for (let next = await slow.next(); !next.done; next = await slow.next()) {
      expect(next.value.seq).toBe(last + 1);
      last = next.value.seq;
    }
    expect(last).toBe(lastSeq);
    const again = await Chronicle.open(engineOn(disk.afterPowerCut()));
    expect(again.log.position).toEqual(chronicle.log.position);
  });

  it('is refused when a segment is no longer the one that was written, however whole it is', async () => {
    const [ours, others] = [new TestDisk(), new TestDisk()];
    const chronicles: Chronicle[] = [];
    // The same seqs and lengths; only the first name is different, and with it every checksum.
    for (const [disk, queue] of [
      [ours, 'one'],
      [others, 'two'],
    ] as const) {
      const chronicle = await lived(disk, 0);
      await chronicle.write(() => [{ type: 'QueuePaused', queue }]);
      for (let i = 0; i < 60; i++) await chronicle.live();
      chronicles.push(chronicle);
    }
    const [first] = pathsOf(ours, '.seg');
    const content = Buffer.from(ours.contentOf(first!));
    ours.tamper(first!, () => Buffer.from(others.contentOf(first!)));
    await expect(chronicles[0]!.log.compact()).rejects.toThrow(LogDamagedError);
    ours.tamper(first!, () => content);
    expect(await chronicles[0]!.compact()).toBe(true);
  });

  it('takes along what is empty, which lies in no file', async () => {
    const disk = new TestDisk();
    const chronicle = await lived(disk, 0);
    const lease = { type: 'NameLeased', holder: 'h', expiresAtMs: 4e12 } as const;
    const tokenHash = 'x'.repeat(32);
    await chronicle.write(() => [{ ...lease, names: ['empty'], tokenHash, metadata: opaqueOf('') }]);
    for (let i = 0; i < 60; i++) await chronicle.live();
    const { hash } = chronicle;
    for (let i = 0; i < 2; i++) {
      while (!chronicle.log.wantsCompaction) await chronicle.live();
      expect(await chronicle.compact()).toBe(true);
      expect((await chronicle.texts()).filter((text) => text === '')).toHaveLength(1);
    }
    expect(chronicle.hash).not.toBe(hash);
    const again = await Chronicle.open(engineOn(disk.afterPowerCut()));
    expect(again.hash).toBe(chronicle.hash);
  });

  it('carries damaged bytes along as damaged, and everything else whole', async () => {
    const disk = new TestDisk();
    const chronicle = await lived(disk, 60);
    const { hash } = chronicle;
    const before = await chronicle.texts();
    const [first] = pathsOf(disk, '.seg');
    const at = disk.contentOf(first!).indexOf('late 1000003');
    disk.tamper(first!, (content) => content.fill('X', at, at + 4));
    await chronicle.compact();
    const after = await chronicle.texts();
    expect(after.filter((text, i) => text !== before[i])).toEqual([null]);
    expect(chronicle.hash).toBe(hash);
  });
});

describe('compaction that is cut short', () => {
  const compacted = async (disk: TestDisk) => {
    const chronicle = await lived(disk, 24, sizes);
    const facts = { hash: chronicle.hash, texts: await chronicle.texts() };
    return { chronicle, facts };
  };
  const sizes = { segmentBytes: 6 * 1024, partBytesMax: 4 * 1024, compactionBytesMin: 12 * 1024 };

  async function operationsOfCompaction(): Promise<number> {
    const disk = new TestDisk();
    const { chronicle } = await compacted(disk);
    const before = disk.operations.length;
    await chronicle.compact();
    return disk.operations.length - before;
  }

  it('by a power cut at any operation leaves the old log or the new one, and never less', async () => {
    const count = await operationsOfCompaction();
    expect(count).toBeGreaterThan(30);
    for (let last = 0; last < count; last++) {
      const disk = new TestDisk();
      const { chronicle, facts } = await compacted(disk);
      let left = last;
      disk.gate = () => void (left-- === 0 && disk.cutPower());
      await expect(chronicle.compact()).rejects.toThrow(PowerCutError);
      const where = `operation ${last}: ${disk.operations.at(-1)?.name} ${disk.operations.at(-1)?.path}`;
      const cuts = [{}, { names: true }, { names: true, sector: () => true }].map((kept) => disk.copy(kept));
      for (const next of [...cuts, disk.afterKill()]) {
        const again = await Chronicle.open(engineOn(next, sizes));
        expect(again.hash, where).toBe(facts.hash);
        expect(await again.texts(), where).toEqual(facts.texts);
        expect(pathsOf(next, '.tmp'), where).toEqual([]);
        await again.live();
        const { hash } = again;
        const third = await Chronicle.open(engineOn(next.afterPowerCut(), sizes));
        expect(third.hash, where).toBe(hash);
      }
    }
  }, 120_000);

  it('by a failing disk leaves the log as it was, and it can be tried again', async () => {
    const count = await operationsOfCompaction();
    for (let failing = 0; failing < count; failing++) {
      const disk = new TestDisk();
      const { chronicle, facts } = await compacted(disk);
      let left = failing;
      disk.gate = () => {
        if (left-- === 0) throw diskError('ENOSPC');
      };
      const outcome = await chronicle.compact().catch((error: unknown) => error);
      disk.gate = () => {};
      const where = `operation ${failing}`;
      if (outcome !== true) expect(outcome, where).toMatchObject({ code: 'ENOSPC' });
      expect(await chronicle.texts(), where).toEqual(facts.texts);
      await chronicle.live();
      while (!chronicle.log.wantsCompaction) await chronicle.live();
      await chronicle.compact();
      const { hash } = chronicle;
      expect(await chronicle.texts()).not.toContain(null);
      const again = await Chronicle.open(engineOn(disk.afterPowerCut(), sizes));
      expect(again.hash, where).toBe(hash);
    }
  }, 120_000);

  it('when there was a checkpoint before leaves that one with its segments, or the new one', async () => {
    const again = async (disk: TestDisk) => {
      const { chronicle } = await compacted(disk);
      await chronicle.compact();
      while (!chronicle.log.wantsCompaction) await chronicle.live();
      return chronicle;
    };
    const disk = new TestDisk();
    const whole = await again(disk);
    const before = disk.operations.length;
    await whole.compact();
    const count = disk.operations.length - before;
    // Renamed and removed, so the old checkpoint is there without some of what it needs.
    for (let last = 0; last < count; last++) {
      const next = new TestDisk();
      const chronicle = await again(next);
      const { hash } = chronicle;
      let left = last;
      next.gate = () => void (left-- === 0 && next.cutPower());
      await expect(chronicle.compact()).rejects.toThrow(PowerCutError);
      const where = `operation ${last}: ${next.operations.at(-1)?.name} ${next.operations.at(-1)?.path}`;
      for (const left of [next.copy(), next.copy({ names: true }), next.afterKill()]) {
        expect((await Chronicle.open(engineOn(left, sizes))).hash, where).toBe(hash);
      }
    }
  }, 120_000);

  it('with the names of some of its parts on disk is one that was never finished', async () => {
    const disk = new TestDisk();
    const { chronicle, facts } = await compacted(disk);
    await chronicle.log.compact();
    const parts = pathsOf(disk, '.ckpt');
    expect(parts.length).toBeGreaterThan(2);
    for (const missing of parts) {
      const copy = disk.copy();
      copy.unlinkBehindTheBack(missing);
      const again = await Chronicle.open(engineOn(copy, sizes));
      expect(again.hash, missing).toBe(facts.hash);
      expect(await again.texts(), missing).toEqual(facts.texts);
      expect(pathsOf(copy, '.ckpt'), missing).toEqual([]);
    }
  });

  it('by a failing disk gives back the space it took', async () => {
    const counted = new TestDisk();
    const { chronicle: whole } = await compacted(counted);
    const before = counted.operations.length;
    await whole.log.compact();
    const count = counted.operations.length - before;
    for (let failing = 0; failing < count; failing++) {
      const disk = new TestDisk();
      const { chronicle } = await compacted(disk);
      let left = failing;
      disk.gate = () => {
        if (left-- === 0) throw diskError('ENOSPC');
      };
      await expect(chronicle.log.compact(), `operation ${failing}`).rejects.toMatchObject({ code: 'ENOSPC' });
      expect(
        disk.paths().filter((path) => path.includes('.ckpt')),
        `operation ${failing}`,
      ).toEqual([]);
    }
  });

  it('runs at idle priority, and at normal priority once four times as much is sealed', async () => {
    const disk = new TestDisk();
    const urgent: unknown[] = [];
    const threads: Threads = {
      start(_module, _input, isUrgent) {
        urgent.push(isUrgent);
        return { result: Promise.reject(new Error('It came to nothing.')), stop: async () => {} };
      },
    };
    const chronicle = await lived(disk, 1, { ...sizes, threads });
    const sealed = (): number => pathsOf(disk, '.seg').length - 1;
    while (!chronicle.log.wantsCompaction) await chronicle.live();
    await chronicle.log.compact().catch(() => {});
    const first = sealed();
    while (sealed() < 2 * first) await chronicle.live();
    await chronicle.log.compact().catch(() => {});
    while (sealed() < 5 * first) await chronicle.live();
    await chronicle.log.compact().catch(() => {});
    expect(urgent).toEqual([false, false, true]);
  });

  it('by closing the log is ended before the lock is free', async () => {
    const disk = new TestDisk();
    const locks: boolean[] = [];
    const threads: Threads = {
      start() {
        let end = (_: Error) => {};
        const result = new Promise<never>((_, reject) => {
          end = reject;
        });
        const stop = async () => {
          locks.push(await disk.isLocked('/data/LOCK'));
          end(new Error('The thread was ended.'));
        };
        return { result, stop };
      },
    };
    const chronicle = await lived(disk, 24, { ...sizes, threads });
    const compacting = chronicle.log.compact().catch((error: unknown) => error);
    await chronicle.log.close();
    expect(locks).toEqual([true]);
    expect(await compacting).toMatchObject({ message: 'The thread was ended.' });
  });

  it('by closing the log removes nothing once the lock is free', async () => {
    const disk = new TestDisk();
    const chronicle = await lived(disk, 60);
    chronicle.adopt((await chronicle.log.compact())!);
    const dropping = chronicle.log.dropOld();
    await chronicle.log.close();
    const left = disk.paths();
    await dropping;
    expect(disk.paths()).toEqual(left);
  });

  it('by closing the log keeps what it replaced for the next one, if its removal had not begun', async () => {
    const disk = new TestDisk();
    const { chronicle } = await compacted(disk);
    chronicle.adopt((await chronicle.log.compact())!);
    await chronicle.log.close();
    const left = disk.paths();
    await expect(chronicle.log.dropOld()).rejects.toThrow('The log is closed.');
    expect(disk.paths()).toEqual(left);
  });

  it('by closing the log leaves no file open, whatever was done with the checkpoint', async () => {
    for (const last of ['checkpoint', 'adopted', 'dropped']) {
      const disk = new TestDisk();
      const { chronicle } = await compacted(disk);
      for await (const { seq } of chronicle.log.entries(1, 10)) expect(seq).toBeLessThan(11);
      const relocation = (await chronicle.log.compact())!;
      if (last !== 'checkpoint') chronicle.adopt(relocation);
      if (last === 'dropped') await chronicle.log.dropOld();
      await chronicle.log.close();
      expect(disk.openPaths, last).toEqual([]);
    }
  });

  it('by closing the log leaves nothing that matters', async () => {
    const disk = new TestDisk();
    const { chronicle, facts } = await compacted(disk);
    const compacting = chronicle.log.compact().catch((error: unknown) => error);
    await chronicle.log.close();
    await compacting;
    const again = await Chronicle.open(engineOn(disk, sizes));
    expect(again.hash).toBe(facts.hash);
  });
});

describe('a checkpoint', () => {
  const checkpointed = async () => {
    const disk = new TestDisk();
    const chronicle = await lived(disk, 24);
    await chronicle.compact();
    await chronicle.log.close();
    return { disk, hash: chronicle.hash, path: pathsOf(disk, '.ckpt')[0]! };
  };

  it('that is damaged anywhere in its records is refused with file and offset', async () => {
    const { disk, path, hash } = await checkpointed();
    const size = disk.contentOf(path).length;
    for (let at = 0; at < size; at += 17) {
      const copy = disk.copy();
      copy.tamper(path, (content) => {
        content[at]! ^= 0x10;
        return content;
      });
      const outcome = await Chronicle.open(engineOn(copy)).catch((error: unknown) => error);
      if (outcome instanceof Chronicle) expect(outcome.hash, `at ${at}`).toBe(hash);
      else expect(outcome, `at ${at}`).toBeInstanceOf(LogDamagedError);
    }
  }, 60_000);

  it('with a part that belongs to another one is refused, however whole that part is', async () => {
    const sizes = { partBytesMax: 6 * 1024 };
    const [ours, others] = [new TestDisk(), new TestDisk()];
    for (const [disk, length] of [
      [ours, 40],
      [others, 41],
    ] as const) {
      const chronicle = await lived(disk, 0, sizes);
      for (let i = 0; i < 80; i++) await chronicle.live(length);
      await chronicle.compact();
      await chronicle.log.close();
    }
    const parts = pathsOf(ours, '.ckpt');
    expect(parts.length).toBeGreaterThan(2);
    expect(pathsOf(others, '.ckpt')).toEqual(parts);
    ours.tamper(parts[1]!, () => Buffer.from(others.contentOf(parts[1]!)));
    await expect(Chronicle.open(engineOn(ours, sizes))).rejects.toThrow(LogDamagedError);
  });

  it('that is missing while the segments before it are gone is damage', async () => {
    const { disk, path } = await checkpointed();
    disk.unlinkBehindTheBack(path);
    await expect(Chronicle.open(engineOn(disk))).rejects.toThrow(LogDamagedError);
  });

  it('without any segment behind it is damage, and is not left open', async () => {
    const { disk } = await checkpointed();
    for (const path of pathsOf(disk, '.seg')) disk.unlinkBehindTheBack(path);
    await expect(Chronicle.open(engineOn(disk))).rejects.toThrow(/no segment follows/);
    expect(disk.openPaths).toEqual([]);
  });

  it('cleans up what it replaced, if the log died before it could', async () => {
    const disk = new TestDisk();
    const chronicle = await lived(disk, 60);
    const { hash } = chronicle;
    await chronicle.log.compact();
    const next = disk.afterPowerCut();
    const before = pathsOf(next, '.seg').length;
    const again = await Chronicle.open(engineOn(next));
    expect(again.hash).toBe(hash);
    expect(pathsOf(next, '.seg').length).toBeLessThan(before / 2);
  });
});
