// The moments of the time machine: instants, bounds, and what a step forward costs. That each is the state of a replay is
// in test/properties/time-machine.test.ts.
import { describe, expect, it } from 'vitest';
import { Chronicle } from '../../test/support/chronicle.ts';
import { fewMoments, momentHash } from '../../test/support/moment-hash.ts';
import { positionHashes } from '../../test/support/position-hashes.ts';
import { TestDisk } from '../../test/support/test-disk.ts';
import { fileEngine } from '../engines/file/file-engine.ts';
import { PastFiles } from '../engines/file/past-files.ts';
import type { Log, LoggedEntry } from '../engines/log.ts';
import type { FilePast, LogPast } from '../engines/past.ts';
import { type Moments, MomentTooLargeError } from './moments.ts';

const NEVER = Number.POSITIVE_INFINITY;

const engineOn = (disk: TestDisk) => fileEngine({ dir: '/data', files: disk, segmentBytes: 16 * 1024 });

function hashAt(moments: Moments, disk: TestDisk, log: Log, seq: number): Promise<string> {
  const past = log.past() as LogPast<FilePast>;
  return momentHash(moments, past, new PastFiles(disk, past.source), seq);
}

describe('a moment of the log', () => {
  it('of an instant is that of the last entry that is not after it', async () => {
    const disk = new TestDisk();
    const chronicle = await Chronicle.open(engineOn(disk));
    await chronicle.start();
    for (let round = 0; round < 10; round++) await chronicle.live();
    const { log } = chronicle;
    const entries: LoggedEntry[] = [];
    for await (const logged of log.entries(1, NEVER)) entries.push(logged);
    const moments = fewMoments();
    const past = log.past() as LogPast<FilePast>;
    const instants = [...new Set(entries.map(({ atMs }) => atMs))];
    for (const atMs of [...instants, ...instants.reverse()].flatMap((ms) => [ms, ms - 1, ms + 1])) {
      const files = new PastFiles(disk, past.source);
      const { state } = await moments.at(past, files, { seq: log.position.lastSeq, atMs });
      await files.close();
      expect(state.lastSeq, `at ${atMs}`).toBe(entries.findLast((each) => each.atMs <= atMs)?.seq ?? 0);
    }
  });

  it('one entry earlier is not that of a moment kept for the entry behind it', async () => {
    const disk = new TestDisk();
    const chronicle = await Chronicle.open(engineOn(disk));
    await chronicle.start();
    for (let round = 0; round < 10; round++) await chronicle.live();
    const { log } = chronicle;
    const { lastSeq } = log.position;
    const hashes = await positionHashes(log.entries(1, NEVER));
    const moments = fewMoments();
    for (const seq of [lastSeq, lastSeq - 1, lastSeq - 2])
      expect(await hashAt(moments, disk, log, seq)).toBe(hashes.get(seq));
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
    const hashes = await positionHashes(log.entries(1, NEVER));
    const enough = fewMoments({ moments: 3, rows });
    for (const seq of [lastSeq, 5, lastSeq, 20, lastSeq - 1, lastSeq])
      expect(await hashAt(enough, disk, log, seq)).toBe(hashes.get(seq));
    const few = fewMoments({ moments: 3, rows: rows - 1 });
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
    const moments = fewMoments();
    await hashAt(moments, disk, log, lastSeq - 30);
    const opened = new Set<string>();
    disk.gate = ({ name, path }) => {
      if (name === 'open') opened.add(path);
    };
    const past = log.past() as LogPast<FilePast>;
    await moments.at(past, new PastFiles(disk, past.source), { seq: lastSeq, atMs: NEVER });
    expect(past.source.segments.length).toBeGreaterThan(2);
    expect(opened.size).toBeLessThanOrEqual(2);
  });
});
