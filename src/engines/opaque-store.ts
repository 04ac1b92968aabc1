/**
 * Reads opaque bytes by position: from the newest bytes in memory, from a small block cache, or from disk. Every read
 * is verified by checksum. Concurrent readers of one block share one disk read.
 */
import { crc32 } from 'node:zlib';
import type { Opaque } from '../core/opaque.ts';
import type { OpenFile } from '../seams/files.ts';
import { FILE_SPAN } from './frame.ts';
import { LogCompactedError } from './log.ts';
import { RecentBytes } from './recent-bytes.ts';

const BLOCK_BYTES = 64 * 1024;
const BLOCKS_A_FILE = FILE_SPAN / BLOCK_BYTES;
/** Longer values bypass the cache, which they would flush. */
const CACHED_BYTES_MAX = 4 * BLOCK_BYTES;
const EMPTY = Buffer.alloc(0);

/** A file to read from. It is retained while it is read. */
export interface ByteSource {
  readonly file: Pick<OpenFile, 'read'> | null;
  /** Bytes below this are durable and never change again. */
  readonly durable: number;
  retain(): void;
  release(): Promise<void>;
}

export interface OpaqueStoreOptions {
  readonly recentBytesMax: number;
  readonly cacheBytesMax: number;
  readonly sourceOf: (file: number) => ByteSource | null;
}

export class OpaqueStore {
  readonly recent: RecentBytes;
  readonly #sourceOf: (file: number) => ByteSource | null;
  readonly #blocksMax: number;
  /** Least recently used first. */
  readonly #blocks = new Map<number, Buffer>();
  readonly #loading = new Map<number, Promise<Buffer>>();
  /** The most recently used block, which is usually the next one too. */
  #newestKey = -1;
  #newest: Buffer = EMPTY;

  constructor(options: OpaqueStoreOptions) {
    this.recent = new RecentBytes(options.recentBytesMax);
    this.#sourceOf = options.sourceOf;
    this.#blocksMax = Math.max(1, Math.floor(options.cacheBytesMax / BLOCK_BYTES));
  }

  read(reference: Opaque): Uint8Array | null | Promise<Uint8Array | null> {
    const { at, length } = reference;
    if (length === 0) return EMPTY;
    const number = Math.floor(at / FILE_SPAN);
    const offset = at % FILE_SPAN;
    const recent = this.recent.get(number, offset, length);
    if (recent) return verified(recent, reference);
    const source = this.#sourceOf(number);
    if (!source?.file)
      return Promise.reject(new LogCompactedError(`File ${number} has been compacted away.`));
    if (length > CACHED_BYTES_MAX) return this.#readAlone(source, offset, reference);
    const pieces = this.#cached(source, number, offset, length);
    return pieces ? verified(pieces, reference) : this.#readBlocks(source, number, offset, reference);
  }

  /** Drops the cached blocks of deleted files. */
  forget(files: ReadonlySet<number>): void {
    for (const key of this.#blocks.keys()) {
      if (files.has(Math.floor(key / BLOCKS_A_FILE))) this.#blocks.delete(key);
    }
    this.#newestKey = -1;
    this.#newest = EMPTY;
  }

  async #readAlone(source: ByteSource, offset: number, reference: Opaque): Promise<Uint8Array | null> {
    source.retain();
    try {
      const bytes = Buffer.allocUnsafe(reference.length);
      const count = await source.file!.read(bytes, 0, bytes.length, offset);
      return verified(bytes.subarray(0, count), reference);
    } finally {
      await source.release();
    }
  }

  async #readBlocks(
    source: ByteSource,
    number: number,
    offset: number,
    reference: Opaque,
  ): Promise<Uint8Array | null> {
    source.retain();
    try {
      const bytes = Buffer.alloc(reference.length);
      const end = offset + reference.length;
      for (let block = Math.floor(offset / BLOCK_BYTES); block * BLOCK_BYTES < end; block++) {
        const content = this.#block(number, block) ?? (await this.#load(source, number, block));
        const start = block * BLOCK_BYTES;
        content.copy(bytes, Math.max(0, start - offset), Math.max(0, offset - start), end - start);
      }
      return verified(bytes, reference);
    } finally {
      await source.release();
    }
  }

  #cached(source: ByteSource, number: number, offset: number, length: number): Buffer | null {
    const first = Math.floor(offset / BLOCK_BYTES);
    const last = Math.floor((offset + length - 1) / BLOCK_BYTES);
    for (let block = first; block <= last; block++) {
      if (!this.#blocks.has(keyOf(number, block))) return null;
    }
    if (keyOf(number, last) !== this.#newestKey) this.#readAhead(source, number, last);
    const bytes = Buffer.allocUnsafe(length);
    for (let block = first; block <= last; block++) {
      const start = block * BLOCK_BYTES;
      const content = this.#block(number, block)!;
      content.copy(bytes, Math.max(0, start - offset), Math.max(0, offset - start), offset + length - start);
    }
    return bytes;
  }

  #block(number: number, block: number): Buffer | undefined {
    const key = keyOf(number, block);
    if (key === this.#newestKey) return this.#newest;
    const content = this.#blocks.get(key);
    if (content) {
      this.#blocks.delete(key);
      this.#blocks.set(key, content);
      this.#newestKey = key;
      this.#newest = content;
    }
    return content;
  }

  /** Sequential readers, such as workers, find the next block in memory. */
  #readAhead(source: ByteSource, number: number, block: number): void {
    const isNext = this.#blocks.has(keyOf(number, block - 1));
    const isThere = this.#blocks.has(keyOf(number, block + 1));
    if (!isNext || isThere || (block + 2) * BLOCK_BYTES > source.durable) return;
    source.retain();
    const done = async (): Promise<void> => {
      await source.release();
    };
    // No caller waits for it. A reader that needs the block later reads it again and gets the fault then.
    this.#load(source, number, block + 1, true)
      .then(done, done)
      .catch(() => undefined);
  }

  #load(source: ByteSource, number: number, block: number, isAhead = false): Promise<Buffer> {
    const key = keyOf(number, block);
    const loading = this.#loading.get(key);
    if (loading !== undefined) return loading;
    // Only a block that cannot change may be cached, or a later reader would miss newer bytes.
    const mayKeep = (block + 1) * BLOCK_BYTES <= source.durable;
    const load = async (): Promise<Buffer> => {
      try {
        const content = Buffer.allocUnsafeSlow(BLOCK_BYTES);
        const count = await source.file!.read(content, 0, BLOCK_BYTES, block * BLOCK_BYTES);
        if (mayKeep) this.#keep(key, content);
        if (mayKeep && !isAhead) this.#readAhead(source, number, block);
        return content.subarray(0, count);
      } finally {
        this.#loading.delete(key);
      }
    };
    const started = load();
    // A block that is still being written is not shared: the next reader may need more of it.
    if (mayKeep) this.#loading.set(key, started);
    return started;
  }

  #keep(key: number, content: Buffer): void {
    this.#blocks.set(key, content);
    if (this.#blocks.size <= this.#blocksMax) return;
    const oldest = this.#blocks.keys().next();
    if (!oldest.done) this.#blocks.delete(oldest.value);
  }
}

const keyOf = (file: number, block: number): number => file * BLOCKS_A_FILE + block;

function verified(bytes: Buffer, reference: Opaque): Uint8Array | null {
  return bytes.length === reference.length && crc32(bytes) === reference.crc ? bytes : null;
}
