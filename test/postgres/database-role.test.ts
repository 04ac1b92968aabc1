// The server's role in the database: one that could never write is refused at the start, not discovered at a
// take-over.
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Log } from '../../src/engines/log.ts';
import { pgConnections } from '../../src/world/pg-connections.ts';
import { Process } from '../support/cli-processes.ts';
import { appendBatch, Heard, openHeard } from '../support/log-story.ts';
import { TestDatabase } from '../support/postgres.ts';
import { engineOn, freeGuard } from '../support/postgres-log.ts';

/** All that is needed once the tables are there. */
const NEEDED = [
  'SELECT, INSERT, DELETE ON leasehold.leasehold_log',
  'SELECT, INSERT, DELETE ON leasehold.leasehold_checkpoint',
  'SELECT, UPDATE ON leasehold.leasehold_guard',
  'SELECT, UPDATE ON leasehold.leasehold_epoch',
];

const role = `role_${randomUUID().replaceAll('-', '')}`;
let db: TestDatabase;
let url: string;
let leader: Log;

beforeAll(async () => {
  db = await TestDatabase.create();
  leader = (await openHeard(engineOn(db, { guardTtlMs: 600_000 }))).log;
  await db.pool.query(`CREATE ROLE ${role} LOGIN`);
  const address = new URL(db.url);
  address.username = role;
  url = address.href;
});

afterAll(async () => {
  await leader.close();
  await db.pool.query(`DROP ROLE ${role}`);
  await db.drop();
});

beforeEach(async () => {
  await db.pool.query(`GRANT USAGE ON SCHEMA leasehold TO ${role}`);
  await db.pool.query(`GRANT SELECT ON ALL TABLES IN SCHEMA leasehold TO ${role}`);
});

afterEach(() => db.pool.query(`DROP OWNED BY ${role}`));

const grant = (rights: string) => db.pool.query(`GRANT ${rights} TO ${role}`);
const engine = () => engineOn(db, { connections: pgConnections(url) });

describe('a role that may only read', () => {
  it('cannot be that of a standby, and is told in one sentence what it lacks', async () => {
    const args = ['serve', '--engine', url, '--listen', '127.0.0.1:0', '--allow-fsync-off'];
    const standby = new Process([...args, '--log-level', 'error'], {});
    const stands = standby.says(/stands by/).then(
      () => 'It stands by.',
      () => 'It has ended.',
    );
    try {
      expect(await stands).toBe('It has ended.');
      const { status, stderr } = await standby.ended;
      expect(status).toBe(1);
      expect(stderr).toMatch(/^leasehold: .*\n$/);
      expect(stderr).toContain(`The role ${role} may not write`);
      expect(stderr).toContain('INSERT on leasehold.leasehold_log');
      expect(stderr).toContain('UPDATE on leasehold.leasehold_guard');
    } finally {
      standby.kill('SIGKILL');
      await standby.ended;
    }
  });

  it.each(NEEDED)('is refused as long as a single right is missing of %s', async (missing) => {
    for (const rights of NEEDED) if (rights !== missing) await grant(rights);
    const [, last, table] = /(\w+) ON (\S+)$/.exec(missing)!;
    await expect(engine().follow(new Heard())).rejects.toThrow(`${last} on ${table}`);
    await expect(openHeard(engine())).rejects.toThrow(role);
  });
});

describe('a role that may do what is needed and nothing else', () => {
  it('stands by, takes over and writes', async () => {
    for (const rights of NEEDED) await grant(rights);
    const followed = await engine().follow(new Heard());
    await freeGuard(db);
    const log = await followed.lead();
    await appendBatch(log!, 1);
    await log!.close();
  });
});
