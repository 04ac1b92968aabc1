/**
 * Migration 020: the outbox, one table. `enqueueIn` inserts a row in the caller's transaction; the relay turns committed
 * rows into tasks and deletes them. Each direction is one statement and idempotent, as in migration 019.
 *
 *   task_id     the id of the task: a row becomes this task and no other
 *   place       the order of insertion, in which rows are sent
 *   payload     the input as JSON text, byte for byte; jsonb would write it anew
 *   settings    the other fields of `task.create`
 *   entered_at  by the database's clock; a delay counts from here
 *   sent_at     by the authority's clock, committed before the task is sent (relay.ts)
 *   state       WAITING; IN_DOUBT and REFUSED are parked: the relay leaves them to an operator, with the reason
 */
import type { Queryable } from './database.ts';
import type { Migration } from './migration.ts';

const UP = `DO $migration$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('leasehold:migration:020', 0));
  CREATE TABLE IF NOT EXISTS leasehold_outbox (
    task_id    text        PRIMARY KEY,
    place      bigint      GENERATED ALWAYS AS IDENTITY,
    queue      text        NOT NULL,
    payload    text        NOT NULL,
    settings   jsonb       NOT NULL DEFAULT '{}',
    entered_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    sent_at    timestamptz,
    state      text        NOT NULL DEFAULT 'WAITING' CHECK (state IN ('WAITING', 'IN_DOUBT', 'REFUSED')),
    reason     text
  );
  CREATE INDEX IF NOT EXISTS leasehold_outbox_waiting ON leasehold_outbox (place) WHERE state = 'WAITING';
END $migration$`;

/** Refuses while there are rows: unsent rows are tasks that would be lost. */
const NO_ROWS = `
    PERFORM 1 FROM leasehold_outbox LIMIT 1;
    IF FOUND THEN
      RAISE EXCEPTION 'The outbox has rows that have not become tasks.' USING ERRCODE = 'object_in_use',
        HINT = 'Let the relay send them, or force the rollback (--force), which drops them.';
    END IF;`;

const down = (isForced: boolean): string => `DO $migration$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('leasehold:migration:020', 0));
  IF to_regclass('leasehold_outbox') IS NOT NULL THEN
    LOCK TABLE leasehold_outbox IN ACCESS EXCLUSIVE MODE;
    ${isForced ? '' : NO_ROWS}
    DROP TABLE leasehold_outbox;
  END IF;
END $migration$`;

/** For your own migration tool. `migrateOutbox` and `rollbackOutbox` run exactly these. */
export const MIGRATION_020: Migration = { name: '020', up: UP, down: down(false) };

export async function migrateOutbox(db: Queryable): Promise<void> {
  await db.query(MIGRATION_020.up);
}

/** Fails with SQLSTATE 55006 while the outbox has rows, unless forced: then they are lost. */
export async function rollbackOutbox(
  db: Queryable,
  { force = false }: { readonly force?: boolean } = {},
): Promise<void> {
  await db.query(down(force));
}
