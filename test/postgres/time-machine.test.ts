// The time machine on a log in a database: earlier moments back to the newest checkpoint.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Moments } from '../../src/authority/moments.ts';
import { LogCompactedError } from '../../src/engines/log.ts';
import { openPast } from '../../src/engines/open-past.ts';
import type { LogPast } from '../../src/engines/past.ts';
import { nodeFiles } from '../../src/world/node-files.ts';
import { pgConnections } from '../../src/world/pg-connections.ts';
import { Chronicle } from '../support/chronicle.ts';
import { inlineThreads } from '../support/inline-threads.ts';
import { fewMoments, momentHash } from '../support/moment-hash.ts';
import { positionHashes } from '../support/position-hashes.ts';
import { TestDatabase } from '../support/postgres.ts';
import { cutConnections, engineOn } from '../support/postgres-log.ts';
import { Fleet, STEADY } from '../support/server-fleet.ts';

const WORLD = { files: nodeFiles, databases: pgConnections, pause: () => undefined };
const NEVER = Number.POSITIVE_INFINITY;

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

async function lived(rounds: number): Promise<Chronicle> {
  const sizes = { segmentBytes: 8 * 1024, compactionBytesMin: 1 };
  const chronicle = await Chronicle.open(engineOn(db, { threads: inlineThreads(nodeFiles), ...sizes }));
  await chronicle.start();
  for (let round = 0; round < rounds; round++) await chronicle.live();
  return chronicle;
}

async function hashAt(moments: Moments, past: LogPast, seq: number): Promise<string> {
  return momentHash(moments, past, await openPast(past, WORLD), seq);
}

describe('a moment of a log in a database', () => {
  it('is the state of a replay up to its position, from the beginning and from a checkpoint', async () => {
    const chronicle = await lived(20);
    const { log } = chronicle;
    const hashes = await positionHashes(log.entries(1, NEVER));
    const moments = fewMoments();
    for (const seq of [1, 40, 7, 41, 200, log.position.lastSeq]) {
      expect(await hashAt(moments, log.past()!, seq)).toBe(hashes.get(seq));
    }
    expect(await chronicle.compact()).toBe(true);
    const [{ seq: first }] = log.past()!.bases;
    expect(first).toBeGreaterThan(40);
    for (const seq of [log.position.lastSeq, first, first + 1]) {
      expect(await hashAt(moments, log.past()!, seq)).toBe(hashes.get(seq));
    }
    await log.close();
  });

  it('is gone when a compaction has deleted its rows meanwhile', async () => {
    const chronicle = await lived(20);
    const before = chronicle.log.past()!;
    await chronicle.compact();
    await expect(hashAt(fewMoments(), before, 40)).rejects.toThrow(LogCompactedError);
    const between = chronicle.log.past()!;
    while (!chronicle.log.wantsCompaction) await chronicle.live();
    await chronicle.compact();
    await expect(hashAt(fewMoments(), between, between.bases[0].seq)).rejects.toThrow(LogCompactedError);
    await chronicle.log.close();
  });
});

describe('a server on a database', () => {
  it('answers reads as of an earlier position, with the payloads of then, and refuses what is beyond', async () => {
    const fleet = new Fleet(db.url);
    try {
      const server = await fleet.start(STEADY);
      await server.ask('POST', '/v1/tasks', { task_id: 't1', payload: { text: 'ä'.repeat(1_000) } });
      const { body: then } = await server.ask('GET', '/v1/tasks/t1');
      const { seq } = (await server.ask('GET', '/v1/status')).body;
      await server.ask('POST', '/v1/tasks/t1/kill', { reason: 'enough' });
      expect((await server.ask('GET', '/v1/tasks/t1')).body.state).toBe('DEAD');
      const past = await server.ask('GET', `/v1/tasks/t1?at_seq=${seq}`);
      expect(past.body).toEqual(then);
      expect((await server.ask('GET', `/v1/tasks/t1?at_seq=${seq - 1}`)).status).toBe(404);
      expect((await server.ask('GET', '/v1/status?at_seq=1')).body).toMatchObject({ seq: 1 });
      expect((await server.ask('GET', `/v1/tasks?at_seq=${seq + 1_000}`)).status).toBe(400);
    } finally {
      await fleet.close();
    }
  });
});
