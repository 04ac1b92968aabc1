// Segments kept for the time machine: how far back they reach, over compactions, restarts, full disks and disk faults.
import { describe, expect, it } from 'vitest';
import { Chronicle } from '../../../test/support/chronicle.ts';
import { inlineThreads } from '../../../test/support/inline-threads.ts';
import { diskError, TestDisk } from '../../../test/support/test-disk.ts';
import { apply } from '../../core/apply.ts';
import { restoreImage } from '../../core/image-io.ts';
import { createState } from '../../core/state.ts';
import { stateHash } from '../../core/state-hash.ts';
import type { Log } from '../log.ts';
import type { FilePast, LogPast } from '../past.ts';
import { fileEngine } from './file-engine.ts';
import { statLog } from './inspect.ts';
import { EVERYTHING, type HistoryLimits } from './kept-history.ts';
import { PastFiles } from './past-files.ts';

const KIB = 1024;

const open = (disk: TestDisk, history?: HistoryLimits) =>
  Chronicle.open(
    fileEngine({
      dir: '/data',
      files: disk,
      threads: inlineThreads(disk),
      segmentBytes: 16 * KIB,
      compactionBytesMin: 1,
      ...(history === undefined ? {} : { history }),
    }),
  );

/** The hash of the state at a position, replayed from the oldest base. */
async function hashAt(disk: TestDisk, log: Log, seq: number): Promise<string> {
  const { bases, source } = log.past() as LogPast<FilePast>;
  const state = createState();
  const past = new PastFiles(disk, source);
  await past.restore(bases[0], (record) => restoreImage(state, record));
  for await (const batch of past.batches(state.lastSeq, 0)) {
    batch.each((entry, at, atMs) => {
      if (at <= seq) apply(state, entry, at, atMs);
    });
    if (state.lastSeq >= seq) break;
  }
  await past.close();
  expect(state.lastSeq).toBe(seq);
  return stateHash(state);
}

/** Rounds of writing, each of which ends with a compaction; the hashes at their ends. */
async function lived(disk: TestDisk, chronicle: Chronicle, rounds: number): Promise<Map<number, string>> {
  const hashes = new Map<number, string>();
  for (let round = 0; round < rounds; round++) {
    for (let batch = 0; batch < 8; batch++) await chronicle.live(600);
    hashes.set(chronicle.log.position.lastSeq, chronicle.hash);
    chronicle.adopt((await chronicle.log.compact())!);
    await chronicle.log.dropOld();
  }
  expect(disk.paths().length).toBeGreaterThan(0);
  return hashes;
}

async function expectAll(disk: TestDisk, log: Log, hashes: ReadonlyMap<number, string>): Promise<number> {
  const kept = [...hashes].filter(([seq]) => seq >= log.past()!.bases[0].seq);
  for (const [seq, hash] of kept) expect(await hashAt(disk, log, seq), `at ${seq}`).toBe(hash);
  return kept.length;
}

describe('kept history', () => {
  it('reaches back over compactions and restarts, and the log can be read from there', async () => {
    const disk = new TestDisk();
    let chronicle = await open(disk, EVERYTHING);
    await chronicle.start();
    const hashes = await lived(disk, chronicle, 4);
    for (let opened = 0; opened < 2; opened++) {
      const { log } = chronicle;
      expect(log.position.firstSeq).toBe(1);
      expect(await expectAll(disk, log, hashes)).toBe(4);
      const seqs: number[] = [];
      for await (const { seq } of log.entries(1, Number.POSITIVE_INFINITY)) seqs.push(seq);
      expect(seqs).toEqual(Array.from({ length: log.position.lastSeq }, (_, index) => index + 1));
      await log.close();
      chronicle = await open(disk, EVERYTHING);
    }
    await chronicle.log.close();
  });

  it('is what `wal stat` reports: how far back it reaches, and how much disk it takes', async () => {
    const disk = new TestDisk();
    const chronicle = await open(disk, EVERYTHING);
    await chronicle.start();
    expect((await statLog(disk, '/data')).history).toBeNull();
    await lived(disk, chronicle, 3);
    const { history, files, leftovers, firstSeq } = await statLog(disk, '/data');
    const needed = new Set(files.map(({ name }) => `/data/${name}`));
    const kept = disk.paths().filter((path) => /\.(seg|ckpt)$/.test(path) && !needed.has(path));
    const bytes = kept.reduce((sum, path) => sum + disk.contentOf(path).length, 0);
    expect(history).toEqual({ firstSeq: 1, firstAtMs: chronicle.log.past()!.firstAtMs, bytes });
    expect([kept.length > 3, leftovers, firstSeq > 1]).toEqual([true, [], true]);
    await chronicle.log.close();
  });

  it('is removed when the log is opened without it', async () => {
    const disk = new TestDisk();
    const chronicle = await open(disk, EVERYTHING);
    await chronicle.start();
    await lived(disk, chronicle, 3);
    const before = disk.paths().length;
    await chronicle.log.close();
    const { log } = await open(disk);
    expect(log.past()!.bases).toHaveLength(1);
    expect(log.position.firstSeq).toBeGreaterThan(1);
    expect(disk.paths().length).toBeLessThan(before);
  });

  it('is bounded in size and in time, and the oldest goes first', async () => {
    for (const limits of [
      { ...EVERYTHING, bytesMax: 400 * KIB },
      { ...EVERYTHING, forMs: 0 },
    ]) {
      const disk = new TestDisk();
      const chronicle = await open(disk, limits);
      await chronicle.start();
      const hashes = await lived(disk, chronicle, 6);
      const { bases, source } = chronicle.log.past() as LogPast<FilePast>;
      const kept = await expectAll(disk, chronicle.log, hashes);
      if (limits.forMs === 0) expect(bases).toHaveLength(1);
      else {
        expect(bases[0].seq).toBeGreaterThan(0);
        expect(kept).toBeGreaterThan(1);
        expect(kept).toBeLessThan(6);
      }
      const files = bases.reduce((sum, { parts }) => sum + parts.length, source.segments.length);
      const onDisk = disk.paths().filter((path) => /\.(seg|ckpt)$/.test(path)).length;
      // And at most two spare segments.
      expect(onDisk - files).toBeLessThanOrEqual(2);
      await chronicle.log.close();
    }
  });

  it('makes room before the disk counts as full', async () => {
    const disk = new TestDisk();
    const chronicle = await open(disk, EVERYTHING);
    await chronicle.start();
    const hashes = await lived(disk, chronicle, 4);
    const filesOf = (): string[] => disk.paths().filter((path) => /\.(seg|ckpt)$/.test(path));
    const filesMax = filesOf().length;
    // One more file is one too many.
    disk.gate = ({ name, path }) => {
      const files = filesOf().toSorted();
      if (name === 'write' && files.length > filesMax && path === files.at(-1)) throw diskError('ENOSPC');
    };
    for (let batch = 0; batch < 16; batch++) await chronicle.live(600);
    expect(chronicle.log.full).toBe(false);
    expect(chronicle.log.past()!.bases[0].seq).toBeGreaterThan(0);
    await expectAll(disk, chronicle.log, hashes);
    await chronicle.log.close();
  });

  it('survives a fault of the disk at any operation while it is trimmed', async () => {
    for (let cut = 1; cut < 60; cut += 3) {
      const disk = new TestDisk();
      const chronicle = await open(disk, EVERYTHING);
      await chronicle.start();
      const hashes = await lived(disk, chronicle, 4);
      await chronicle.log.close();
      let operations = 0;
      disk.gate = ({ name }) => {
        if (name === 'remove' || name === 'syncDir') operations += 1;
        if (operations === cut) throw diskError('EIO');
      };
      await open(disk, { ...EVERYTHING, bytesMax: 40 * KIB }).then(
        ({ log }) => log.close(),
        () => undefined,
      );
      disk.gate = () => undefined;
      const again = await open(disk, EVERYTHING);
      expect(again.hash).toBe(chronicle.hash);
      await expectAll(disk, again.log, hashes);
      await again.log.close();
    }
  });
});
