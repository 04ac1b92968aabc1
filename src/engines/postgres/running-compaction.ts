/**
 * Compaction as the writer sees it: a thread writes the checkpoint, the state adopts the new positions, and then the
 * replaced rows are deleted in small statements. It uses a connection of its own, so that appends never wait for it.
 */

import type { SqlConnection, SqlConnections } from '../../seams/database.ts';
import type { RunningThread, Threads } from '../../seams/threads.ts';
import { partsNeeded } from '../checkpoint-parts.ts';
import { FILE_SPAN } from '../frame.ts';
import type { Relocation } from '../log.ts';
import { LogClosedError } from '../log.ts';
import type { Checkpoint } from './checkpoint.ts';
import { COMPACTION_STATEMENT_MS_MAX, type CompactionInput, type CompactionOutput } from './compaction.ts';
import type { LogRows } from './log-rows.ts';

/** `.js` when built; `.ts` when a Node that supports it runs the sources. */
const MODULE = new URL(
  import.meta.url.endsWith('.ts') ? './compaction-thread.ts' : './compaction-thread.js',
  import.meta.url,
).href;

/** One statement deletes this many bytes plus one row. */
const REMOVED_BYTES = 8 * 1024 * 1024;
const REMOVED_ROWS_MAX = 2_000;

export interface RowCompactionOptions {
  readonly schema: string;
  readonly address: string;
  readonly connections: SqlConnections;
  readonly threads: Threads | null;
  readonly partBytesMax: number;
}

export class RowCompaction {
  readonly #options: RowCompactionOptions;
  readonly #rows: LogRows;
  readonly #epoch: number;
  readonly #takeNumber: () => number;
  #thread: RunningThread | null = null;
  /** The newest checkpoint and the numbers it replaced, until they are deleted. */
  #replaced: { readonly checkpoint: Checkpoint; readonly gone: ReadonlySet<number> } | null = null;
  #sweeping: Promise<void> = Promise.resolve();
  #isRunning = false;
  #isStopped = false;
  readonly #open = new Set<SqlConnection>();

  constructor(options: RowCompactionOptions, rows: LogRows, epoch: number, takeNumber: () => number) {
    this.#options = options;
    this.#rows = rows;
    this.#epoch = epoch;
    this.#takeNumber = takeNumber;
  }

  /** Whether a compaction could start now. */
  get isPossible(): boolean {
    return this.#options.threads !== null && !this.#isRunning && this.#replaced === null && !this.#isStopped;
  }

  async run(): Promise<Relocation | null> {
    const { threads } = this.#options;
    const { segments, checkpoint } = this.#rows;
    const sealed = segments.slice(0, -1);
    const next = segments.at(-1);
    if (threads === null || !this.isPossible || sealed.length === 0 || next === undefined) return null;
    this.#isRunning = true;
    try {
      // The rest of an earlier checkpoint must be gone first, so that it cannot be taken for part of this one.
      await this.#sweeping;
      const plan = this.#plan(sealed.at(-1)!.number, next.before);
      await this.#connected((connection) => this.#allow(connection, plan.firstPart));
      if (this.#isStopped) throw stopped();
      this.#thread = threads.start(MODULE, plan);
      const output = (await this.#thread.result) as CompactionOutput;
      if (this.#isStopped) throw stopped();
      const gone = new Set(sealed.map(({ number }) => number));
      for (let part = checkpoint?.firstPart ?? 1; part <= (checkpoint?.lastPart ?? 0); part++) gone.add(part);
      this.#replaced = { checkpoint: output.checkpoint, gone };
      this.#rows.prepare(output.checkpoint, output.partEnds);
      return { oldAt: output.oldAt, newAt: output.newAt, gone };
    } catch (fault) {
      if (!this.#isStopped) this.sweepLeftovers();
      throw fault;
    } finally {
      this.#thread = null;
      this.#isRunning = false;
    }
  }

  async dropOld(): Promise<void> {
    const replaced = this.#replaced;
    if (replaced === null) return;
    this.#replaced = null;
    this.#rows.adopt(replaced.checkpoint, replaced.gone);
    this.sweepLeftovers();
    await this.#sweeping;
  }

  /** Deletes, in the background, rows that no checkpoint and no segment needs. */
  sweepLeftovers(): void {
    this.#sweeping = this.#sweeping
      .then(() => this.#sweep())
      // The next sweep removes what is left. It only takes space.
      .catch(() => {});
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#thread?.stop();
    await this.#sweeping;
  }

  /** Ends a compaction that `stop` has waited for too long. It fails, and the next writer cleans up. */
  hangUp(): void {
    for (const connection of this.#open) connection.close().catch(() => undefined);
  }

  #plan(sealedThrough: number, before: LogRows['chain']): CompactionInput {
    const { schema, address, partBytesMax } = this.#options;
    const partsMax = partsNeeded(this.#rows.size.bytes, partBytesMax);
    const firstPart = this.#takeNumber();
    for (let taken = 1; taken < partsMax; taken++) this.#takeNumber();
    const { lastSeq, lastAtMs, epoch, checksum } = before;
    return {
      address,
      schema,
      writerEpoch: this.#epoch,
      from: this.#rows.checkpoint,
      head: { sealedThrough, seq: lastSeq, atMs: lastAtMs, epoch, checksum },
      firstPart,
      partsMax,
      partBytesMax,
    };
  }

  async #sweep(): Promise<void> {
    if (this.#isStopped) return;
    const { tables, checkpoint } = this.#rows;
    const { firstPart = 0, lastPart = -1, sealedThrough = 0 } = checkpoint ?? {};
    await this.#connected(async (connection) => {
      // Statements of a failed thread that are still in flight must not take effect after this.
      await this.#allow(connection, 0);
      await connection.query(
        `WITH writer AS (SELECT id FROM ${tables.epoch} WHERE id = 1 AND epoch = $1::bigint FOR SHARE)
         DELETE FROM ${tables.checkpoint} WHERE EXISTS (SELECT 1 FROM writer) AND first_part <> $2`,
        [this.#epoch, firstPart],
      );
      // Batches up to the last sealed segment, and the rows of every other checkpoint.
      await this.#remove(connection, 'at < $4', [(sealedThrough + 1) * FILE_SPAN]);
      const parts = [firstPart * FILE_SPAN, (lastPart + 1) * FILE_SPAN];
      await this.#remove(connection, 'last_seq IS NULL AND (at < $4 OR at >= $5)', parts);
    });
  }

  /** Sets the checkpoint that may be written from now on; 0 for none. */
  async #allow(connection: SqlConnection, firstPart: number): Promise<void> {
    const { epoch } = this.#rows.tables;
    await connection.query(`UPDATE ${epoch} SET checkpoint = $2 WHERE id = 1 AND epoch = $1`, [
      this.#epoch,
      firstPart,
    ]);
  }

  async #connected(work: (connection: SqlConnection) => Promise<void>): Promise<void> {
    const connection = await this.#options.connections.connect({
      statementMsMax: COMPACTION_STATEMENT_MS_MAX,
    });
    this.#open.add(connection);
    try {
      await work(connection);
    } finally {
      this.#open.delete(connection);
      await connection.close();
    }
  }

  /** Only while the epoch is ours: a later writer's checkpoint must not be touched. */
  async #remove(connection: SqlConnection, where: string, values: readonly number[]): Promise<void> {
    const { log, epoch } = this.#rows.tables;
    const text = `
      WITH writer AS (SELECT id FROM ${epoch} WHERE id = 1 AND epoch = $1::bigint FOR SHARE)
      DELETE FROM ${log} WHERE EXISTS (SELECT 1 FROM writer) AND at IN (
        SELECT at FROM (
          SELECT at, sum(bytes) OVER (ORDER BY at) - bytes AS before
          FROM ${log} WHERE ${where} ORDER BY at LIMIT $2
        ) AS piece WHERE before < $3
      ) RETURNING 1`;
    while (!this.#isStopped) {
      const removed = await connection.query(text, [this.#epoch, REMOVED_ROWS_MAX, REMOVED_BYTES, ...values]);
      if (removed.length === 0) return;
    }
  }
}

const stopped = (): LogClosedError => new LogClosedError('The log was closed while it was being compacted.');
