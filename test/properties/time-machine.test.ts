// The time machine over random histories, stored by the real file engine on a disk in memory: at every position it keeps,
// whatever was looked at before, it shows the state of a plain replay up to there. Segments are tiny, and the log is
// compacted and opened again in between, with and without kept history.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fileEngine } from '../../src/engines/file/file-engine.ts';
import { EVERYTHING } from '../../src/engines/file/kept-history.ts';
import { PastFiles } from '../../src/engines/file/past-files.ts';
import type { FilePast, LogPast } from '../../src/engines/past.ts';
import { Chronicle } from '../support/chronicle.ts';
import { inlineThreads } from '../support/inline-threads.ts';
import { fewMoments, momentHash } from '../support/moment-hash.ts';
import { positionHashes } from '../support/position-hashes.ts';
import { histories, play, SEED } from '../support/random-history.ts';
import { type LoggedFact, Scenario } from '../support/scenario.ts';
import { TestDisk } from '../support/test-disk.ts';

const KIB = 1024;
/** So short that forgetting is part of most histories. */
const RETENTION = { completedTasksMs: 60, failedTasksMs: 110, idleNamesMs: 40, endedSessionsMs: 50 };

/** Up to four entries of one instant are one batch; an epoch begins with a batch of its own. */
function batchesOf(log: readonly LoggedFact[]): LoggedFact[][] {
  const batches: LoggedFact[][] = [];
  for (const fact of log) {
    const batch = batches.at(-1);
    const isNext = batch?.[0]?.atMs === fact.atMs && fact.entry.type !== 'EpochStarted';
    if (isNext && batch.length < 4) batch.push(fact);
    else batches.push([fact]);
  }
  return batches;
}

describe('any history, looked at through the time machine', () => {
  it('is at every kept position what a plain replay gives, over compactions, restarts and restores', async () => {
    const kept = fc.constantFrom(undefined, EVERYTHING, EVERYTHING, { ...EVERYTHING, bytesMax: 12 * KIB });
    const compactEvery = fc.integer({ min: 1, max: 5 });
    const looks = fc.array(fc.nat(), { minLength: 1, maxLength: 20 });
    const shape = histories({ maxLength: 200, waits: true, restarts: true });
    let [compactions, trimmed] = [0, 0];
    await fc.assert(
      fc.asyncProperty(shape, kept, compactEvery, looks, async (steps, history, every, looks) => {
        const story = new Scenario({ retention: RETENTION, watch: 'end' });
        for (const [number, step] of steps.entries()) play(story, step, number);
        const hashes = await positionHashes(story.log);
        const disk = new TestDisk();
        const open = () =>
          Chronicle.open(
            fileEngine({
              dir: '/data',
              files: disk,
              threads: inlineThreads(disk),
              segmentBytes: KIB,
              compactionBytesMin: 1,
              ...(history === undefined ? {} : { history }),
            }),
          );
        let chronicle = await open();
        const moments = fewMoments();
        const expectAt = async (seq: number): Promise<void> => {
          const past = chronicle.log.past() as LogPast<FilePast>;
          const hash = await momentHash(moments, past, new PastFiles(disk, past.source), seq);
          expect(hash, `at ${seq}`).toBe(hashes.get(seq));
        };
        const keptSeqs = (): number[] => {
          const { lastSeq } = chronicle.state;
          const from = Math.max(1, chronicle.log.past()!.bases[0].seq);
          return [...hashes.keys()].filter((seq) => seq >= from && seq <= lastSeq);
        };
        for (const [number, facts] of batchesOf(story.log).entries()) {
          if (number > 0 && facts[0]!.entry.type === 'EpochStarted') {
            await chronicle.log.close();
            chronicle = await open();
          }
          await chronicle.record(facts);
          if (number % every === 0 && (await chronicle.compact())) compactions += 1;
          const seqs = keptSeqs();
          await expectAt(seqs[looks[number % looks.length]! % seqs.length]!);
        }
        const oldest = chronicle.log.past()!.bases[0].seq;
        if (history === EVERYTHING) expect(oldest).toBe(0);
        else if (oldest > 0) trimmed += 1;
        for (const seq of keptSeqs()) await expectAt(seq);
        await chronicle.log.close();
      }),
      // Shrinking would take longer than a test may.
      { seed: SEED, numRuns: 14, endOnFailure: true },
    );
    // Otherwise the histories were too short to tell.
    expect(compactions).toBeGreaterThan(30);
    expect(trimmed).toBeGreaterThan(1);
  });
});
