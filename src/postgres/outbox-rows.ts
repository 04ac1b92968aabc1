/** The statements of the relay and of operators on the rows of the outbox. */
import type { Json } from '../protocol/json.ts';
import { inTransaction, type Queryable, type TransactionalDatabase } from './database.ts';

export type OutboxState = 'WAITING' | 'IN_DOUBT' | 'REFUSED';

/** A row that waits to become a task. */
export interface OutboxRow {
  readonly taskId: string;
  readonly queue: string;
  readonly payload: string;
  /** The other fields of `task.create`. */
  readonly settings: { readonly delay_ms?: number } & Readonly<Record<string, Json>>;
  /** How long ago it was entered, by the database's clock. */
  readonly ageMs: number;
  /** The authority's time before the row was first sent; null if it was not sent yet. */
  readonly sentAtMs: number | null;
}

/** A row that the relay leaves to an operator. */
export interface ParkedRow {
  readonly taskId: string;
  readonly queue: string;
  readonly state: Exclude<OutboxState, 'WAITING'>;
  readonly reason: string;
}

/** The maximum number of bytes that one pass reads, so that the largest payloads fit into memory. */
const BYTES_MAX = 16 * 1024 * 1024;

const WAITING = `SELECT task_id, queue, payload, settings, age_ms, sent_at_ms FROM (
    SELECT *, sum(octet_length(payload)) OVER (ORDER BY place) - octet_length(payload) AS bytes_before FROM (
      SELECT task_id, place, queue, payload, settings::text AS settings,
          (extract(epoch FROM clock_timestamp() - entered_at) * 1000)::float8 AS age_ms,
          (extract(epoch FROM sent_at) * 1000)::float8 AS sent_at_ms
        FROM leasehold_outbox WHERE state = 'WAITING' ORDER BY place LIMIT $1
    ) AS first
  ) AS summed WHERE bytes_before < ${BYTES_MAX} ORDER BY place`;
const SENT = `UPDATE leasehold_outbox SET sent_at = to_timestamp($2::float8 / 1000)
  WHERE task_id = ANY($1::text[]) AND state = 'WAITING' RETURNING task_id`;
const DELETE = 'DELETE FROM leasehold_outbox WHERE task_id = ANY($1::text[])';
const PARK = `UPDATE leasehold_outbox SET state = $2, reason = $3 WHERE task_id = $1 AND state = 'WAITING'`;

interface RawRow {
  readonly task_id: string;
  readonly queue: string;
  readonly payload: string;
  readonly settings: string;
  readonly age_ms: number | string;
  readonly sent_at_ms: number | string | null;
}

export async function waitingRows(db: Queryable, max: number): Promise<readonly OutboxRow[]> {
  const { rows } = await db.query(WAITING, [max]);
  return (rows as readonly RawRow[]).map((row) => ({
    taskId: row.task_id,
    queue: row.queue,
    payload: row.payload,
    settings: JSON.parse(row.settings),
    ageMs: Math.max(0, Math.floor(Number(row.age_ms))),
    sentAtMs: row.sent_at_ms === null ? null : Math.round(Number(row.sent_at_ms)),
  }));
}

/**
 * Commits the time of sending before the rows are sent, and returns the rows still waiting. The commit is synced to
 * disk whatever the database's default, and every earlier commit with it, so a task is never sent for a row that a
 * crash can undo.
 */
export async function markSent(
  db: TransactionalDatabase,
  taskIds: readonly string[],
  sentAtMs: number,
): Promise<ReadonlySet<string>> {
  const { rows } = await inTransaction(db, async (connection) => {
    await connection.query('SET LOCAL synchronous_commit = on');
    return connection.query(SENT, [taskIds, sentAtMs]);
  });
  return new Set((rows as readonly { readonly task_id: string }[]).map(({ task_id }) => task_id));
}

export async function deleteRows(db: Queryable, taskIds: readonly string[]): Promise<void> {
  await db.query(DELETE, [taskIds]);
}

export async function park(db: Queryable, { taskId, state, reason }: ParkedRow): Promise<void> {
  await db.query(PARK, [taskId, state, reason]);
}

/** The contents of the outbox, for operators. */
export interface OutboxReport {
  readonly counts: Readonly<Record<OutboxState, number>>;
  /** How long the oldest waiting row has waited; null when none waits. */
  readonly oldestMs: number | null;
  /** The oldest parked rows, at most 100. */
  readonly parked: readonly ParkedRow[];
}

const COUNTS = `SELECT state, count(*)::float8 AS number,
    (extract(epoch FROM clock_timestamp() - min(entered_at)) * 1000)::float8 AS oldest_ms
  FROM leasehold_outbox GROUP BY state`;
const PARKED = `SELECT task_id AS "taskId", queue, state, reason FROM leasehold_outbox
  WHERE state <> 'WAITING' ORDER BY place LIMIT 100`;

export async function outboxReport(db: Queryable): Promise<OutboxReport> {
  type Counted = { readonly state: OutboxState; readonly number: number; readonly oldest_ms: number };
  const counted = (await db.query(COUNTS)).rows as readonly Counted[];
  const parked = (await db.query(PARKED)).rows as readonly ParkedRow[];
  const of = (state: OutboxState): Counted | undefined => counted.find((row) => row.state === state);
  const numberOf = (state: OutboxState): number => Number(of(state)?.number ?? 0);
  const waiting = of('WAITING');
  return {
    counts: { WAITING: numberOf('WAITING'), IN_DOUBT: numberOf('IN_DOUBT'), REFUSED: numberOf('REFUSED') },
    oldestMs: waiting === undefined ? null : Math.max(0, Math.floor(Number(waiting.oldest_ms))),
    parked,
  };
}

const AGAIN = `UPDATE leasehold_outbox SET state = 'WAITING', reason = NULL, sent_at = NULL
  WHERE task_id = $1 AND state <> 'WAITING' RETURNING task_id`;
const DROP = `DELETE FROM leasehold_outbox WHERE task_id = $1 AND state <> 'WAITING' RETURNING task_id`;

/** Sends a parked row as if it had never been sent. False when there is no such parked row. */
export async function resendParked(db: Queryable, taskId: string): Promise<boolean> {
  return (await db.query(AGAIN, [taskId])).rows.length > 0;
}

/** Deletes a parked row. False when there is no such parked row. */
export async function dropParked(db: Queryable, taskId: string): Promise<boolean> {
  return (await db.query(DROP, [taskId])).rows.length > 0;
}
