// The moments of the time machine against a known log: at every position the same state as a replay up to there,
// whatever was looked at before, over compactions and restarts.
import { describe, expect, it } from 'vitest';
import { Chronicle } from '../../test/support/chronicle.ts';
import { inlineThreads } from '../../test/support/inline-threads.ts';
import { positionHashes } from '../../test/support/position-hashes.ts';
import { TestDisk } from '../../test/support/test-disk.ts';
import { stateHash } from '../core/state-hash.ts';
import { fileEngine } from '../engines/file/file-engine.ts';
import { PastFiles } from '../engines/file/past-files.ts';
import type { Log, LoggedEntry } from '../engines/log.ts';
import { Pace } from '../engines/pace.ts';
import type { FilePast, LogPast } from '../engines/past.ts';
import { Moments, MomentTooLargeError } from './moments.ts';

const KIB = 1024;
const NEVER = Number.POSITIVE_INFINITY;
const LIMITS = { moments: 3, rows: 1_000_000 };
const momentsOf = (limits = LIMITS): Moments => new Moments(new Pace(() => undefined), limits);

const engineOn = (disk: TestDisk, compactionBytesMin = 1) =>
  fileEngine({
    dir: '/data',
    files: disk,
    threads: inlineThreads(disk),
    segmentBytes: 16 * KIB,
    compactionBytesMin,
  });

async function hashAt(moments: Moments, disk: TestDisk, log: Log, seq: number): Promise<string> {
  const past = log.past() as LogPast<FilePast>;
  const files = new PastFiles(disk, past.source);
  try {
    const { state } = await moments.at(past, files, { seq, atMs: NEVER });
    expect(state.lastSeq).toBe(seq);
    return stateHash(state);
  } finally {
    await files.close();
  }
}

/** Positions in an order that looks random and is the same each time. */
const scattered = (count: number): number[] =>
  Array.from({ length: count }, (_, index) => ((index * 7_919 + 13) % count) + 1);

describe('a moment of the log', () => {
  it('is the state of a replay up to its position, wherever the moment before it was', async () => {
    const disk = new TestDisk();
    const chronicle = await Chronicle.open(engineOn(disk));
    await chronicle.start();
    for (let round = 0; round < 20; round++) await chronicle.live();
    const { log } = chronicle;
    const hashes = await positionHashes(log);
    const moments = momentsOf();
    for (const seq of scattered(log.position.lastSeq))
      expect(await hashAt(moments, disk, log, seq), `at ${seq}`).toBe(hashes.get(seq));
  });

  it('is the same from a checkpoint, after a restart, and when the log was compacted in between', async () => {
    const disk = new TestDisk();
    let chronicle = await Chronicle.open(engineOn(disk));
    await chronicle.start();
    const moments = momentsOf();
    const hashes = new Map<number, string>();
    for (let round = 0; round < 6; round++) {
      for (let batch = 0; batch < 8; batch++) await chronicle.live(400);
      hashes.set(chronicle.log.position.lastSeq, chronicle.hash);
      const kept = [...hashes.keys()].filter((seq) => seq >= chronicle.log.past()!.bases[0].seq);
      for (const seq of [...kept, ...kept.reverse()])
        expect(await hashAt(moments, disk, chronicle.log, seq), `at ${seq}`).toBe(hashes.get(seq));
      if (round % 2 === 0) {
        chronicle.adopt((await chronicle.log.compact())!);
        await chronicle.log.dropOld();
      } else {
        await chronicle.log.close();
        chronicle = await Chronicle.open(engineOn(disk));
        await chronicle.start();
      }
    }
    expect(chronicle.log.past()!.bases[0].seq).toBeGreaterThan(0);
  });

  it('of an instant is that of the last entry that is not after it', async () => {
    const disk = new TestDisk();
    const chronicle = await Chronicle.open(engineOn(disk));
    await chronicle.start();
    for (let round = 0; round < 10; round++) await chronicle.live();
    const { log } = chronicle;
    const entries: LoggedEntry[] = [];
    for await (const logged of log.entries(1, NEVER)) entries.push(logged);
    const moments = momentsOf();
    const past = log.past() as LogPast<FilePast>;
    const instants = [...new Set(entries.map(({ atMs }) => atMs))];
    for (const atMs of [...instants, ...instants.reverse()].flatMap((ms) => [ms, ms - 1, ms + 1])) {
      const files = new PastFiles(disk, past.source);
      const { state } = await moments.at(past, files, { seq: log.position.lastSeq, atMs });
      await files.close();
      expect(state.lastSeq, `at ${atMs}`).toBe(entries.findLast((each) => each.atMs <= atMs)?.seq ?? 0);
    }
  });

  it('is refused when it has more rows than all moments may have, and others make room for it', async () => {
    const disk = new TestDisk();
    const chronicle = await Chronicle.open(engineOn(disk));
    await chronicle.start();
    for (let round = 0; round < 10; round++) await chronicle.live();
    const { log } = chronicle;
    const { lastSeq } = log.position;
    const { tasks, names, sessions } = chronicle.state;
    const rows = tasks.rows.used + names.rows.used + sessions.open.size + sessions.ended.size;
    const hashes = await positionHashes(log);
    const enough = momentsOf({ moments: 3, rows });
    for (const seq of [lastSeq, 5, lastSeq, 20, lastSeq - 1, lastSeq])
      expect(await hashAt(enough, disk, log, seq)).toBe(hashes.get(seq));
    const few = momentsOf({ moments: 3, rows: rows - 1 });
    await expect(hashAt(few, disk, log, lastSeq)).rejects.toThrow(MomentTooLargeError);
    expect(await hashAt(few, disk, log, 5)).toBe(hashes.get(5));
  });

  it('replays only what lies between when it moves forward', async () => {
    const disk = new TestDisk();
    const chronicle = await Chronicle.open(engineOn(disk));
    await chronicle.start();
    for (let round = 0; round < 60; round++) await chronicle.live(400);
    const { log } = chronicle;
    const { lastSeq } = log.position;
    const moments = momentsOf();
    await hashAt(moments, disk, log, lastSeq - 30);
    const opened = new Set<string>();
    disk.gate = ({ name, path }) => {
      if (name === 'open') opened.add(path);
    };
    await hashAt(moments, disk, log, lastSeq);
    expect((log.past() as LogPast<FilePast>).source.segments.length).toBeGreaterThan(2);
    expect(opened.size).toBeLessThanOrEqual(2);
  });
});
