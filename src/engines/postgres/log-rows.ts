/**
 * The log as rows: replays them, then follows new ones, and keeps the index to find them again. A follower has one
 * and hands it to the log when it becomes the writer.
 *
 * Rows are addressed as if they were in files: a segment is a range of rows, a checkpoint a range of parts, and a
 * position is the number times 2^32 plus an offset. So positions are small, and a compaction replaces whole segments.
 */

import type { Opaque } from '../../core/opaque.ts';
import type { Chain } from '../chain.ts';
import { FILE_SPAN, KIND_BATCH, wholeFrame } from '../frame.ts';
import { FrameReader } from '../frame-reader.ts';
import type { LoggedEntry, LogPosition, LogSize, Replay } from '../log.ts';
import { LogCompactedError, LogDamagedError } from '../log.ts';
import type { ByteSource } from '../opaque-store.ts';
import { OpaqueStore } from '../opaque-store.ts';
import { RESTORE_JUMP } from '../restored-seq.ts';
import type { Checkpoint } from './checkpoint.ts';
import { newestCheckpoint, replayCheckpoint } from './checkpoint.ts';
import type { ReadingConnection } from './reading-connection.ts';
import { readRows } from './row-bytes.ts';
import type { FrameRow } from './row-pages.ts';
import { batchesAbove } from './row-pages.ts';
import type { Tables } from './tables.ts';

export interface RowSegment {
  readonly number: number;
  readonly firstSeq: number;
  readonly firstAtMs: number;
  /** The state of the chain when the segment began. */
  readonly before: Chain;
  /** Where the next frame goes. */
  end: number;
}

export interface LogRowsOptions {
  readonly reading: ReadingConnection;
  readonly tables: Tables;
  readonly recentBytesMax: number;
  readonly cacheBytesMax: number;
}

const LISTED_BYTES = 256 * 1024;

export class LogRows {
  readonly chain: Chain = { checksum: 0, lastSeq: 0, lastAtMs: 0, epoch: 0 };
  readonly segments: RowSegment[] = [];
  /** The position of the newest batch; 0 while there is none. */
  lastAt = 0;
  checkpoint: Checkpoint | null = null;
  /** A complete checkpoint, while the state still refers to the rows it replaces. */
  #next: Checkpoint | null = null;
  /** The sizes of the parts of these checkpoints. */
  readonly #partEnds = new Map<number, number>();
  readonly reading: ReadingConnection;
  readonly tables: Tables;
  readonly #store: OpaqueStore;
  readonly #reader = new FrameReader();

  constructor(options: LogRowsOptions) {
    this.reading = options.reading;
    this.tables = options.tables;
    this.#store = new OpaqueStore({ ...options, sourceOf: (number) => this.#sourceOf(number) });
  }

  get position(): LogPosition {
    const { lastSeq, lastAtMs } = this.chain;
    return { lastSeq, firstSeq: this.segments[0]?.firstSeq ?? lastSeq + 1, lastAtMs };
  }

  get size(): LogSize {
    const parts = this.checkpoint === null ? 0 : this.checkpoint.lastPart - this.checkpoint.firstPart + 1;
    return {
      bytes: this.segments.reduce((sum, { end }) => sum + end, this.checkpoint?.bytes ?? 0),
      files: this.segments.length + parts,
    };
  }

  /** Replays the newest checkpoint and everything after it. */
  async start(replay: Replay): Promise<void> {
    const checkpoint = await newestCheckpoint(this.reading, this.tables);
    this.checkpoint = checkpoint;
    if (checkpoint !== null) {
      try {
        await replayCheckpoint(this.reading, this.tables, checkpoint, this.#reader, replay, (at, bytes) =>
          this.#partEnds.set(Math.floor(at / FILE_SPAN), (at % FILE_SPAN) + bytes),
        );
      } catch (fault) {
        await this.assertSamePast();
        throw fault;
      }
      const { checksum, seq, atMs, epoch } = checkpoint;
      Object.assign(this.chain, { checksum, lastSeq: seq, lastAtMs: atMs, epoch });
    }
    await this.catchUp(replay);
  }

  /** Replays what was appended since the last call; true when there was something. */
  async catchUp(replay: Replay): Promise<boolean> {
    const from = this.chain.lastSeq;
    await this.assertSamePast();
    for await (const page of batchesAbove(this.reading, this.tables, from)) {
      for (const row of page) {
        if (!this.#take(row, replay)) {
          await this.assertSamePast();
          throw new LogDamagedError(this.tables.log, row.at, `it does not follow seq ${this.chain.lastSeq}`);
        }
      }
    }
    return this.chain.lastSeq !== from;
  }

  /**
   * Checks that the replayed rows still exist: a newer checkpoint may have replaced them, and a database restored
   * from a copy may never have had them.
   */
  async assertSamePast(): Promise<void> {
    const { reading, tables, lastAt } = this;
    // Copied before the query: a leader's appends and compaction continue while it reads.
    const { checksum } = this.chain;
    const known = this.#knownCheckpoints;
    const newest = await newestCheckpoint(reading, tables);
    // The checkpoint may have been adopted while the query ran.
    const isSame = [...known, ...this.#knownCheckpoints].includes(newest?.firstPart ?? null);
    if (!isSame)
      throw new LogCompactedError(
        'The log was compacted in the meantime: replay it again from its checkpoint.',
      );
    if (lastAt === 0) return;
    const found = await reading.query(`SELECT 1 FROM ${tables.log} WHERE at = $1 AND checksum = $2`, [
      lastAt,
      checksum,
    ]);
    if (found.length === 0)
      throw new LogCompactedError('The log is not the one that was replayed: replay it again.');
  }

  /** Records a batch that has become durable. */
  note(at: number, frame: Buffer, now: Chain, firstSeq: number): void {
    const number = Math.floor(at / FILE_SPAN);
    const offset = at % FILE_SPAN;
    let segment = this.segments.at(-1);
    if (segment === undefined || segment.number !== number) {
      segment = { number, firstSeq, firstAtMs: now.lastAtMs, before: { ...this.chain }, end: offset };
      this.segments.push(segment);
    }
    segment.end = offset + frame.length;
    this.lastAt = at;
    Object.assign(this.chain, now);
    this.#store.recent.put(number, offset, frame);
  }

  read(reference: Opaque): Uint8Array | null | Promise<Uint8Array | null> {
    return this.#store.read(reference);
  }

  async *entries(fromSeq: number, limit: number): AsyncGenerator<LoggedEntry> {
    const durable = this.chain.lastSeq;
    const first = Math.max(fromSeq, this.position.firstSeq);
    let left = limit;
    if (left <= 0 || first > durable) return;
    let checksum: number | null = null;
    for await (const page of batchesAbove(this.reading, this.tables, first - 1, LISTED_BYTES)) {
      if (checksum === null && this.position.firstSeq > first) {
        throw new LogCompactedError('The log was compacted before it could be listed.');
      }
      for (const { at, frame } of page) {
        const head = wholeFrame(frame, 0, Math.floor(at / FILE_SPAN));
        if (head === null) throw new LogDamagedError(this.tables.log, at, 'the frame is not readable');
        if (checksum !== null && head.previous !== checksum) {
          throw new LogCompactedError('The log was compacted while it was being listed.');
        }
        checksum = head.checksum;
        const found: LoggedEntry[] = [];
        this.#reader.entries(frame, head, at % FILE_SPAN, (entry, seq, atMs) =>
          found.push({ seq, atMs, entry }),
        );
        for (const logged of found) {
          if (left === 0 || logged.seq > durable) return;
          if (logged.seq < fromSeq) continue;
          left -= 1;
          yield logged;
        }
        if (left === 0) return;
      }
    }
  }

  /** The checkpoint is complete: its rows can be read from now on, and so can those it replaces. */
  prepare(checkpoint: Checkpoint, partEnds: readonly number[]): void {
    this.#next = checkpoint;
    for (const [index, end] of partEnds.entries()) this.#partEnds.set(checkpoint.firstPart + index, end);
  }

  /** Adopts the newest checkpoint: rows before it can no longer be read. */
  adopt(checkpoint: Checkpoint, gone: ReadonlySet<number>): void {
    this.checkpoint = checkpoint;
    this.#next = null;
    for (const number of gone) this.#partEnds.delete(number);
    const kept = this.segments.filter(({ number }) => !gone.has(number));
    this.segments.splice(0, this.segments.length, ...kept);
    this.#store.forget(gone);
  }

  /** False when the row does not continue the chain. */
  #take({ at, frame }: FrameRow, replay: Replay): boolean {
    const { lastSeq, checksum } = this.chain;
    const head = wholeFrame(frame, 0, Math.floor(at / FILE_SPAN));
    if (head === null || head.kind !== KIND_BATCH || head.previous !== checksum) return false;
    if (head.firstSeq !== lastSeq + 1 && head.firstSeq < lastSeq + RESTORE_JUMP) return false;
    this.#reader.entries(frame, head, at % FILE_SPAN, (entry, seq, atMs) => replay.entry(entry, seq, atMs));
    const { firstSeq, count, atMs, epoch } = head;
    const now = { checksum: head.checksum, lastSeq: firstSeq + count - 1, lastAtMs: atMs, epoch };
    this.note(at, frame, now, firstSeq);
    return true;
  }

  #sourceOf(number: number): ByteSource | null {
    const durable = this.#durableOf(number);
    if (durable === null) return null;
    const read = async (into: Uint8Array, offset: number, length: number, position: number) => {
      const start = number * FILE_SPAN + position;
      const bytes = into.subarray(offset, offset + length);
      const count = await readRows(this.reading, this.tables, start, start + length, bytes);
      // Rows may be deleted while they are read. Bytes that moved are not damaged.
      if (this.#durableOf(number) === null)
        throw new LogCompactedError(`Segment ${number} was compacted away.`);
      const end = this.#partEnds.get(number) ?? durable;
      if (count < Math.min(length, end - position)) await this.assertSamePast();
      return count;
    };
    return { file: { read }, durable, retain() {}, async release() {} };
  }

  /** The bytes of a segment or part; null when it does not belong to this log. */
  #durableOf(number: number): number | null {
    const segment = this.segments.find((candidate) => candidate.number === number);
    if (segment !== undefined) return segment.end;
    for (const checkpoint of [this.checkpoint, this.#next]) {
      if (checkpoint === null || number < checkpoint.firstPart || number > checkpoint.lastPart) continue;
      // Nothing in it changes, so every block may be cached, including those past its end.
      return FILE_SPAN;
    }
    return null;
  }

  /** The first parts of the checkpoints of this log; null stands for none. */
  get #knownCheckpoints(): readonly (number | null)[] {
    const current = this.checkpoint?.firstPart ?? null;
    return this.#next === null ? [current] : [current, this.#next.firstPart];
  }
}
