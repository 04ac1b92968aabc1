// The coarse index of a segment: a reader starts at the batch of an entry, or slightly before it. And a scan over
// several segments.
import { describe, expect, it } from 'vitest';
import { appendBatch, collect, openHeard, taskCreated } from '../../../test/support/log-story.ts';
import { TestDisk } from '../../../test/support/test-disk.ts';
import { fileEngine } from './file-engine.ts';
import { Segment } from './segment.ts';

const KIB = 1024;

describe('the index of a segment', () => {
  it('leads to the batch of every entry, or to one at most 64 KiB and a batch before it', () => {
    for (const frameBytes of [8 * KIB, 24 * KIB, 64 * KIB, 100 * KIB]) {
      const segment = new Segment(1, '/1.seg', 64 * KIB * KIB);
      const offsets = Array.from({ length: 50 }, (_, i) => 64 + i * frameBytes);
      for (const [i, offset] of offsets.entries()) segment.note(i * 3 + 1, 3, offset, 0);
      expect([segment.firstSeq, segment.lastSeq]).toEqual([1, 150]);
      for (let seq = 1; seq <= 150; seq++) {
        const own = offsets[Math.floor((seq - 1) / 3)]!;
        const found = segment.offsetBelow(seq);
        expect(found, `seq ${seq}, frames of ${frameBytes}`).toBeLessThanOrEqual(own);
        expect(own - found, `seq ${seq}, frames of ${frameBytes}`).toBeLessThan(64 * KIB + frameBytes);
      }
    }
  });

  it('leads to the end where there is no entry yet', () => {
    const segment = new Segment(1, '/1.seg', 64 * KIB);
    segment.durable = 64;
    expect(segment.offsetBelow(1)).toBe(64);
  });
});

describe('entries over several segments', () => {
  it('end with the newest one that was durable when they were asked for', async () => {
    const sizes = { segmentBytes: 8 * KIB, batchBytesMax: KIB, operationBytesMax: KIB };
    const { log } = await openHeard(fileEngine({ dir: '/data', files: new TestDisk(), ...sizes }));
    for (let i = 0; i < 100; i++) await appendBatch(log, 2, (seq) => taskCreated(seq, 200));
    expect(log.size.files).toBeGreaterThan(4);
    const { lastSeq } = log.position;
    const listing = log.entries(1, Number.POSITIVE_INFINITY)[Symbol.asyncIterator]();
    expect((await listing.next()).value).toMatchObject({ seq: 1 });
    await appendBatch(log, 1);
    const rest = await collect({ [Symbol.asyncIterator]: () => listing });
    expect(rest.map(({ seq }) => seq)).toEqual(Array.from({ length: lastSeq - 1 }, (_, i) => i + 2));
    await log.close();
  });
});
