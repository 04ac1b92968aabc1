// Faults around a log in a database: every fault ends the writer at once, nothing acknowledged is lost, and the next
// writer continues.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Log, LogClosedError, LogDamagedError, LogTooNewError } from '../../src/engines/log.ts';
import { DATABASE_MS } from '../../src/engines/postgres/database-clock.ts';
import type { ConnectOptions, SqlConnection, SqlConnections, SqlRow } from '../../src/seams/database.ts';
import { pgConnections } from '../../src/world/pg-connections.ts';
import { appendBatch, Heard, openHeard, payloadOf, readText, taskCreated } from '../support/log-story.ts';
import { ManualWorld } from '../support/manual-world.ts';
import { TestDatabase } from '../support/postgres.ts';
import { cutConnections, engineOn, freeGuard, until, untilBlocked } from '../support/postgres-log.ts';
import { moveToTinyDisk } from '../support/tiny-disk.ts';

let db: TestDatabase;

beforeAll(async () => {
  db = await TestDatabase.create();
});

beforeEach(async () => {
  await cutConnections(db);
  await db.pool.query('DROP SCHEMA IF EXISTS leasehold CASCADE');
});

afterAll(async () => {
  await db.drop();
});

/** Opens the log as the next writer does, and returns what was replayed. */
async function reopened(): Promise<{ log: Log; seqs: number[] }> {
  await freeGuard(db);
  const { log, heard } = await openHeard(engineOn(db));
  return { log, seqs: heard.seqs };
}

/** Connections whose appends are on their way for as long as the test says, and arrive though their sender has hung up. */
class LateNetwork implements SqlConnections {
  readonly address: string;
  isSlow = false;
  private readonly connections: SqlConnections;
  private readonly under: (() => Promise<readonly SqlRow[]>)[] = [];

  constructor(connections: SqlConnections) {
    this.connections = connections;
    this.address = connections.address;
  }

  async connect(options?: ConnectOptions): Promise<SqlConnection> {
    const connection = await this.connections.connect(options);
    const query: SqlConnection['query'] = (text, values) => {
      if (!this.isSlow || !text.includes('INSERT INTO')) return connection.query(text, values);
      this.under.push(() => connection.query(text, values));
      return new Promise(() => undefined);
    };
    return {
      query,
      queryBytes: (select) => connection.queryBytes(select),
      lost: connection.lost,
      close: async () => (this.isSlow ? undefined : connection.close()),
    };
  }

  /** Everything arrives; what the database says to it. */
  arrive(): Promise<(readonly SqlRow[])[]> {
    return Promise.all(this.under.map((statement) => statement()));
  }
}

/** Makes the next append wait inside the database, until it is let go: before it has locked anything. */
const holdAppends = () => holding('LOCK TABLE leasehold.leasehold_log IN SHARE MODE');

/** The same, but behind its lock on the epoch: another writer seems to take its place. */
const holdLockedAppends = () =>
  holding(`INSERT INTO leasehold.leasehold_log (at, bytes, last_seq, epoch, checksum, frame)
    SELECT at + bytes, 0, NULL, 0, 0, '' FROM leasehold.leasehold_log ORDER BY at DESC LIMIT 1`);

async function holding(statement: string): Promise<{ letGo(): Promise<void> }> {
  const holder = await db.pool.connect();
  await holder.query('BEGIN');
  await holder.query(statement);
  return {
    async letGo() {
      await holder.query('ROLLBACK');
      holder.release();
    },
  };
}

describe('connections that are cut', () => {
  it('reject the append under way, which may or may not be there, and end the log', async () => {
    const { log } = await openHeard(engineOn(db));
    await appendBatch(log, 2);
    const held = await holdAppends();
    const appending = expect(appendBatch(log, 1)).rejects.toThrow();
    await untilBlocked(db, 'INSERT INTO');
    await cutConnections(db);
    await appending;
    await expect(log.append()).rejects.toThrow();
    expect(log.mayAnswer).toBe(false);
    expect(await log.lost).toBeInstanceOf(Error);
    await held.letGo();
    const next = await reopened();
    expect([[1, 2].join(), [1, 2, 3].join()]).toContain(next.seqs.join());
    await appendBatch(next.log, 1);
    await next.log.close();
  });

  it('end the log at once while nothing is being appended', async () => {
    const { log } = await openHeard(engineOn(db));
    await cutConnections(db);
    expect(await log.lost).toBeInstanceOf(LogClosedError);
    expect(log.mayAnswer).toBe(false);
    await expect(log.append()).rejects.toThrow(LogClosedError);
    expect(() => log.begin(1, 1)).toThrow(LogClosedError);
    await log.close();
  });

  it('are made anew where only the past is read', async () => {
    const writer = await openHeard(engineOn(db));
    const [entry] = await appendBatch(writer.log, 1);
    const heard = new Heard();
    const followed = await engineOn(db, { recentBytesMax: 0 }).follow(heard);
    await writer.log.close();
    await cutConnections(db);
    await until(() =>
      followed.catchUp().then(
        (found) => !found,
        () => false,
      ),
    );
    const text = await followed.read({ ...payloadOf(entry!), bytes: null });
    expect(text).not.toBe(null);
    expect(heard.seqs).toEqual([1]);
    await followed.close();
  });
});

describe('the clock of a leader', () => {
  const OFFSET_MS = 1_000_000;
  const RENEWAL = `RETURNING ${DATABASE_MS}`;

  /** A log by a database whose clock runs like ours, but for what is done with an answer. */
  async function ledBy(
    world: ManualWorld,
    answered: (text: string, rows: readonly SqlRow[]) => readonly SqlRow[],
  ) {
    const real = pgConnections(db.url);
    const connect = async (): Promise<SqlConnection> => {
      const connection = await real.connect();
      const { query } = connection;
      connection.query = async (text, values) => {
        if (text === `SELECT ${DATABASE_MS}`) return [[OFFSET_MS + world.monotonicMs]];
        return answered(text, await query.call(connection, text, values));
      };
      return connection;
    };
    return (await openHeard(engineOn(db, { world, connections: { ...real, connect } }))).log;
  }

  it('stays as right as it was when the taking of the guard is answered late', async () => {
    const world = new ManualWorld();
    const log = await ledBy(world, (text, rows) => {
      if (text.includes('raised AS')) world.monotonicMs += 8_000;
      return rows;
    });
    expect(log.nowMs()).toBe(OFFSET_MS + world.monotonicMs);
    await log.close();
  });

  it('follows the time that comes with the renewals of the guard', async () => {
    const world = new ManualWorld();
    let renewals = 0;
    const log = await ledBy(world, (text, rows) => {
      if (!text.includes(RENEWAL)) return rows;
      renewals += 1;
      expect(Number(rows[0]![0])).toBeGreaterThan(1_600_000_000_000);
      return [[OFFSET_MS + world.monotonicMs + 10_000]];
    });
    await world.advance(5_000);
    await until(async () => renewals === 1);
    await world.settle();
    world.monotonicMs += 1_000;
    expect(log.nowMs()).toBeCloseTo(OFFSET_MS + world.monotonicMs + 10, 3);
    await log.close();
  });
});

describe('a guard that cannot be renewed', () => {
  it('ends the log when a renewal is unanswered at the time of the next', async () => {
    const world = new ManualWorld();
    const { log } = await openHeard(engineOn(db, { world }));
    const holder = await db.pool.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT 1 FROM leasehold.leasehold_guard FOR UPDATE');
    const held = await holdAppends();
    await world.advance(5_000);
    await untilBlocked(db, 'UPDATE');
    const appending = expect(appendBatch(log, 1)).rejects.toThrow(/renewal .* not answered in time/);
    await world.advance(5_000);
    expect((await log.lost).message).toMatch(/renewal .* not answered in time/);
    await appending;
    await holder.query('ROLLBACK');
    holder.release();
    await held.letGo();
  });

  it('ends the log when the database refuses a renewal', async () => {
    const world = new ManualWorld();
    const { log } = await openHeard(engineOn(db, { world }));
    await db.pool.query('ALTER TABLE leasehold.leasehold_guard RENAME TO gone');
    await world.advance(5_000);
    expect((await log.lost).message).toMatch(/could not be renewed/);
    await expect(log.append()).rejects.toThrow(LogClosedError);
  });
});

describe('an append that is not answered in time', () => {
  /** Two heartbeats of the guard. */
  const APPEND_MS = 10_000;

  it('is there for the next writer when the database carries it out late, because that one waits for it', async () => {
    const world = new ManualWorld();
    const { log } = await openHeard(engineOn(db, { world }));
    await appendBatch(log, 2);
    const held = await holdLockedAppends();
    const appending = expect(appendBatch(log, 1)).rejects.toThrow(/append was not answered in time/);
    await untilBlocked(db, 'INSERT INTO');
    await world.advance(APPEND_MS);
    await appending;
    expect((await log.lost).message).toMatch(/append was not answered in time/);
    const opening = reopened();
    await untilBlocked(db, 'raised AS');
    await held.letGo();
    const next = await opening;
    expect(next.seqs).toEqual([1, 2, 3]);
    await appendBatch(next.log, 1);
    await next.log.close();
    await log.close();
  });

  it('does not get in when it reaches the database after the next writer has begun', async () => {
    const world = new ManualWorld();
    const network = new LateNetwork(pgConnections(db.url));
    const { log } = await openHeard(engineOn(db, { world, connections: network }));
    await appendBatch(log, 2);
    network.isSlow = true;
    const appending = expect(appendBatch(log, 1)).rejects.toThrow(/append was not answered in time/);
    await world.advance(APPEND_MS);
    await appending;
    const next = await reopened();
    expect(next.seqs).toEqual([1, 2]);
    expect(await network.arrive()).toEqual([[]]);
    await appendBatch(next.log, 1);
    await next.log.close();
    expect((await reopened()).seqs).toEqual([1, 2, 3]);
  });
});

describe('a statement that takes too long', () => {
  it('is cancelled by the database, and that is the end of the writer', async () => {
    await db.pool.query(
      `ALTER DATABASE ${new URL(db.url).pathname.slice(1)} SET statement_timeout = '300ms'`,
    );
    try {
      const { log } = await openHeard(engineOn(db));
      await appendBatch(log, 1);
      const held = await holdAppends();
      await expect(appendBatch(log, 1)).rejects.toMatchObject({ code: '57014' });
      await expect(log.append()).rejects.toMatchObject({ code: '57014' });
      await held.letGo();
      const next = await reopened();
      expect(next.seqs).toEqual([1]);
      await next.log.close();
    } finally {
      await db.pool.query(`ALTER DATABASE ${new URL(db.url).pathname.slice(1)} RESET statement_timeout`);
    }
  });
});

describe('a Postgres that is restarted', () => {
  it('ends the writer, and has everything that was acknowledged', async () => {
    const { log } = await openHeard(engineOn(db));
    const acknowledged: number[] = [];
    const writing = (async () => {
      for (;;) {
        const seq = log.position.lastSeq + 1;
        await appendBatch(log, 1);
        acknowledged.push(seq);
      }
    })();
    const over = expect(writing).rejects.toThrow();
    await until(async () => acknowledged.length > 50);
    await db.whileDown(async () => {
      await over;
      await expect(openHeard(engineOn(db))).rejects.toThrow();
    });
    const next = await reopened();
    expect(next.seqs.slice(0, acknowledged.length)).toEqual(acknowledged);
    expect(next.seqs.length - acknowledged.length).toBeLessThanOrEqual(1);
    await appendBatch(next.log, 1);
    await next.log.close();
  });
});

describe('a disk of the database that is full', () => {
  it('ends the writer with what Postgres says, and opening works again once there is room', async () => {
    const first = await openHeard(engineOn(db));
    await appendBatch(first.log, 1);
    const disk = await moveToTinyDisk(db, 'leasehold.leasehold_log', 4 * 1024 * 1024);
    try {
      const filling = (async () => {
        for (;;) await appendBatch(first.log, 1, (seq) => taskCreated(seq, 100_000));
      })();
      await expect(filling).rejects.toMatchObject({ code: '53100' });
      const { lastSeq } = first.log.position;
      expect(lastSeq).toBeGreaterThan(10);
      await expect(first.log.append()).rejects.toMatchObject({ code: '53100' });
      const full = await reopened();
      expect(full.seqs.at(-1)).toBe(lastSeq);
      await expect(appendBatch(full.log, 4, (seq) => taskCreated(seq, 200_000))).rejects.toMatchObject({
        code: '53100',
      });
      await disk.grow();
      const next = await reopened();
      expect(next.seqs.at(-1)).toBe(lastSeq);
      await appendBatch(next.log, 4, (seq) => taskCreated(seq, 200_000));
      await next.log.close();
    } finally {
      await cutConnections(db);
      await disk.dispose();
    }
  });
});

describe('a database that is not fit', () => {
  it('is refused when it runs with fsync=off, unless that is allowed', async () => {
    const engine = engineOn(db, { allowFsyncOff: false });
    await expect(openHeard(engine)).rejects.toThrow(/fsync=off/);
    const followed = await engine.follow(new Heard());
    await expect(followed.lead()).rejects.toThrow(/fsync=off/);
    await followed.close();
    expect(await db.value('SELECT token FROM leasehold.leasehold_guard')).toBe(null);
  });

  it('is refused when its tables are of a newer version', async () => {
    await (await openHeard(engineOn(db))).log.close();
    await db.pool.query('UPDATE leasehold.leasehold_epoch SET format = 2');
    await expect(openHeard(engineOn(db))).rejects.toThrow(LogTooNewError);
  });

  it('is refused when a row before the newest is gone or is not what it was', async () => {
    const { log } = await openHeard(engineOn(db));
    for (let batch = 0; batch < 3; batch++) await appendBatch(log, 1);
    await log.close();
    await db.pool.query(
      'UPDATE leasehold.leasehold_log SET frame = set_byte(frame, 100, get_byte(frame, 100) # 1) WHERE last_seq = 2',
    );
    await expect(openHeard(engineOn(db))).rejects.toThrow(LogDamagedError);
    await db.pool.query('DELETE FROM leasehold.leasehold_log WHERE last_seq = 2');
    await expect(openHeard(engineOn(db))).rejects.toThrow(LogDamagedError);
    expect(await db.value('SELECT token FROM leasehold.leasehold_guard')).toBe(null);
  });

  it('is told from one that is not there', async () => {
    const nowhere = new URL(db.url);
    nowhere.port = '1';
    await expect(openHeard(engineOn(db, { connections: pgConnections(nowhere.href) }))).rejects.toThrow(
      /ECONNREFUSED/,
    );
  });
});

describe('the tables', () => {
  it('are made once, however many open the log for the first time at once', async () => {
    const followed = await Promise.all(Array.from({ length: 8 }, () => engineOn(db).follow(new Heard())));
    for (const follower of followed) {
      expect(follower.position.lastSeq).toBe(0);
      await follower.close();
    }
  });

  it('lie in the schema that was asked for, and one log beside another', async () => {
    await db.pool.query('DROP SCHEMA IF EXISTS other CASCADE');
    const one = await openHeard(engineOn(db));
    const other = await openHeard(engineOn(db, { schema: 'other' }));
    await appendBatch(one.log, 2);
    const [entry] = await appendBatch(other.log, 1);
    expect(await readText(other.log, payloadOf(entry!))).not.toBe(null);
    expect(Number(await db.value('SELECT count(*) FROM other.leasehold_log'))).toBe(1);
    await one.log.close();
    await other.log.close();
    expect(() => engineOn(db, { schema: 'x"; DROP' })).toThrow(TypeError);
  });

  it.each<[what: string, on: string, work: (log: Log, world: ManualWorld) => Promise<unknown>]>([
    ['append', 'INSERT ON leasehold.leasehold_log', (log) => appendBatch(log, 1)],
    ['renewal of the guard', 'UPDATE ON leasehold.leasehold_guard', (_, world) => world.advance(5_000)],
  ])(
    'are kept apart from what others do with synchronous_commit: every %s waits for the disk',
    async (_, on, work) => {
      await db.pool.query(
        `ALTER DATABASE ${new URL(db.url).pathname.slice(1)} SET synchronous_commit = 'off'`,
      );
      try {
        await db.pool.query('DROP TABLE IF EXISTS noted; CREATE TABLE noted (setting text)');
        const world = new ManualWorld();
        const { log } = await openHeard(engineOn(db, { world }));
        await db.pool.query(`CREATE OR REPLACE FUNCTION note_setting() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN INSERT INTO noted VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$`);
        await db.pool.query(`CREATE CONSTRAINT TRIGGER noting AFTER ${on}
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note_setting()`);
        await work(log, world);
        const noted = () => db.value("SELECT string_agg(setting, ',') FROM noted");
        await until(async () => (await noted()) !== null);
        expect(await noted()).toBe('on');
        await log.close();
      } finally {
        await db.pool.query(`ALTER DATABASE ${new URL(db.url).pathname.slice(1)} RESET synchronous_commit`);
      }
    },
  );
});
