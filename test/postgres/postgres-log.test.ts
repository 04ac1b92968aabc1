// The postgres engine keeps the promises of a log, on a real server.
import { afterAll, beforeAll } from 'vitest';
import type { PostgresEngineOptions } from '../../src/engines/postgres/postgres-engine.ts';
import { describeLog } from '../contract/log-contract.ts';
import { TestDatabase } from '../support/postgres.ts';
import { cutConnections, engineOn, freeGuard } from '../support/postgres-log.ts';

let db: TestDatabase;

beforeAll(async () => {
  db = await TestDatabase.create();
});

afterAll(async () => {
  await db.drop();
});

const SIZES: Record<string, Partial<PostgresEngineOptions>> = {
  'of the usual size': {},
  'with a row a segment and next to no memory': { segmentBytes: 1, recentBytesMax: 0, cacheBytesMax: 1 },
};

for (const [name, sizes] of Object.entries(SIZES)) {
  describeLog(`postgres (${name})`, async () => {
    await db.pool.query('DROP SCHEMA IF EXISTS leasehold CASCADE');
    return {
      // A second opener is refused when it has seen the first renew its guard.
      engine: () => engineOn(db, { guardTtlMs: 1_500, ...sizes }),
      crash: async () => {
        await cutConnections(db);
        await freeGuard(db);
      },
      secondOpener: 'is refused',
      engineFrom: null,
      dispose: () => cutConnections(db),
    };
  });
}
