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

it('an operation larger than announced makes its segment longer, and the log continues', async () => {
  const engineOn = (files: TestDisk) =>
    fileEngine({
      dir: '/data',
      files,
      segmentBytes: 16 * 1024,
      batchBytesMax: 1024,
      operationBytesMax: 1024,
    });
  let disk = new TestDisk();
  for (let i = 0; i < 4; i++) {
    const { log } = await openHeard(engineOn(disk));
    for (const length of [100, 30_000, 50, 20_000])
      await appendBatch(log, 1, (seq) => taskCreated(seq, length));
    await log.mark();
    disk = disk.afterPowerCut();
  }
  const { log, heard } = await openHeard(engineOn(disk));
  expect(heard.logged).toHaveLength(16);
  for (const { seq, entry } of heard.logged) {
    const payload = payloadOf(entry);
    expect((await readText(log, payload)) === payloadText(seq, payload.length)).toBe(true);
  }
});
