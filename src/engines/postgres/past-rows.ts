/**
 * Reads the past from the rows of a database, over a connection of its own: back to the newest checkpoint. Rows that a
 * compaction deletes meanwhile throw a `LogCompactedError`; the next question finds the newer checkpoint.
 */
import { crc32 } from 'node:zlib';
import type { ImageRecord } from '../../core/image.ts';
import type { Opaque } from '../../core/opaque.ts';
import type { SqlConnection, SqlConnections } from '../../seams/database.ts';
import { FILE_SPAN, KIND_BATCH, wholeFrame } from '../frame.ts';
import { FrameReader } from '../frame-reader.ts';
import { LogCompactedError, LogDamagedError } from '../log.ts';
import type { LogPast, PastBase, PastBatch, PastLog, PostgresPast } from '../past.ts';
import { RESTORE_JUMP } from '../restored-seq.ts';
import { newestCheckpoint, replayCheckpoint } from './checkpoint.ts';
import type { LogRows } from './log-rows.ts';
import { readRows } from './row-bytes.ts';
import { batchesAbove } from './row-pages.ts';
import { type Tables, tablesIn } from './tables.ts';

/** A question without an answer must fail, because the next one waits for it. */
const STATEMENT_MS_MAX = 60_000;

/** The past that the rows of a log currently hold. */
export function pastOf(
  { checkpoint, segments, chain }: LogRows,
  { address, schema }: { readonly address: string; readonly schema: string },
): LogPast {
  const base: PastBase =
    checkpoint === null
      ? { seq: 0, atMs: 0, parts: [] }
      : {
          seq: checkpoint.seq,
          atMs: checkpoint.atMs,
          parts: Array.from(
            { length: checkpoint.lastPart - checkpoint.firstPart + 1 },
            (_, part) => checkpoint.firstPart + part,
          ),
        };
  return {
    bases: [base],
    firstAtMs: segments[0]?.firstAtMs ?? null,
    source: { kind: 'postgres', address, schema, checkpoint, lastSeq: chain.lastSeq },
  };
}

export class PastRows implements PastLog {
  readonly #connection: SqlConnection;
  readonly #source: PostgresPast;
  readonly #tables: Tables;
  readonly #reader = new FrameReader();

  static async open(connections: SqlConnections, source: PostgresPast): Promise<PastRows> {
    return new PastRows(await connections.connect({ statementMsMax: STATEMENT_MS_MAX }), source);
  }

  private constructor(connection: SqlConnection, source: PostgresPast) {
    this.#connection = connection;
    this.#source = source;
    this.#tables = tablesIn(source.schema);
  }

  async restore(_base: PastBase, image: (record: ImageRecord) => void): Promise<void> {
    const { checkpoint } = this.#source;
    if (checkpoint === null) return;
    try {
      await replayCheckpoint(this.#connection, this.#tables, checkpoint, this.#reader, { image });
    } catch (fault) {
      await this.#assertKept();
      throw fault;
    }
  }

  async *batches(seq: number): AsyncGenerator<PastBatch> {
    let lastSeq = seq;
    let checksum: number | null = null;
    for await (const page of batchesAbove(this.#connection, this.#tables, seq)) {
      for (const { at, frame } of page) {
        const head = wholeFrame(frame, 0, Math.floor(at / FILE_SPAN));
        const follows =
          checksum === null ? isNext(head?.firstSeq ?? 0, lastSeq) : head?.previous === checksum;
        if (head === null || head.kind !== KIND_BATCH || !follows) {
          await this.#assertKept();
          throw new LogDamagedError(this.#tables.log, at, `it does not follow seq ${lastSeq}`);
        }
        checksum = head.checksum;
        lastSeq = head.firstSeq + head.count - 1;
        const { firstSeq, atMs } = head;
        yield {
          firstSeq,
          atMs,
          cursor: at,
          each: (take) => this.#reader.entries(frame, head, at % FILE_SPAN, take),
        };
      }
    }
    if (lastSeq < this.#source.lastSeq) {
      throw new LogCompactedError('The log was compacted before it could be replayed.');
    }
  }

  async read({ at, length, crc }: Opaque): Promise<Uint8Array | null> {
    if (length === 0) return new Uint8Array(0);
    const bytes = Buffer.alloc(length);
    const count = await readRows(this.#connection, this.#tables, at, at + length, bytes);
    if (count === length && crc32(bytes) === crc) return bytes;
    await this.#assertKept();
    return null;
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  /** Missing rows are damage only while their checkpoint is the newest. */
  async #assertKept(): Promise<void> {
    const newest = await newestCheckpoint(this.#connection, this.#tables);
    if (newest?.firstPart !== this.#source.checkpoint?.firstPart) {
      throw new LogCompactedError('The log was compacted while it was being replayed.');
    }
  }
}

/** Whether a batch holds the entry after `lastSeq`, or starts a restored epoch far above it. */
function isNext(firstSeq: number, lastSeq: number): boolean {
  return firstSeq <= lastSeq + 1 || firstSeq >= lastSeq + RESTORE_JUMP;
}
