/**
 * One pass of the relay: turns the oldest waiting rows into tasks and deletes them. Each row becomes exactly one task,
 * whichever process is killed at whatever moment:
 *
 *   1  read the authority's time S
 *   2  of rows that were sent before, ask for the task: known → it was created, delete the row.
 *      Unknown and `sent_at` later than `forgotten_through`, which is read after that → it was never created, send it.
 *      Unknown otherwise → it may have been created, ended and been forgotten: park it as IN_DOUBT
 *   3  commit `sent_at` = S, then send `task.create` with the id of the row
 *   4  delete the rows whose tasks are durable
 *
 * A task that was sent is created at S or later, ends after that, and only ended tasks are forgotten: so a forgotten
 * task implies `forgotten_through` ≥ S. S is read before step 2, so that an earlier request that is still on its way
 * either is found there or creates its task after S. The lease of the relay saves work; this does not depend on it.
 */
import type { Leasehold } from '../client/leasehold.ts';
import { Json } from '../protocol/json.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import type { ConnectionPool } from './database.ts';
import { deleteRows, markSent, type OutboxRow, type ParkedRow, park, waitingRows } from './outbox-rows.ts';

/** The part of a handle that the relay needs. */
export type RelayHandle = Pick<Leasehold, 'acquire' | 'call' | 'status' | 'queues'>;

export interface PassTerms {
  readonly pool: ConnectionPool;
  readonly lh: RelayHandle;
  readonly batch: number;
  /** Throws when the relay must not send: its lease is lost. */
  readonly assertHeld: () => void;
  readonly onParked: (row: ParkedRow) => void;
}

/** The outcome of the rows that were read. */
export interface PassResult {
  readonly read: number;
  readonly relayed: number;
}

/** Standbys answer `status.get` for themselves, so this is how often the pass moves on to find the leader. */
const STANDBYS_MAX = 10;

export async function relayPass(terms: PassTerms): Promise<PassResult> {
  const { pool, lh, batch, assertHeld } = terms;
  const rows = await waitingRows(pool, batch);
  if (rows.length === 0) return { read: 0, relayed: 0 };
  const { nowMs } = await authorityTimes(lh);
  const { created, toSend } = await sorted(rows, terms);
  const sent = await markSent(
    pool,
    toSend.map(({ taskId }) => taskId),
    nowMs,
  );
  assertHeld();
  const sending = toSend.filter(({ taskId }) => sent.has(taskId));
  const outcomes = await Promise.allSettled(sending.map((row) => lh.call('task.create', requestOf(row))));
  let fault: { readonly why: unknown } | null = null;
  for (const [index, outcome] of outcomes.entries()) {
    const row = sending[index]!;
    if (outcome.status === 'rejected') fault ??= { why: outcome.reason };
    else if (outcome.value.ok) created.push(row.taskId);
    else {
      const error = LeaseholdError.of(outcome.value);
      // These errors are not caused by the row.
      if (error.retryable || error.code === 'UNAUTHENTICATED') fault ??= { why: error };
      else await parkRow(terms, row, 'REFUSED', `${error.code}: ${error.message}`);
    }
  }
  if (created.length > 0) await deleteRows(pool, created);
  if (fault !== null) throw fault.why;
  return { read: rows.length, relayed: created.length };
}

/** Splits the rows into those that are tasks already and those to send; parks those in doubt. */
async function sorted(
  rows: readonly OutboxRow[],
  terms: PassTerms,
): Promise<{ readonly created: string[]; readonly toSend: OutboxRow[] }> {
  const { lh } = terms;
  const created: string[] = [];
  const toSend = rows.filter(({ sentAtMs }) => sentAtMs === null);
  const unknown: OutboxRow[] = [];
  const sentBefore = rows.filter(({ sentAtMs }) => sentAtMs !== null);
  await Promise.all(
    sentBefore.map(async (row) => {
      const task = await lh.call('task.get', { task_id: row.taskId });
      if (!task.ok) {
        if (task.code !== 'TASK_NOT_FOUND') throw LeaseholdError.of(task);
        unknown.push(row);
      } else if ((task.payload?.text() ?? row.payload) === row.payload) created.push(row.taskId);
      else
        await parkRow(
          terms,
          row,
          'REFUSED',
          'TASK_ID_CONFLICT: There is a task with this id and another input.',
        );
    }),
  );
  if (unknown.length > 0) {
    const { forgottenThroughMs } = await authorityTimes(lh);
    for (const row of unknown) {
      if (row.sentAtMs! > forgottenThroughMs) toSend.push(row);
      else await parkRow(terms, row, 'IN_DOUBT', DOUBT);
    }
  }
  return { created, toSend };
}

const DOUBT =
  'It was sent, and its task is unknown: it was never created, or it ended and has been forgotten.';

async function parkRow(
  { pool, onParked }: PassTerms,
  { taskId, queue }: OutboxRow,
  state: ParkedRow['state'],
  reason: string,
): Promise<void> {
  const row = { taskId, queue, state, reason };
  await park(pool, row);
  onParked(row);
}

function requestOf({ taskId, queue, payload, settings, ageMs }: OutboxRow) {
  const { delay_ms, ...rest } = settings;
  return {
    ...rest,
    task_id: taskId,
    queue,
    payload: new Json(payload),
    ...(delay_ms === undefined ? {} : { delay_ms: Math.max(0, delay_ms - ageMs) }),
  };
}

interface AuthorityTimes {
  /** The time of the newest entry: nothing that follows is earlier. */
  readonly nowMs: number;
  /** 0 when no task was forgotten. */
  readonly forgottenThroughMs: number;
}

async function authorityTimes(lh: RelayHandle): Promise<AuthorityTimes> {
  for (let left = STANDBYS_MAX; left > 0; left--) {
    const { role, lastCommit, forgottenThrough } = await lh.status();
    if (role === 'leader') {
      if (forgottenThrough === undefined)
        throw new LeaseholdError(
          'INVALID_ARGUMENT',
          'The server is older than 0.2 and has no forgotten_through.',
        );
      const forgottenThroughMs = forgottenThrough === null ? 0 : Date.parse(forgottenThrough);
      return { nowMs: Date.parse(lastCommit), forgottenThroughMs };
    }
    // Only the leader answers this, and the client stays with the server that answered.
    await lh.queues.list();
  }
  throw new LeaseholdError('NOT_LEADER', 'No server leads.', { retryable: true });
}
