// `leasehold postgres restored`: what an operator says to a log whose database has lost its newest rows.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Leasehold } from '../../src/client/leasehold.ts';
import { openWith } from '../../src/open.ts';
import { isSettled } from '../support/manual-world.ts';
import { TestDatabase } from '../support/postgres.ts';
import { cutConnections, engineOn, REAL_WORLD, until } from '../support/postgres-log.ts';
import { type CommandRun, TestShell } from '../support/test-shell.ts';

let db: TestDatabase;
let shell: TestShell;

beforeAll(async () => {
  db = await TestDatabase.create();
  shell = await TestShell.open();
});

beforeEach(async () => {
  await cutConnections(db);
  await db.pool.query('DROP SCHEMA IF EXISTS leasehold CASCADE');
});

afterAll(() => db.drop());

const opened = (): Promise<Leasehold> => openWith(engineOn(db), { ...REAL_WORLD, hashSeed: 1 });
const restored = (...more: readonly string[]): Promise<CommandRun> =>
  shell.run('postgres', 'restored', '--url', db.url, '--allow-fsync-off', ...more);

async function acquired(lh: Leasehold, name: string): Promise<number> {
  const reply = await lh.call('lease.acquire', { name, holder: 'a holder', ttl_ms: 600_000 });
  if (!reply.ok) throw new Error(reply.detail);
  return reply.lease_seq;
}

describe('leasehold postgres restored', () => {
  it('ends every lease and gives out no number that the lost rows may have given out', async () => {
    let lh = await opened();
    await acquired(lh, 'kept');
    expect((await lh.status()).counts.leases).toBe(1);
    const lost = await acquired(lh, 'lost');
    await lh.close();
    await db.pool.query('DELETE FROM leasehold.leasehold_log WHERE last_seq >= $1', [lost]);

    const run = await restored('--json');
    expect(run).toMatchObject({ code: 0, err: '' });
    const said = JSON.parse(run.out) as { last_seq: number; seq: number; epoch: number };
    expect(said.last_seq).toBe(lost - 1);
    expect(said.seq).toBeGreaterThanOrEqual(lost + 2 ** 40 - 1);

    lh = await opened();
    expect((await lh.status()).counts.leases).toBe(0);
    expect(await acquired(lh, 'kept')).toBeGreaterThan(said.seq);
    expect(await acquired(lh, 'lost')).toBeGreaterThan(lost + 2 ** 40 - 1);
    await lh.close();
  });

  it('says in a sentence where the log goes on', async () => {
    await (await opened()).close();
    const { code, out } = await restored();
    expect(code).toBe(0);
    expect(out).toMatch(
      /^The log went up to seq 1; it continues at \d{13,}, in epoch \d+\. Every lease has ended\.\n$/,
    );
  });

  it('gives out no number twice when the same rows come back a second time', async () => {
    await (await opened()).close();
    await db.pool.query('CREATE TABLE leasehold.copy AS SELECT * FROM leasehold.leasehold_log');
    const given: number[] = [];
    const epochs: number[] = [];
    for (const more of [[], [], ['--above', String(2 ** 51)]]) {
      await db.pool.query('DELETE FROM leasehold.leasehold_log');
      await db.pool.query('INSERT INTO leasehold.leasehold_log SELECT * FROM leasehold.copy');
      await db.pool.query('UPDATE leasehold.leasehold_epoch SET epoch = 1');
      const run = await restored('--json', ...more);
      expect(run).toMatchObject({ code: 0, err: '' });
      expect(JSON.parse(run.out)).toMatchObject({ last_seq: 1 });
      const said = JSON.parse(run.out) as { seq: number; epoch: number };
      const lh = await opened();
      given.push(said.seq, await acquired(lh, 'a name'));
      expect((await lh.status()).epoch).toBe(said.epoch + 1);
      epochs.push(said.epoch, said.epoch + 1);
      await lh.close();
    }
    expect(new Set(epochs).size).toBe(6);
    expect(Math.min(...epochs)).toBeGreaterThan(1);
    for (const [index, seq] of given.slice(1).entries()) expect(seq).toBeGreaterThan(given[index]!);
    expect(given[4]).toBeGreaterThanOrEqual(2 ** 51 + 2 ** 40);
  });

  it('refuses a number that leaves none to give out, and writes nothing', async () => {
    await (await opened()).close();
    const { code, err } = await restored('--above', String(Number.MAX_SAFE_INTEGER));
    expect(code).toBe(1);
    expect(err).toMatch(/^leasehold: .*fewer than 2\^40 numbers.*\.\n$/);
    expect(await db.value('SELECT max(last_seq)::int FROM leasehold.leasehold_log')).toBe(1);
  });

  it('exits with 3 while a server runs, and changes nothing', async () => {
    const lh = await openWith(engineOn(db, { guardTtlMs: 1_500 }), { ...REAL_WORLD, hashSeed: 1 });
    const running = shell.start('postgres', 'restored', '--url', db.url, '--allow-fsync-off');
    const renewed = (): Promise<unknown> =>
      db.value('SELECT expires_at::text FROM leasehold.leasehold_guard');
    // It is refused as soon as it has seen that the guard is renewed; its own time moves only here.
    while (!(await isSettled(running))) {
      const before = await renewed();
      await until(async () => (await renewed()) !== before);
      await shell.world.advance(100);
    }
    const { code, err } = await running;
    expect(code).toBe(3);
    expect(err).toBe('leasehold: The log is in use by a test: stop every server of this database first.\n');
    expect(await acquired(lh, 'a name')).toBe(2);
    await lh.close();
  });

  it('makes no log where there is none', async () => {
    const { code, err } = await restored();
    expect(code).toBe(1);
    expect(err).toMatch(/^leasehold: There is no log in this database.*\n$/);
    expect(await db.value("SELECT to_regnamespace('leasehold')")).toBe(null);
  });

  it('refuses a database with fsync=off unless told otherwise', async () => {
    await (await opened()).close();
    const { code, err } = await shell.run('postgres', 'restored', '--url', db.url);
    expect(code).toBe(1);
    expect(err).toMatch(/fsync=off/);
  });

  it('says that no server answers, without the password', async () => {
    const { code, err } = await shell.run(
      'postgres',
      'restored',
      '--url',
      'postgres://me:secret@127.0.0.1:1/nowhere',
    );
    expect(code).toBe(1);
    expect(err).toMatch(/^leasehold: No connection to 127\.0\.0\.1:1.*\n$/);
    expect(err).not.toContain('secret');
  });
});
