// The tables of a log vanish under running servers: no server starts a new log, which would issue the same numbers
// again, unless it is restarted.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LogGoneError } from '../../src/engines/log.ts';
import { until } from '../support/cli-processes.ts';
import { appendBatch, Heard, openHeard } from '../support/log-story.ts';
import { TestDatabase } from '../support/postgres.ts';
import { cutConnections, engineOn } from '../support/postgres-log.ts';
import { Fleet, PATIENT } from '../support/server-fleet.ts';

let db: TestDatabase;

beforeEach(async () => {
  db = await TestDatabase.create();
});

afterEach(() => db.drop());

const dropTables = () => db.pool.query('DROP SCHEMA leasehold CASCADE');
const hasTables = () => db.value("SELECT to_regclass('leasehold.leasehold_epoch') IS NOT NULL");

describe('an engine that has found its tables', () => {
  it('makes no others when they are gone, however it is asked', async () => {
    const engine = engineOn(db);
    const { log } = await openHeard(engine);
    await appendBatch(log, 1);
    const followed = await engineOn(db).follow(new Heard());
    await dropTables();
    await log.close();
    await expect(openHeard(engine)).rejects.toThrow(LogGoneError);
    await expect(engine.follow(new Heard())).rejects.toThrow(/gone from the schema leasehold/);
    await expect(followed.catchUp()).rejects.toThrow(LogGoneError);
    await followed.close();
    expect(await hasTables()).toBe(false);
  });

  it('goes on with them when they are back', async () => {
    const engine = engineOn(db);
    await (await openHeard(engine)).log.close();
    await db.pool.query('ALTER SCHEMA leasehold RENAME TO away');
    await expect(engine.follow(new Heard())).rejects.toThrow(LogGoneError);
    await db.pool.query('ALTER SCHEMA away RENAME TO leasehold');
    await (await openHeard(engine)).log.close();
  });
});

describe('servers whose tables are dropped', () => {
  it('stand by and say so once, until one of them is started anew', async () => {
    const fleet = new Fleet(db.url);
    try {
      const leader = await fleet.start(PATIENT);
      const standby = await fleet.start(PATIENT);
      await leader.ask('POST', '/v1/tasks', { payload: 1 });
      await dropTables();
      await cutConnections(db);
      for (const { process } of fleet.servers)
        await until('it to say so', () => process.stderr.includes('the tables of the log are gone'));
      await leader.becomes('standby');
      expect(await hasTables()).toBe(false);
      for (const { process } of fleet.servers)
        expect(process.stderr.split('the tables of the log are gone')).toHaveLength(2);
      await fleet.replace(leader, 'SIGKILL', PATIENT);
      await fleet.leader();
      expect(await standby.role()).not.toBe(null);
    } finally {
      await fleet.close();
    }
  });
});
