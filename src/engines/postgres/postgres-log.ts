/**
 * The log in a database, open for writing. A batch is one row. One statement locks the epoch, checks that the epoch
 * and the previous row are those of this writer, inserts the row, and waits for the disk. After a failed statement
 * the log accepts nothing more: what was committed is unknown.
 *
 * The log also ends when it loses its guard, because another process may take over, and when an append times out
 * although the guard is renewed on a connection of its own: a leader that cannot write must not keep others from
 * leading, so it releases the guard. Such an append may still be executed before another process leads and never
 * after, because it locks the epoch that the next leader raises.
 */
import type { Entry } from '../../core/entries.ts';
import type { Opaque } from '../../core/opaque.ts';
import type { SqlConnection } from '../../seams/database.ts';
import type { Chain } from '../chain.ts';
import { areaOf, FILE_SPAN, FrameBuilder, KIND_BATCH } from '../frame.ts';
import type { Log, LoggedEntry, LogPosition, LogSize, Relocation, StandbyServer } from '../log.ts';
import { LogClosedError } from '../log.ts';
import type { LogPast } from '../past.ts';
import { RESTORE_JUMP } from '../restored-seq.ts';
import { type Guard, SLEPT } from './guard.ts';
import type { LogRows } from './log-rows.ts';
import { pastOf } from './past-rows.ts';
import type { RowCompactionOptions } from './running-compaction.ts';
import { RowCompaction } from './running-compaction.ts';
import { listStandbys } from './standbys.ts';

export interface PostgresLogOptions extends RowCompactionOptions {
  readonly batchBytesMax: number;
  readonly segmentBytes: number;
  readonly compactionBytesMin: number;
  /** The name of this server's reading connection as a standby; it keeps the name when it leads. */
  readonly standbyName: string;
  /** Timeout of an append. */
  readonly appendMs: number;
  /** Timeout for closing the connections to the database. */
  readonly closeMs: number;
  readonly timers: { after(ms: number, call: () => void): { cancel(): void } };
}

export interface PostgresLogStart {
  readonly rows: LogRows;
  readonly guard: Guard;
  /** The connection for appends. */
  readonly writing: SqlConnection;
  /** The connection for guard renewals. */
  readonly guarding: SqlConnection;
  /** The database's clock. */
  readonly nowMs: () => number;
  /** No segment or part has a number above this. */
  readonly lastNumber: number;
}

export class PostgresLog implements Log {
  readonly epoch: number;
  /** A full database rejects the append, which ends the log. */
  readonly full = false;
  readonly lost: Promise<Error>;
  readonly batchBytesMax: number;
  readonly #options: PostgresLogOptions;
  readonly #rows: LogRows;
  readonly #guard: Guard;
  readonly #writing: SqlConnection;
  readonly #guarding: SqlConnection;
  readonly #nowMs: () => number;
  readonly #appendText: string;
  readonly #builder = new FrameBuilder();
  readonly #compaction: RowCompaction;
  #lastNumber: number;
  /** The number of the next segment, once a batch was built for it; 0 before. */
  #nextSegment = 0;
  #at = 0;
  #isBuilding = false;
  #firstSeq = 0;
  #atMs = 0;
  #pending: Promise<void> = Promise.resolve();
  /** Rejects the append in flight when the log ends before the database answers. */
  #abandon: ((fault: Error) => void) | null = null;
  #fault: Error | null = null;
  #isClosing = false;
  /** Resolves, never rejects, when the early release of the guard has ended. */
  #released: Promise<void> = Promise.resolve();
  #lose: (fault: Error) => void = () => {};

  constructor(options: PostgresLogOptions, start: PostgresLogStart) {
    this.#options = options;
    this.batchBytesMax = options.batchBytesMax;
    this.#rows = start.rows;
    this.#guard = start.guard;
    this.#writing = start.writing;
    this.#guarding = start.guarding;
    this.#nowMs = start.nowMs;
    this.#lastNumber = start.lastNumber;
    this.epoch = start.guard.epoch;
    this.lost = new Promise((resolve) => {
      this.#lose = resolve;
    });
    this.#appendText = appendText(start.rows);
    this.#compaction = new RowCompaction(options, start.rows, this.epoch, () => ++this.#lastNumber);
    this.#compaction.sweepLeftovers();
    void start.guard.lost.then((fault) => (start.guard.hasSlept ? this.#giveUp(fault) : this.#die(fault)));
    void start.writing.lost.then((cause) =>
      this.#die(new LogClosedError('The connection to the log was cut.', { cause })),
    );
  }

  standbys(): Promise<readonly StandbyServer[]> {
    const { schema, standbyName } = this.#options;
    return listStandbys(this.#rows.reading, schema, standbyName);
  }

  get position(): LogPosition {
    return this.#rows.position;
  }

  get size(): LogSize {
    return this.#rows.size;
  }

  get mayAnswer(): boolean {
    return this.#fault === null && this.#guard.isOurs;
  }

  nowMs(): number {
    return this.#nowMs();
  }

  get batchBytes(): number {
    return this.#isBuilding ? this.#builder.bytes : 0;
  }

  seekSpace(): void {}

  get areaAt(): number {
    const at = this.#nextAt();
    return areaOf(Math.floor(at / FILE_SPAN), at % FILE_SPAN);
  }

  begin(firstSeq: number, atMs: number): void {
    if (this.#fault) throw this.#fault;
    const { lastSeq } = this.#rows.chain;
    if (firstSeq !== lastSeq + 1 && firstSeq < lastSeq + RESTORE_JUMP) {
      throw new Error(`A batch cannot begin at seq ${firstSeq} after seq ${lastSeq}.`);
    }
    this.#at = this.#nextAt();
    this.#firstSeq = firstSeq;
    this.#atMs = atMs;
    this.#isBuilding = true;
    this.#builder.begin(Math.floor(this.#at / FILE_SPAN), this.#at % FILE_SPAN, null);
  }

  add(entry: Entry): void {
    this.#builder.add(entry);
  }

  append(): Promise<void> {
    if (this.#fault) return Promise.reject(this.#fault);
    const isBuilding = this.#isBuilding;
    this.#isBuilding = false;
    if (!isBuilding || this.#builder.count === 0) return Promise.resolve();
    if (this.#guard.hasSlept) {
      const fault = new LogClosedError(`${SLEPT}; nothing more is written.`);
      this.#giveUp(fault);
      return Promise.reject(fault);
    }
    const { checksum } = this.#rows.chain;
    const frame = this.#builder.finish(KIND_BATCH, this.epoch, this.#firstSeq, this.#atMs, checksum);
    const appended = this.#append(frame);
    // The caller of the append handles its failure.
    this.#pending = appended.catch(() => {});
    return appended;
  }

  async mark(): Promise<void> {
    if (this.#fault) throw this.#fault;
  }

  read(reference: Opaque): Uint8Array | null | Promise<Uint8Array | null> {
    return this.#rows.read(reference);
  }

  entries(fromSeq: number, limit: number): AsyncIterable<LoggedEntry> {
    return this.#rows.entries(fromSeq, limit);
  }

  past(): LogPast {
    return pastOf(this.#rows, this.#options);
  }

  async snapshot(): Promise<null> {
    return null;
  }

  get wantsCompaction(): boolean {
    if (!this.#compaction.isPossible || this.#fault !== null) return false;
    const { segments, checkpoint } = this.#rows;
    const sealed = segments.slice(0, -1).reduce((sum, { end }) => sum + end, 0);
    return sealed >= Math.max(1, this.#options.compactionBytesMin, checkpoint?.bytes ?? 0);
  }

  async compact(): Promise<Relocation | null> {
    if (this.#fault) throw this.#fault;
    return this.#compaction.run();
  }

  dropOld(): Promise<void> {
    return this.#compaction.dropOld();
  }

  async close(): Promise<void> {
    if (this.#isClosing) return;
    this.#isClosing = true;
    await this.#pending;
    const isAlive = this.#fault === null;
    this.#fault ??= new LogClosedError('The log is closed.');
    this.#guard.stop();
    await this.#withinLimit(this.#compaction.stop());
    this.#compaction.hangUp();
    if (isAlive) await this.#withinLimit(this.#guard.release());
    await this.#withinLimit(this.#disconnect());
  }

  /** Where the next frame goes: to the current segment, or to the next when that one is full. */
  #nextAt(): number {
    const current = this.#rows.segments.at(-1);
    const isFull = current === undefined || current.end >= this.#options.segmentBytes;
    // Taken at once and kept, so that no part of a checkpoint gets the same number.
    if (isFull && this.#nextSegment === 0) this.#nextSegment = ++this.#lastNumber;
    return isFull ? this.#nextSegment * FILE_SPAN : current.number * FILE_SPAN + current.end;
  }

  async #append(frame: Buffer): Promise<void> {
    const { chain, lastAt } = this.#rows;
    const count = this.#builder.count;
    const lastSeq = this.#firstSeq + count - 1;
    const { checksum } = this.#builder;
    const answer = this.#writing.query(this.#appendText, [
      this.epoch,
      this.#at,
      frame.length,
      lastSeq,
      checksum,
      frame,
      lastAt,
      chain.checksum,
    ]);
    const limit = this.#options.timers.after(this.#options.appendMs, () => this.#overdue());
    try {
      const inserted = await new Promise<readonly unknown[]>((resolve, reject) => {
        this.#abandon = reject;
        answer.then(resolve, reject);
      });
      this.#abandon = null;
      if (inserted.length === 0) throw new LogClosedError('A newer writer has opened the log.');
    } catch (fault) {
      this.#die(fault as Error);
      throw this.#fault;
    } finally {
      limit.cancel();
    }
    const now: Chain = { checksum, lastSeq, lastAtMs: this.#atMs, epoch: this.epoch };
    if (this.#at === this.#nextSegment * FILE_SPAN) this.#nextSegment = 0;
    this.#rows.note(this.#at, frame, now, this.#firstSeq);
  }

  #overdue(): void {
    this.#giveUp(new LogClosedError('The append was not answered in time; nothing more is written.'));
  }

  /** Gives the guard back, so that the next leader need not wait for its end. */
  #giveUp(fault: Error): void {
    if (this.#fault === null) this.#released = this.#withinLimit(this.#guard.release());
    this.#die(fault);
  }

  #die(fault: Error): void {
    if (this.#fault !== null) return;
    this.#fault = fault;
    this.#guard.stop();
    this.#abandon?.(fault);
    this.#lose(fault);
    // Statements in flight have no receiver any more. No caller waits for the connections to close.
    this.#disconnect().catch(() => {});
  }

  async #disconnect(): Promise<void> {
    const guarding = this.#released.then(() => this.#guarding.close());
    await Promise.all([this.#writing.close(), guarding, this.#rows.reading.close()]);
  }

  /** A failed or hanging close has no consequence except that the guard has to expire. */
  async #withinLimit(farewell: Promise<void>): Promise<void> {
    const { timers, closeMs } = this.#options;
    await new Promise<void>((resolve) => {
      const timer = timers.after(closeMs, resolve);
      const done = (): void => {
        timer.cancel();
        resolve();
      };
      farewell.then(done, done);
    });
  }
}

const appendText = ({ tables: { log, epoch } }: LogRows): string => `
  WITH writer AS (
    SELECT set_config('synchronous_commit', 'on', true) AS synchronous
    FROM ${epoch} WHERE id = 1 AND epoch = $1::bigint FOR SHARE
  )
  INSERT INTO ${log} (at, bytes, last_seq, epoch, checksum, frame)
  SELECT $2::bigint, $3::integer, $4::bigint, $1::bigint, $5::bigint, $6::bytea FROM writer
  WHERE synchronous = 'on'
    AND ($7::bigint = 0 OR EXISTS (SELECT 1 FROM ${log} WHERE at = $7::bigint AND checksum = $8::bigint))
  RETURNING 1`;
