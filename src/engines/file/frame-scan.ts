/**
 * Walks over the frames of one file in order. It reads large pieces and prefetches the next one while the caller
 * works on the current one. It validates single frames; the caller decides what an invalid one means.
 */

import type { OpenFile } from '../../seams/files.ts';
import type { FrameHead } from '../frame.ts';
import { FRAME_HEAD_BYTES, isWhole, readHead } from '../frame.ts';

const PIECE_BYTES = 1024 * 1024;

/** Buffers that the next scan reuses: a log may consist of hundreds of files. */
export class ScanMemory {
  window: Buffer = Buffer.alloc(0);
  other: Buffer = Buffer.alloc(0);
}

/** The window ends before the frame does: call `fill` and ask again. */
export const MORE = 'more';

export class FrameScan {
  /** The bytes of the window. Only those from `at` on are valid. */
  buffer: Buffer;
  /** Added to an offset in the buffer, it gives the offset in the file. */
  shift: number;
  /** The offset of the scan in the buffer. */
  at: number;
  readonly #file: OpenFile;
  readonly #number: number;
  readonly #end: number;
  readonly #pieceBytes: number;
  readonly #memory: ScanMemory;
  #filled: number;
  #other: Buffer;
  #ahead: { position: number; lead: number; count: Promise<number> } | null = null;

  /** Frames of file `number` between the offsets `from` and `end`. */
  constructor(
    file: OpenFile,
    number: number,
    from: number,
    end: number,
    memory: ScanMemory = new ScanMemory(),
    pieceBytes: number = PIECE_BYTES,
  ) {
    this.#file = file;
    this.#number = number;
    this.#end = end;
    this.#pieceBytes = Math.max(FRAME_HEAD_BYTES, Math.min(pieceBytes, end - from));
    this.#memory = memory;
    this.buffer = memory.window;
    this.#other = memory.other;
    this.at = 0;
    this.#filled = 0;
    this.shift = from;
  }

  get offset(): number {
    return this.at + this.shift;
  }

  /** The whole frame at offset `at` of the buffer, or null. */
  frame(at: number): FrameHead | null | typeof MORE {
    const position = at + this.shift;
    if (position + FRAME_HEAD_BYTES > this.#end) return null;
    if (at + FRAME_HEAD_BYTES > this.#filled) return MORE;
    const head = readHead(this.buffer, at);
    if (head === null || head.file !== this.#number) return null;
    if (head.recordsEnd + this.shift > this.#end) return null;
    if (head.recordsEnd > this.#filled) return MORE;
    return isWhole(this.buffer, head) ? head : null;
  }

  /** Reads the next piece. Everything from `at` on stays in the window, moved to the front. */
  async fill(): Promise<void> {
    const ahead = this.#ahead ?? this.#read(this.shift + this.#filled, this.#other, this.#pieceBytes);
    this.#ahead = null;
    const count = await ahead.count;
    if (count === 0) throw new Error(`File ${this.#number} ends before offset ${this.#end}.`);
    const kept = this.#filled - this.at;
    let next = this.#other;
    let lead = ahead.lead;
    if (kept > lead) {
      next = Buffer.allocUnsafeSlow(kept * 2 + this.#pieceBytes);
      this.#other.copy(next, kept * 2, lead, lead + count);
      lead = kept * 2;
    }
    this.buffer.copy(next, lead - kept, this.at, this.#filled);
    this.#other = this.buffer;
    this.buffer = next;
    this.shift = ahead.position - lead;
    this.at = lead - kept;
    this.#filled = lead + count;
    const position = this.shift + this.#filled;
    if (position < this.#end) this.#ahead = this.#read(position, this.#other, this.#pieceBytes);
  }

  /** Waits for the prefetch, so that the file can be closed. Its failure no longer matters. */
  async close(): Promise<void> {
    await this.#ahead?.count.catch(() => 0);
    this.#ahead = null;
    this.#memory.window = this.buffer;
    this.#memory.other = this.#other;
  }

  /** Reads a piece into `into`, after space for the bytes that the window may carry over. */
  #read(position: number, into: Buffer, bytes: number) {
    const length = Math.min(bytes, this.#end - position);
    if (into.length < length * 2) {
      into = Buffer.allocUnsafeSlow(bytes * 2);
      this.#other = into;
    }
    const lead = into.length - bytes;
    const count = this.#file.read(into, lead, length, position);
    // The `fill` that needs the piece reports the failure, possibly much later.
    count.catch(() => {});
    return { position, lead, count };
  }
}
