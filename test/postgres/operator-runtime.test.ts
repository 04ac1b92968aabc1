// The operator runtime of seed 001 and its finding F-960x-1: two runs that race on the gates. First the finding, as it
// happens without a lease; then the same race with it; then the runs that a lease alone would not stop.
import { getEventListeners } from 'node:events';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ConnectionPool, Queryable } from '../../src/postgres/database.ts';
import { migrate } from '../../src/postgres/migration.ts';
import {
  type GovernedCommand,
  OperatorRuntime,
  OperatorRuntimeError,
  type RuntimeLease,
  RuntimeLeaseError,
} from '../../src/postgres.ts';
import { ManualWorld } from '../support/manual-world.ts';
import { TestDatabase } from '../support/postgres.ts';
import { acquire, expire } from '../support/postgres-lease.ts';
import { until } from '../support/postgres-log.ts';

const GATES = ['iu_core.apply', 'iu_core.compensate'];
const NAMES = [
  'apply compensate verify_chain create_unit retire_unit move_unit merge_units split_unit rename_unit tag_unit',
  'untag_unit link_units unlink_units freeze_unit thaw_unit publish_unit withdraw_unit',
]
  .join(' ')
  .split(' ')
  .map((name) => `dot_iu_${name}`);

const TABLES = `
  CREATE TABLE dot_config (key text PRIMARY KEY, value text NOT NULL);
  INSERT INTO dot_config VALUES ('iu_core.apply', 'false'), ('iu_core.compensate', 'false'), ('other', 'false');
  CREATE TABLE journal (id bigint GENERATED ALWAYS AS IDENTITY, run text NOT NULL, command text NOT NULL);
  CREATE TABLE gate_writes (value text NOT NULL);
  CREATE FUNCTION note_gate() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO gate_writes VALUES (NEW.value);
    RETURN NULL;
  END $$;
  CREATE TRIGGER note_gate AFTER UPDATE ON dot_config FOR EACH ROW EXECUTE FUNCTION note_gate();
  CREATE FUNCTION governed(run text, command text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN
    IF EXISTS (SELECT 1 FROM dot_config WHERE key LIKE 'iu_core.%' AND value <> 'true') THEN
      RAISE EXCEPTION 'refused: the gate is closed';
    END IF;
    INSERT INTO journal (run, command) VALUES (run, command);
    RETURN command;
  END $$;`;

let test: TestDatabase;
let world: ManualWorld;

beforeAll(async () => {
  test = await TestDatabase.create();
  await migrate(test.pool);
  await test.pool.query(TABLES);
});
beforeEach(() => {
  world = new ManualWorld();
});
afterEach(async () => {
  await test.pool.query("UPDATE dot_config SET value = 'false'");
  await test.pool.query('DELETE FROM dot_iu_runtime_lease');
  await test.pool.query('TRUNCATE journal, gate_writes');
});
afterAll(() => test.drop());

const governed = async (connection: Queryable, run: string, command: string): Promise<unknown> =>
  (await connection.query('SELECT governed($1, $2) AS done', [run, command])).rows[0];

/** Every command writes what it is into the journal, unless a gate is closed. */
const registry = (run: string): Record<string, GovernedCommand> =>
  Object.fromEntries(NAMES.map((name) => [name, (connection) => governed(connection, run, name)]));

function runtime(
  run: string,
  commands: Record<string, GovernedCommand> = {},
  db: ConnectionPool = test.pool,
): OperatorRuntime {
  const lease = { name: 'iu_core', holder: run, ttl: '1m' } as const;
  return new OperatorRuntime({ db, lease, gates: GATES, commands: { ...registry(run), ...commands } }, world);
}

const calls = (...names: readonly string[]): { command: string }[] => names.map((command) => ({ command }));

async function journal(): Promise<readonly string[]> {
  const { rows } = await test.pool.query('SELECT run, command FROM journal ORDER BY id');
  return rows.map(({ run, command }) => `${run} ${command}`);
}

async function gates(): Promise<readonly string[]> {
  const { rows } = await test.pool.query(
    "SELECT value FROM dot_config WHERE key LIKE 'iu_core.%' ORDER BY key",
  );
  return rows.map(({ value }) => value);
}

const gateWrites = async (): Promise<number> => Number(await test.value('SELECT count(*) FROM gate_writes'));

/** Something that one side waits for and the other brings about. */
class Latch {
  readonly opened: Promise<void>;
  open: () => void = () => undefined;

  constructor() {
    this.opened = new Promise((resolve) => {
      this.open = resolve;
    });
  }
}

/** The pool of a process that stands still from its nth connection on, until the latch is opened. */
function pausing(connection: number, reached: Latch, resumed: Latch): ConnectionPool {
  let count = 0;
  return {
    query: (text, values) => test.pool.query(text, values),
    connect: async () => {
      count += 1;
      if (count === connection) {
        reached.open();
        await resumed.opened;
      }
      return test.pool.connect();
    },
  };
}

describe('an operator run', () => {
  it('opens the gates, applies all 17 commands in order, closes the gates and leaves no lease', async () => {
    expect(NAMES).toHaveLength(17);
    const results = await runtime('A').run(calls(...NAMES));
    expect(results).toEqual(NAMES.map((done) => ({ done })));
    expect(await journal()).toEqual(NAMES.map((name) => `A ${name}`));
    expect(await gates()).toEqual(['false', 'false']);
    expect(await gateWrites()).toBe(4);
    expect(await test.leases()).toBe(0);
  });

  it('says that a command was rolled back whose failed statement went unheard', async () => {
    const run = runtime('A', {
      dot_iu_deaf: async (connection) => {
        await governed(connection, 'A', 'dot_iu_deaf');
        await connection.query('SELECT 1 / 0').catch(() => undefined);
        return 'done';
      },
    });
    await expect(run.run(calls('dot_iu_deaf'))).rejects.toMatchObject({
      code: '25P02',
      message: 'A statement of the transaction had failed, so all of it was rolled back.',
    });
    expect(await journal()).toEqual([]);
    expect(await gates()).toEqual(['false', 'false']);
    expect(await test.leases()).toBe(0);
  });

  it('renews its lease between commands, however many there are', async () => {
    let lease: RuntimeLease | undefined;
    const run = runtime('A', {
      dot_iu_slow: async (_connection, _input, held) => {
        lease = held;
        await world.advance(25_000);
        return held.isHeld;
      },
    });
    const names = Array.from({ length: 8 }, () => 'dot_iu_slow');
    expect(await run.run(calls(...names))).toEqual(names.map(() => true));
    expect(getEventListeners(lease!.signal, 'abort')).toEqual([]);
  });

  it('needs more than one connection', () => {
    const client = new pg.Client({ connectionString: test.url });
    expect(() => runtime('A', {}, client as never)).toThrow('must be a pool');
    expect(() => runtime('A', {}, test.oneConnectionAStatement as never)).toThrow('must be a pool');
  });

  it('gives a command its input and its lease', async () => {
    const run = runtime('A', {
      dot_iu_echo: async (_connection, input, lease) => ({ input, seq: lease.leaseSeq }),
    });
    const [result] = await run.run([{ command: 'dot_iu_echo', input: { unit: 7 } }]);
    expect(result).toEqual({ input: { unit: 7 }, seq: expect.any(Number) });
  });

  it.each([
    'dot_iu_unheard_of',
    'drop_everything',
    'DOT_IU_APPLY',
    'dot_iu_',
    'dot_iu_apply; DROP',
    'toString',
  ])('refuses %s before a gate opens, with everything that stands before it', async (name) => {
    const run = runtime('A').run(calls('dot_iu_apply', name));
    await expect(run).rejects.toMatchObject({ name: 'OperatorRuntimeError', code: 'COMMAND_NOT_GOVERNED' });
    expect(await gateWrites()).toBe(0);
    expect(await journal()).toEqual([]);
  });

  it('refuses to register a command that is not called dot_iu_…', () => {
    expect(() => runtime('A', { drop_everything: async () => null })).toThrow(OperatorRuntimeError);
  });

  it('closes the gates when a command fails, keeps what was applied and goes no further', async () => {
    const broken = runtime('A', {
      dot_iu_break: async (connection) => {
        await governed(connection, 'A', 'half');
        throw new Error('broken');
      },
    });
    const run = broken.run(calls('dot_iu_apply', 'dot_iu_break', 'dot_iu_compensate'));
    await expect(run).rejects.toThrow('broken');
    expect(await journal()).toEqual(['A dot_iu_apply']);
    expect(await gates()).toEqual(['false', 'false']);
    expect(await test.leases()).toBe(0);
  });

  it('opens no gate when one of them is missing', async () => {
    const run = new OperatorRuntime(
      {
        db: test.pool,
        lease: { name: 'iu_core', holder: 'A', ttl: '1m' },
        gates: [...GATES, 'missing'],
        commands: registry('A'),
      },
      world,
    );
    await expect(run.run(calls('dot_iu_apply'))).rejects.toMatchObject({ code: 'GATE_NOT_FOUND' });
    expect(await gateWrites()).toBe(0);
    expect(await test.leases()).toBe(0);
  });

  it('closes gates that a dead run left open', async () => {
    await test.pool.query("UPDATE dot_config SET value = 'true' WHERE key LIKE 'iu_core.%'");
    await runtime('A').run([]);
    expect(await gates()).toEqual(['false', 'false']);
  });

  it('works when no two of its transactions have the same connection', async () => {
    await runtime('A', {}, test.oneConnectionATransaction).run(calls('dot_iu_apply', 'dot_iu_compensate'));
    expect(await journal()).toEqual(['A dot_iu_apply', 'A dot_iu_compensate']);
    expect(await gates()).toEqual(['false', 'false']);
    expect(await test.leases()).toBe(0);
  });

  it('works with any client that runs functions in transactions', async () => {
    const db = {
      query: (text: string, values?: unknown[]) => test.oneConnectionAStatement.query(text, values),
      transaction: async <T>(work: (connection: Queryable) => Promise<T>): Promise<T> => {
        const client = await test.pool.connect();
        try {
          await client.query('BEGIN');
          const result = await work(client);
          await client.query('COMMIT');
          return result;
        } finally {
          client.release();
        }
      },
    };
    const lease = { name: 'iu_core', holder: 'A', ttl: '1m' } as const;
    const run = new OperatorRuntime({ db, lease, gates: GATES, commands: registry('A') }, world);
    await run.run(calls('dot_iu_apply'));
    expect(await journal()).toEqual(['A dot_iu_apply']);
  });
});

describe('F-960x-1, two runs that race on the gates', () => {
  /** What the seed found: open, apply, close in a finally, and nothing around it. */
  async function withoutLease(run: string, work: () => Promise<void>): Promise<void> {
    const set = (value: string): Promise<unknown> =>
      test.pool.query("UPDATE dot_config SET value = $1 WHERE key LIKE 'iu_core.%'", [value]);
    await set('true');
    try {
      await governed(test.pool, run, 'dot_iu_apply');
      await work();
      await governed(test.pool, run, 'dot_iu_compensate');
    } finally {
      await set('false');
    }
  }

  it('happens without the lease: one run’s end shuts the gates in the middle of the other', async () => {
    const first = withoutLease('A', () => withoutLease('B', async () => undefined));
    await expect(first).rejects.toThrow('the gate is closed');
    expect(await journal()).toEqual(['A dot_iu_apply', 'B dot_iu_apply', 'B dot_iu_compensate']);
  });

  it('does not happen with it: the second is refused before it touches a gate, the first compensates', async () => {
    const second: unknown[] = [];
    const first = runtime('A', {
      dot_iu_meanwhile: async () => {
        await runtime('B')
          .run(calls('dot_iu_apply', 'dot_iu_compensate'))
          .catch((fault: unknown) => second.push(fault));
      },
    });
    await first.run(calls('dot_iu_apply', 'dot_iu_meanwhile', 'dot_iu_compensate'));
    expect(second).toEqual([expect.any(RuntimeLeaseError)]);
    expect(second).toMatchObject([{ code: 'LEASE_HELD', holder: 'A' }]);
    expect(await journal()).toEqual(['A dot_iu_apply', 'A dot_iu_compensate']);
    expect(await gateWrites()).toBe(4);
    expect(await test.leases()).toBe(0);
  });

  it('does not happen in any of 20 runs at once', async () => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) =>
        runtime(`run-${index}`).run(calls('dot_iu_apply', 'dot_iu_compensate')),
      ),
    );
    const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
    for (const { reason } of refused) expect(reason).toMatchObject({ code: 'LEASE_HELD' });
    expect(refused.length).toBeLessThan(20);
    expect(await journal()).toHaveLength(2 * (20 - refused.length));
    expect(await gates()).toEqual(['false', 'false']);
    expect(await test.leases()).toBe(0);
  });
});

describe('a run that outlived its lease', () => {
  /**
   * A stands still before its nth transaction; its lease runs out; B runs, and in the middle of B, with B's gates open,
   * A goes on. The transactions of A: 1 opens the gates, 2 and 3 are its commands, 4 closes the gates.
   */
  async function wakesUpUnderItsSuccessor(transaction: number): Promise<unknown> {
    const reached = new Latch();
    const resumed = new Latch();
    const late = runtime('A', {}, pausing(transaction, reached, resumed))
      .run(calls('dot_iu_apply', 'dot_iu_compensate'))
      .catch((fault: unknown) => fault);
    await reached.opened;
    await expire(test.pool, 'iu_core');
    let fault: unknown;
    const successor = runtime('B', {
      dot_iu_meanwhile: async () => {
        resumed.open();
        fault = await late;
        expect(await gates()).toEqual(['true', 'true']);
      },
    });
    await successor.run(calls('dot_iu_apply', 'dot_iu_meanwhile', 'dot_iu_compensate'));
    expect(await gates()).toEqual(['false', 'false']);
    expect(await test.leases()).toBe(0);
    return fault;
  }

  it.each([
    ['opens its gates', 1, []],
    ['applies its first command', 2, []],
    ['applies its second command', 3, ['A dot_iu_apply']],
    ['closes its gates', 4, ['A dot_iu_apply', 'A dot_iu_compensate']],
  ])('is refused when it %s under its successor, and changes nothing', async (_what, transaction, before) => {
    const fault = await wakesUpUnderItsSuccessor(transaction);
    expect(fault).toMatchObject({ name: 'RuntimeLeaseError', code: 'LEASE_LOST' });
    expect(await journal()).toEqual([...before, 'B dot_iu_apply', 'B dot_iu_compensate']);
  });

  it('applies nothing even when no other run took over', async () => {
    const reached = new Latch();
    const resumed = new Latch();
    const late = runtime('A', {}, pausing(2, reached, resumed)).run(calls('dot_iu_apply'));
    await reached.opened;
    await expire(test.pool, 'iu_core');
    resumed.open();
    await expect(late).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(await journal()).toEqual([]);
  });

  /** Long enough for the run to come to its command, on a busy machine too. */
  const outlived = (command: GovernedCommand, db: ConnectionPool = test.pool): Promise<unknown> =>
    new OperatorRuntime(
      {
        db,
        lease: { name: 'iu_core', holder: 'A', ttl: '2s' },
        gates: GATES,
        commands: { dot_iu_slow: command },
      },
      world,
    ).run(calls('dot_iu_slow'));

  /** Postgres 14 to 16 have no `transaction_timeout`. */
  const asBeforePostgres17 = (connection: Queryable): Promise<unknown> =>
    connection.query('SET LOCAL transaction_timeout = 0');

  it('keeps its successor waiting while a command of its own is being committed', async () => {
    const order: string[] = [];
    const successors: Promise<unknown>[] = [];
    const run = outlived(async (connection) => {
      // The lock alone is the subject, so the command lifts the limits of its transaction.
      await asBeforePostgres17(connection);
      await connection.query('SET LOCAL idle_in_transaction_session_timeout = 0');
      await test.pool.query('SELECT pg_sleep_until((SELECT expires_at FROM dot_iu_runtime_lease))');
      successors.push(
        until(async () => (await acquire(test.pool, 'iu_core', 'B')) !== null).then(() =>
          order.push('B has the lease'),
        ),
      );
      await lockWaited();
      await governed(connection, 'A', 'dot_iu_slow');
      order.push('A is done');
    });
    await expect(run).rejects.toMatchObject({ code: 'LEASE_LOST' });
    await Promise.all(successors);
    expect(order).toEqual(['A is done', 'B has the lease']);
    expect(await journal()).toEqual(['A dot_iu_slow']);
  });

  /** The transaction of a process that does nothing any more ends when the database cuts its connection. */
  const idle = async (connection: Queryable): Promise<void> => {
    await new Promise((resolve) => (connection as pg.PoolClient).once('error', resolve));
  };
  /** Statements that are short, one after the other, for longer than the lease lasts. */
  const busy = async (connection: Queryable): Promise<void> => {
    for (let turn = 0; turn < 1_000; turn++) await connection.query('SELECT pg_sleep(0.1)');
  };
  const stuck = (connection: Queryable): Promise<unknown> => connection.query('SELECT pg_sleep(60)');

  it.each([
    ['idle', '25P03', idle, asBeforePostgres17],
    ['in one statement', '57014', stuck, asBeforePostgres17],
    ['idle', '25P04', idle, async () => undefined],
    ['in one statement', '25P04', stuck, async () => undefined],
    ['in one statement after the other', '25P04', busy, async () => undefined],
  ])(
    'loses its transaction at the end of its lease when it is %s (%s)',
    async (_what, code, spend, before) => {
      let cut: unknown;
      const run = outlived(async (connection) => {
        (connection as pg.PoolClient).once('error', (fault) => {
          cut ??= fault;
        });
        await before(connection);
        await governed(connection, 'A', 'dot_iu_slow');
        try {
          await spend(connection);
        } catch (fault) {
          cut = fault;
          throw fault;
        }
      });
      await expect(run).rejects.toMatchObject({ name: 'RuntimeLeaseError', code: 'LEASE_LOST' });
      expect(cut).toMatchObject({ code });
      expect(await journal()).toEqual([]);
      await runtime('B').run(calls('dot_iu_apply'));
      expect(await journal()).toEqual(['B dot_iu_apply']);
    },
  );

  it('loses it no later when the session has longer limits of its own, and sooner when it has shorter ones', async () => {
    const limited = async (limits: string): Promise<unknown> => {
      const pool = new pg.Pool({ connectionString: test.url, options: limits });
      pool.on('error', () => undefined);
      try {
        return await outlived(stuck, pool).catch((fault: unknown) => fault);
      } finally {
        await pool.end();
      }
    };
    expect(await limited('-c transaction_timeout=50s')).toMatchObject({
      code: 'LEASE_LOST',
      cause: { code: '25P04' },
    });
    expect(await limited('-c statement_timeout=20ms')).toMatchObject({ code: '57014' });
  });

  it('may last longer than any timeout of the database can', async () => {
    const lease = { name: 'iu_core', holder: 'A', ttl: '30d' } as const;
    const run = new OperatorRuntime({ db: test.pool, lease, gates: GATES, commands: registry('A') }, world);
    await run.run(calls('dot_iu_apply'));
    expect(await journal()).toEqual(['A dot_iu_apply']);
  });

  const lockWaited = (): Promise<void> =>
    until(async () => {
      const waiting = await test.value(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
      );
      return Number(waiting) > 0;
    });
});

describe('a server that goes away while the gates are open', () => {
  it('finds them closed once it is back, for the run still holds its lease', async () => {
    const late = runtime('A', {
      dot_iu_cut: async (connection) => {
        await connection.query('SELECT pg_terminate_backend(pg_backend_pid())');
      },
    });
    const run = late.run(calls('dot_iu_apply', 'dot_iu_cut'));
    await expect(run).rejects.toMatchObject({ code: '57P01' });
    expect(await gates()).toEqual(['false', 'false']);
    expect(await test.leases()).toBe(0);
  });
});
