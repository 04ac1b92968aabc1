// Migration 019 and its rollback, in a real database.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MIGRATION_019, migrate, rollback } from '../../src/postgres/migration.ts';
import { TestDatabase } from '../support/postgres.ts';
import { acquire, acquired } from '../support/postgres-lease.ts';

let db: TestDatabase;

beforeAll(async () => {
  db = await TestDatabase.create();
});
afterAll(() => db.drop());

/** Everything of ours that the database has. */
async function installed(): Promise<readonly string[]> {
  const { rows } = await db.pool.query(`
    SELECT relname AS name FROM pg_class WHERE relname LIKE 'dot_iu_runtime_lease%' AND relkind IN ('r', 'S')
    UNION ALL SELECT proname FROM pg_proc WHERE proname LIKE 'fn_dot_iu_runtime_lease%'
    ORDER BY name`);
  return rows.map(({ name }) => name);
}

const ALL = [
  'dot_iu_runtime_lease',
  'dot_iu_runtime_lease_gate',
  'dot_iu_runtime_lease_seq',
  'fn_dot_iu_runtime_lease_acquire',
  'fn_dot_iu_runtime_lease_release',
  'fn_dot_iu_runtime_lease_renew',
];

describe('migration 019', () => {
  it('installs the tables, the sequence and the three functions, and its rollback removes all of it', async () => {
    await migrate(db.pool);
    expect(await installed()).toEqual(ALL);
    await rollback(db.pool);
    expect(await installed()).toEqual([]);
  });

  it('may be repeated both ways, and keeps the leases there are', async () => {
    await rollback(db.pool);
    await migrate(db.pool);
    const { token } = await acquired(db.pool, 'kept', 'a');
    await migrate(db.pool);
    expect(await db.value('SELECT token FROM dot_iu_runtime_lease')).toBe(token);
    await rollback(db.pool);
    await rollback(db.pool);
    expect(await installed()).toEqual([]);
  });

  it('replaces the functions of an older version when it is run again', async () => {
    await migrate(db.pool);
    const functions = (): Promise<unknown> =>
      db.value(`SELECT array_agg(pg_get_functiondef(oid) ORDER BY oid::regprocedure::text) FROM pg_proc
        WHERE proname LIKE 'fn_dot_iu_runtime_lease%'`);
    const newest = await functions();
    // As it was before it limited its wait for the row, and before there was a table of gates.
    await db.pool.query(`
      CREATE OR REPLACE FUNCTION fn_dot_iu_runtime_lease_acquire(
        lease_name text, holder text, ttl_seconds double precision
      ) RETURNS dot_iu_runtime_lease LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
      DROP TABLE dot_iu_runtime_lease_gate`);
    expect(await functions()).not.toEqual(newest);
    await migrate(db.pool);
    expect(await functions()).toEqual(newest);
    expect(await installed()).toEqual(ALL);
  });

  it('is rolled back where an older version of it is installed', async () => {
    await migrate(db.pool);
    await db.pool.query('DROP TABLE dot_iu_runtime_lease_gate');
    await rollback(db.pool);
    expect(await installed()).toEqual([]);
  });

  it('may be run by many at once', async () => {
    await Promise.all(Array.from({ length: 8 }, () => migrate(db.pool)));
    expect(await installed()).toEqual(ALL);
  });

  it('has the columns of the contract', async () => {
    await migrate(db.pool);
    const { rows } = await db.pool.query(`
      SELECT column_name AS name, data_type AS type FROM information_schema.columns
      WHERE table_name = 'dot_iu_runtime_lease' ORDER BY ordinal_position`);
    expect(rows.map(({ name, type }) => `${name} ${type}`)).toEqual([
      'lease_name text',
      'lease_holder text',
      'token uuid',
      'lease_seq bigint',
      'acquired_at timestamp with time zone',
      'expires_at timestamp with time zone',
    ]);
  });

  it('is rolled back while leases are live', async () => {
    await migrate(db.pool);
    await acquired(db.pool, 'live', 'a');
    await rollback(db.pool);
    expect(await installed()).toEqual([]);
    await expect(acquire(db.pool, 'live', 'b')).rejects.toMatchObject({ code: '42883' });
  });

  it('goes on above every number it gave out before a rollback, however many they were in that time', async () => {
    await rollback(db.pool);
    await migrate(db.pool);
    await db.pool.query("SELECT nextval('dot_iu_runtime_lease_seq') FROM generate_series(1, 1000)");
    const before = await acquired(db.pool, 'again', 'a');
    await rollback(db.pool);
    await migrate(db.pool);
    const after = await acquired(db.pool, 'again', 'a');
    expect(after.lease_seq).toBeGreaterThan(before.lease_seq);
  });

  it.each(['up', 'down'] as const)(
    'is one transaction: %s leaves nothing behind when it fails',
    async (way) => {
      await (way === 'up' ? rollback(db.pool) : migrate(db.pool));
      const before = await installed();
      const cut = MIGRATION_019[way].replace('END $migration$', 'PERFORM 1 / 0; END $migration$');
      await expect(db.pool.query(cut)).rejects.toMatchObject({ code: '22012' });
      expect(await installed()).toEqual(before);
    },
  );

  it.each([
    [
      'a table without lease_seq',
      'CREATE TABLE dot_iu_runtime_lease (lease_name text PRIMARY KEY, lease_holder text, token uuid, expires_at timestamptz)',
      { code: '42P07', message: expect.stringContaining('with other columns') },
    ],
    [
      'a function with other arguments',
      `CREATE FUNCTION fn_dot_iu_runtime_lease_acquire(lease_name text, holder text, ttl_seconds int)
         RETURNS uuid LANGUAGE sql AS 'SELECT gen_random_uuid()'`,
      {
        code: '42723',
        message: expect.stringContaining('fn_dot_iu_runtime_lease_acquire(text,text,integer)'),
      },
    ],
    [
      'a function whose arguments have other names',
      `CREATE FUNCTION fn_dot_iu_runtime_lease_release(n text, h text, t uuid)
         RETURNS boolean LANGUAGE sql AS 'SELECT true'`,
      { code: '42723', hint: 'Drop it first.' },
    ],
  ])('is not mixed with what others installed: %s', async (_what, create, refusal) => {
    await rollback(db.pool);
    const client = await db.pool.connect();
    try {
      await client.query(`BEGIN; ${create}`);
      await expect(migrate(client)).rejects.toMatchObject(refusal);
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
    expect(await installed()).toEqual([]);
  });

  it('works from any search path once it is installed', async () => {
    await migrate(db.pool);
    const client = await db.pool.connect();
    try {
      await client.query('BEGIN; CREATE SCHEMA elsewhere; SET LOCAL search_path = elsewhere');
      const { rows } = await client.query(
        "SELECT * FROM public.fn_dot_iu_runtime_lease_acquire('elsewhere', 'a', 30)",
      );
      expect(rows[0]).toMatchObject({ lease_name: 'elsewhere', lease_holder: 'a' });
      await client.query('ROLLBACK');
    } finally {
      client.release();
    }
  });
});
