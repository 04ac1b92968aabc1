/**
 * Writes a checkpoint (layout: `checkpoint.ts`): frames of about a megabyte, one per row, then the row that makes
 * them valid. Every statement is refused unless the epoch is still that of the writer and this checkpoint is the one
 * the writer waits for. Only the last statement waits for the disk, which makes the earlier ones durable too.
 */
import type { ImageRecord } from '../../core/image.ts';
import { NOWHERE, type Opaque } from '../../core/opaque.ts';
import type { SqlConnection } from '../../seams/database.ts';
import { FILE_SPAN, FrameBuilder, KIND_IMAGE, KIND_IMAGE_END } from '../frame.ts';
import { LogClosedError } from '../log.ts';
import type { OpaqueArea } from '../record-parts.ts';
import { RelocationList } from '../relocation-list.ts';
import type { Checkpoint } from './checkpoint.ts';
import type { SourceBlocks } from './source-blocks.ts';
import type { Tables } from './tables.ts';

const FRAME_BYTES = 1024 * 1024;

export interface CheckpointWriterOptions {
  readonly connection: SqlConnection;
  readonly tables: Tables;
  /** The epoch of the writer that started the compaction. */
  readonly writerEpoch: number;
  /** The first of consecutive part numbers, at least as many as it can need. */
  readonly firstPart: number;
  readonly partsMax: number;
  readonly partBytesMax: number;
  readonly sourceBlocks: SourceBlocks;
}

/** What a checkpoint covers. */
export type CheckpointHead = Pick<Checkpoint, 'sealedThrough' | 'seq' | 'atMs' | 'epoch' | 'checksum'>;

export class CheckpointWriter implements OpaqueArea {
  readonly relocations = new RelocationList();
  /** The size of each part so far. */
  readonly partEnds: number[] = [0];
  readonly #options: CheckpointWriterOptions;
  readonly #builder = new FrameBuilder();
  /**
   * Offsets of the opaque bytes already in this frame, by their old position: names taken together share metadata.
   */
  readonly #taken = new Map<number, number>();
  #part: number;
  #offset = 0;
  #bytes = 0;
  #previous = 0;

  constructor(options: CheckpointWriterOptions) {
    this.#options = options;
    this.#part = options.firstPart;
  }

  async write(records: Iterable<ImageRecord>, head: CheckpointHead): Promise<Checkpoint> {
    const { sourceBlocks, partBytesMax } = this.#options;
    const frameBytes = Math.min(FRAME_BYTES, partBytesMax);
    this.#begin();
    for (const record of records) {
      const missing = sourceBlocks.missingFor(record);
      if (missing !== null) await sourceBlocks.load(missing);
      this.#builder.addImage(record, this);
      if (this.#builder.bytes < frameBytes) continue;
      await this.#end(KIND_IMAGE, head);
    }
    if (this.#builder.count > 0) await this.#end(KIND_IMAGE, head);
    await this.#end(KIND_IMAGE_END, head);
    return this.#complete(head);
  }

  /** Copies the referenced bytes into the frame and records the relocation. */
  take(opaque: Opaque): number {
    if (opaque.length === 0) return NOWHERE;
    const taken = this.#taken.get(opaque.at);
    if (taken !== undefined) return taken;
    const offset = this.#builder.copy(this.#options.sourceBlocks.read(opaque));
    this.relocations.add(opaque.at, this.#builder.positionOf(offset));
    this.#taken.set(opaque.at, offset);
    return offset;
  }

  #begin(): void {
    const { firstPart, partsMax, partBytesMax } = this.#options;
    if (this.#offset >= partBytesMax) {
      this.#part += 1;
      this.#offset = 0;
      this.partEnds.push(0);
    }
    if (this.#part >= firstPart + partsMax) {
      throw new Error('The checkpoint needs more parts than it was given numbers for.');
    }
    this.#taken.clear();
    this.#builder.begin(this.#part, this.#offset, null);
  }

  async #end(kind: number, { epoch, atMs }: CheckpointHead): Promise<void> {
    const { connection, tables, writerEpoch, firstPart } = this.#options;
    const frame = this.#builder.finish(kind, epoch, 0, atMs, this.#previous);
    this.#previous = this.#builder.checksum;
    const inserted = await connection.query(
      `WITH writer AS (
         SELECT set_config('synchronous_commit', 'off', true) AS synchronous
         FROM ${tables.epoch} WHERE id = 1 AND epoch = $1::bigint AND checkpoint = $2::bigint FOR SHARE
       )
       INSERT INTO ${tables.log} (at, bytes, last_seq, epoch, checksum, frame)
       SELECT $3::bigint, $4::integer, NULL, $1::bigint, $5::bigint, $6::bytea FROM writer
       WHERE synchronous IS NOT NULL RETURNING 1`,
      [writerEpoch, firstPart, this.#part * FILE_SPAN + this.#offset, frame.length, this.#previous, frame],
    );
    assertOurs(inserted);
    this.#offset += frame.length;
    this.partEnds[this.partEnds.length - 1] = this.#offset;
    this.#bytes += frame.length;
    this.#begin();
  }

  async #complete(head: CheckpointHead): Promise<Checkpoint> {
    const { connection, tables, writerEpoch, firstPart } = this.#options;
    const checkpoint = { ...head, firstPart, lastPart: this.#part, bytes: this.#bytes };
    const { lastPart, bytes, sealedThrough, seq, atMs, epoch, checksum } = checkpoint;
    const inserted = await connection.query(
      `WITH writer AS (
         SELECT set_config('synchronous_commit', 'on', true) AS synchronous
         FROM ${tables.epoch} WHERE id = 1 AND epoch = $1::bigint AND checkpoint = $2::bigint FOR SHARE
       )
       INSERT INTO ${tables.checkpoint}
         (first_part, last_part, bytes, sealed_through, seq, at_ms, epoch, checksum)
       SELECT $2::bigint, $3::bigint, $4::bigint, $5::bigint, $6::bigint, $7::bigint, $8::bigint, $9::bigint
       FROM writer WHERE synchronous = 'on' RETURNING 1`,
      [writerEpoch, firstPart, lastPart, bytes, sealedThrough, seq, Math.floor(atMs), epoch, checksum],
    );
    assertOurs(inserted);
    return checkpoint;
  }
}

function assertOurs(inserted: readonly unknown[]): void {
  if (inserted.length === 0) {
    throw new LogClosedError('A newer writer has opened the log, or the checkpoint was abandoned.');
  }
}
