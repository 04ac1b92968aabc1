/**
 * A fence around your own table: the database refuses every insert, update and delete that does not present the current
 * lease. It adds two columns and a trigger:
 *
 *   lease_seq  what a write presents. The trigger checks it and clears it, so it is NULL at rest, and an UPDATE that
 *              does not mention it presents nothing. A single column would keep the number of the last write, and every
 *              careless UPDATE would present that.
 *   fence      the number that last wrote the row.
 *
 * DELETE and TRUNCATE have no columns: they take the number from `leasehold.lease_seq`, a setting of their
 * transaction (`presentLease`). The lease row stays locked FOR KEY SHARE until the writing transaction ends. So the
 * lease cannot change hands between the check and the commit, and its holder can still renew it.
 *
 * The checks are in the order of docs/errors.md. Each has its own SQLSTATE and its code as the constraint name:
 * WRITE_UNFENCED (LH001), LEASE_OBJECT_MISMATCH (LH002), WRITE_STALE_FENCE (LH003), WRITE_UNKNOWN_FENCE (LH004),
 * LEASE_EXPIRED (LH006).
 */
import type { Queryable } from './database.ts';
import type { Migration } from './migration.ts';

export interface FenceOptions {
  /** The name of the lease whose holder may write. */
  readonly lease: string;
}

/** The SQLSTATE of each refusal, numbered in the order of the checks. */
export const FENCE_STATES = {
  WRITE_UNFENCED: 'LH001',
  LEASE_OBJECT_MISMATCH: 'LH002',
  WRITE_STALE_FENCE: 'LH003',
  WRITE_UNKNOWN_FENCE: 'LH004',
  LEASE_EXPIRED: 'LH006',
} as const;

export type FenceCode = keyof typeof FENCE_STATES;

const raise = (code: FenceCode, says: string, ...values: readonly string[]): string =>
  `RAISE EXCEPTION '${code}: ${says}'${values.map((value) => `, ${value}`).join('')}
        USING ERRCODE = '${FENCE_STATES[code]}', CONSTRAINT = '${code}', TABLE = TG_TABLE_NAME, SCHEMA = TG_TABLE_SCHEMA;`;

/** Shared by all fenced tables. The name of the lease is the argument of the trigger. */
const FUNCTION = `
  CREATE OR REPLACE FUNCTION fn_leasehold_fence() RETURNS trigger LANGUAGE plpgsql AS $function$
  DECLARE
    lease   text := TG_ARGV[0];
    shown   bigint;
    written bigint := 0;
    held    dot_iu_runtime_lease;
    other   text;
  BEGIN
    IF TG_OP IN ('INSERT', 'UPDATE') THEN
      shown := NEW.lease_seq;
    ELSE
      shown := nullif(current_setting('leasehold.lease_seq', true), '')::bigint;
    END IF;
    IF TG_OP IN ('UPDATE', 'DELETE') THEN
      written := OLD.fence;
    END IF;
    IF shown IS NULL THEN
      ${raise('WRITE_UNFENCED', 'The write carries no lease_seq of the lease "%".', 'lease')}
    END IF;
    -- Locked to the end of this transaction, and looked at only then.
    SELECT * INTO held FROM dot_iu_runtime_lease WHERE lease_name = lease FOR KEY SHARE;
    IF held.lease_seq IS DISTINCT FROM shown THEN
      SELECT lease_name INTO other FROM dot_iu_runtime_lease
        WHERE lease_seq = shown AND expires_at > clock_timestamp();
      IF FOUND THEN
        ${raise('LEASE_OBJECT_MISMATCH', 'The lease_seq % belongs to the lease "%", and this table to "%".', 'shown', 'other', 'lease')}
      END IF;
    END IF;
    IF shown < greatest(held.lease_seq, written) THEN
      ${raise('WRITE_STALE_FENCE', 'The lease_seq % is older than the fence %.', 'shown', 'greatest(held.lease_seq, written)')}
    END IF;
    IF shown > coalesce(held.lease_seq, (SELECT last_value FROM dot_iu_runtime_lease_seq)) THEN
      ${raise('WRITE_UNKNOWN_FENCE', 'The lease_seq % was never granted for the lease "%".', 'shown', 'lease')}
    END IF;
    IF held.lease_seq IS NULL OR held.expires_at <= clock_timestamp() THEN
      ${raise('LEASE_EXPIRED', 'The lease "%" with the lease_seq % is over.', 'lease', 'shown')}
    END IF;
    IF TG_OP IN ('INSERT', 'UPDATE') THEN
      NEW.fence := shown;
      NEW.lease_seq := NULL;
      RETURN NEW;
    END IF;
    RETURN OLD;
  END $function$;`;

/**
 * The statements that add and remove the fence of a table, for your own migrations. Both are idempotent. `table` may
 * include the schema (`billing.invoices`); a name that needs quotes is given without them.
 */
export function fence(table: string, { lease }: FenceOptions): Migration {
  if (lease === '' || lease.includes('\0')) throw new TypeError('A fence needs the name of a lease.');
  const quoted = quotedTable(table);
  return { name: `fence ${table}`, up: up(quoted, lease), down: down(quoted) };
}

/** The table and those that inherit from it, including its partitions. */
const MEMBERS = (table: string): string => `
    WITH RECURSIVE family AS (
      SELECT ${literal(table)}::regclass::oid AS member
      UNION SELECT inhrelid FROM pg_inherits JOIN family ON inhparent = member
    )`;

/**
 * The tables that one fence covers. A partition inherits the row trigger of its parent but not the TRUNCATE trigger;
 * any other child inherits neither. A child with its own fence keeps it: of the fenced children only those are
 * included whose lease is in `leases`, in the encoding of trigger arguments.
 */
const FAMILY = (table: string, leases: string): string => `${MEMBERS(table)}
    SELECT member::regclass AS named, relispartition AND member <> ${literal(table)}::regclass AS has_parents
      FROM family JOIN pg_class ON pg_class.oid = member
      WHERE member = ${literal(table)}::regclass OR NOT EXISTS (
        SELECT 1 FROM pg_trigger
          WHERE tgrelid = member AND tgname = 'leasehold_fence' AND tgargs <> ALL (${leases})
      )`;

/** Our triggers on a table. A detached partition has lost the row trigger. */
const OWN_TRIGGERS = (table: string): string =>
  `SELECT tgargs FROM pg_trigger WHERE tgrelid = ${literal(table)}::regclass AND tgname LIKE 'leasehold\\_fence%'`;

/** Existing columns with these names that are not ours must not be reused. */
const up = (table: string, lease: string): string => `DO $fence$
DECLARE
  lease text := ${literal(lease)};
  after bytea := convert_to(lease, getdatabaseencoding()) || decode('00', 'hex');
  before bytea;
  home text;
  fenced record;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('leasehold:fence', 0));
  -- Not a temporary one, which is looked at before all others.
  SELECT quote_ident(schema) INTO home FROM unnest(current_schemas(false)) WITH ORDINALITY AS path(schema, place)
    WHERE to_regclass(quote_ident(schema) || '.dot_iu_runtime_lease') IS NOT NULL ORDER BY place LIMIT 1;
  IF home IS NULL THEN
    RAISE EXCEPTION 'There is no dot_iu_runtime_lease: migration 019 comes first.' USING ERRCODE = 'undefined_table';
  END IF;
  IF to_regclass(home || '.dot_iu_runtime_lease_lease_seq_key') IS NULL THEN
    RAISE EXCEPTION 'Migration 019 is older than this fence, which it would not wait for: migrate again first.'
      USING ERRCODE = 'undefined_object';
  END IF;
  ${FUNCTION}
  -- It looks at these leases, and not at whatever a session has under the same name.
  EXECUTE format('ALTER FUNCTION fn_leasehold_fence() SET search_path TO %s, pg_temp', home);
  ${OWN_TRIGGERS(table)} INTO before;
  IF NOT FOUND THEN
    ALTER TABLE ${table} ADD COLUMN fence bigint NOT NULL DEFAULT 0, ADD COLUMN lease_seq bigint;
  END IF;
  FOR fenced IN ${FAMILY(table, 'ARRAY[coalesce(before, after), after]')} LOOP
    IF NOT fenced.has_parents THEN
      EXECUTE format('CREATE OR REPLACE TRIGGER leasehold_fence BEFORE INSERT OR UPDATE OR DELETE ON %s
        FOR EACH ROW EXECUTE FUNCTION fn_leasehold_fence(%L)', fenced.named, lease);
    END IF;
    EXECUTE format('CREATE OR REPLACE TRIGGER leasehold_fence_truncate BEFORE TRUNCATE ON %s
      FOR EACH STATEMENT EXECUTE FUNCTION fn_leasehold_fence(%L)', fenced.named, lease);
  END LOOP;
END $fence$`;

/** A child that inherits the columns of its own fence from the parent would lose them. */
const down = (table: string): string => `DO $fence$
DECLARE
  before bytea;
  heir text;
  fenced record;
BEGIN
  ${OWN_TRIGGERS(table)} INTO before;
  IF FOUND THEN
    ${MEMBERS(table)}
    SELECT member::regclass INTO heir
      FROM family JOIN pg_attribute ON attrelid = member AND attname = 'fence' AND NOT attislocal
      WHERE member <> ${literal(table)}::regclass AND EXISTS (
        SELECT 1 FROM pg_trigger WHERE tgrelid = member AND tgname = 'leasehold_fence' AND tgargs <> before
      ) LIMIT 1;
    IF FOUND THEN
      RAISE EXCEPTION 'The table % has a fence of its own with columns from here: take that one away first.', heir
        USING ERRCODE = 'dependent_objects_still_exist';
    END IF;
    FOR fenced IN ${FAMILY(table, 'ARRAY[before]')} LOOP
      IF NOT fenced.has_parents THEN
        EXECUTE format('DROP TRIGGER IF EXISTS leasehold_fence ON %s', fenced.named);
      END IF;
      EXECUTE format('DROP TRIGGER IF EXISTS leasehold_fence_truncate ON %s', fenced.named);
    END LOOP;
    IF EXISTS (
      SELECT 1 FROM pg_attribute
        WHERE attrelid = ${literal(table)}::regclass AND attname = 'fence' AND attinhcount = 0
    ) THEN
      ALTER TABLE ${table} DROP COLUMN fence, DROP COLUMN lease_seq;
    END IF;
  END IF;
END $fence$`;

/**
 * Presents a number for the DELETEs and TRUNCATEs of the connection's transaction. Outside a transaction it has no
 * effect, and the following statements are refused as unfenced.
 */
export async function presentLease(connection: Queryable, leaseSeq: number | bigint): Promise<void> {
  await connection.query("SELECT set_config('leasehold.lease_seq', $1::bigint::text, true)", [leaseSeq]);
}

function quotedTable(table: string): string {
  const parts = table.split('.');
  if (parts.length > 2 || parts.some((part) => part === '' || part.includes('\0'))) {
    throw new TypeError(`${JSON.stringify(table)} is not the name of a table, or of a schema and a table.`);
  }
  return parts.map((part) => `"${part.replaceAll('"', '""')}"`).join('.');
}

/** Also safe inside the surrounding dollar quotes, whose tag it must not contain. */
function literal(text: string): string {
  if (text.includes('$fence$')) throw new TypeError('A name must not contain $fence$.');
  return `'${text.replaceAll("'", "''")}'`;
}
