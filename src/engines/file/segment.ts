/** One segment of the log: how far it is allocated and written, and a coarse index from `seq` to offset. */

import type { OpenFile } from '../../seams/files.ts';
import { FILE_HEAD_BYTES, type FileHead } from './file-head.ts';
import { LogFile } from './log-file.ts';
import type { SpareHead } from './spare-segment-head.ts';

/** The size of a segment, unless a test sets another one. */
export const SEGMENT_BYTES = 64 * 1024 * 1024;

/** One frame is indexed per this many bytes, which bounds how far a reader has to scan. */
const INDEX_BYTES = 64 * 1024;

export class Segment extends LogFile {
  readonly capacity: number;
  /** Its head once it is in use: the state of the chain when the segment began. */
  head: FileHead | null = null;
  /** The head of a spare, if the segment was never written to. */
  spareHead: SpareHead | null = null;
  /** Bytes known to be on disk, written or zero. */
  allocated = 0;
  /** Where the next frame goes, durable or not; 0 before the head is written. */
  end = 0;
  /** The `seq` of its first and its newest entry; 0 while it has none. */
  firstSeq = 0;
  lastSeq = 0;
  /** Its last frame is found by reading it: `durable` is the size of the file. */
  endsEarly = false;
  /** The time of its first entry. */
  firstAtMs = 0;
  readonly #seqs: number[] = [];
  readonly #offsets: number[] = [];

  constructor(number: number, path: string, capacity: number, file: OpenFile | null = null) {
    super(number, path, file, 0);
    this.capacity = capacity;
  }

  /** Where the next frame begins: the first one comes after the head of the file. */
  get frameOffset(): number {
    return this.end === 0 ? FILE_HEAD_BYTES : this.end;
  }

  /** Records a durable batch at `offset`. */
  note(firstSeq: number, count: number, offset: number, atMs: number): void {
    if (this.firstSeq === 0) {
      this.firstSeq = firstSeq;
      this.firstAtMs = atMs;
    }
    this.lastSeq = firstSeq + count - 1;
    const newest = this.#offsets.at(-1);
    if (newest !== undefined && offset - newest < INDEX_BYTES) return;
    this.#seqs.push(firstSeq);
    this.#offsets.push(offset);
  }

  /** The offset of a frame from which a forward scan reaches `seq`. */
  offsetBelow(seq: number): number {
    let low = 0;
    let high = this.#seqs.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.#seqs[middle]! <= seq) low = middle;
      else high = middle - 1;
    }
    return this.#offsets[low] ?? this.durable;
  }
}
