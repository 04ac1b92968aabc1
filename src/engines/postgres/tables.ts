/**
 * The tables of the log, version 1: four tables in their own schema, created when the log is first opened. Plain SQL
 * only, so that any database compatible with Postgres works.
 *
 *   leasehold_log         one frame per row (`frame.ts`): a batch, or a piece of a checkpoint, whose `last_seq` is null.
 *                         `at` is its position: the number of its segment or part times 2^32, plus the offset in it
 *   leasehold_checkpoint  one row per complete checkpoint: its parts, and what it covers
 *   leasehold_guard       one row: which process may write, and until when by its own time (`guard.ts`)
 *   leasehold_epoch       one row: the format, and the epoch of the newest writer. Every append locks it FOR SHARE and is
 *                         refused unless the epoch is still its own, which fences older writers out. Also the first part
 *                         of the one checkpoint that may be written now, which fences abandoned checkpoints out
 *
 * To change it: raise TABLES_VERSION, keep reading the previous version, and migrate in `ensureTables`.
 */

import { type SqlConnection, sqlState } from '../../seams/database.ts';
import { LogGoneError, LogTooNewError } from '../log.ts';

const TABLES_VERSION = 1;
const TRIES_MAX = 10;

export interface Tables {
  readonly log: string;
  readonly checkpoint: string;
  readonly guard: string;
  readonly epoch: string;
}

export function tablesIn(schema: string): Tables {
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
    throw new TypeError(
      `The schema must be lower-case letters, digits and underscores, at most 63, not ${JSON.stringify(schema)}.`,
    );
  }
  const named = (table: string) => `"${schema}".leasehold_${table}`;
  return {
    log: named('log'),
    checkpoint: named('checkpoint'),
    guard: named('guard'),
    epoch: named('epoch'),
  };
}

const NOT_THERE = ['42P01', '3F000'];

export const isNotThere = (fault: unknown): boolean => NOT_THERE.includes(sqlState(fault));

/** Errors from two processes creating the same tables concurrently. */
const MADE_MEANWHILE = ['23505', '42P07', '42P06', '42710', '40001', '40P01', 'XX000'];
/** Errors of databases that cannot store bytes uncompressed. They work without it. */
const NOT_KNOWN_HERE = ['0A000', '42601', '42P16', '42501'];

/**
 * Creates missing tables if allowed, and refuses those of a newer version. Idempotent and safe to race. Never creates
 * tables again once this process has seen them.
 */
export async function ensureTables(
  connection: SqlConnection,
  schema: string,
  { mayCreate, wereThere }: { readonly mayCreate: boolean; readonly wereThere: boolean },
): Promise<void> {
  const tables = tablesIn(schema);
  for (let left = TRIES_MAX; ; left--) {
    const version = await versionOf(connection, tables);
    if (version !== null) {
      if (version <= TABLES_VERSION) return;
      throw new LogTooNewError(
        `The tables in schema ${schema} are of version ${version}; this program reads version ${TABLES_VERSION}.`,
      );
    }
    if (wereThere) throw new LogGoneError(`The tables of the log are gone from the schema ${schema}.`);
    if (!mayCreate) throw new Error(`There is no log in this database, or not in its schema ${schema}.`);
    try {
      await create(connection, schema, tables);
    } catch (fault) {
      if (left === 0 || !MADE_MEANWHILE.includes(sqlState(fault))) throw fault;
    }
  }
}

async function versionOf(connection: SqlConnection, { epoch }: Tables): Promise<number | null> {
  try {
    const [row] = await connection.query(`SELECT format FROM ${epoch} WHERE id = 1`);
    return row === undefined ? null : Number(row[0]);
  } catch (fault) {
    if (isNotThere(fault)) return null;
    throw fault;
  }
}

async function create(connection: SqlConnection, schema: string, tables: Tables): Promise<void> {
  const { log, checkpoint, guard, epoch } = tables;
  // If the schema exists, the right to create one is not needed.
  const [made] = await connection.query('SELECT 1 FROM information_schema.schemata WHERE schema_name = $1', [
    schema,
  ]);
  if (made === undefined) await connection.query(`CREATE SCHEMA IF NOT EXISTS "${schema}"`);
  await connection.query(`CREATE TABLE IF NOT EXISTS ${log} (
    at bigint PRIMARY KEY,
    bytes integer NOT NULL,
    last_seq bigint UNIQUE,
    epoch bigint NOT NULL,
    checksum bigint NOT NULL,
    frame bytea NOT NULL
  )`);
  await connection
    .query(`ALTER TABLE ${log} ALTER COLUMN frame SET STORAGE EXTERNAL`)
    .catch((fault: unknown) => {
      if (!NOT_KNOWN_HERE.includes(sqlState(fault))) throw fault;
    });
  await connection.query(`CREATE TABLE IF NOT EXISTS ${checkpoint} (
    first_part bigint PRIMARY KEY,
    last_part bigint NOT NULL,
    bytes bigint NOT NULL,
    sealed_through bigint NOT NULL,
    seq bigint NOT NULL,
    at_ms bigint NOT NULL,
    epoch bigint NOT NULL,
    checksum bigint NOT NULL
  )`);
  await connection.query(`CREATE TABLE IF NOT EXISTS ${guard} (
    id integer PRIMARY KEY CHECK (id = 1),
    holder text NOT NULL,
    url text NOT NULL,
    token text,
    epoch bigint NOT NULL,
    expires_at timestamptz NOT NULL
  )`);
  await connection.query(`INSERT INTO ${guard} (id, holder, url, token, epoch, expires_at)
    VALUES (1, '', '', NULL, 0, clock_timestamp()) ON CONFLICT (id) DO NOTHING`);
  await connection.query(`CREATE TABLE IF NOT EXISTS ${epoch} (
    id integer PRIMARY KEY CHECK (id = 1),
    format integer NOT NULL,
    epoch bigint NOT NULL,
    checkpoint bigint NOT NULL
  )`);
  // Written last: a process that finds this row finds everything before it.
  await connection.query(
    `INSERT INTO ${epoch} (id, format, epoch, checkpoint) VALUES (1, ${TABLES_VERSION}, 0, 0)
     ON CONFLICT (id) DO NOTHING`,
  );
}

/** The rights a writer needs. Locking a row needs the same right as changing it. */
const NEEDED_RIGHTS = {
  log: ['SELECT', 'INSERT', 'DELETE'],
  checkpoint: ['SELECT', 'INSERT', 'DELETE'],
  guard: ['SELECT', 'UPDATE'],
  epoch: ['SELECT', 'UPDATE'],
} as const satisfies Record<keyof Tables, readonly string[]>;

/** Errors of databases that cannot be asked for rights. A missing right shows when it is needed. */
const NOT_TO_BE_ASKED = ['42883', '0A000'];

/** Refuses a role that lacks any of the rights for writing. */
export async function assertMayWrite(connection: SqlConnection, schema: string): Promise<void> {
  const wanted = Object.entries(NEEDED_RIGHTS).flatMap(([table, rights]) =>
    rights.map((right) => `('${right}', '${schema}.leasehold_${table}')`),
  );
  const missing = await connection
    .query(
      `SELECT current_user, wanted.privilege, wanted.name
       FROM (VALUES ${wanted.join(', ')}) AS wanted (privilege, name)
       WHERE NOT has_table_privilege(wanted.name, wanted.privilege)`,
    )
    .catch((fault: unknown) => {
      if (NOT_TO_BE_ASKED.includes(sqlState(fault))) return [];
      throw fault;
    });
  const [first] = missing;
  if (first === undefined) return;
  const rights = missing.map(([, right, table]) => `${right} on ${table}`);
  throw new Error(
    `The role ${first[0]} may not write to the log: it lacks ${rights.join(', ')}; ` +
      'a standby needs that as well, because it has to take over.',
  );
}

/** Refuses a database that reports fsync=off and would lose acknowledged writes. */
export async function assertDurable(connection: SqlConnection): Promise<void> {
  const [row] = await connection.query(`SELECT setting FROM pg_catalog.pg_settings WHERE name = 'fsync'`);
  if (row?.[0] !== 'off') return;
  throw new Error(
    'The database runs with fsync=off: it would lose what it has acknowledged when its machine stops. ' +
      'Turn fsync on, or allow it for a database whose loss does not matter.',
  );
}
