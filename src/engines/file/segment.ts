/** One segment of the log: how far it is allocated and written, and a coarse index from `seq` to offset. */

import type { OpenFile } from '../../seams/files.ts';
import type { FileHead } from './file-head.ts';
import { LogFile } from './log-file.ts';
import type { SpareHead } from './spare-head.ts';

/** One frame in so many bytes is remembered, so that a reader never walks over more than that. */
const INDEX_BYTES = 64 * 1024;

export class Segment extends LogFile {
  readonly capacity: number;
  /** What stands in its first bytes, once it is written to: where the chain was when it began. */
  head: FileHead | null = null;
  /** What was found in its place, if it was never written to. */
  spareHead: SpareHead | null = null;
  /** How many bytes are on disk for certain, written or zero. */
  allocated = 0;
  /** Where the next frame goes, durable or not; 0 while not even the head is written. */
  end = 0;
  /** The `seq` of the first entry in it and of the newest; 0 while there is none. */
  firstSeq = 0;
  lastSeq = 0;
  readonly #seqs: number[] = [];
  readonly #offsets: number[] = [];

  constructor(number: number, path: string, capacity: number, file: OpenFile | null = null) {
    super(number, path, file, 0);
    this.capacity = capacity;
  }

  /** Remembers a durable batch that lies at `offset`. */
  note(firstSeq: number, count: number, offset: number): void {
    if (this.firstSeq === 0) this.firstSeq = firstSeq;
    this.lastSeq = firstSeq + count - 1;
    const newest = this.#offsets.at(-1);
    if (newest !== undefined && offset - newest < INDEX_BYTES) return;
    this.#seqs.push(firstSeq);
    this.#offsets.push(offset);
  }

  /** The offset of a frame from which walking forward meets `seq`. */
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
