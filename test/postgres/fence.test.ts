// The fence around a table of the user's: what is stale, unfenced or over is refused by the database itself.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Queryable } from '../../src/postgres/database.ts';
import { FENCE_STATES, type FenceCode, fence, migrate, presentLease, rollback } from '../../src/postgres.ts';
import { TestDatabase } from '../support/postgres.ts';
import { acquire, acquired, expire, type LeaseRow, release, renew } from '../support/postgres-lease.ts';

let db: TestDatabase;

beforeAll(async () => {
  db = await TestDatabase.create();
  await migrate(db.pool);
  await db.pool.query('CREATE TABLE reports (id int PRIMARY KEY, body text NOT NULL)');
  await db.pool.query(fence('reports', { lease: 'nightly' }).up);
});
afterAll(() => db.drop());

/** The lease that writes, and a row written under it. */
let lease: LeaseRow;

beforeEach(async () => {
  lease = await acquired(db.pool, 'nightly', 'A');
  await del(lease.lease_seq);
  await insert(1, lease.lease_seq);
  await db.pool.query("DELETE FROM dot_iu_runtime_lease WHERE lease_name <> 'nightly'");
});

const insert = (id: number, seq: bigint | null): Promise<unknown> =>
  db.pool.query("INSERT INTO reports (id, body, lease_seq) VALUES ($1, 'new', $2)", [id, seq]);
const update = (seq: bigint | null): Promise<unknown> =>
  db.pool.query("UPDATE reports SET body = 'changed', lease_seq = $1", [seq]);
const del = (seq: bigint | null): Promise<unknown> =>
  inTransaction(async (client) => {
    if (seq !== null) await presentLease(client, seq);
    await client.query('DELETE FROM reports');
  });
const truncate = (seq: bigint | null): Promise<unknown> =>
  inTransaction(async (client) => {
    if (seq !== null) await presentLease(client, seq);
    await client.query('TRUNCATE reports');
  });

async function inTransaction(work: (client: Queryable) => Promise<void>): Promise<void> {
  const client = await db.pool.connect();
  try {
    await client.query('BEGIN');
    await work(client);
    await client.query('COMMIT');
  } catch (fault) {
    await client.query('ROLLBACK');
    throw fault;
  } finally {
    client.release();
  }
}

const rows = async (): Promise<unknown> => (await db.pool.query('SELECT * FROM reports ORDER BY id')).rows;

/** Refused with the code, which is in the message, the SQLSTATE and the name of the constraint; nothing changes. */
async function refused(write: () => Promise<unknown>, code: FenceCode): Promise<void> {
  const before = await rows();
  await expect(write()).rejects.toMatchObject({
    code: FENCE_STATES[code],
    constraint: code,
    table: 'reports',
    schema: 'public',
    message: expect.stringMatching(new RegExp(`^${code}: `)),
  });
  expect(await rows()).toEqual(before);
}

const WRITES: readonly [string, (seq: bigint | null) => Promise<unknown>][] = [
  ['INSERT', (seq) => insert(2, seq)],
  ['UPDATE', update],
  ['DELETE', del],
  ['TRUNCATE', truncate],
];

describe.each(WRITES)('%s on a fenced table', (_name, write) => {
  it('is done under the live lease', async () => {
    const before = await rows();
    await write(lease.lease_seq);
    expect(await rows()).not.toEqual(before);
  });

  it('is refused with WRITE_UNFENCED when it presents nothing', async () => {
    await refused(() => write(null), 'WRITE_UNFENCED');
  });

  it('is refused with LEASE_OBJECT_MISMATCH when it presents the live lease of another name', async () => {
    const other = await acquired(db.pool, 'hourly', 'A');
    await refused(() => write(other.lease_seq), 'LEASE_OBJECT_MISMATCH');
  });

  it('is refused with WRITE_STALE_FENCE once another holder was granted the lease', async () => {
    await expire(db.pool, 'nightly');
    await acquired(db.pool, 'nightly', 'B');
    await refused(() => write(lease.lease_seq), 'WRITE_STALE_FENCE');
    await release(db.pool, await acquired(db.pool, 'nightly', 'B'));
  });

  it('is refused with WRITE_UNKNOWN_FENCE when the number was never granted', async () => {
    await refused(() => write(lease.lease_seq + 1_000n), 'WRITE_UNKNOWN_FENCE');
    await release(db.pool, lease);
    await refused(() => write(lease.lease_seq + 1_000n), 'WRITE_UNKNOWN_FENCE');
  });

  it('is refused with LEASE_EXPIRED when the lease expired, though no other holder took it', async () => {
    await expire(db.pool, 'nightly');
    await refused(() => write(lease.lease_seq), 'LEASE_EXPIRED');
  });

  it('is refused with LEASE_EXPIRED when the lease was released', async () => {
    await release(db.pool, lease);
    await refused(() => write(lease.lease_seq), 'LEASE_EXPIRED');
  });
});

describe('the columns of a fenced table', () => {
  it('hold the number that last wrote the row, and no presented one', async () => {
    expect(await rows()).toEqual([{ id: 1, body: 'new', fence: String(lease.lease_seq), lease_seq: null }]);
  });

  it('let no UPDATE through that does not mention lease_seq, not even right after one that did', async () => {
    await update(lease.lease_seq);
    await refused(() => db.pool.query("UPDATE reports SET body = 'careless'"), 'WRITE_UNFENCED');
    await refused(
      () =>
        inTransaction(async (client) => {
          await client.query('UPDATE reports SET lease_seq = $1', [lease.lease_seq]);
          await client.query("UPDATE reports SET body = 'careless'");
        }),
      'WRITE_UNFENCED',
    );
  });

  it('do not take the number of a DELETE for that of an UPDATE', async () => {
    await refused(
      () =>
        inTransaction(async (client) => {
          await presentLease(client, lease.lease_seq);
          await client.query("UPDATE reports SET body = 'careless'");
        }),
      'WRITE_UNFENCED',
    );
  });

  it('cannot be set by hand', async () => {
    await db.pool.query('UPDATE reports SET fence = 1, lease_seq = $1', [lease.lease_seq]);
    expect(await rows()).toMatchObject([{ fence: String(lease.lease_seq), lease_seq: null }]);
  });

  it('take an upsert that hands its number on as EXCLUDED.fence', async () => {
    await db.pool.query(
      `INSERT INTO reports (id, body, lease_seq) VALUES (1, 'upserted', $1)
       ON CONFLICT (id) DO UPDATE SET body = EXCLUDED.body, lease_seq = EXCLUDED.fence`,
      [lease.lease_seq],
    );
    expect(await rows()).toMatchObject([{ id: 1, body: 'upserted' }]);
  });

  it('refuse a number below that of the row, even when it was granted again', async () => {
    const { lease_seq } = lease;
    await db.pool.query('UPDATE dot_iu_runtime_lease SET lease_seq = $1', [lease_seq - 1n]);
    await refused(() => update(lease_seq - 1n), 'WRITE_STALE_FENCE');
    await db.pool.query('UPDATE dot_iu_runtime_lease SET lease_seq = $1', [lease_seq]);
  });
});

describe('a write that has passed the fence', () => {
  /** Something else, while a transaction has written and has not been committed. */
  async function whileWriting(work: (hurried: Queryable) => Promise<void>): Promise<void> {
    const [writer, hurried] = [await db.pool.connect(), await db.pool.connect()];
    try {
      await hurried.query("SET lock_timeout = '50ms'");
      await writer.query('BEGIN');
      await writer.query('UPDATE reports SET lease_seq = $1', [lease.lease_seq]);
      await work(hurried);
      await writer.query('COMMIT');
    } finally {
      await hurried.query('RESET lock_timeout');
      writer.release();
      hurried.release();
    }
  }

  it('keeps the lease from being taken over until it is committed', () =>
    whileWriting(async (hurried) => {
      await expire(db.pool, 'nightly');
      expect(await acquire(hurried, 'nightly', 'B')).toBeNull();
    }));

  it('keeps its own holder from being granted the lease anew, and from releasing it', () =>
    whileWriting(async (hurried) => {
      expect(await acquire(hurried, 'nightly', 'A')).toBeNull();
      await expect(release(hurried, lease)).rejects.toMatchObject({ code: '55P03' });
    }));

  it('does not keep the lease from being renewed, however many write and however long', () =>
    whileWriting(async (hurried) => {
      expect(await renew(hurried, lease)).toMatchObject({ lease_seq: lease.lease_seq });
    }));

  it('is refused in a transaction whose snapshot is older than the take-over', async () => {
    const client = await db.pool.connect();
    try {
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
      await client.query('SELECT count(*) FROM reports');
      await expire(db.pool, 'nightly');
      await acquired(db.pool, 'nightly', 'B');
      await expect(
        client.query("UPDATE reports SET body = 'late', lease_seq = $1", [lease.lease_seq]),
      ).rejects.toMatchObject({ code: '40001' });
    } finally {
      await client.query('ROLLBACK');
      client.release();
      await db.pool.query('DELETE FROM dot_iu_runtime_lease');
    }
  });

  it('is refused in a transaction whose snapshot is older than a new grant to the same holder', async () => {
    const client = await db.pool.connect();
    try {
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
      await client.query('SELECT count(*) FROM reports');
      await acquired(db.pool, 'nightly', 'A');
      await expect(
        client.query("UPDATE reports SET body = 'late', lease_seq = $1", [lease.lease_seq]),
      ).rejects.toMatchObject({ code: '40001' });
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  });

  it('is done in a transaction whose snapshot is older than a renewal', () =>
    inTransaction(async (client) => {
      await client.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ');
      await client.query('SELECT count(*) FROM reports');
      await renew(db.pool, lease);
      await client.query("UPDATE reports SET body = 'in time', lease_seq = $1", [lease.lease_seq]);
    }));
});

describe('a fenced table with children', () => {
  const truncated = (table: string): Promise<unknown> => db.pool.query(`TRUNCATE ${table}`);

  it('has a fence around its partitions, TRUNCATE included', async () => {
    await db.pool.query(`
      CREATE TABLE parts (id int) PARTITION BY LIST (id);
      CREATE TABLE part_1 PARTITION OF parts FOR VALUES IN (1);
      CREATE TABLE part_2 PARTITION OF parts FOR VALUES IN (2) PARTITION BY LIST (id);
      CREATE TABLE part_2_2 PARTITION OF part_2 FOR VALUES IN (2)`);
    const { up, down } = fence('parts', { lease: 'nightly' });
    await db.pool.query(up);
    await db.pool.query(up);
    await db.pool.query('INSERT INTO parts (id, lease_seq) VALUES (1, $1), (2, $1)', [lease.lease_seq]);
    for (const table of ['parts', 'part_1', 'part_2', 'part_2_2']) {
      await expect(truncated(table)).rejects.toMatchObject({ constraint: 'WRITE_UNFENCED' });
      await expect(db.pool.query(`DELETE FROM ${table}`)).rejects.toMatchObject({ code: 'LH001' });
    }
    await inTransaction(async (client) => {
      await presentLease(client, lease.lease_seq);
      await client.query('TRUNCATE parts');
    });
    await db.pool.query(down);
    for (const table of ['parts', 'part_1', 'part_2', 'part_2_2']) await truncated(table);
  });

  it('has a fence around those that inherit from it', async () => {
    await db.pool.query('CREATE TABLE base (id int); CREATE TABLE heir () INHERITS (base)');
    const { up, down } = fence('base', { lease: 'nightly' });
    await db.pool.query(up);
    await db.pool.query('INSERT INTO heir (id, lease_seq) VALUES (1, $1)', [lease.lease_seq]);
    for (const write of ['INSERT INTO heir (id) VALUES (2)', 'UPDATE base SET id = 3', 'TRUNCATE heir']) {
      await expect(db.pool.query(write)).rejects.toMatchObject({ code: 'LH001' });
    }
    await db.pool.query(down);
    await db.pool.query('INSERT INTO heir (id) VALUES (2)');
  });

  it('leaves a child the fence that it has of its own, and takes those along that it shares', async () => {
    await db.pool.query(`
      CREATE TABLE trunk (id int);
      CREATE TABLE branch () INHERITS (trunk);
      CREATE TABLE graft () INHERITS (trunk)`);
    await db.pool.query(fence('graft', { lease: 'grafted' }).up);
    const other = await acquired(db.pool, 'grafted', 'A');
    const insert = (table: string, { lease_seq }: LeaseRow): Promise<unknown> =>
      db.pool.query(`INSERT INTO ${table} (id, lease_seq) VALUES (1, $1)`, [lease_seq]);
    for (const name of ['hourly', 'nightly']) await db.pool.query(fence('trunk', { lease: name }).up);
    await insert('branch', lease);
    await insert('graft', other);
    await expect(insert('graft', lease)).rejects.toMatchObject({ constraint: 'LEASE_OBJECT_MISMATCH' });
    await db.pool.query(fence('trunk', { lease: 'nightly' }).down);
    await db.pool.query('INSERT INTO branch (id) VALUES (2)');
    await insert('graft', other);
    await expect(db.pool.query('TRUNCATE graft')).rejects.toMatchObject({ code: 'LH001' });
  });

  it('is not taken away from under a child that has a fence of its own with the same columns', async () => {
    await db.pool.query('CREATE TABLE oak (id int); CREATE TABLE twig () INHERITS (oak)');
    const [oak, twig] = [fence('oak', { lease: 'nightly' }), fence('twig', { lease: 'twigs' })];
    await db.pool.query(oak.up);
    await db.pool.query(twig.up);
    await expect(db.pool.query(oak.down)).rejects.toMatchObject({
      message: 'The table twig has a fence of its own with columns from here: take that one away first.',
    });
    const { lease_seq } = await acquired(db.pool, 'twigs', 'A');
    await db.pool.query('INSERT INTO twig (id, lease_seq) VALUES (1, $1)', [lease_seq]);
    await db.pool.query(twig.down);
    await db.pool.query('INSERT INTO twig (id) VALUES (2)');
    await db.pool.query(oak.down);
    await db.pool.query('INSERT INTO oak (id) VALUES (3)');
  });

  it('may be put up however strings are written', async () => {
    const client = await db.pool.connect();
    try {
      await client.query('SET standard_conforming_strings = off; SET escape_string_warning = off');
      await client.query(fence('reports', { lease: 'nightly' }).up);
    } finally {
      await client.query('RESET ALL');
      client.release();
    }
    await update(lease.lease_seq);
  });

  it('lets a partition that was detached have its fence taken away, or put up again', async () => {
    await db.pool.query(`
      CREATE TABLE whole (id int) PARTITION BY LIST (id);
      CREATE TABLE piece PARTITION OF whole FOR VALUES IN (1)`);
    await db.pool.query(fence('whole', { lease: 'nightly' }).up);
    await db.pool.query('ALTER TABLE whole DETACH PARTITION piece');
    await db.pool.query(fence('piece', { lease: 'nightly' }).up);
    await db.pool.query('INSERT INTO piece (id, lease_seq) VALUES (1, $1)', [lease.lease_seq]);
    await expect(db.pool.query('INSERT INTO piece (id) VALUES (1)')).rejects.toMatchObject({ code: 'LH001' });
    await db.pool.query(fence('piece', { lease: 'nightly' }).down);
    await db.pool.query('TRUNCATE piece');
  });
});

describe('a session with a dot_iu_runtime_lease of its own', () => {
  it.each(['CREATE TEMP TABLE', 'CREATE SCHEMA mine; SET LOCAL search_path = mine, public; CREATE TABLE'])(
    'neither passes a fence by it nor is granted a lease that is held: %s',
    async (create) => {
      const client = await db.pool.connect();
      try {
        await client.query(`BEGIN; ${create} dot_iu_runtime_lease (LIKE public.dot_iu_runtime_lease)`);
        await client.query(
          "INSERT INTO dot_iu_runtime_lease VALUES ('nightly', 'B', gen_random_uuid(), $1, now(), 'infinity')",
          [lease.lease_seq + 1n],
        );
        const { rows: granted } = await client.query(
          "SELECT token FROM public.fn_dot_iu_runtime_lease_acquire('nightly', 'B', 30)",
        );
        expect(granted).toEqual([{ token: null }]);
        await expect(
          client.query('UPDATE public.reports SET lease_seq = $1', [lease.lease_seq + 1n]),
        ).rejects.toMatchObject({ constraint: 'WRITE_UNKNOWN_FENCE' });
      } finally {
        await client.query('ROLLBACK');
        client.release();
      }
    },
  );
});

describe('putting up a fence', () => {
  it('may be repeated, may change the lease, and is taken away without a trace', async () => {
    await db.pool.query('CREATE SCHEMA "odd ""schema"; CREATE TABLE "odd ""schema"."it\'s" (id int)');
    await db.pool.query('INSERT INTO "odd ""schema"."it\'s" VALUES (1)');
    const name = 'odd "schema.it\'s';
    await db.pool.query(fence(name, { lease: "o'clock" }).up);
    await db.pool.query(fence(name, { lease: "o'clock" }).up);
    const { lease_seq } = await acquired(db.pool, "o'clock", 'A');
    await db.pool.query('UPDATE "odd ""schema"."it\'s" SET lease_seq = $1', [lease_seq]);
    await db.pool.query(fence(name, { lease: 'nightly' }).up);
    await expect(
      db.pool.query('UPDATE "odd ""schema"."it\'s" SET lease_seq = $1', [lease_seq]),
    ).rejects.toMatchObject({ constraint: 'LEASE_OBJECT_MISMATCH' });
    await db.pool.query(fence(name, { lease: 'nightly' }).down);
    await db.pool.query(fence(name, { lease: 'nightly' }).down);
    await db.pool.query('DELETE FROM "odd ""schema"."it\'s"');
    const { rows: columns } = await db.pool.query(
      "SELECT column_name FROM information_schema.columns WHERE table_name = 'it''s'",
    );
    expect(columns).toEqual([{ column_name: 'id' }]);
  });

  it('needs the migration', async () => {
    await rollback(db.pool);
    try {
      await expect(db.pool.query(fence('reports', { lease: 'nightly' }).up)).rejects.toMatchObject({
        code: '42P01',
        message: 'There is no dot_iu_runtime_lease: migration 019 comes first.',
      });
    } finally {
      await migrate(db.pool);
    }
  });

  it('needs a migration whose grants wait for it', async () => {
    await db.pool.query('DROP INDEX dot_iu_runtime_lease_lease_seq_key');
    try {
      await expect(db.pool.query(fence('reports', { lease: 'nightly' }).up)).rejects.toMatchObject({
        message: expect.stringContaining('migrate again first'),
      });
    } finally {
      await migrate(db.pool);
    }
    await db.pool.query(fence('reports', { lease: 'nightly' }).up);
  });

  it('looks at the leases of the schema, though the session has temporary ones', async () => {
    const client = await db.pool.connect();
    try {
      await client.query('BEGIN; CREATE TEMP TABLE dot_iu_runtime_lease (LIKE public.dot_iu_runtime_lease)');
      await client.query(fence('reports', { lease: 'nightly' }).up);
      await client.query('COMMIT; DROP TABLE pg_temp.dot_iu_runtime_lease');
    } finally {
      client.release();
    }
    await update(lease.lease_seq);
  });

  it('does not take over a column that was there before', async () => {
    await db.pool.query('CREATE TABLE gardens (fence text)');
    await expect(db.pool.query(fence('gardens', { lease: 'nightly' }).up)).rejects.toMatchObject({
      code: '42701',
    });
  });

  it.each(['', 'a.b.c', '.a', 'a.'])('refuses the table %j', (table) => {
    expect(() => fence(table, { lease: 'nightly' })).toThrow(TypeError);
  });

  it('refuses a lease without a name', () => {
    expect(() => fence('reports', { lease: '' })).toThrow(TypeError);
  });

  it('stands closed while the migration is rolled back', async () => {
    await rollback(db.pool);
    try {
      await expect(update(lease.lease_seq)).rejects.toMatchObject({ code: '42P01' });
    } finally {
      await migrate(db.pool);
    }
    const next = await acquired(db.pool, 'nightly', 'A');
    await update(next.lease_seq);
  });
});
