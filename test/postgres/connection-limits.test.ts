// Every connection of a log has a statement timeout, including those of compaction: when one falls silent, the
// statement fails, its locks are released, and the caller can retry. The effect of the timeout is tested in
// silent-connection.test.ts.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ConnectOptions, SqlConnections } from '../../src/seams/database.ts';
import { nodeFiles } from '../../src/world/node-files.ts';
import { pgConnections } from '../../src/world/pg-connections.ts';
import { Chronicle } from '../support/chronicle.ts';
import { inlineThreads } from '../support/inline-threads.ts';
import { TestDatabase } from '../support/postgres.ts';
import { engineOn } from '../support/postgres-log.ts';

let db: TestDatabase;

beforeAll(async () => {
  db = await TestDatabase.create();
});

afterAll(() => db.drop());

describe('a log that is written and compacted', () => {
  it('has a limit on every connection, longer than an append on that of the appends', async () => {
    const limits: (number | undefined)[] = [];
    const noting = (address: string): SqlConnections => {
      const { connect } = pgConnections(address);
      return {
        address,
        connect(options: ConnectOptions = {}) {
          limits.push(options.statementMsMax);
          return connect(options);
        },
      };
    };
    const engine = engineOn(db, {
      connections: noting(db.url),
      threads: inlineThreads(nodeFiles, noting),
      segmentBytes: 8 * 1024,
      compactionBytesMin: 20 * 1024,
    });
    const chronicle = await Chronicle.open(engine);
    await chronicle.start();
    while (!chronicle.log.wantsCompaction) await chronicle.live();
    expect(await chronicle.compact()).toBe(true);
    await chronicle.log.close();
    // One to read, the guard's, the appends', then a sweep, what allows the compaction, the thread's, and a sweep.
    expect(limits).toEqual([10_000, 8_000, 11_000, 60_000, 60_000, 60_000, 60_000]);
  });
});
