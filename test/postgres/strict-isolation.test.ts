// Leases in a database whose default isolation is stricter than READ COMMITTED, where Postgres aborts conflicting
// transactions: callers see no error, and one of them gets the lease.
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrate } from '../../src/postgres/migration.ts';
import { RuntimeLease } from '../../src/postgres.ts';
import { ManualWorld } from '../support/manual-world.ts';
import { TestDatabase } from '../support/postgres.ts';

const HOLDERS = 8;
const ROUNDS = 20;

let db: TestDatabase;
let pool: pg.Pool;

beforeAll(async () => {
  db = await TestDatabase.create();
  await migrate(db.pool);
  const name = new URL(db.url).pathname.slice(1);
  await db.pool.query(`ALTER DATABASE ${name} SET default_transaction_isolation = 'serializable'`);
  pool = db.newPool(HOLDERS);
  await Promise.all(Array.from({ length: HOLDERS }, () => pool.query('SELECT pg_sleep(0.05)')));
});

afterAll(async () => {
  await pool.end();
  await db.drop();
});

describe('leases at SERIALIZABLE', () => {
  it('have one holder each, and the others are told that it is held', async () => {
    expect((await pool.query('SHOW transaction_isolation')).rows).toEqual([
      { transaction_isolation: 'serializable' },
    ]);
    const world = new ManualWorld();
    for (let round = 0; round < ROUNDS; round++) {
      const settled = await Promise.allSettled(
        Array.from({ length: HOLDERS }, (_, holder) =>
          RuntimeLease.acquire(pool, { name: `run ${round}`, holder: `${holder}`, ttl: '1m' }, world),
        ),
      );
      const codes = settled.map((each) => (each.status === 'fulfilled' ? 'held' : each.reason.code)).sort();
      expect(codes).toEqual([...Array.from({ length: HOLDERS - 1 }, () => 'LEASE_HELD'), 'held']);
      for (const each of settled)
        if (each.status === 'fulfilled') expect(await each.value.release()).toBe(true);
    }
  });
});
