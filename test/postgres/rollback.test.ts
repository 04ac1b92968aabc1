// The rollback of migration 019 beside an OperatorRuntime, by the library and by the command line: no gate stays open.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ConnectionPool } from '../../src/postgres/database.ts';
import { migrate, OperatorRuntime, rollback } from '../../src/postgres.ts';
import { TestDatabase } from '../support/postgres.ts';
import { acquired, expire, renew } from '../support/postgres-lease.ts';
import { until } from '../support/postgres-log.ts';
import { type CommandRun, TestShell } from '../support/test-shell.ts';

const GATES = ['iu_core.apply', 'iu_core.compensate'];
const IN_USE = { code: '55006' };

let db: TestDatabase;
let shell: TestShell;

beforeAll(async () => {
  db = await TestDatabase.create();
  shell = await TestShell.open();
  await db.pool.query(`
    CREATE TABLE dot_config (key text PRIMARY KEY, value text NOT NULL);
    INSERT INTO dot_config VALUES ('iu_core.apply', 'false'), ('iu_core.compensate', 'false'), ('other', 'true')`);
});
beforeEach(async () => {
  await rollback(db.pool, { force: true });
  await migrate(db.pool);
});
afterAll(() => db.drop());

const cli = (...words: readonly string[]): Promise<CommandRun> =>
  shell.run('postgres', 'rollback', '--url', db.url, ...words);

async function gates(): Promise<readonly string[]> {
  const { rows } = await db.pool.query("SELECT value FROM dot_config WHERE key <> 'other' ORDER BY key");
  return rows.map(({ value }) => value);
}

const isInstalled = async (): Promise<boolean> =>
  (await db.value("SELECT to_regclass('dot_iu_runtime_lease')")) !== null;

/** Two commands; the first of them is given. */
function run(inside: () => Promise<unknown>, pool: ConnectionPool = db.pool): Promise<readonly unknown[]> {
  const runtime = new OperatorRuntime({
    db: pool,
    lease: { name: 'iu_core', holder: 'host-1', ttl: '1m' },
    gates: GATES,
    commands: { dot_iu_first: inside, dot_iu_second: async () => 'second' },
  });
  return runtime.run([{ command: 'dot_iu_first' }, { command: 'dot_iu_second' }]);
}

const isWaiting = async (): Promise<boolean> =>
  (await db.value(`SELECT count(*) > 0 FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'
    AND relation = to_regclass('dot_iu_runtime_lease')`)) as boolean;

describe('a rollback during a run', () => {
  it('is refused at once, with the holder and the lease, and the run goes on', async () => {
    const results = await run(async () => {
      expect(await cli()).toEqual({
        code: 3,
        out: '',
        err:
          'leasehold: Postgres refused: An OperatorRuntime run of "host-1" holds the lease "iu_core" and has gates open (55006). ' +
          'Wait until it has ended, or force the rollback (--force), which closes the gates first.\n',
      });
      await expect(rollback(db.pool)).rejects.toMatchObject(IN_USE);
      expect(await gates()).toEqual(['true', 'true']);
      return 'first';
    });
    expect(results).toEqual(['first', 'second']);
    expect(await gates()).toEqual(['false', 'false']);
    expect(await cli()).toMatchObject({ code: 0 });
    expect(await isInstalled()).toBe(false);
  });

  it('is refused when the run opens its gates after it was looked for', async () => {
    let waiting: Promise<unknown> | undefined;
    /** Its first transaction, which opens the gates, is committed only when the rollback waits for it. */
    const pool: ConnectionPool = {
      query: (text, values) => db.pool.query(text, values),
      connect: async () => {
        const connection = await db.pool.connect();
        return {
          query: async (text, values) => {
            if (text === 'COMMIT' && waiting === undefined) {
              waiting = expect(rollback(db.pool)).rejects.toMatchObject(IN_USE);
              await until(isWaiting);
            }
            return connection.query(text, values);
          },
          release: (isBroken) => connection.release(isBroken),
        };
      },
    };
    await run(async () => await waiting, pool);
    expect(await gates()).toEqual(['false', 'false']);
  });

  it('closes the gates at once when it is forced, waits for the command that is running, and ends the run', async () => {
    let forced: Promise<CommandRun> | undefined;
    const ended = run(async () => {
      forced = cli('--force');
      await until(isWaiting);
      expect(await gates()).toEqual(['false', 'false']);
    });
    await expect(ended).rejects.toMatchObject({ code: '42P01' });
    expect(await forced).toMatchObject({ code: 0, err: '' });
    expect(await gates()).toEqual(['false', 'false']);
    expect(await db.value("SELECT value FROM dot_config WHERE key = 'other'")).toBe('true');
    expect(await isInstalled()).toBe(false);
  });
});

describe('a rollback behind a transaction that stays open', () => {
  it('fails after a while, changes nothing and blocks no other session any longer', async () => {
    const lease = await acquired(db.pool, 'nightly', 'a');
    const client = await db.pool.connect();
    try {
      await client.query('BEGIN; SELECT count(*) FROM dot_iu_runtime_lease');
      const { code, err } = await cli();
      expect([code, err]).toEqual([
        1,
        'leasehold: Postgres refused: canceling statement due to lock timeout (55P03).\n',
      ]);
      expect(await renew(db.pool, lease)).not.toBeNull();
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  });
});

describe('a rollback without a run', () => {
  it('is not refused because of other live leases', async () => {
    await acquired(db.pool, 'nightly', 'a');
    expect(await cli()).toMatchObject({ code: 0 });
    expect(await isInstalled()).toBe(false);
  });

  /** What a run leaves behind that is killed inside a command: from then on it reaches the database no more. */
  async function died(): Promise<void> {
    const gone = Object.assign(new Error('killed'), { code: '28000' });
    let isDead = false;
    const alive = async <T>(call: () => Promise<T>): Promise<T> => {
      if (isDead) throw gone;
      return call();
    };
    const pool: ConnectionPool = {
      query: (text, values) => alive(() => db.pool.query(text, values)),
      connect: () => alive(() => db.pool.connect()),
    };
    const killed = run(async () => {
      isDead = true;
      throw gone;
    }, pool);
    await expect(killed).rejects.toMatchObject({ code: 'GATES_NOT_CLOSED' });
    expect(await gates()).toEqual(['true', 'true']);
    expect(await db.leases()).toBe(1);
  }

  it('closes the gates of a run that died, once its lease is over', async () => {
    await died();
    await expect(rollback(db.pool)).rejects.toMatchObject(IN_USE);
    await expire(db.pool, 'iu_core');
    await rollback(db.pool);
    expect(await gates()).toEqual(['false', 'false']);
  });

  it('closes them also when the lease is held by another since, who has no gates open', async () => {
    await died();
    await expire(db.pool, 'iu_core');
    await acquired(db.pool, 'iu_core', 'plain');
    await rollback(db.pool);
    expect(await gates()).toEqual(['false', 'false']);
    expect(await isInstalled()).toBe(false);
  });

  it('finds the gates from a session that does not find their table', async () => {
    await died();
    await expire(db.pool, 'iu_core');
    await db.pool.query('CREATE SCHEMA elsewhere; ALTER TABLE dot_config SET SCHEMA elsewhere');
    await rollback(db.pool);
    await db.pool.query('ALTER TABLE elsewhere.dot_config SET SCHEMA public');
    expect(await gates()).toEqual(['false', 'false']);
  });
});
