/**
 * Reads the opaque bytes of the files that a compaction replaces, synchronously, through a small cache of large
 * blocks. Rows refer to bytes roughly in the order in which they were written, so a few blocks serve a million small
 * reads.
 */
import type { Opaque } from '../../core/opaque.ts';
import type { OpenFile } from '../../seams/files.ts';
import { FILE_SPAN } from '../frame.ts';

const BLOCK_BYTES = 256 * 1024;
const BLOCKS_MAX = 16;

interface Block {
  readonly file: number;
  readonly start: number;
  readonly bytes: Buffer;
}

export class SourceBlocks {
  readonly #files: ReadonlyMap<number, OpenFile>;
  /** Most recently used first. */
  readonly #blocks: Block[] = [];

  constructor(files: ReadonlyMap<number, OpenFile>) {
    this.#files = files;
  }

  /** The bytes unverified: their checksum is copied with them. Valid until the next call. */
  read(reference: Opaque): Buffer {
    const { at, length } = reference;
    const file = Math.floor(at / FILE_SPAN);
    const offset = at % FILE_SPAN;
    const start = Math.floor(offset / BLOCK_BYTES) * BLOCK_BYTES;
    if (offset + length > start + BLOCK_BYTES) return this.#readAlone(file, offset, length);
    const { bytes } = this.#block(file, start);
    return bytes.subarray(offset - start, offset - start + length);
  }

  #readAlone(file: number, offset: number, length: number): Buffer {
    const bytes = Buffer.alloc(length);
    this.#fileOf(file).readSync(bytes, 0, length, offset);
    return bytes;
  }

  #block(file: number, start: number): Block {
    const blocks = this.#blocks;
    const first = blocks[0];
    if (first && first.file === file && first.start === start) return first;
    const index = blocks.findIndex((candidate) => candidate.file === file && candidate.start === start);
    const block = index === -1 ? this.#load(file, start) : blocks.splice(index, 1)[0]!;
    blocks.unshift(block);
    return block;
  }

  #load(file: number, start: number): Block {
    const reused = this.#blocks.length < BLOCKS_MAX ? undefined : this.#blocks.pop();
    const bytes = reused?.bytes ?? Buffer.alloc(BLOCK_BYTES);
    const count = this.#fileOf(file).readSync(bytes, 0, BLOCK_BYTES, start);
    bytes.fill(0, count);
    return { file, start, bytes };
  }

  #fileOf(number: number): OpenFile {
    const file = this.#files.get(number);
    if (file) return file;
    throw new Error(`The state refers to bytes in file ${number}, which is not part of the log.`);
  }
}
