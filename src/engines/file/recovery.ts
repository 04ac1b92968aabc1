/**
 * Reads a data directory, replays its entries and reports its condition. It only reads.
 *
 * A frame proves that the previous one was durable, because a writer has one batch in flight; so do the head of the
 * next segment and a commit mark. The first place without a whole frame is therefore:
 *
 *   zeros to the end, and nothing in later segments         the end of the log, if no segment is missing
 *                                                           (`missing-segments.ts`)
 *   a whole frame or head anywhere after it                 damage: durable bytes were lost
 *   the rest of a frame that reaches beyond the file        damage: the file was cut. Space is allocated and synced
 *                                                           before a frame is written to it
 *   anything else                                           a torn tail, or a cut that cannot be told from one; it is
 *                                                           reported and cut
 *
 * The newest frame, unless something proves it durable, must also have intact opaque bytes, or it counts as torn.
 */

import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { Files, OpenFile } from '../../seams/files.ts';
import type { Chain } from '../chain.ts';
import type { FrameHead } from '../frame.ts';
import { FILE_SPAN, FRAME_HEAD_BYTES, KIND_BATCH, KIND_MARK, readHead } from '../frame.ts';
import { FrameReader } from '../frame-reader.ts';
import type { Replay } from '../log.ts';
import { LogDamagedError } from '../log.ts';
import { RESTORE_JUMP } from '../restored-seq.ts';
import type { CheckpointOnDisk } from './checkpoint.ts';
import { findCheckpoint, replayCheckpoint } from './checkpoint.ts';
import type { FileHead } from './file-head.ts';
import { decodeFileHead, encodeFileHead, FILE_HEAD_BYTES, isBeginningOfHead } from './file-head.ts';
import { numberedNames } from './file-names.ts';
import { FrameScan, MORE, ScanMemory } from './frame-scan.ts';
import type { LogFile } from './log-file.ts';
import { assertNoSegmentMissing } from './missing-segments.ts';
import { Segment } from './segment.ts';
import { decodeSpareHead } from './spare-segment-head.ts';
import { assertFinished } from './unfinished-copy.ts';
import { findFrame, isZeroed } from './zeroed-space.ts';

export interface Recovered {
  readonly checkpoint: CheckpointOnDisk | null;
  /** Segments in use, in order. */
  readonly segments: Segment[];
  /** Unused segments, in order. They may hold the rest of a torn write. */
  readonly blank: Segment[];
  readonly chain: Chain;
  /** The newest frame, when nothing after it proves that it was durable. */
  readonly unproven: { readonly segment: Segment; readonly offset: number; readonly bytes: Buffer } | null;
  /** The offset of a torn write, if there is one; 0 also when the only segment has no bytes. */
  readonly torn: { readonly file: string; readonly offset: number } | null;
  /** Files that a crash left behind and that are not needed. */
  readonly leftovers: readonly string[];
  /** The highest number of any file. */
  readonly lastNumber: number;
}

interface Found {
  readonly segment: Segment;
  readonly name: string;
  readonly file: OpenFile;
  readonly size: number;
  readonly head: FileHead | null;
}

export interface RecoveryOptions {
  readonly files: Files;
  readonly dir: string;
  readonly replay: Replay;
  /** A segment is allocated up to this size. */
  readonly segmentBytes: number;
  /** Called for every whole frame of a segment or checkpoint, before its records are replayed. */
  readonly frame?: (file: LogFile, buffer: Buffer, head: FrameHead, shift: number) => void;
}

export async function recover(options: RecoveryOptions): Promise<Recovered> {
  const { files, dir, replay } = options;
  const listed = (await files.list(dir)) ?? [];
  assertFinished(dir, listed);
  const names = numberedNames(listed);
  const reader = new FrameReader();
  const checkpoint = await findCheckpoint(files, dir, names);
  const below = checkpoint?.head.sealedThrough ?? 0;
  const found: Found[] = [];
  try {
    for (const { name, number, kind } of names) {
      if (kind === 'seg' && number > below) found.push(await openSegment(options, name, number));
    }
    const used = new Set(checkpoint?.parts.map((part) => part.name));
    const leftovers = names
      .filter(({ name, number, kind }) => (kind === 'seg' ? number <= below : !used.has(name)))
      .map(({ name }) => name);
    const lastNumber = names.at(-1)?.number ?? 0;
    const chain = { checksum: 0, lastSeq: 0, lastAtMs: 0, epoch: 0 };
    if (checkpoint) {
      await replayCheckpoint(checkpoint, reader, replay, options.frame);
      const { previous, seq, atMs, epoch } = checkpoint.head;
      Object.assign(chain, { checksum: previous, lastSeq: seq, lastAtMs: atMs, epoch });
    }
    const walk = new Walk(options, reader, found, chain);
    await walk.run();
    const { segments, blank, unproven, torn } = walk;
    assertNoSegmentMissing({ checkpoint, segments, blank, chain, lastNumber });
    return { checkpoint, segments, blank, chain, unproven, torn, leftovers, lastNumber };
  } catch (error) {
    for (const { segment } of found) await segment.drop();
    for (const part of checkpoint?.parts ?? []) await part.drop();
    throw error;
  }
}

async function openSegment(options: RecoveryOptions, name: string, number: number): Promise<Found> {
  const path = join(options.dir, name);
  const file = await options.files.open(path, { readOnly: true });
  const size = await file.size();
  const segment = new Segment(number, path, Math.max(options.segmentBytes, size), file);
  segment.allocated = size;
  const bytes = Buffer.alloc(Math.min(size, FILE_HEAD_BYTES));
  await file.read(bytes, 0, bytes.length, 0);
  const head = decodeFileHead('seg', name, bytes);
  segment.spareHead = decodeSpareHead(number, name, bytes);
  return { segment, name, file, size, head };
}

class Walk {
  readonly segments: Segment[] = [];
  readonly blank: Segment[] = [];
  unproven: Recovered['unproven'] = null;
  torn: Recovered['torn'] = null;
  readonly #options: RecoveryOptions;
  readonly #reader: FrameReader;
  readonly #found: readonly Found[];
  readonly #chain: Chain;
  readonly #memory = new ScanMemory();

  constructor(options: RecoveryOptions, reader: FrameReader, found: readonly Found[], chain: Chain) {
    this.#options = options;
    this.#reader = reader;
    this.#found = found;
    this.#chain = chain;
  }

  async run(): Promise<void> {
    let index = 0;
    while (index < this.#found.length && (await this.#segment(index))) index += 1;
    for (const { segment } of this.#found.slice(index)) this.blank.push(segment);
  }

  /** False when the log ends before this segment. */
  async #segment(index: number): Promise<boolean> {
    const { segment, name, file, size, head } = this.#found[index]!;
    if (head === null) {
      if (await this.#anythingFrom(index, 0)) throw new LogDamagedError(name, 0, 'the head is not readable');
      if (size < FILE_HEAD_BYTES && (await beginsAsSegment(file, size)))
        throw new LogDamagedError(name, 0, `the file ends within its head, at ${size} bytes; it was cut`);
      const from = segment.spareHead ? FILE_HEAD_BYTES : 0;
      // A new file that a crash interrupted may be empty, but so may one that was cut: it is reported.
      if (!this.torn && (size === 0 || !(await isZeroed(file, from, size))))
        this.torn = { file: name, offset: 0 };
      return false;
    }
    const { checksum, lastSeq } = this.#chain;
    if (head.number !== segment.number || head.previous !== checksum || head.seq !== lastSeq + 1) {
      throw new LogDamagedError(name, 0, `it does not follow seq ${lastSeq}; something before it is missing`);
    }
    this.unproven = null;
    const scan = new FrameScan(file, segment.number, FILE_HEAD_BYTES, size, this.#memory);
    try {
      await this.#frames(index, scan);
    } finally {
      await scan.close();
    }
    if (segment.firstSeq === 0) {
      // Its first write was torn after the head, so the segment counts as unused.
      if (!this.torn && (await this.#anythingFrom(index, FILE_HEAD_BYTES))) {
        throw new LogDamagedError(name, FILE_HEAD_BYTES, 'the first frame is not readable');
      }
      await this.#assertNotCut(index, FILE_HEAD_BYTES);
      this.torn = { file: name, offset: 0 };
      return false;
    }
    segment.head = head;
    this.segments.push(segment);
    if (!this.torn && !(await isZeroed(file, segment.end, size))) {
      if (await this.#anythingFrom(index, segment.end)) {
        throw new LogDamagedError(name, segment.end, 'a frame is not readable, and whole ones follow it');
      }
      await this.#assertNotCut(index, segment.end);
      this.torn = { file: name, offset: segment.end };
    }
    return true;
  }

  async #frames(index: number, scan: FrameScan): Promise<void> {
    let head = await frameAt(scan, () => scan.at);
    while (head !== null) {
      this.#assertFollows(index, scan, head);
      let next = scan.frame(scan.at + head.bytes);
      if (next === MORE) {
        const bytes = head.bytes;
        next = await frameAt(scan, () => scan.at + bytes);
        head = scan.frame(scan.at) as FrameHead;
      }
      if (next === null && !(await this.#proven(index, scan, head))) return;
      this.#take(this.#found[index]!.segment, scan, head);
      scan.at += head.bytes;
      head = next;
    }
  }

  /** Whether the last frame of a segment counts: something proves it durable, or all its bytes are intact. */
  async #proven(index: number, scan: FrameScan, head: FrameHead): Promise<boolean> {
    const { segment, name, head: own } = this.#found[index]!;
    const follower = this.#found[index + 1]?.head;
    if (follower?.previous === head.checksum) return true;
    const area = segment.number * FILE_SPAN + scan.shift;
    for (const opaque of this.#reader.opaques(scan.buffer, head, scan.shift, 'entries')) {
      const at = opaque.at - area;
      if (crc32(scan.buffer.subarray(at, at + opaque.length)) === opaque.crc) continue;
      if (await this.#anythingFrom(index, scan.offset + 8)) {
        throw new LogDamagedError(name, scan.offset, 'a frame is torn, and whole ones follow it');
      }
      this.torn = { file: name, offset: scan.offset };
      return false;
    }
    const frame = scan.buffer.subarray(head.offset, head.recordsEnd);
    // The head of a segment is written together with its first frame, and proves no more than that frame.
    const isFirst = scan.offset === FILE_HEAD_BYTES;
    this.unproven = isFirst
      ? { segment, offset: 0, bytes: Buffer.concat([encodeFileHead('seg', own!), frame]) }
      : { segment, offset: scan.offset, bytes: Buffer.from(frame) };
    return true;
  }

  #assertFollows(index: number, scan: FrameScan, head: FrameHead): void {
    const { lastSeq, checksum } = this.#chain;
    const follows = head.firstSeq === lastSeq + 1 || head.firstSeq >= lastSeq + RESTORE_JUMP;
    const isKnown = head.kind === KIND_BATCH || head.kind === KIND_MARK;
    if (head.previous === checksum && follows && isKnown) return;
    throw new LogDamagedError(
      this.#found[index]!.name,
      scan.offset,
      `the frame does not follow seq ${lastSeq}; something before it is missing`,
    );
  }

  #take(segment: Segment, scan: FrameScan, head: FrameHead): void {
    const { replay, frame } = this.#options;
    frame?.(segment, scan.buffer, head, scan.shift);
    const chain = this.#chain;
    chain.checksum = head.checksum;
    chain.epoch = head.epoch;
    segment.end = scan.offset + head.bytes;
    segment.durable = segment.end;
    if (head.kind === KIND_MARK) return;
    chain.lastSeq = head.firstSeq + head.count - 1;
    chain.lastAtMs = head.atMs;
    segment.note(head.firstSeq, head.count, scan.offset, head.atMs);
    this.#reader.entries(scan.buffer, head, scan.shift, (entry, seq, atMs) => replay.entry(entry, seq, atMs));
  }

  /**
   * No crash leaves part of a frame at the end of a file that is shorter than a segment: the space for the whole frame
   * was durable before. A head alone is no different: it is written together with the first frame. A batch larger than
   * announced may extend a file of full length.
   */
  async #assertNotCut(index: number, offset: number): Promise<void> {
    const { segment, name, file, size } = this.#found[index]!;
    if (size >= this.#options.segmentBytes) return;
    const bytes = Buffer.alloc(Math.min(FRAME_HEAD_BYTES, size - offset));
    await file.read(bytes, 0, bytes.length, offset);
    const head = readHead(bytes, 0);
    const isCut =
      bytes.length < FRAME_HEAD_BYTES
        ? offset === FILE_HEAD_BYTES || bytes.some((byte) => byte !== 0)
        : head?.file === segment.number && offset + head.bytes > size;
    if (isCut)
      throw new LogDamagedError(name, offset, `the file ends within a frame, at ${size} bytes; it was cut`);
  }

  /** Whether a whole frame follows `offset` in a segment, or a frame or head exists in a later one. */
  async #anythingFrom(index: number, offset: number): Promise<boolean> {
    for (const [i, { segment, file, size, head }] of this.#found.entries()) {
      if (i < index) continue;
      if (i > index && head !== null) return true;
      const frame = await findFrame(file, segment.number, i === index ? offset : 0, size);
      if (frame !== null) return true;
    }
    return false;
  }
}

/** Whether a file that is shorter than a head has the beginning of a segment's, which is written into allocated space. */
async function beginsAsSegment(file: OpenFile, size: number): Promise<boolean> {
  const bytes = Buffer.alloc(size);
  await file.read(bytes, 0, size, 0);
  return isBeginningOfHead('seg', bytes);
}

async function frameAt(scan: FrameScan, at: () => number): Promise<FrameHead | null> {
  for (;;) {
    const head = scan.frame(at());
    if (head !== MORE) return head;
    await scan.fill();
  }
}
