// The functions of migration 019 as SQL: T1 to T7 of seed 001, and what a real database does to them at once.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { migrate } from '../../src/postgres/migration.ts';
import { TestDatabase } from '../support/postgres.ts';
import { acquire, acquired, expire, release, renew } from '../support/postgres-lease.ts';

const OTHER_TOKEN = '00000000-0000-4000-8000-000000000000';

let db: TestDatabase;

beforeAll(async () => {
  db = await TestDatabase.create();
  await migrate(db.pool);
});
afterEach(() => db.pool.query('DELETE FROM dot_iu_runtime_lease'));
afterAll(() => db.drop());

describe('seed 001', () => {
  it('T1: holder A acquires and has a token', async () => {
    const lease = await acquire(db.pool, 'run', 'A');
    expect(lease?.token).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('T2: holder B acquires the same lease and gets NULL, because A holds it', async () => {
    await acquired(db.pool, 'run', 'A');
    expect(await db.value("SELECT fn_dot_iu_runtime_lease_acquire('run', 'B', 30) IS NULL")).toBe(true);
    expect(await acquire(db.pool, 'run', 'B')).toBeNull();
  });

  it('T3: holder A acquires again and has a new token and a higher number', async () => {
    const first = await acquired(db.pool, 'run', 'A');
    const second = await acquired(db.pool, 'run', 'A');
    expect(second.token).not.toBe(first.token);
    expect(second.lease_seq).toBeGreaterThan(first.lease_seq);
    expect(await renew(db.pool, first)).toBeNull();
    expect(await release(db.pool, first)).toBe(false);
  });

  it('T4: releasing with the wrong token is false and changes nothing', async () => {
    const lease = await acquired(db.pool, 'run', 'A');
    expect(await release(db.pool, { ...lease, token: OTHER_TOKEN })).toBe(false);
    expect(await release(db.pool, { ...lease, lease_holder: 'B' })).toBe(false);
    expect(await db.leases()).toBe(1);
  });

  it('T5: releasing with holder and token is true, the row is gone, and again it is false', async () => {
    const lease = await acquired(db.pool, 'run', 'A');
    expect(await release(db.pool, lease)).toBe(true);
    expect(await db.leases()).toBe(0);
    expect(await release(db.pool, lease)).toBe(false);
  });

  it('T6: after the release B can acquire', async () => {
    await release(db.pool, await acquired(db.pool, 'run', 'A'));
    expect(await acquire(db.pool, 'run', 'B')).not.toBeNull();
  });

  it('T7: an expired lease can be had by a new holder', async () => {
    const late = await acquired(db.pool, 'run', 'A');
    await expire(db.pool, 'run');
    const lease = await acquired(db.pool, 'run', 'B');
    expect(lease.lease_seq).toBeGreaterThan(late.lease_seq);
    expect(await renew(db.pool, late)).toBeNull();
  });
});

describe('renewing', () => {
  it('keeps token and number and moves the end', async () => {
    const lease = await acquired(db.pool, 'run', 'A', 10);
    const renewed = await renew(db.pool, lease, 60);
    expect(renewed).toEqual({ ...lease, expires_at: expect.any(Date) });
    expect(renewed!.expires_at.getTime()).toBeGreaterThan(lease.expires_at.getTime());
  });

  it('never shortens', async () => {
    const lease = await acquired(db.pool, 'run', 'A', 60);
    expect((await renew(db.pool, lease, 1))!.expires_at).toEqual(lease.expires_at);
  });

  it('never revives an expired lease, even when no other holder took it', async () => {
    const lease = await acquired(db.pool, 'run', 'A');
    await expire(db.pool, 'run');
    expect(await renew(db.pool, lease)).toBeNull();
  });

  it('never brings back what ran out while the renewal waited for the row', async () => {
    const lease = await acquired(db.pool, 'run', 'A', 0.3);
    const client = await db.pool.connect();
    try {
      await client.query('BEGIN');
      await client.query('SELECT 1 FROM dot_iu_runtime_lease FOR SHARE');
      const late = renew(db.pool, lease);
      await client.query(
        "SELECT pg_sleep_until((SELECT expires_at + interval '10 ms' FROM dot_iu_runtime_lease))",
      );
      await client.query('COMMIT');
      expect(await late).toBeNull();
    } finally {
      client.release();
    }
  });

  it('takes the token and the holder of the grant, not another', async () => {
    const lease = await acquired(db.pool, 'run', 'A');
    expect(await renew(db.pool, { ...lease, token: OTHER_TOKEN })).toBeNull();
    expect(await renew(db.pool, { ...lease, lease_holder: 'B' })).toBeNull();
    expect(await renew(db.pool, { ...lease, lease_name: 'walk' })).toBeNull();
  });
});

describe('releasing', () => {
  it('removes a lease that ran out, and says that it was not this call that ended it', async () => {
    const lease = await acquired(db.pool, 'run', 'A');
    await expire(db.pool, 'run');
    expect(await release(db.pool, lease)).toBe(false);
    expect(await db.leases()).toBe(0);
  });
});

describe('the arguments', () => {
  it.each(['', '  ', null, 'x'.repeat(257)])('refuse the holder %j', async (holder) => {
    await expect(acquire(db.pool, 'run', holder)).rejects.toMatchObject({ code: '22023' });
    expect(await db.leases()).toBe(0);
  });

  it.each([0, -1, 0.001, 2_592_001, Number.NaN, null])('refuse %s seconds', async (ttlSeconds) => {
    await expect(acquire(db.pool, 'run', 'A', ttlSeconds)).rejects.toMatchObject({ code: '22023' });
  });

  it('refuse a lease without a name', async () => {
    await expect(acquire(db.pool, '', 'A')).rejects.toMatchObject({ code: '22023' });
  });
});

describe('the clock', () => {
  it('is the one on the wall of the database, and goes on inside a transaction', async () => {
    const client = await db.pool.connect();
    try {
      await client.query('BEGIN');
      await acquired(client, 'run', 'A', 0.01);
      await client.query('SELECT pg_sleep_until((SELECT expires_at FROM dot_iu_runtime_lease))');
      const lease = await acquired(client, 'run', 'B', 10);
      const { rows } = await client.query('SELECT acquired_at > now() AS later FROM dot_iu_runtime_lease');
      expect(rows).toEqual([{ later: true }]);
      expect(lease.expires_at.getTime() - lease.acquired_at.getTime()).toBe(10_000);
      await client.query('ROLLBACK');
    } finally {
      client.release();
    }
  });

  it.each(['FOR SHARE', 'FOR KEY SHARE'])(
    'starts the time of a lease when its row is won, not when the wait for it began: %s',
    async (lock) => {
      const first = await acquired(db.pool, 'run', 'A', 0.2);
      const client = await db.pool.connect();
      try {
        await client.query('BEGIN');
        await client.query(`SELECT 1 FROM dot_iu_runtime_lease ${lock}`);
        await client.query('SELECT pg_sleep_until($1::timestamptz)', [first.expires_at]);
        const { rows } = await client.query("SELECT clock_timestamp() + interval '10 ms' AS at");
        const waiting = acquired(db.pool, 'run', 'B', 5);
        await client.query('SELECT pg_sleep_until($1::timestamptz)', [rows[0].at]);
        await client.query('COMMIT');
        const second = await waiting;
        expect(second.acquired_at.getTime()).toBeGreaterThanOrEqual(rows[0].at.getTime());
      } finally {
        client.release();
      }
    },
  );
});

describe('many at once', () => {
  it('give one of 50 acquirers the lease and the others NULL', async () => {
    const pool = db.newPool(50);
    try {
      const holders = Array.from({ length: 50 }, (_, index) => `holder-${index}`);
      // All connections are open before the first of them asks.
      await Promise.all(holders.map(() => pool.query('SELECT pg_sleep(0.05)')));
      const won = await Promise.all(holders.map((holder) => acquire(pool, 'run', holder)));
      expect(won.filter((lease) => lease !== null)).toHaveLength(1);
    } finally {
      await pool.end();
    }
  });

  it('wait for one whose transaction is still open, and get the lease when it rolls back', async () => {
    const client = await db.pool.connect();
    try {
      await client.query('BEGIN');
      await acquired(client, 'run', 'A');
      const waiting = [acquire(db.pool, 'run', 'B'), acquire(db.pool, 'run', 'C')];
      await client.query('ROLLBACK');
      expect((await Promise.all(waiting)).filter((lease) => lease !== null)).toHaveLength(1);
    } finally {
      client.release();
    }
  });

  it('do not wait for the holder’s own transaction to hear that it is held', async () => {
    await acquired(db.pool, 'run', 'A');
    const client = await db.pool.connect();
    try {
      await client.query('BEGIN');
      await client.query('SELECT 1 FROM dot_iu_runtime_lease FOR SHARE');
      expect(await acquire(db.pool, 'run', 'B')).toBeNull();
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  });
});

describe('a transaction that is left open with the row locked', () => {
  async function whileLocked(work: () => Promise<void>): Promise<void> {
    const client = await db.pool.connect();
    try {
      await client.query('BEGIN');
      await client.query('SELECT 1 FROM dot_iu_runtime_lease FOR SHARE');
      await work();
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  }

  beforeEach(async () => {
    await acquired(db.pool, 'run', 'A');
    await expire(db.pool, 'run');
  });

  it('is waited for by no acquire to its end: they answer NULL and change nothing', async () => {
    const before = await db.value('SELECT dot_iu_runtime_lease::text FROM dot_iu_runtime_lease');
    await whileLocked(async () => {
      const holders = ['A', 'B', 'C', 'D'];
      expect(await Promise.all(holders.map((holder) => acquire(db.pool, 'run', holder)))).toEqual(
        holders.map(() => null),
      );
    });
    expect(await db.value('SELECT dot_iu_runtime_lease::text FROM dot_iu_runtime_lease')).toBe(before);
    expect(await acquire(db.pool, 'run', 'B')).not.toBeNull();
  });

  it.each(['0', '70ms', '1min'])(
    'leaves a caller whose lock_timeout is %s in its transaction, with it',
    async (own) => {
      const client = await db.pool.connect();
      try {
        await client.query(`BEGIN; SET LOCAL lock_timeout = '${own}'`);
        await whileLocked(async () => {
          expect(await acquire(client, 'run', 'B')).toBeNull();
          expect((await client.query('SHOW lock_timeout')).rows).toEqual([{ lock_timeout: own }]);
        });
        expect(await acquire(client, 'run', 'B')).not.toBeNull();
        expect((await client.query('SHOW lock_timeout')).rows).toEqual([{ lock_timeout: own }]);
        expect(await acquire(client, 'run', 'C')).toBeNull();
        expect((await client.query('SHOW lock_timeout')).rows).toEqual([{ lock_timeout: own }]);
      } finally {
        await client.query('ROLLBACK');
        client.release();
      }
    },
  );
});

describe('a new connection for every statement', () => {
  it('acquires, renews and releases all the same', async () => {
    const single = db.oneConnectionAStatement;
    const lease = await acquired(single, 'run', 'A');
    expect(await acquire(single, 'run', 'B')).toBeNull();
    expect(await renew(single, lease)).toMatchObject({ token: lease.token, lease_seq: lease.lease_seq });
    expect(await release(single, lease)).toBe(true);
    expect(await db.leases()).toBe(0);
  });
});
