// A database that says nothing for a while, though no connection is cut: here a lock keeps every look at the log waiting.
// A standby gives the connection up, but not what it has read along; and it goes on from there if the log still is the one
// it has read.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Authority } from '../../src/authority/authority.ts';
import { Leadership } from '../../src/authority/leadership.ts';
import type { Standby } from '../../src/authority/standby.ts';
import { DEFAULT_RETENTION } from '../../src/core/retention.ts';
import type { Log, Replay } from '../../src/engines/log.ts';
import type { Timer } from '../../src/seams/clock.ts';
import { appendBatch, Heard, openHeard, queuePaused } from '../support/log-story.ts';
import { ManualWorld } from '../support/manual-world.ts';
import { TestDatabase } from '../support/postgres.ts';
import { cutConnections, engineOn, until, untilBlocked } from '../support/postgres-log.ts';

const SILENCE_MS = 10_000;
const LOOK_MS = 250;

let db: TestDatabase;
let writer: Log;
let world: ManualWorld;
let leadership: Leadership;
let told: string[];
let standbys: Standby[];
let leaders: Authority[];
/** How often the whole log was read, and how often it was looked whether there is more. */
let follows: number;
let looks: number;
/** Whether it is waiting for its next look. */
let isPausing: boolean;

beforeAll(async () => {
  db = await TestDatabase.create();
});

afterAll(() => db.drop());

beforeEach(async () => {
  await db.pool.query('DROP SCHEMA IF EXISTS leasehold CASCADE');
  writer = (await openHeard(engineOn(db, { guardTtlMs: 600_000 }))).log;
  await appendBatch(writer, 3, queuePaused);
  world = new ManualWorld();
  told = [];
  standbys = [];
  leaders = [];
  follows = 0;
  looks = 0;
  const engine = engineOn(db);
  const counted = {
    ...engine,
    async follow(replay: Replay) {
      const followed = await engine.follow(replay);
      follows += 1;
      const leader = followed.leader.bind(followed);
      followed.leader = async () => {
        const found = await leader();
        looks += 1;
        return found;
      };
      return followed;
    },
  };
  leadership = new Leadership(counted, {
    clock: world.clock,
    timers: { ...world.timers, after },
    hashSeed: world.hashSeed,
    retention: DEFAULT_RETENTION,
    onStandby: (standby) => standbys.push(standby),
    onLead: (authority) => leaders.push(authority),
    onCompactionFault: (fault) => told.push((fault as Error).message),
    onOutOfReach: (fault) => told.push((fault as Error).message),
    onEnd: (fault) => told.push(`end: ${fault}`),
  });
  await world.finish(leadership.start());
});

afterEach(async () => {
  await world.finish(leadership.stop());
  await writer.close();
  await cutConnections(db);
});

function after(ms: number, call: () => void): Timer {
  if (ms >= SILENCE_MS) return world.timers.after(ms, call);
  isPausing = true;
  return world.timers.after(ms, () => {
    isPausing = false;
    call();
  });
}

/** Lets it look, and waits until it has: in the meantime no time passes, so nothing counts as silence. */
async function look(): Promise<void> {
  const before = looks;
  // It may have to begin anew first.
  while (looks === before) {
    await until(async () => isPausing);
    await world.advance(LOOK_MS);
    await until(async () => isPausing || looks > before);
  }
  await world.settle();
}

/** Lets a standby wait longer than its timeout, and does something while it cannot read. */
async function whileSilent(work: () => Promise<void> = async () => undefined): Promise<void> {
  const locker = await db.pool.connect();
  try {
    await locker.query('BEGIN');
    await locker.query('LOCK TABLE leasehold.leasehold_checkpoint IN ACCESS EXCLUSIVE MODE');
    for (let time = 1; time <= 2; time++) {
      await until(async () => isPausing);
      await world.advance(LOOK_MS);
      await until(async () => Number(await db.value(WAITING)) === time);
      await world.advance(SILENCE_MS);
      expect(told).toHaveLength(time);
    }
    await work();
    await locker.query('COMMIT');
  } finally {
    locker.release();
  }
}

/** Postgres does not notice that who waits for a lock has gone, so every look leaves one. The writer may wait as well. */
const WAITING = `SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'leasehold%'
  AND datname = current_database() AND wait_event_type = 'Lock' AND query LIKE 'SELECT first_part%'`;

describe('a first replay that is given up', () => {
  it.each([
    ['the guard and the end of the log', 'leasehold_log', 'max(last_seq)'],
    ['the checkpoint', 'leasehold_checkpoint', 'first_part'],
  ])('ends at once while the database keeps it waiting for %s', async (_what, table, statement) => {
    const giveUp = new AbortController();
    const locker = await db.pool.connect();
    try {
      await locker.query('BEGIN');
      await locker.query(`LOCK TABLE leasehold.${table} IN ACCESS EXCLUSIVE MODE`);
      const following = engineOn(db).follow(new Heard(), giveUp.signal);
      const told = expect(following).rejects.toThrow(/cannot be read now/);
      await untilBlocked(db, statement);
      giveUp.abort();
      await told;
    } finally {
      await locker.query('ROLLBACK');
      locker.release();
    }
  });

  it('is not ended when that comes after it has succeeded', async () => {
    const giveUp = new AbortController();
    const followed = await engineOn(db).follow(new Heard(), giveUp.signal);
    giveUp.abort();
    await appendBatch(writer, 1, queuePaused);
    expect(await followed.catchUp()).toBe(true);
    await followed.close();
  });
});

const lastSeq = (): number => standbys.at(-1)!.state.lastSeq;

describe('a standby of a database that falls silent', () => {
  it('keeps what it has read along, shows it meanwhile, and goes on from there', async () => {
    await whileSilent(async () => {
      expect(new Set(told)).toEqual(new Set(['The database has been silent for 10000 ms.']));
      expect(standbys).toHaveLength(1);
      expect(await standbys[0]!.read(({ state }) => state.lastSeq)).toBe(3);
    });
    await appendBatch(writer, 2, queuePaused);
    await look();
    expect([lastSeq(), standbys.length, follows]).toEqual([5, 1, 1]);
  });

  it('begins anew when the log is another one afterwards', async () => {
    await whileSilent();
    await db.pool.query('DELETE FROM leasehold.leasehold_log');
    await look();
    expect([lastSeq(), standbys.length, follows]).toEqual([0, 2, 2]);
  });

  it('takes over with what it has kept', async () => {
    await whileSilent();
    await look();
    await writer.close();
    await look();
    await until(async () => {
      await world.settle();
      return leaders.length === 1;
    });
    // The epoch it begins is the fourth entry.
    expect([leaders[0]!.log.position.lastSeq, follows]).toEqual([4, 1]);
  });
});
