// Compaction in a database as users have it: the built package, a real Postgres and a real thread with a connection of
// its own.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type * as Engine from '../../src/engines/postgres/postgres-engine.ts';
import type * as Threads from '../../src/world/node-threads.ts';
import type * as Connections from '../../src/world/pg-connections.ts';
import { Chronicle } from '../support/chronicle.ts';
import { TestDatabase } from '../support/postgres.ts';
import { cutConnections, REAL_WORLD } from '../support/postgres-log.ts';

const built = (path: string): string => new URL(`../../dist/${path}`, import.meta.url).href;

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

async function engine() {
  const { postgresEngine } = (await import(built('engines/postgres/postgres-engine.js'))) as typeof Engine;
  const { pgConnections } = (await import(built('world/pg-connections.js'))) as typeof Connections;
  const { nodeThreads } = (await import(built('world/node-threads.js'))) as typeof Threads;
  return postgresEngine({
    connections: pgConnections(db.url),
    world: REAL_WORLD,
    holder: 'a test',
    allowFsyncOff: true,
    threads: nodeThreads,
    segmentBytes: 256 * 1024,
    compactionBytesMin: 512 * 1024,
  });
}

describe('compaction on a thread', () => {
  it('replaces old rows by a checkpoint while the log goes on', async () => {
    const chronicle = await Chronicle.open(await engine());
    await chronicle.start();
    while (!chronicle.log.wantsCompaction) await chronicle.live(200);
    const compacting = chronicle.log.compact();
    for (let i = 0; i < 50; i++) await chronicle.live(200);
    chronicle.adopt((await compacting)!);
    await chronicle.log.dropOld();
    expect(await db.value('SELECT count(*)::integer FROM leasehold.leasehold_checkpoint')).toBe(1);
    expect(chronicle.log.position.firstSeq).toBeGreaterThan(1);
    const { hash } = chronicle;
    const texts = await chronicle.texts();
    expect(texts).not.toContain(null);
    await chronicle.log.close();
    const again = await Chronicle.open(await engine());
    expect(again.hash).toBe(hash);
    expect(await again.texts()).toEqual(texts);
    await again.log.close();
  });

  it('is ended by closing the log, and leaves nothing that matters', async () => {
    const chronicle = await Chronicle.open(await engine());
    await chronicle.start();
    while (!chronicle.log.wantsCompaction) await chronicle.live(200);
    const { hash } = chronicle;
    const compacting = chronicle.log.compact().catch((error: unknown) => error);
    await chronicle.log.close();
    expect(await compacting).toBeInstanceOf(Error);
    const again = await Chronicle.open(await engine());
    expect(again.hash).toBe(hash);
    await again.log.close();
  });
});
