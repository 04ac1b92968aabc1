/**
 * Migration 019 (seed 001): the lease table, the sequence of fencing numbers, the three functions, and the table of
 * gates that an OperatorRuntime has open. Each direction is one statement, so it is its own transaction and also fits
 * into yours. Both are idempotent.
 *
 * A lease is one row. A client first locks the row and only then draws number, token and expiry: a number drawn
 * earlier by a slow loser could land after a faster winner's higher one. The clock is read after the wait for the
 * row; before it, the time would be stale by the wait. The clock is `clock_timestamp()`, because `now()` is fixed
 * within a transaction. Migrating again replaces the functions of an older version and keeps the leases; a change of
 * this file must keep that.
 *
 * A write through a fence locks the row FOR KEY SHARE until its transaction ends. Grants and releases wait for that,
 * because they change a key: `lease_seq`, by its unique index. A renewal changes no key and does not wait: behind FOR
 * SHARE it would wait for every writer, including later ones (decision 0046).
 */
import type { Queryable } from './database.ts';

export interface Migration {
  readonly name: string;
  readonly up: string;
  readonly down: string;
}

/** Two concurrent migrations would conflict on the functions. */
const ONE_AT_A_TIME = `PERFORM pg_advisory_xact_lock(hashtextextended('leasehold:migration:019', 0));`;

/**
 * A gate has a row in `dot_iu_runtime_lease_gate` exactly while an OperatorRuntime has it open: the transactions that
 * open and close the gate write and delete it. `config` is the table of the gate, which may not be on another
 * session's search path. The row of a dead run stays, with a token that no live lease has, until the gate is closed.
 */
const TABLES = `
  CREATE TABLE IF NOT EXISTS dot_iu_runtime_lease (
    lease_name   text        PRIMARY KEY,
    lease_holder text        NOT NULL,
    token        uuid        NOT NULL,
    lease_seq    bigint      NOT NULL,
    acquired_at  timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL
  );
  CREATE UNIQUE INDEX IF NOT EXISTS dot_iu_runtime_lease_lease_seq_key ON dot_iu_runtime_lease (lease_seq);
  CREATE TABLE IF NOT EXISTS dot_iu_runtime_lease_gate (
    config     regclass NOT NULL,
    gate       text     NOT NULL,
    lease_name text     NOT NULL,
    token      uuid     NOT NULL,
    PRIMARY KEY (config, gate)
  );`;

/**
 * Starts at the time in microseconds: after a rollback and a new migration the numbers are still above all earlier
 * ones, because no database issues a million a second. They stay below 2^53 until the year 2255.
 */
const SEQUENCE = `
  IF to_regclass('dot_iu_runtime_lease_seq') IS NULL THEN
    EXECUTE format(
      'CREATE SEQUENCE dot_iu_runtime_lease_seq AS bigint START WITH %s',
      floor(extract(epoch FROM clock_timestamp()) * 1000000)
    );
  END IF;`;

/** Names and holders have 1 to 256 bytes, as everywhere in leasehold. */
const NAMES_CHECKED = (fn: string): string => `
    IF coalesce(octet_length(${fn}.lease_name), 0) NOT BETWEEN 1 AND 256 THEN
      RAISE EXCEPTION 'The name of a lease has 1 to 256 bytes.' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF coalesce(btrim(${fn}.holder), '') = '' OR octet_length(${fn}.holder) > 256 THEN
      RAISE EXCEPTION 'A lease needs a holder, with 1 to 256 bytes.' USING ERRCODE = 'invalid_parameter_value';
    END IF;`;

/** NaN is greater than every number here, so it is refused too. */
const TTL_CHECKED = (fn: string): string => `
    IF (${fn}.ttl_seconds BETWEEN 0.01 AND 2592000) IS NOT TRUE THEN
      RAISE EXCEPTION 'ttl_seconds is 0.01 to 2592000 (10 ms to 30 days), and this is %.',
        coalesce(${fn}.ttl_seconds::text, 'nothing') USING ERRCODE = 'invalid_parameter_value';
    END IF;`;

/**
 * How long an acquire waits for the row: long enough for a transaction that is committing, and no longer for one
 * whose process is paused. Postgres applies it to each of two locks: the place in the queue and the row.
 */
const ROW_WAIT = '1 s';

const ACQUIRE = `
  CREATE OR REPLACE FUNCTION fn_dot_iu_runtime_lease_acquire(
    lease_name text, holder text, ttl_seconds double precision
  ) RETURNS dot_iu_runtime_lease LANGUAGE plpgsql VOLATILE AS $function$
  #variable_conflict use_column
  DECLARE
    won dot_iu_runtime_lease;
    is_won boolean;
    at_instant timestamptz;
    callers_limit text := current_setting('lock_timeout');
  BEGIN
    ${NAMES_CHECKED('fn_dot_iu_runtime_lease_acquire')}
    ${TTL_CHECKED('fn_dot_iu_runtime_lease_acquire')}
    -- Plainly held: the answer needs no lock, so it neither waits for the holder's transaction nor delays its renewal.
    PERFORM 1 FROM dot_iu_runtime_lease AS held
      WHERE held.lease_name = fn_dot_iu_runtime_lease_acquire.lease_name
        AND held.lease_holder <> fn_dot_iu_runtime_lease_acquire.holder
        AND held.expires_at > clock_timestamp();
    IF FOUND THEN
      RETURN NULL;
    END IF;
    -- Win the row. The values are placeholders, replaced in the same transaction and never visible. That a key is
    -- among them makes it wait for those who write under the lease before it looks at the clock.
    BEGIN
      -- For this statement alone, unless the caller waits less anyway. A failure takes the setting back by itself.
      IF (callers_limit::interval BETWEEN '1 ms' AND '${ROW_WAIT}') IS NOT TRUE THEN
        SET LOCAL lock_timeout = '${ROW_WAIT}';
      END IF;
      INSERT INTO dot_iu_runtime_lease AS held (lease_name, lease_holder, token, lease_seq, acquired_at, expires_at)
        VALUES (
          fn_dot_iu_runtime_lease_acquire.lease_name, fn_dot_iu_runtime_lease_acquire.holder,
          gen_random_uuid(), floor(-9e15 * random()), clock_timestamp(), clock_timestamp()
        )
        ON CONFLICT (lease_name) DO UPDATE
          SET lease_name = EXCLUDED.lease_name, lease_holder = EXCLUDED.lease_holder
          WHERE held.expires_at <= clock_timestamp() OR held.lease_holder = EXCLUDED.lease_holder;
      is_won := FOUND;
      PERFORM set_config('lock_timeout', callers_limit, true);
    EXCEPTION WHEN lock_not_available THEN
      is_won := false;
    END;
    IF NOT is_won THEN
      RETURN NULL;
    END IF;
    at_instant := clock_timestamp();
    UPDATE dot_iu_runtime_lease AS held
      SET token = gen_random_uuid(),
          lease_seq = nextval('dot_iu_runtime_lease_seq'),
          acquired_at = at_instant,
          expires_at = at_instant + make_interval(secs => fn_dot_iu_runtime_lease_acquire.ttl_seconds)
      WHERE held.lease_name = fn_dot_iu_runtime_lease_acquire.lease_name
      RETURNING held.* INTO STRICT won;
    RETURN won;
  END $function$;`;

const RENEW = `
  CREATE OR REPLACE FUNCTION fn_dot_iu_runtime_lease_renew(
    lease_name text, holder text, token uuid, ttl_seconds double precision
  ) RETURNS dot_iu_runtime_lease LANGUAGE plpgsql VOLATILE AS $function$
  #variable_conflict use_column
  DECLARE
    own dot_iu_runtime_lease;
  BEGIN
    ${NAMES_CHECKED('fn_dot_iu_runtime_lease_renew')}
    ${TTL_CHECKED('fn_dot_iu_runtime_lease_renew')}
    -- Lock first and look at the clock afterwards: an UPDATE whose WHERE asks for the time asks before it waits for
    -- the row, and would bring back a lease that ran out meanwhile.
    SELECT held.* INTO own FROM dot_iu_runtime_lease AS held
      WHERE held.lease_name = fn_dot_iu_runtime_lease_renew.lease_name
        AND held.lease_holder = fn_dot_iu_runtime_lease_renew.holder
        AND held.token = fn_dot_iu_runtime_lease_renew.token
      FOR NO KEY UPDATE;
    IF NOT FOUND OR own.expires_at <= clock_timestamp() THEN
      RETURN NULL;
    END IF;
    UPDATE dot_iu_runtime_lease AS held
      SET expires_at = greatest(
        held.expires_at,
        clock_timestamp() + make_interval(secs => fn_dot_iu_runtime_lease_renew.ttl_seconds)
      )
      WHERE held.lease_name = fn_dot_iu_runtime_lease_renew.lease_name
      RETURNING held.* INTO STRICT own;
    RETURN own;
  END $function$;`;

const RELEASE = `
  CREATE OR REPLACE FUNCTION fn_dot_iu_runtime_lease_release(
    lease_name text, holder text, token uuid
  ) RETURNS boolean LANGUAGE plpgsql VOLATILE AS $function$
  #variable_conflict use_column
  DECLARE
    ended_at timestamptz;
  BEGIN
    ${NAMES_CHECKED('fn_dot_iu_runtime_lease_release')}
    -- A lease that is over leaves no row behind either, but it was not this call that ended it.
    DELETE FROM dot_iu_runtime_lease AS held
      WHERE held.lease_name = fn_dot_iu_runtime_lease_release.lease_name
        AND held.lease_holder = fn_dot_iu_runtime_lease_release.holder
        AND held.token = fn_dot_iu_runtime_lease_release.token
      RETURNING held.expires_at INTO ended_at;
    RETURN coalesce(ended_at > clock_timestamp(), false);
  END $function$;`;

/** The names and arguments of the functions, as Postgres reports them. */
const FUNCTIONS = {
  fn_dot_iu_runtime_lease_acquire: 'lease_name text, holder text, ttl_seconds double precision',
  fn_dot_iu_runtime_lease_renew: 'lease_name text, holder text, token uuid, ttl_seconds double precision',
  fn_dot_iu_runtime_lease_release: 'lease_name text, holder text, token uuid',
} as const;
const SIGNATURES = Object.entries(FUNCTIONS);

/** Foreign objects with these names would be called instead of ours, or half of them would stay. */
const NOTHING_FOREIGN = `
  SELECT count(*) INTO known FROM pg_attribute
    WHERE attrelid = to_regclass(quote_ident(current_schema()) || '.dot_iu_runtime_lease')
      AND attname IN ('lease_name', 'lease_holder', 'token', 'lease_seq', 'acquired_at', 'expires_at');
  IF to_regclass(quote_ident(current_schema()) || '.dot_iu_runtime_lease') IS NOT NULL AND known < 6 THEN
    RAISE EXCEPTION 'There is a dot_iu_runtime_lease with other columns, which is not from this migration.'
      USING ERRCODE = 'duplicate_table', HINT = 'Drop it first, with the functions that came with it.';
  END IF;
  SELECT func.oid::regprocedure::text INTO foreign_function FROM pg_proc AS func
    WHERE func.pronamespace = quote_ident(current_schema())::regnamespace
      AND func.proname IN (${SIGNATURES.map(([name]) => `'${name}'`).join(', ')})
      AND (func.proname, pg_get_function_identity_arguments(func.oid)) NOT IN (
        ${SIGNATURES.map((signature) => `(${signature.map((text) => `'${text}'`).join(', ')})`).join(', ')}
      )
    LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'There is a function %, which is not from this migration.', foreign_function
      USING ERRCODE = 'duplicate_function', HINT = 'Drop it first.';
  END IF;`;

/** A caller's search path must not redirect the functions to other tables of the same names. */
const AT_HOME = SIGNATURES.map(
  ([name, arguments_]) => `
  EXECUTE format('ALTER FUNCTION ${name}(${arguments_}) SET search_path TO %I, pg_temp', current_schema());`,
).join('');

const UP = `DO $migration$
DECLARE
  known int;
  foreign_function text;
BEGIN
  ${ONE_AT_A_TIME}
  ${NOTHING_FOREIGN}
  ${TABLES}
  ${SEQUENCE}
  ${ACQUIRE}
  ${RENEW}
  ${RELEASE}
  ${AT_HOME}
END $migration$`;

/**
 * How long a rollback waits for transactions that use the leases. All other statements on the table queue behind it.
 */
const TABLE_WAIT = '5 s';
/** Longer than most commands that a forced rollback interrupts. */
const FORCED_TABLE_WAIT = '25 s';

const IS_INSTALLED = `
  to_regclass('dot_iu_runtime_lease') IS NOT NULL AND to_regclass('dot_iu_runtime_lease_gate') IS NOT NULL`;

const NO_LIVE_RUN = `
    SELECT lease.lease_name, lease.lease_holder INTO run
      FROM dot_iu_runtime_lease_gate JOIN dot_iu_runtime_lease AS lease USING (lease_name, token)
      WHERE lease.expires_at > clock_timestamp() LIMIT 1;
    IF FOUND THEN
      RAISE EXCEPTION 'An OperatorRuntime run of "%" holds the lease "%" and has gates open.', run.lease_holder, run.lease_name
        USING ERRCODE = 'object_in_use',
          HINT = 'Wait until it has ended, or force the rollback (--force), which closes the gates first.';
    END IF;`;

const ALL_GATES_CLOSED = `
    FOR opened IN SELECT config, gate FROM dot_iu_runtime_lease_gate JOIN pg_class ON pg_class.oid = config LOOP
      EXECUTE format('UPDATE %s SET value = ''false'' WHERE key = $1', opened.config) USING opened.gate;
    END LOOP;`;

const CLOSE_ALL_GATES = `DO $migration$
DECLARE
  opened record;
BEGIN
  IF ${IS_INSTALLED} THEN
    ${ALL_GATES_CLOSED}
  END IF;
END $migration$`;

/**
 * Looks for a live run before taking the lock, so that a refusal waits for no command, and again under it. The lock
 * waits for every governed transaction, and none starts afterwards. They lock leases before gates, and so must this.
 */
const down = (isForced: boolean): string => `DO $migration$
DECLARE
  run record;
  opened record;
  callers_limit text := current_setting('lock_timeout');
BEGIN
  ${ONE_AT_A_TIME}
  IF ${IS_INSTALLED} THEN
    ${isForced ? '' : NO_LIVE_RUN}
    SET LOCAL lock_timeout = '${isForced ? FORCED_TABLE_WAIT : TABLE_WAIT}';
    LOCK TABLE dot_iu_runtime_lease IN ACCESS EXCLUSIVE MODE;
    PERFORM set_config('lock_timeout', callers_limit, true);
    ${isForced ? '' : NO_LIVE_RUN}
    -- Also what a dead run left open: after the rollback there is no lease to close it under.
    ${ALL_GATES_CLOSED}
  END IF;
  ${SIGNATURES.map(([name, arguments_]) => `DROP FUNCTION IF EXISTS ${name}(${arguments_});`).join('\n  ')}
  DROP TABLE IF EXISTS dot_iu_runtime_lease_gate;
  DROP TABLE IF EXISTS dot_iu_runtime_lease;
  DROP SEQUENCE IF EXISTS dot_iu_runtime_lease_seq;
END $migration$`;

/** For your own migration tool. `migrate` and `rollback` run exactly these. */
export const MIGRATION_019: Migration = { name: '019', up: UP, down: down(false) };

export async function migrate(db: Queryable): Promise<void> {
  await db.query(MIGRATION_019.up);
}

export interface RollbackOptions {
  /** Roll back although an OperatorRuntime run holds its lease. Its gates are closed first. */
  readonly force?: boolean;
}

/**
 * Closes every gate that a run left open. While a run holds its lease it fails with SQLSTATE 55006, unless forced:
 * then a separate statement closes the gates at once, and the rest waits for the running command. Other live leases
 * end with their table; their holders learn it at the next renewal.
 */
export async function rollback(db: Queryable, { force = false }: RollbackOptions = {}): Promise<void> {
  if (force) await db.query(CLOSE_ALL_GATES);
  await db.query(down(force));
}
