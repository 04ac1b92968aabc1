// The outbox: a task exists if and only if the transaction that entered it committed, and then exactly once.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { integer, pgTable, text } from 'drizzle-orm/pg-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Leasehold } from '../../src/client/leasehold.ts';
import { defineTask, open } from '../../src/index.ts';
import type { Queryable } from '../../src/postgres/database.ts';
import { inTransaction } from '../../src/postgres/database.ts';
import {
  dropParked,
  type EnqueueInOptions,
  enqueueIn,
  LeaseholdError,
  migrateOutbox,
  outboxReport,
  type Relay,
  type RelayOptions,
  relay,
  resendParked,
  rollbackOutbox,
} from '../../src/postgres.ts';
import { until } from '../support/cli-processes.ts';
import { TestDatabase } from '../support/postgres.ts';

const email = defineTask<{ to: string }>('email', { priority: 3, key: ({ to }) => to });

let db: TestDatabase;
let dir: string;
let lh: Leasehold;
let running: Relay[];

beforeAll(async () => {
  db = await TestDatabase.create();
  await migrateOutbox(db.pool);
  await db.pool.query('CREATE TABLE orders (id int PRIMARY KEY, buyer text NOT NULL)');
});
afterAll(() => db.drop());

beforeEach(async () => {
  await db.pool.query('TRUNCATE leasehold_outbox, orders');
  dir = mkdtempSync(join(tmpdir(), 'leasehold-outbox-'));
  lh = await open(dir, { retention: { endedTasks: { for: '50ms' } } });
  running = [];
});
afterEach(async () => {
  await Promise.all(running.map((each) => each.drain()));
  await lh.close();
  rmSync(dir, { recursive: true });
});

function start(options: RelayOptions = {}): Relay {
  const started = relay(db.pool, lh, { poll: '20ms', ...options });
  running.push(started);
  return started;
}

const tasks = async (): Promise<readonly string[]> => {
  const ids: string[] = [];
  for await (const task of lh.tasks.find({ queue: 'email' })) ids.push(task.taskId);
  return ids;
};
const isEmpty = async (): Promise<boolean> =>
  (await db.value('SELECT count(*) FROM leasehold_outbox')) === '0';
const relayed = (): Promise<void> => until('the outbox to be empty', isEmpty);

describe('enqueueIn', () => {
  it('makes the task of a transaction that commits, and none of one that is rolled back', async () => {
    const committed = await inTransaction(db.pool, async (tx) => {
      await tx.query("INSERT INTO orders VALUES (1, 'anna')");
      return enqueueIn(tx, email, { to: 'anna' });
    });
    const lost = inTransaction(db.pool, async (tx) => {
      await enqueueIn(tx, email, { to: 'boris' });
      throw new Error('no');
    });
    await expect(lost).rejects.toThrow('no');
    start();
    await relayed();
    expect(await tasks()).toEqual([committed.taskId]);
    const task = await lh.tasks.get(committed.taskId);
    expect(task).toMatchObject({ state: 'WAITING', queue: 'email', priority: 3, key: 'anna' });
  });

  it('carries the input byte for byte, and every option', async () => {
    const trace = {
      traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
      tracestate: 'a=1',
    };
    const options = { taskId: 'mine', delay: '1h', dedupKey: 'd', key: 'k', maxAttempts: 2, trace } as const;
    await enqueueIn(db.pool, email, { to: 'größer\u0000"' }, { ...options, retry: { maxFailures: 9 } });
    start();
    await relayed();
    const task = await lh.call('task.get', { task_id: 'mine' });
    if (!task.ok) throw new Error(task.detail);
    expect(task).toMatchObject({
      dedup_key: 'd',
      key: 'k',
      max_attempts: 2,
      trace,
      retry: { max_failures: 9 },
    });
    expect(task.payload?.parse()).toEqual({ to: 'größer\u0000"' });
    const leftMs = Date.parse(task.due_at) - Date.parse(task.created_at);
    // The delay counts from the insertion.
    expect(leftMs).toBeLessThan(3_600_000);
    expect(leftMs).toBeGreaterThan(3_500_000);
  });

  it('leaves the task waiting until the time given as at', async () => {
    await enqueueIn(db.pool, email, { to: 'anna' }, { taskId: 'at', at: new Date(Date.now() + 3_600_000) });
    start();
    await relayed();
    const task = await lh.call('task.get', { task_id: 'at' });
    if (!task.ok) throw new Error(task.detail);
    const leftMs = Date.parse(task.due_at) - Date.parse(task.created_at);
    expect(leftMs).toBeLessThanOrEqual(3_600_000);
    expect(leftMs).toBeGreaterThan(3_500_000);
  });

  it('takes the same id with the same input again, and refuses another input while the caller can roll back', async () => {
    const again = { taskId: 'mine' };
    expect(await enqueueIn(db.pool, email, { to: 'anna' }, again)).toEqual({ taskId: 'mine' });
    expect(await enqueueIn(db.pool, email, { to: 'anna' }, again)).toEqual({ taskId: 'mine' });
    const other = enqueueIn(db.pool, email, { to: 'boris' }, again);
    await expect(other).rejects.toSatisfy((fault) => LeaseholdError.is(fault, 'TASK_ID_CONFLICT'));
    const large = enqueueIn(db.pool, email, { to: 'x'.repeat(300_000) }, { key: 'k' });
    await expect(large).rejects.toSatisfy((fault) => LeaseholdError.is(fault, 'PAYLOAD_TOO_LARGE'));
    const slash = enqueueIn(db.pool, email, { to: 'anna' }, { taskId: 'a/b' });
    await expect(slash).rejects.toSatisfy((fault) => LeaseholdError.is(fault, 'INVALID_ARGUMENT'));
  });

  it('refuses what the server would refuse, while the caller can roll back', async () => {
    const nested = JSON.parse(`${'['.repeat(1_001)}${']'.repeat(1_001)}`);
    const refused: readonly [input: { to: string }, options: EnqueueInOptions, says: string][] = [
      [{ to: '' }, {}, 'The field key must be'],
      [{ to: 'e\u0301' }, {}, 'The field key must be'],
      [{ to: 'anna' }, { dedupKey: 'x'.repeat(257) }, 'The field dedup_key must be'],
      [{ to: 'anna' }, { priority: 128 }, 'The field priority is wrong'],
      [{ to: 'anna' }, { maxAttempts: 0 }, 'The field max_attempts is wrong'],
      [{ to: 'anna' }, { retry: { maxFailures: 0 } }, 'The field retry.max_failures is wrong'],
      [{ to: 'anna' }, { delay: '367d' }, 'The field delay_ms is wrong'],
      [{ to: 'anna' }, { trace: { traceparent: 'x' } }, 'The field trace.traceparent must be'],
      [{ to: 'anna', nested } as { to: string }, {}, 'The payload is nested'],
    ];
    for (const [input, options, says] of refused) {
      const fault = await enqueueIn(db.pool, email, input, options).catch((error) => error);
      expect(fault).toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining(says) });
    }
    expect(await isEmpty()).toBe(true);
  });

  it('works inside a transaction of Drizzle', async () => {
    const orders = pgTable('orders', { id: integer('id').primaryKey(), buyer: text('buyer').notNull() });
    const drizzled = drizzle(db.pool);
    type Tx = Parameters<Parameters<typeof drizzled.transaction>[0]>[0];
    const outboxOf = (tx: Tx): Queryable => ({
      query: (statement, values = []) =>
        tx.execute(sql(statement.split(/\$\d+/) as unknown as TemplateStringsArray, ...values)),
    });
    const { taskId } = await drizzled.transaction(async (tx) => {
      await tx.insert(orders).values({ id: 2, buyer: 'anna' });
      return enqueueIn(outboxOf(tx), email, { to: 'anna' });
    });
    const lost = drizzled.transaction(async (tx) => {
      await enqueueIn(outboxOf(tx), email, { to: 'boris' });
      tx.rollback();
    });
    await expect(lost).rejects.toThrow();
    start();
    await relayed();
    expect(await tasks()).toEqual([taskId]);
  });
});

describe('the relay', () => {
  it('is woken by a commit, long before its poll', async () => {
    const relaying = start({ poll: '1h' });
    await until('the relay to listen', async () => relaying.isActive && (await listeners()) === 1);
    await enqueueIn(db.pool, email, { to: 'anna' });
    await relayed();
    await until('the count', () => relaying.counts.relayed === 1);
  });

  it('finds a row that did not wake it', async () => {
    start();
    await enqueueIn(db.pool, email, { to: 'anna' }, { notify: false });
    await relayed();
  });

  it('runs once however many there are, and the next one goes on when it stops', async () => {
    const first = start();
    await until('the first to be active', () => first.isActive);
    const second = start();
    await enqueueIn(db.pool, email, { to: 'anna' });
    await relayed();
    expect([first.isActive, second.isActive]).toEqual([true, false]);
    await first.drain();
    await until('the second to be active', () => second.isActive);
    await enqueueIn(db.pool, email, { to: 'boris' });
    await relayed();
    await until('the count', () => second.counts.relayed === 1);
    expect(first.counts.relayed).toBe(1);
  });

  it('deletes the row of a task that was created before a crash', async () => {
    await enqueueIn(db.pool, email, { to: 'anna' }, { taskId: 'made' });
    await sentAt('made', (await lh.status()).lastCommit);
    await lh.enqueue(email, { to: 'anna' }, { taskId: 'made' });
    const { counts } = start();
    await relayed();
    expect(await tasks()).toEqual(['made']);
    expect(counts.inDoubt).toBe(0);
  });

  it('sends again what was marked before a crash and cannot have been forgotten', async () => {
    await forgetOne();
    await enqueueIn(db.pool, email, { to: 'anna' }, { taskId: 'lost' });
    const { lastCommit, forgottenThrough } = await lh.status();
    expect(Date.parse(lastCommit)).toBeGreaterThan(Date.parse(forgottenThrough!));
    await sentAt('lost', lastCommit);
    start();
    await relayed();
    expect(await tasks()).toEqual(['lost']);
  });

  it('parks what may have ended and been forgotten, until an operator decides', async () => {
    const { lastCommit } = await lh.status();
    for (const taskId of ['sent', 'dropped']) {
      await enqueueIn(db.pool, email, { to: 'anna' }, { taskId });
      await sentAt(taskId, lastCommit);
    }
    await forgetOne();
    const parked: string[] = [];
    const relaying = start({ onParked: ({ taskId, state }) => parked.push(`${taskId} ${state}`) });
    await until('both to be parked', () => relaying.counts.inDoubt === 2);
    expect(parked.sort()).toEqual(['dropped IN_DOUBT', 'sent IN_DOUBT']);
    expect(await tasks()).toEqual([]);
    expect((await outboxReport(db.pool)).counts).toEqual({ WAITING: 0, IN_DOUBT: 2, REFUSED: 0 });
    expect(await dropParked(db.pool, 'dropped')).toBe(true);
    expect(await dropParked(db.pool, 'dropped')).toBe(false);
    expect(await resendParked(db.pool, 'sent')).toBe(true);
    await relayed();
    expect(await tasks()).toEqual(['sent']);
  });

  it('parks what the server refuses, and goes on with the rest', async () => {
    await lh.enqueue(email, { to: 'another' }, { taskId: 'taken' });
    await enqueueIn(db.pool, email, { to: 'anna' }, { taskId: 'taken' });
    await enqueueIn(db.pool, email, { to: 'anna' }, { taskId: 'fine' });
    const relaying = start();
    await until('the one to be parked', () => relaying.counts.refused === 1 && relaying.counts.relayed === 1);
    const { parked } = await outboxReport(db.pool);
    expect(parked).toMatchObject([
      { taskId: 'taken', state: 'REFUSED', reason: expect.stringMatching(/^TASK_ID_CONFLICT: /) },
    ]);
  });

  it('stops, and says why, when the outbox is not installed', async () => {
    const empty = await TestDatabase.create();
    const faults: unknown[] = [];
    const broken = relay(empty.pool, lh, { onFault: (fault) => faults.push(fault) });
    await expect(broken.done).rejects.toMatchObject({ code: '42P01' });
    expect(faults).toHaveLength(1);
    await empty.drop();
  });
});

describe('migration 020', () => {
  it('is rolled back only when no row is lost, or by force', async () => {
    const other = await TestDatabase.create();
    await migrateOutbox(other.pool);
    await migrateOutbox(other.pool);
    await enqueueIn(other.pool, email, { to: 'anna' });
    await expect(rollbackOutbox(other.pool)).rejects.toMatchObject({ code: '55006' });
    await rollbackOutbox(other.pool, { force: true });
    await rollbackOutbox(other.pool);
    await other.drop();
  });
});

const sentAt = (taskId: string, at: string): Promise<unknown> =>
  db.pool.query('UPDATE leasehold_outbox SET sent_at = $2 WHERE task_id = $1', [taskId, at]);

const listeners = async (): Promise<number> =>
  Number(
    await db.value(
      "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'",
    ),
  );

/** Lets a task end and be forgotten. */
async function forgetOne(): Promise<void> {
  const { taskId } = await lh.enqueue(email, { to: 'nobody' });
  await lh.tasks.cancel(taskId, { reason: 'an end' });
  await until('it to be forgotten', async () => {
    // An entry after it, so that the authority's time goes on.
    await lh.queues.resume('other');
    await lh.queues.pause('other');
    return (await lh.status()).forgottenThrough !== null && !(await tasks()).includes(taskId);
  });
}
