// The probe of seed 001, by the library and by the command line, and what the command line says when things go wrong.
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrate, probe, rollback } from '../../src/postgres.ts';
import { TestDatabase } from '../support/postgres.ts';
import { acquired } from '../support/postgres-lease.ts';
import { untilBlocked } from '../support/postgres-log.ts';
import { type CommandRun, TestShell } from '../support/test-shell.ts';

let db: TestDatabase;
let shell: TestShell;

beforeAll(async () => {
  db = await TestDatabase.create();
  shell = await TestShell.open();
});
afterAll(() => db.drop());

const leasehold = (...words: readonly string[]): Promise<CommandRun> => shell.run('postgres', ...words);

describe('probe', () => {
  it('passes T1 to T7 and leaves nothing behind, live leases of others included', async () => {
    await migrate(db.pool);
    await acquired(db.pool, 'live', 'somebody');
    const client = new pg.Client({ connectionString: db.url });
    await client.connect();
    try {
      const { passed, total, tests } = await probe(client);
      expect([passed, total]).toEqual([7, 7]);
      expect(tests.map(({ name }) => name)).toEqual(['T1', 'T2', 'T3', 'T4', 'T5', 'T6', 'T7']);
    } finally {
      await client.end();
    }
    expect(await db.leases()).toBe(1);
    await rollback(db.pool);
  });

  it('passes beside another probe whose transaction is still open', async () => {
    await migrate(db.pool);
    const client = await db.pool.connect();
    const beside: string[] = [];
    const { passed } = await probe({
      async query(text, values) {
        if (text === 'ROLLBACK') beside.push((await leasehold('probe', '--url', db.url)).out);
        return client.query(text, values);
      },
    });
    client.release();
    expect(passed).toBe(7);
    expect(beside).toEqual([expect.stringMatching(/^7\/7$/m)]);
    await rollback(db.pool);
  });

  it('fails T2 when two can hold the lease', async () => {
    await migrate(db.pool);
    await db.pool.query(`
      CREATE OR REPLACE FUNCTION fn_dot_iu_runtime_lease_acquire(
        lease_name text, holder text, ttl_seconds double precision
      ) RETURNS dot_iu_runtime_lease LANGUAGE sql AS $$
        INSERT INTO dot_iu_runtime_lease
        VALUES ($1, $2, gen_random_uuid(), 1, clock_timestamp(), clock_timestamp() + interval '1 min')
        ON CONFLICT (lease_name) DO UPDATE SET lease_holder = $2, token = EXCLUDED.token RETURNING *
      $$`);
    const { code, out } = await leasehold('probe', '--url', db.url);
    expect(code).toBe(1);
    expect(out).toMatch(/^T2 {2}FAILED/m);
    await rollback(db.pool);
  });
});

describe('a role that has not run the migration', () => {
  const role = `role_${randomUUID().replaceAll('-', '')}`;

  it('passes with the rights that docs/guides/postgres.md lists', async () => {
    await migrate(db.pool);
    await db.pool.query(`CREATE ROLE ${role} LOGIN`);
    const guide = await readFile(new URL('../../docs/guides/postgres.md', import.meta.url), 'utf8');
    const grants = guide.match(/^GRANT .*;$/gm)!;
    for (const grant of grants) await db.pool.query(grant.replace('TO app', `TO ${role}`));
    const url = new URL(db.url);
    url.username = role;
    try {
      expect(await leasehold('probe', '--url', url.href)).toMatchObject({ code: 0 });
    } finally {
      await db.pool.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
      await rollback(db.pool);
    }
  });
});

describe('leasehold postgres', () => {
  it('migrates, probes 7/7 and rolls back', async () => {
    const migrated = await leasehold('migrate', '--url', db.url);
    expect(migrated).toMatchObject({ code: 0, err: '' });
    expect(migrated.out).toContain('Migration 019 is installed');
    const probed = await leasehold('probe', '--url', db.url);
    expect(probed.code).toBe(0);
    expect(probed.out.trimEnd().split('\n').at(-1)).toBe('7/7');
    expect(await db.leases()).toBe(0);
    const rolledBack = await leasehold('rollback', '--url', db.url);
    expect(rolledBack.code).toBe(0);
    expect(await db.value("SELECT to_regclass('dot_iu_runtime_lease')")).toBeNull();
  });

  it('does the same as a process of its own, from the built package', async () => {
    const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
    const run = (verb: string): Promise<{ stdout: string; stderr: string }> =>
      promisify(execFile)(process.execPath, [main, 'postgres', verb, '--url', db.url]);
    expect(await run('migrate')).toMatchObject({ stderr: '' });
    expect((await run('probe')).stdout).toMatch(/^7\/7\n$/m);
    expect(await run('rollback')).toMatchObject({ stderr: '' });
  });

  it('prints JSON when asked to', async () => {
    const migrated = await leasehold('migrate', '--url', db.url, '--json');
    expect(JSON.parse(migrated.out)).toEqual({ migration: '019', installed: true });
    const probed = await leasehold('probe', '--url', db.url, '--json');
    expect(JSON.parse(probed.out)).toMatchObject({ passed: 7, total: 7, tests: { length: 7 } });
    const rolledBack = await leasehold('rollback', '--url', db.url, '--json');
    expect(JSON.parse(rolledBack.out)).toEqual({ migration: '019', installed: false });
  });

  it('says in one sentence what is missing', async () => {
    const { code, out, err } = await leasehold('probe', '--url', db.url);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toBe(
      'leasehold: Migration 019 is not installed in this database; install it with `leasehold postgres migrate`.\n',
    );
  });

  it('says what is in the way of the migration, and what to do about it', async () => {
    await db.pool.query('CREATE TABLE dot_iu_runtime_lease (lease_name text PRIMARY KEY)');
    const { code, err } = await leasehold('migrate', '--url', db.url);
    await db.pool.query('DROP TABLE dot_iu_runtime_lease');
    expect(code).toBe(1);
    expect(err).toBe(
      'leasehold: Postgres refused: There is a dot_iu_runtime_lease with other columns, which is not from this migration (42P07). ' +
        'Drop it first, with the functions that came with it.\n',
    );
  });

  it('says in one sentence that no server answers, without the password', async () => {
    const { code, err } = await leasehold('migrate', '--url', 'postgres://me:secret@127.0.0.1:1/nowhere');
    expect(code).toBe(1);
    expect(err).toMatch(/^leasehold: .*127\.0\.0\.1:1.*\n$/);
    expect(err).not.toContain('secret');
  });

  it('says in one sentence that a statement is not answered, and does not wait for ever', async () => {
    const holder = await db.pool.connect();
    const lock = "(hashtextextended('leasehold:migration:019', 0))";
    await holder.query(`SELECT pg_advisory_lock${lock}`);
    try {
      const running = shell.start('postgres', 'migrate', '--url', db.url);
      await untilBlocked(db, 'dot_iu_runtime_lease');
      await shell.world.advance(30_000);
      const { code, err } = await running;
      const host = `127\\.0\\.0\\.1:${new URL(db.url).port}`;
      expect(code).toBe(1);
      expect(err).toMatch(new RegExp(`^leasehold: No answer from ${host} for 30 s; .*\\n$`));
    } finally {
      await holder.query(`SELECT pg_advisory_unlock${lock}`);
      holder.release();
      await rollback(db.pool);
    }
  });

  it.each([['migrate'], ['probe', '--url', 'http://127.0.0.1'], ['probe', '--url', 'nonsense']])(
    'exits with 2 for %j',
    async (...words) => {
      const { code, err } = await leasehold(...words);
      expect(code).toBe(2);
      expect(err.trimEnd().split('\n')).toHaveLength(1);
    },
  );
});
