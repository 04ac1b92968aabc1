/**
 * Reads the past from the files of a data directory, with descriptors of its own. A file that the log deletes while
 * it is open stays readable; one that is gone before it is opened throws ENOENT.
 */
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { ImageRecord } from '../../core/image.ts';
import type { Opaque } from '../../core/opaque.ts';
import type { Files, OpenFile } from '../../seams/files.ts';
import { FILE_SPAN, KIND_BATCH } from '../frame.ts';
import { FrameReader } from '../frame-reader.ts';
import { LogDamagedError } from '../log.ts';
import type { FilePast, PastBase, PastBatch, PastLog } from '../past.ts';
import { openCheckpoint, replayCheckpoint } from './checkpoint.ts';
import { FILE_HEAD_BYTES } from './file-head.ts';
import { fileName } from './file-names.ts';
import { FrameScan, MORE, ScanMemory } from './frame-scan.ts';

type PastSegment = FilePast['segments'][number];

export class PastFiles implements PastLog {
  readonly #files: Files;
  readonly #source: FilePast;
  readonly #reader = new FrameReader();
  readonly #memory = new ScanMemory();
  readonly #open = new Map<number, OpenFile>();

  constructor(files: Files, source: FilePast) {
    this.#files = files;
    this.#source = source;
  }

  async restore({ parts }: PastBase, image: (record: ImageRecord) => void): Promise<void> {
    if (parts.length === 0) return;
    const checkpoint = await openCheckpoint(this.#files, this.#source.dir, parts);
    try {
      await replayCheckpoint(checkpoint, this.#reader, { image });
    } finally {
      for (const part of checkpoint.parts) await part.drop();
    }
  }

  async *batches(seq: number, cursor: number): AsyncGenerator<PastBatch> {
    const { segments } = this.#source;
    const number = Math.floor(cursor / FILE_SPAN);
    // A segment ends where the next one begins.
    const later = segments.filter(
      (segment, index) => segment.number >= number && (segments[index + 1]?.seq ?? Infinity) > seq + 1,
    );
    let checksum: number | null = null;
    for (const segment of later) {
      const from = segment.number === number ? cursor % FILE_SPAN : FILE_HEAD_BYTES;
      checksum = yield* this.#segment(segment, from, seq, checksum);
    }
  }

  async read(reference: Opaque): Promise<Uint8Array | null> {
    const { at, length, crc } = reference;
    if (length === 0) return new Uint8Array(0);
    const file = await this.#fileOf(Math.floor(at / FILE_SPAN));
    const bytes = Buffer.alloc(length);
    const count = await file.read(bytes, 0, length, at % FILE_SPAN);
    return count === length && crc32(bytes) === crc ? bytes : null;
  }

  async close(): Promise<void> {
    for (const file of this.#open.values()) await file.close();
    this.#open.clear();
  }

  /** Returns the checksum of the last frame, which the next segment continues. */
  async *#segment(
    { number, end }: PastSegment,
    from: number,
    seq: number,
    before: number | null,
  ): AsyncGenerator<PastBatch, number | null> {
    const file = await this.#fileOf(number);
    const last = end ?? (await file.size());
    const scan = new FrameScan(file, number, from, last, this.#memory);
    let checksum = before;
    try {
      while (scan.offset < last) {
        const head = scan.frame(scan.at);
        if (head === MORE) {
          await scan.fill();
          continue;
        }
        // The unused end of a segment is filled with zeros.
        if (head === null && end === null) break;
        if (head === null || (checksum !== null && head.previous !== checksum)) {
          throw new LogDamagedError(fileName(number, 'seg'), scan.offset, 'a frame is not readable');
        }
        checksum = head.checksum;
        if (head.kind === KIND_BATCH && head.firstSeq + head.count - 1 > seq) {
          const { firstSeq, atMs } = head;
          const cursor = number * FILE_SPAN + scan.offset;
          yield {
            firstSeq,
            atMs,
            cursor,
            each: (take) => this.#reader.entries(scan.buffer, head, scan.shift, take),
          };
        }
        scan.at += head.bytes;
      }
      return checksum;
    } finally {
      await scan.close();
    }
  }

  async #fileOf(number: number): Promise<OpenFile> {
    const open = this.#open.get(number);
    if (open !== undefined) return open;
    const kind = this.#source.segments.some((segment) => segment.number === number) ? 'seg' : 'ckpt';
    const path = join(this.#source.dir, fileName(number, kind));
    const file = await this.#files.open(path, { readOnly: true });
    this.#open.set(number, file);
    return file;
  }
}
