// The memory engine keeps the promises of a log.
import { expect, it } from 'vitest';
import { MemoryDisk } from '../../src/engines/memory/memory-disk.ts';
import { memoryEngine } from '../../src/engines/memory/memory-engine.ts';
import { appendBatch, openHeard } from '../support/log-story.ts';
import { describeLog } from './log-contract.ts';

describeLog('memory', () => {
  const disk = new MemoryDisk();
  return {
    engine: () => memoryEngine(disk),
    crash: () => {},
    secondOpener: 'takes over',
    engineFrom: null,
  };
});

it('a memory log is dead for ever after an append that failed', async () => {
  const disk = new MemoryDisk();
  const { log } = await openHeard(memoryEngine(disk));
  await appendBatch(log, 1);
  disk.sync = () => Promise.reject(new Error('the disk is gone'));
  await expect(appendBatch(log, 1)).rejects.toThrow('the disk is gone');
  disk.sync = () => Promise.resolve();
  await expect(appendBatch(log, 1)).rejects.toThrow('the disk is gone');
  const again = await openHeard(memoryEngine(disk));
  expect(again.heard.seqs).toEqual([1]);
});

it('a memory log shows nothing of a batch while it is being made durable', async () => {
  const disk = new MemoryDisk();
  const { log } = await openHeard(memoryEngine(disk));
  let release = () => {};
  disk.sync = () => new Promise((resolve) => (release = resolve));
  const appending = appendBatch(log, 1);
  expect(log.position.lastSeq).toBe(0);
  release();
  await appending;
  expect(log.position.lastSeq).toBe(1);
});
