/**
 * Reads the records of a whole frame in a buffer. A log keeps one reader for its lifetime, so that the string cache
 * stays warm.
 */
import type { Entry } from '../core/entries.ts';
import type { ImageRecord } from '../core/image.ts';
import type { Opaque } from '../core/opaque.ts';
import { ByteReader } from './byte-reader.ts';
import { decodeEntry } from './entry-decoder.ts';
import { FILE_SPAN, FRAME_HEAD_BYTES, type FrameHead } from './frame.ts';
import { decodeImage } from './image-decoder.ts';
import { OpaqueReader } from './record-parts.ts';

export class FrameReader {
  readonly #bytes = new ByteReader();
  readonly #opaques = new OpaqueReader(this.#bytes);

  /** Calls `take` for every entry of the frame. `shift` plus an offset in the buffer is the offset in the file. */
  entries(
    buffer: Buffer,
    head: FrameHead,
    shift: number,
    take: (entry: Entry, seq: number, atMs: number) => void,
  ): void {
    this.#open(buffer, head, shift);
    const { count, firstSeq, atMs } = head;
    for (let i = 0; i < count; i++) take(decodeEntry(this.#bytes, this.#opaques), firstSeq + i, atMs);
    this.#assertEnd(head);
  }

  image(buffer: Buffer, head: FrameHead, shift: number, take: (record: ImageRecord) => void): void {
    this.#open(buffer, head, shift);
    for (let i = 0; i < head.count; i++) take(decodeImage(this.#bytes, this.#opaques));
    this.#assertEnd(head);
  }

  /** Every opaque that the records of the frame refer to. */
  opaques(buffer: Buffer, head: FrameHead, shift: number, kind: 'entries' | 'image'): Opaque[] {
    const found: Opaque[] = [];
    this.#opaques.found = found;
    try {
      if (kind === 'entries') this.entries(buffer, head, shift, () => {});
      else this.image(buffer, head, shift, () => {});
    } finally {
      this.#opaques.found = null;
    }
    return found;
  }

  #open(buffer: Buffer, head: FrameHead, shift: number): void {
    this.#bytes.open(buffer, head.recordsAt);
    this.#opaques.areaAt = head.file * FILE_SPAN + head.offset + shift + FRAME_HEAD_BYTES;
  }

  /** The checksum is right but the records are not: the writer and the reader disagree about the format. */
  #assertEnd(head: FrameHead): void {
    if (this.#bytes.at === head.recordsEnd) return;
    throw new Error(
      `The records of the frame with seq ${head.firstSeq} end at ${this.#bytes.at}, not at ${head.recordsEnd}.`,
    );
  }
}
