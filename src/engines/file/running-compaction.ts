/** A compaction running on its thread. Its result is a readable checkpoint and the relocated positions. */

import { join } from 'node:path';
import type { Files } from '../../seams/files.ts';
import type { Threads } from '../../seams/threads.ts';
import { partsNeeded } from '../checkpoint-parts.ts';
import type { Relocation } from '../log.ts';
import { LogClosedError } from '../log.ts';
import type { CheckpointOnDisk } from './checkpoint.ts';
import { openCheckpoint } from './checkpoint.ts';
import { nameParts } from './checkpoint-writer.ts';
import type { CompactionInput, CompactionOutput } from './compaction.ts';
import type { FileHead } from './file-head.ts';
import { FILE_HEAD_BYTES } from './file-head.ts';
import { fileName } from './file-names.ts';
import type { Segment } from './segment.ts';

/** `.js` when built; `.ts` when a Node that supports it runs the sources. */
const MODULE = new URL(
  import.meta.url.endsWith('.ts') ? './compaction-thread.ts' : './compaction-thread.js',
  import.meta.url,
).href;

export interface RunningCompaction {
  readonly result: Promise<{ readonly checkpoint: CheckpointOnDisk; readonly relocation: Relocation }>;
  /** Stops it at any point. */
  stop(): Promise<void>;
}

export interface CompactionPlan {
  readonly checkpoint: CheckpointOnDisk | null;
  readonly sealed: readonly Segment[];
  /** The head of the segment after the sealed ones: it holds the state of the chain. */
  readonly next: FileHead;
  readonly takeNumber: () => number;
  /** So much is sealed that the compaction runs at normal priority. */
  readonly isUrgent: boolean;
  /** Throws when the directory is no longer that of this log. */
  readonly assertInPlace: () => void;
}

interface CompactionOptions {
  readonly files: Files;
  readonly dir: string;
  readonly threads: Threads;
  readonly partBytesMax: number;
}

export function startCompaction(options: CompactionOptions, plan: CompactionPlan): RunningCompaction {
  const { files, dir, threads, partBytesMax } = options;
  const { checkpoint, sealed, next, takeNumber, isUrgent, assertInPlace } = plan;
  const old = [...sealed, ...(checkpoint?.parts ?? [])];
  const bytes = old.reduce((sum, { durable }) => sum + durable, 0);
  const numbers = Array.from({ length: partsNeeded(bytes, partBytesMax - FILE_HEAD_BYTES) }, takeNumber);
  const input: CompactionInput = {
    dir,
    parts: checkpoint?.parts.map(({ number }) => number) ?? [],
    segments: sealed.map(({ number, durable }) => ({ number, end: durable })),
    head: { ...next, number: 0, seq: next.seq - 1, sealedThrough: sealed.at(-1)!.number, firstPart: 0 },
    numbers,
    partBytesMax,
  };
  const thread = threads.start(MODULE, input, isUrgent);
  let isStopped = false;
  const finish = async () => {
    try {
      const { parts, oldAt, newAt } = (await thread.result) as CompactionOutput;
      if (isStopped) throw new LogClosedError('The log was closed while it was being compacted.');
      assertInPlace();
      await nameParts(files, dir, parts);
      const gone = new Set(old.map(({ number }) => number));
      return { checkpoint: await openCheckpoint(files, dir, parts), relocation: { oldAt, newAt, gone } };
    } catch (fault) {
      // Files that cannot be removed now are removed when the log is next opened.
      if (!isStopped) await removeUnfinished().catch(() => {});
      throw fault;
    }
  };
  /** Frees the space of an unfinished checkpoint. None of its files is in use. */
  const removeUnfinished = async () => {
    assertInPlace();
    const names = new Set((await files.list(dir)) ?? []);
    for (const number of numbers) {
      for (const kind of ['ckpt.tmp', 'ckpt'] as const) {
        const name = fileName(number, kind);
        if (names.has(name)) await files.remove(join(dir, name));
      }
    }
  };
  const result = finish();
  return {
    result,
    async stop() {
      isStopped = true;
      await thread.stop();
      await result.catch(() => {});
    },
  };
}
