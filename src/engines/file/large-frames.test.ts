// Frames larger than any window they are read through.
import { expect, it } from 'vitest';
import {
  appendBatch,
  collect,
  openHeard,
  payloadOf,
  payloadText,
  readText,
  taskCreated,
} from '../../../test/support/log-story.ts';
import { TestDisk } from '../../../test/support/test-disk.ts';
import { fileEngine } from './file-engine.ts';

it('a batch of several megabytes is replayed, listed and read like any other', async () => {
  const MIB = 1024 * 1024;
  const lengths = [10, 3 * MIB, 20, 5 * MIB, 5 * MIB, 30];
  const engineOn = (files: TestDisk) =>
    fileEngine({
      dir: '/data',
      files,
      segmentBytes: 24 * MIB,
      batchBytesMax: MIB,
      operationBytesMax: 6 * MIB,
      recentBytesMax: 0,
    });
  const disk = new TestDisk();
  const { log } = await openHeard(engineOn(disk));
  for (const length of lengths) await appendBatch(log, 1, (seq) => taskCreated(seq, length));
  const left = disk.afterPowerCut();
  const again = await openHeard(engineOn(left));
  expect(again.heard.seqs).toEqual([1, 2, 3, 4, 5, 6]);
  const listed = await collect(again.log.entries(1, 10));
  expect(listed).toEqual(again.heard.logged);
  for (const { seq, entry } of listed) {
    const text = await readText(again.log, payloadOf(entry));
    expect(text === payloadText(seq, lengths[seq - 1]!)).toBe(true);
  }
});
