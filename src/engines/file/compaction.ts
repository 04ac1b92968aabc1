/**
 * Compaction: replays the last checkpoint and the sealed segments after it into a separate state, and writes that
 * state as the next checkpoint, with the opaque bytes it refers to. It runs on its own thread
 * (`compaction-thread.ts`) while the log continues.
 *
 * It deletes and renames nothing: everything it creates has a temporary name until the log has checked that the
 * directory is still its own. Files left by a failed compaction are removed when the log is next opened.
 */
import { join } from 'node:path';
import { apply } from '../../core/apply.ts';
import { imageOf, restoreImage } from '../../core/image-io.ts';
import type { State } from '../../core/state.ts';
import { createState } from '../../core/state.ts';
import type { Files, OpenFile } from '../../seams/files.ts';
import type { FrameHead } from '../frame.ts';
import { KIND_MARK } from '../frame.ts';
import { FrameReader } from '../frame-reader.ts';
import { LogDamagedError } from '../log.ts';
import type { Pace } from '../pace.ts';
import { openCheckpoint, replayCheckpoint } from './checkpoint.ts';
import { CheckpointWriter } from './checkpoint-writer.ts';
import type { FileHead } from './file-head.ts';
import { FILE_HEAD_BYTES } from './file-head.ts';
import { fileName } from './file-names.ts';
import { FrameScan, MORE, ScanMemory } from './frame-scan.ts';
import { SourceBlocks } from './source-blocks.ts';

/** Plain data, so that it can be sent to another thread. */
export interface CompactionInput {
  readonly dir: string;
  /** Parts of the checkpoint to start from; empty for a log without one. */
  readonly parts: readonly number[];
  readonly segments: readonly { readonly number: number; readonly end: number }[];
  /** What the new checkpoint covers. */
  readonly head: FileHead;
  /** File numbers reserved for the parts. */
  readonly numbers: readonly number[];
  readonly partBytesMax: number;
}

export interface CompactionOutput {
  /** The numbers of the parts, which still have temporary names. */
  readonly parts: readonly number[];
  readonly oldAt: Float64Array;
  readonly newAt: Float64Array;
}

export async function compact(files: Files, input: CompactionInput, pace: Pace): Promise<CompactionOutput> {
  const { dir, head, numbers, partBytesMax } = input;
  const sources = new Map<number, OpenFile>();
  try {
    const sourceBlocks = new SourceBlocks(sources);
    const writer = new CheckpointWriter({ files, dir, numbers, partBytesMax, head, sourceBlocks });
    try {
      // No variable holds the state, so that it can be collected before the relocations need memory.
      const parts = await writer.write(pace.each(imageOf(await replayed(files, input, sources, pace))));
      return { parts, ...writer.relocations.sorted() };
    } finally {
      await writer.close();
    }
  } finally {
    for (const file of sources.values()) await file.close();
  }
}

async function replayed(
  files: Files,
  { dir, parts, segments, head }: CompactionInput,
  sources: Map<number, OpenFile>,
  pace: Pace,
): Promise<State> {
  const state = createState();
  const reader = new FrameReader();
  let checksum = 0;
  if (parts.length > 0) {
    const checkpoint = await openCheckpoint(files, dir, parts);
    for (const part of checkpoint.parts) sources.set(part.number, part.file!);
    await replayCheckpoint(checkpoint, reader, {
      image(record) {
        pace.step();
        restoreImage(state, record);
      },
    });
    checksum = checkpoint.head.previous;
  }
  const memory = new ScanMemory();
  for (const { number, end } of segments) {
    const name = fileName(number, 'seg');
    const file = await files.open(join(dir, name), { readOnly: true });
    sources.set(number, file);
    const scan = new FrameScan(file, number, FILE_HEAD_BYTES, end, memory);
    checksum = await replaySegment(scan, end, checksum, name, (frame) =>
      reader.entries(scan.buffer, frame, scan.shift, (entry, seq, atMs) => {
        pace.step();
        apply(state, entry, seq, atMs);
      }),
    );
  }
  if (state.lastSeq !== head.seq || checksum !== head.previous) {
    throw new Error(`Compaction replayed up to seq ${state.lastSeq}, but the log is at seq ${head.seq}.`);
  }
  return state;
}

/** Passes every batch of a segment to `take` and returns the checksum of its last frame. */
async function replaySegment(
  scan: FrameScan,
  end: number,
  checksum: number,
  name: string,
  take: (frame: FrameHead) => void,
): Promise<number> {
  try {
    while (scan.offset < end) {
      const frame = scan.frame(scan.at);
      if (frame === MORE) {
        await scan.fill();
        continue;
      }
      if (frame === null || frame.previous !== checksum) {
        throw new LogDamagedError(name, scan.offset, 'a frame is not readable');
      }
      checksum = frame.checksum;
      if (frame.kind !== KIND_MARK) take(frame);
      scan.at += frame.bytes;
    }
    return checksum;
  } finally {
    await scan.close();
  }
}
