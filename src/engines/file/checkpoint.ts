/**
 * A checkpoint on disk: an image of the state, with the opaque bytes it refers to. It consists of one or more parts,
 * files of at most a gigabyte, so that every position fits. A part is a file head (`file-head.ts`), frames of kind
 * image that are chained like those of a segment and across parts, and a frame of kind end. The `seq` field of the
 * end frame is the number of parts in the last part and 0 in all others.
 *
 * A part is renamed to its final name only when it is durable, the last part last. A checkpoint without its end was
 * never finished; a checkpoint with its end that cannot be read is damaged.
 */
import { join } from 'node:path';
import type { Files, OpenFile } from '../../seams/files.ts';
import type { FrameHead } from '../frame.ts';
import { FRAME_HEAD_BYTES, KIND_IMAGE, KIND_IMAGE_END, wholeFrame } from '../frame.ts';
import type { FrameReader } from '../frame-reader.ts';
import type { Replay } from '../log.ts';
import { LogDamagedError } from '../log.ts';
import type { FileHead } from './file-head.ts';
import { decodeFileHead, FILE_HEAD_BYTES } from './file-head.ts';
import type { NumberedName } from './file-names.ts';
import { fileName } from './file-names.ts';
import { FrameScan, MORE, ScanMemory } from './frame-scan.ts';
import { LogFile } from './log-file.ts';

export interface CheckpointOnDisk {
  readonly head: FileHead;
  readonly parts: readonly LogFile[];
}

class FoundPart extends LogFile {
  readonly head: FileHead;
  /** The number of parts if this is the last one, else 0. */
  readonly partsCount: number;

  constructor(path: string, file: OpenFile, bytes: number, head: FileHead, partsCount: number) {
    super(head.number, path, file, bytes);
    this.head = head;
    this.partsCount = partsCount;
  }
}

/** The newest complete checkpoint among the names, opened for reading; null when there is none. */
export async function findCheckpoint(
  files: Files,
  dir: string,
  names: readonly NumberedName[],
): Promise<CheckpointOnDisk | null> {
  const found = await findCheckpoints(files, dir, names);
  const newest = found.pop() ?? null;
  for (const { parts } of found) for (const part of parts) await part.drop();
  return newest;
}

/** All complete checkpoints among the names, opened for reading, the newest last. */
export async function findCheckpoints(
  files: Files,
  dir: string,
  names: readonly NumberedName[],
): Promise<CheckpointOnDisk[]> {
  const found: FoundPart[] = [];
  const complete: CheckpointOnDisk[] = [];
  try {
    for (const { name, number, kind } of names) {
      if (kind !== 'ckpt') continue;
      const part = await openPart(files, dir, name, number);
      if (part) found.push(part);
    }
    for (const last of found) {
      const parts = found.filter(({ head }) => head.firstPart === last.head.firstPart);
      if (last.partsCount !== 0 && last.partsCount === parts.length)
        complete.push({ head: parts[0]!.head, parts });
    }
    return complete.sort((a, b) => a.head.seq - b.head.seq);
  } finally {
    const used = new Set<LogFile>(complete.flatMap(({ parts }) => parts));
    for (const part of found) if (!used.has(part)) await part.drop();
  }
}

/** Opens the parts of a checkpoint that was just written. */
export async function openCheckpoint(
  files: Files,
  dir: string,
  numbers: readonly number[],
): Promise<CheckpointOnDisk> {
  const names = numbers.map((number) => ({ name: fileName(number, 'ckpt'), number, kind: 'ckpt' as const }));
  const checkpoint = await findCheckpoint(files, dir, names);
  if (checkpoint) return checkpoint;
  throw new LogDamagedError(names[0]!.name, 0, 'the checkpoint is not readable');
}

async function openPart(files: Files, dir: string, name: string, number: number): Promise<FoundPart | null> {
  const path = join(dir, name);
  const file = await files.open(path, { readOnly: true });
  let part: FoundPart | null = null;
  try {
    const bytes = await file.size();
    const first = Buffer.alloc(Math.min(bytes, FILE_HEAD_BYTES));
    await file.read(first, 0, first.length, 0);
    const head = decodeFileHead('ckpt', name, first);
    const last = Buffer.alloc(FRAME_HEAD_BYTES);
    const count = await file.read(last, 0, last.length, Math.max(0, bytes - FRAME_HEAD_BYTES));
    const end = count === last.length ? wholeFrame(last, 0, number) : null;
    if (head && head.number === number && end?.kind === KIND_IMAGE_END) {
      part = new FoundPart(path, file, bytes, head, end.firstSeq);
    }
  } finally {
    if (part === null) await file.close();
  }
  return part;
}

/** Replays the whole image. `frame` is called for every frame before its records are replayed. */
export async function replayCheckpoint(
  checkpoint: CheckpointOnDisk,
  reader: FrameReader,
  replay: Pick<Replay, 'image'>,
  frame?: (part: LogFile, buffer: Buffer, head: FrameHead, shift: number) => void,
): Promise<void> {
  let previous = 0;
  const memory = new ScanMemory();
  for (const part of checkpoint.parts) {
    const scan = new FrameScan(part.file!, part.number, FILE_HEAD_BYTES, part.durable, memory);
    try {
      for (;;) {
        const head = scan.frame(scan.at);
        if (head === MORE) {
          await scan.fill();
          continue;
        }
        if (head === null || head.previous !== previous) {
          throw new LogDamagedError(part.name, scan.offset, 'the checkpoint is not readable');
        }
        previous = head.checksum;
        if (head.kind === KIND_IMAGE_END) break;
        if (head.kind !== KIND_IMAGE) {
          throw new LogDamagedError(part.name, scan.offset, `a frame of kind ${head.kind} in a checkpoint`);
        }
        frame?.(part, scan.buffer, head, scan.shift);
        reader.image(scan.buffer, head, scan.shift, (record) => replay.image(record));
        scan.at += head.bytes;
      }
    } finally {
      await scan.close();
    }
  }
}
