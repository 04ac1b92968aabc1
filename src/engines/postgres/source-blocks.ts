/**
 * Reads the opaque bytes of the rows that a compaction replaces, through a small cache of large blocks. The blocks of
 * a record are loaded before it is encoded. Records refer to bytes roughly in the order in which they were written,
 * so most blocks are already loaded.
 */
import type { ImageRecord } from '../../core/image.ts';
import type { Opaque } from '../../core/opaque.ts';
import type { SqlConnection } from '../../seams/database.ts';
import { ByteWriter } from '../byte-writer.ts';
import { encodeImage } from '../image-encoder.ts';
import type { OpaqueArea } from '../record-parts.ts';
import { readRows } from './row-bytes.ts';
import type { Tables } from './tables.ts';

const BLOCK_BYTES = 256 * 1024;
const BLOCKS_MAX = 64;

export class SourceBlocks {
  readonly #connection: SqlConnection;
  readonly #tables: Tables;
  /** By block number, least recently used first. */
  readonly #blocks = new Map<number, Buffer>();
  readonly #references = new References();
  /** How many blocks the current record needs at most. They are the newest ones. */
  #needed = 0;

  constructor(connection: SqlConnection, tables: Tables) {
    this.#connection = connection;
    this.#tables = tables;
  }

  /** The blocks that a record needs and that are not loaded; null when all of them are. */
  missingFor(record: ImageRecord): Set<number> | null {
    const missing = new Set<number>();
    this.#needed = 0;
    for (const { at, length } of this.#references.of(record)) {
      const end = Math.ceil((at + length) / BLOCK_BYTES);
      for (let block = Math.floor(at / BLOCK_BYTES); block < end; block++) {
        this.#needed += 1;
        if (this.#blocks.has(block)) this.#touch(block);
        else missing.add(block);
      }
    }
    return missing.size === 0 ? null : missing;
  }

  async load(blocks: ReadonlySet<number>): Promise<void> {
    for (const block of blocks) {
      const bytes = Buffer.alloc(BLOCK_BYTES);
      const start = block * BLOCK_BYTES;
      await readRows(this.#connection, this.#tables, start, start + BLOCK_BYTES, bytes);
      this.#blocks.set(block, bytes);
    }
    for (const block of this.#blocks.keys()) {
      if (this.#blocks.size <= Math.max(BLOCKS_MAX, this.#needed)) break;
      this.#blocks.delete(block);
    }
  }

  /** The bytes unverified: their checksum is copied with them. They must have been loaded. */
  read({ at, length }: Opaque): Buffer {
    const first = Math.floor(at / BLOCK_BYTES);
    const offset = at % BLOCK_BYTES;
    if (offset + length <= BLOCK_BYTES) return this.#block(first).subarray(offset, offset + length);
    const bytes = Buffer.alloc(length);
    const end = at + length;
    for (let block = first; block * BLOCK_BYTES < end; block++) {
      const start = block * BLOCK_BYTES;
      this.#block(block).copy(bytes, Math.max(0, start - at), Math.max(0, at - start), end - start);
    }
    return bytes;
  }

  #block(block: number): Buffer {
    const bytes = this.#blocks.get(block);
    if (bytes === undefined) throw new Error('Bytes of an old row were not loaded before they were needed.');
    return bytes;
  }

  #touch(block: number): void {
    const bytes = this.#blocks.get(block)!;
    this.#blocks.delete(block);
    this.#blocks.set(block, bytes);
  }
}

/** What a record refers to, as its encoder asks for it: a list of fields kept here could lack a newer one. */
class References implements OpaqueArea {
  found: Opaque[] = [];
  readonly #scratch = new ByteWriter();

  of(record: ImageRecord): readonly Opaque[] {
    this.found = [];
    this.#scratch.length = 0;
    encodeImage(this.#scratch, this, record);
    return this.found;
  }

  /** Empty ones have no position. */
  take(opaque: Opaque): number {
    if (opaque.length > 0) this.found.push(opaque);
    return 0;
  }
}
