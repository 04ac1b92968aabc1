// RuntimeLease on a real database. Its own time is moved by hand; the database has its own clock, and decides.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { migrate, rollback } from '../../src/postgres/migration.ts';
import {
  acquire as acquireNamed,
  RuntimeLease,
  RuntimeLeaseError,
  type RuntimeLeaseOptions,
  tryAcquire,
  withLease,
  withRuntimeLease,
} from '../../src/postgres.ts';
import { ManualWorld } from '../support/manual-world.ts';
import { TestDatabase } from '../support/postgres.ts';
import { acquire, expire } from '../support/postgres-lease.ts';
import { WatchedDatabase } from '../support/watched-database.ts';

const OPTIONS: RuntimeLeaseOptions = { name: 'run', holder: 'A', ttl: '1m' };
const THIRD_MS = 20_000;
/** The time to live less its margin: what the program itself relies on. */
const RELIED_MS = 57_000;

let test: TestDatabase;
let db: WatchedDatabase;
let world: ManualWorld;

beforeAll(async () => {
  test = await TestDatabase.create();
  await migrate(test.pool);
});
beforeEach(() => {
  db = new WatchedDatabase(test.pool);
  world = new ManualWorld();
});
afterEach(() => test.pool.query('DELETE FROM dot_iu_runtime_lease'));
afterAll(() => test.drop());

const take = (more: Partial<RuntimeLeaseOptions> = {}): Promise<RuntimeLease> =>
  RuntimeLease.acquire(db, { ...OPTIONS, ...more }, world);

async function pass(ms: number): Promise<void> {
  await world.advance(ms);
  await db.idle();
}

describe('RuntimeLease', () => {
  it('holds the row for as long as its block runs', async () => {
    {
      await using lease = await take();
      expect(lease).toBeInstanceOf(RuntimeLease);
      expect(lease).toMatchObject({ name: 'run', holder: 'A', isHeld: true });
      expect(await test.value('SELECT token FROM dot_iu_runtime_lease')).toBe(lease.token);
      expect(await test.value('SELECT lease_seq FROM dot_iu_runtime_lease')).toBe(String(lease.leaseSeq));
    }
    expect(await test.leases()).toBe(0);
  });

  it('gives the row back when its block throws', async () => {
    const block = async (): Promise<void> => {
      await using _lease = await take();
      throw new Error('the work failed');
    };
    await expect(block()).rejects.toThrow('the work failed');
    expect(await test.leases()).toBe(0);
  });

  it('is released once, and a second release is harmless', async () => {
    const lease = await take();
    expect(await lease.release()).toBe(true);
    expect(await lease.release()).toBe(false);
    await lease[Symbol.asyncDispose]();
    expect(db.count('lease_release')).toBe(1);
    expect(lease.isHeld).toBe(false);
    expect(() => lease.assertHeld()).toThrow('has been released');
    expect(lease.signal.aborted).toBe(false);
  });

  it('is refused to a second holder, with the name of the first', async () => {
    await using _lease = await take();
    const second = take({ holder: 'B' });
    await expect(second).rejects.toBeInstanceOf(RuntimeLeaseError);
    await expect(second).rejects.toMatchObject({ code: 'LEASE_HELD', holder: 'A' });
  });

  it.each([
    [{ holder: '' }],
    [{ holder: '   ' }],
    [{ holder: 'x'.repeat(257) }],
    [{ holder: 'é'.repeat(129) }],
    [{ holder: 'line\nbreak' }],
    [{ holder: 'nul\0' }],
    [{ holder: 'half a pair \ud800' }],
    [{ holder: 'not NFC: e\u0301' }],
    [{ name: '' }],
    [{ name: 'x'.repeat(257) }],
    [{ name: 'tab\t' }],
    [{ name: 'not NFC: e\u0301' }],
    [{ ttl: 0 }],
    [{ ttl: '31d' }],
    [{ ttl: undefined, ttlSeconds: 0 }],
    [{ ttl: undefined, ttlSeconds: Number.NaN }],
    [{ ttl: undefined, ttlSeconds: 2_592_001 }],
  ])('refuses %j before it asks the database', async (more) => {
    await expect(take(more as Partial<RuntimeLeaseOptions>)).rejects.toMatchObject({
      name: 'RuntimeLeaseError',
      code: 'INVALID_ARGUMENT',
    });
    expect(db.texts).toEqual([]);
  });

  it('takes a name and a holder of 256 bytes, printable and in NFC', async () => {
    const lease = await take({ name: 'é'.repeat(128), holder: 'x'.repeat(256) });
    expect(await lease.release()).toBe(true);
  });

  it('works with a new connection for every statement', async () => {
    db = new WatchedDatabase(test.oneConnectionAStatement);
    const lease = await take();
    await pass(THIRD_MS);
    expect(db.count('lease_renew')).toBe(1);
    expect(lease.isHeld).toBe(true);
    expect(await lease.release()).toBe(true);
  });
});

describe('renewing', () => {
  const row = async (): Promise<{ token: string; lease_seq: string; expires_at: Date }> =>
    (await test.pool.query('SELECT token, lease_seq, expires_at FROM dot_iu_runtime_lease')).rows[0];

  it('comes after a third of the time, keeps token and number and moves the end', async () => {
    await using lease = await take();
    const before = await row();
    await pass(THIRD_MS - 1);
    expect(db.count('lease_renew')).toBe(0);
    await pass(1);
    expect(db.count('lease_renew')).toBe(1);
    expect(db.count('lease_acquire')).toBe(1);
    const after = await row();
    expect(after).toEqual({ ...before, expires_at: expect.any(Date) });
    expect(after.expires_at.getTime()).toBeGreaterThan(before.expires_at.getTime());
    expect(lease.leaseSeq).toBe(Number(after.lease_seq));
  });

  it('keeps the lease for many times its length', async () => {
    await using lease = await take();
    for (let turn = 0; turn < 12; turn += 1) await pass(THIRD_MS);
    expect(db.count('lease_renew')).toBe(12);
    lease.assertHeld();
  });

  it('ends with the lease', async () => {
    const lease = await take();
    await lease.release();
    await pass(10 * THIRD_MS);
    expect(db.count('lease_renew')).toBe(0);
  });

  it('is tried again soon when it fails, and the lease is kept', async () => {
    await using lease = await take();
    db.fault = new Error('connection reset');
    await pass(THIRD_MS);
    db.fault = null;
    await pass(2_000);
    expect(db.count('lease_renew')).toBe(2);
    await pass(RELIED_MS - THIRD_MS - 1);
    expect(lease.isHeld).toBe(true);
  });
});

describe('losing the lease', () => {
  it('aborts the signal when the database says that it is over', async () => {
    const lease = await take();
    await expire(test.pool, 'run');
    await pass(THIRD_MS);
    expect(lease.signal.reason).toBeInstanceOf(RuntimeLeaseError);
    expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST' });
    expect(() => lease.assertHeld()).toThrow(RuntimeLeaseError);
    expect(lease.remainingMs).toBe(0);
    expect(await lease.release()).toBe(false);
    expect(await test.leases()).toBe(0);
  });

  it('happens when the same holder acquires again, and the newer grant is not touched', async () => {
    const older = await take();
    await using newer = await take();
    expect(newer.leaseSeq).toBeGreaterThan(older.leaseSeq);
    await pass(THIRD_MS);
    expect(older.signal.aborted).toBe(true);
    expect(newer.isHeld).toBe(true);
    expect(await older.release()).toBe(false);
    expect(await test.leases()).toBe(1);
  });

  it('happens at the deadline when no renewal gets through, and says why', async () => {
    const lease = await take();
    db.fault = new Error('connection reset');
    await pass(RELIED_MS - 1_000);
    expect(lease.signal.aborted).toBe(false);
    await pass(1_000);
    expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST', cause: db.fault });
    db.fault = null;
    await lease.release();
    expect(await test.leases()).toBe(0);
  });

  it.each(['monotonicMs', 'wallMs'] as const)(
    'is known at once when %s has moved on, before any timer has run',
    async (clock) => {
      const lease = await take();
      world[clock] += RELIED_MS;
      expect(() => lease.assertHeld()).toThrow('could not be renewed in time');
      expect(lease.signal.aborted).toBe(true);
      await lease.release();
    },
  );

  it('does not come from a wall clock that is set back', async () => {
    await using lease = await take();
    world.wallMs -= 3_600_000;
    expect(lease.isHeld).toBe(true);
  });

  it('follows a rollback of the migration', async () => {
    const lease = await take();
    await rollback(test.pool);
    try {
      await pass(THIRD_MS);
      await pass(RELIED_MS - THIRD_MS);
      expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST', cause: { code: '42883' } });
    } finally {
      await migrate(test.pool);
    }
  });
});

describe('releasing', () => {
  it('is tried again when the connection is cut', async () => {
    const lease = await take();
    db.fault = new Error('connection reset');
    const released = lease.release();
    await db.idle();
    db.fault = null;
    await world.advance(2_000);
    expect(await world.finish(released)).toBe(true);
  });

  it('is given up when the database stays away, because the lease runs out by itself', async () => {
    const lease = await take();
    db.fault = new Error('connection reset');
    const released = lease.release();
    await pass(10_000);
    expect(await world.finish(released)).toBe(false);
    expect(world.holds).toBe(0);
  });
});

describe('withRuntimeLease', () => {
  it('runs the function under the lease and gives its result', async () => {
    const result = await withRuntimeLease(
      db,
      OPTIONS,
      async (lease) => {
        expect(await test.leases()).toBe(1);
        return lease.leaseSeq;
      },
      world,
    );
    expect(result).toBeGreaterThan(0);
    expect(await test.leases()).toBe(0);
  });

  it('throws for the second holder before its function runs', async () => {
    await using _lease = await take();
    let ran = false;
    const second = withRuntimeLease(
      db,
      { ...OPTIONS, holder: 'B' },
      async () => {
        ran = true;
      },
      world,
    );
    await expect(second).rejects.toMatchObject({ name: 'RuntimeLeaseError', code: 'LEASE_HELD' });
    expect(ran).toBe(false);
  });

  it('throws what the function threw, and has given the lease back by then', async () => {
    const fault = new Error('the work failed');
    await expect(withRuntimeLease(db, OPTIONS, () => Promise.reject(fault), world)).rejects.toBe(fault);
    expect(await test.leases()).toBe(0);
  });

  it('throws when the lease was lost on the way, even if the function did not notice', async () => {
    const run = withRuntimeLease(
      db,
      OPTIONS,
      async () => {
        await expire(test.pool, 'run');
        await pass(THIRD_MS);
        return 'unprotected';
      },
      world,
    );
    await expect(run).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(await test.leases()).toBe(0);
  });

  it('lets the function release the lease itself', async () => {
    const run = withRuntimeLease(db, OPTIONS, (lease) => lease.release(), world);
    expect(await run).toBe(true);
  });

  it('renews by the system’s own clock and timers, past the time that the lease was granted for', async () => {
    const run = withRuntimeLease(test.pool, { ...OPTIONS, ttl: '2s' }, async (lease) => {
      const granted = await test.value('SELECT expires_at FROM dot_iu_runtime_lease');
      await test.pool.query("SELECT pg_sleep_until($1::timestamptz + interval '100 ms')", [granted]);
      lease.assertHeld();
      return (await test.value('SELECT lease_seq FROM dot_iu_runtime_lease')) === String(lease.leaseSeq);
    });
    expect(await run).toBe(true);
    expect(await test.leases()).toBe(0);
  });

  it('excludes all others by the system’s own clock and timers too', async () => {
    let inside = 0;
    let most = 0;
    const run = async (holder: string): Promise<boolean> => {
      try {
        return await withRuntimeLease(test.pool, { ...OPTIONS, holder }, async () => {
          inside += 1;
          most = Math.max(most, inside);
          await test.pool.query('SELECT pg_sleep(0.01)');
          inside -= 1;
          return true;
        });
      } catch (fault) {
        if (fault instanceof RuntimeLeaseError && fault.code === 'LEASE_HELD') return false;
        throw fault;
      }
    };
    const ran = await Promise.all(Array.from({ length: 12 }, (_, index) => run(`holder-${index}`)));
    expect(ran).toContain(true);
    expect(most).toBe(1);
    expect(await test.leases()).toBe(0);
  });
});

describe('a server that restarts in the middle', () => {
  it('keeps the lease: renewals fail meanwhile, and go on afterwards with the same token and number', async () => {
    const lease = await take();
    await test.whileDown(async () => {
      await pass(THIRD_MS);
      expect(lease.isHeld).toBe(true);
    });
    await pass(2_000);
    await pass(RELIED_MS - THIRD_MS - 1);
    expect(lease.isHeld).toBe(true);
    expect(await test.value('SELECT lease_seq FROM dot_iu_runtime_lease')).toBe(String(lease.leaseSeq));
    expect(await acquire(test.pool, 'run', 'B')).toBeNull();
    expect(await lease.release()).toBe(true);
    expect(await test.leases()).toBe(0);
  });
});

describe('the name first', () => {
  it('gives a lease with a holder of its own, null to the second, and members that survive destructuring', async () => {
    const first = await acquireNamed(test.pool, 'n', { ttl: '1m' });
    expect(await tryAcquire(test.pool, 'n')).toBeNull();
    await expect(withLease(test.pool, 'n', () => 1)).rejects.toMatchObject({
      code: 'LEASE_HELD',
      retryable: true,
      details: { holder: first.holder },
    });
    const { assertHeld, remaining, extend, release } = first;
    assertHeld();
    await extend('10m');
    expect(remaining()).toBeGreaterThan(500_000);
    expect(await release()).toBe(true);
    expect(() => assertHeld()).toThrow(
      expect.objectContaining({ details: { loss: 'released', leaseSeq: first.leaseSeq, names: ['n'] } }),
    );
    const seen = await withLease(test.pool, 'n', { holder: 'ada' }, ({ holder }) => holder);
    expect(seen).toBe('ada');
    await expect(tryAcquire(test.pool, '')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});
