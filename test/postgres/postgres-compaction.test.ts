// Compaction in a database changes no answer: not while it runs beside appends, not between checkpoint and adoption,
// not after the old rows are gone, and not when the writer dies in the middle. A follower is told to start over.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { apply } from '../../src/core/apply.ts';
import { restoreImage } from '../../src/core/image-io.ts';
import type { TaskRow } from '../../src/core/row-types.ts';
import { createState, type State } from '../../src/core/state.ts';
import { stateHash } from '../../src/core/state-hash.ts';
import { FILE_SPAN } from '../../src/engines/frame.ts';
import { type FollowedLog, LogCompactedError, LogOutOfReachError } from '../../src/engines/log.ts';
import type { PostgresEngineOptions } from '../../src/engines/postgres/postgres-engine.ts';
import { markRestored } from '../../src/engines/postgres/restore.ts';
import type { Threads } from '../../src/seams/threads.ts';
import { nodeFiles } from '../../src/world/node-files.ts';
import { Chronicle } from '../support/chronicle.ts';
import { inlineThreads } from '../support/inline-threads.ts';
import { collect } from '../support/log-story.ts';
import { TestDatabase } from '../support/postgres.ts';
import { cutConnections, engineOn, freeGuard, until } from '../support/postgres-log.ts';

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

const SMALL = {
  threads: inlineThreads(nodeFiles),
  segmentBytes: 8 * 1024,
  recentBytesMax: 0,
  cacheBytesMax: 1,
  compactionBytesMin: 20 * 1024,
};

const smallEngine = (options: Partial<PostgresEngineOptions> = {}) => engineOn(db, { ...SMALL, ...options });

async function lived(rounds: number, options: Partial<PostgresEngineOptions> = {}): Promise<Chronicle> {
  const chronicle = await Chronicle.open(smallEngine(options));
  await chronicle.start();
  for (let i = 0; i < rounds; i++) await chronicle.live();
  return chronicle;
}

/** The writer is gone without a word. */
async function afterCrash(options: Partial<PostgresEngineOptions> = {}): Promise<Chronicle> {
  await cutConnections(db);
  await freeGuard(db);
  return Chronicle.open(smallEngine(options));
}

async function counted(where: string): Promise<number> {
  return Number(await db.value(`SELECT count(*) FROM leasehold.leasehold_log WHERE ${where}`));
}

const batches = (): Promise<number> => counted('last_seq IS NOT NULL');
const pieces = (): Promise<number> => counted('last_seq IS NULL');
const checkpoints = async (): Promise<number> =>
  Number(await db.value('SELECT count(*) FROM leasehold.leasehold_checkpoint'));

async function following(): Promise<{ state: State; followed: FollowedLog }> {
  const state = createState();
  const followed = await smallEngine().follow({
    image: (record) => restoreImage(state, record),
    entry: (entry, seq, atMs) => apply(state, entry, seq, atMs),
  });
  return { state, followed };
}

describe('compaction', () => {
  it('is wanted once enough has been sealed, and not again before as much has come on top', async () => {
    const chronicle = await lived(0);
    expect(chronicle.log.wantsCompaction).toBe(false);
    expect(await chronicle.log.compact()).toBe(null);
    while (!chronicle.log.wantsCompaction) await chronicle.live();
    expect(chronicle.log.size.bytes).toBeGreaterThanOrEqual(20 * 1024);
    expect(await chronicle.compact()).toBe(true);
    expect(chronicle.log.wantsCompaction).toBe(false);
    const { bytes } = chronicle.log.size;
    while (!chronicle.log.wantsCompaction) await chronicle.live();
    expect(chronicle.log.size.bytes).toBeGreaterThan(bytes + 20 * 1024);
    await chronicle.log.close();
  });

  it('leaves fewer rows and every answer as it was', async () => {
    const chronicle = await lived(60);
    const { hash } = chronicle;
    const texts = await chronicle.texts();
    expect(texts.length).toBeGreaterThan(150);
    expect(texts).not.toContain(null);
    const before = await batches();
    expect(await chronicle.compact()).toBe(true);
    expect(await batches()).toBeLessThan(before / 2);
    expect(await checkpoints()).toBe(1);
    expect(chronicle.hash).toBe(hash);
    expect(await chronicle.texts()).toEqual(texts);
    const { firstSeq } = chronicle.log.position;
    expect(firstSeq).toBeGreaterThan(1);
    expect((await collect(chronicle.log.entries(1, 1)))[0]?.seq).toBe(firstSeq);
    const again = await afterCrash();
    expect(again.hash).toBe(hash);
    expect(await again.texts()).toEqual(texts);
    expect(again.log.position).toEqual(chronicle.log.position);
    await again.log.close();
  });

  it('goes on for ever: checkpoint after checkpoint, over restarts', async () => {
    let compactions = 0;
    for (let writer = 0; writer < 4; writer++) {
      const chronicle = await lived(0);
      for (let i = 0; i < 60; i++) {
        await chronicle.live();
        if (chronicle.log.wantsCompaction && (await chronicle.compact())) compactions += 1;
      }
      const { hash } = chronicle;
      const texts = await chronicle.texts();
      expect(texts).not.toContain(null);
      if (writer % 2 === 0) await chronicle.log.close();
      const again = await afterCrash();
      expect(again.hash).toBe(hash);
      expect(await again.texts()).toEqual(texts);
      await again.log.close();
      expect(await checkpoints()).toBe(1);
    }
    expect(compactions).toBeGreaterThan(2);
  });

  it('spreads a large checkpoint over several parts', async () => {
    const sizes = { partBytesMax: 6 * 1024 };
    const chronicle = await lived(80, sizes);
    expect(await chronicle.compact()).toBe(true);
    const parts = await db.value('SELECT last_part - first_part FROM leasehold.leasehold_checkpoint');
    expect(Number(parts)).toBeGreaterThan(2);
    for (let i = 0; i < 40; i++) await chronicle.live();
    expect(await chronicle.compact()).toBe(true);
    const { hash } = chronicle;
    const texts = await chronicle.texts();
    const again = await afterCrash(sizes);
    expect(again.hash).toBe(hash);
    expect(await again.texts()).toEqual(texts);
    await again.log.close();
  });

  it('carries bytes along that are longer than what it reads at a time', async () => {
    const chronicle = await lived(2, { segmentBytes: 1 });
    await chronicle.live(700_000);
    await chronicle.live(300_000);
    await chronicle.live();
    const texts = await chronicle.texts();
    expect(await chronicle.compact()).toBe(true);
    expect(await chronicle.texts()).toEqual(texts);
    await chronicle.log.close();
  });

  it('lets the log go on while it runs, and old positions stay good until they are dropped', async () => {
    const chronicle = await lived(60);
    const compacting = chronicle.log.compact();
    // One at a time, and the next only when nothing refers any more to what this one replaces.
    expect(await chronicle.log.compact()).toBe(null);
    for (let i = 0; i < 30; i++) await chronicle.live();
    const relocation = (await compacting)!;
    for (let i = 0; i < 60; i++) await chronicle.live();
    expect([chronicle.log.wantsCompaction, await chronicle.log.compact()]).toEqual([false, null]);
    const texts = await chronicle.texts();
    expect(texts).not.toContain(null);
    const [logged] = await collect(chronicle.log.entries(2, 1));
    const stale = logged!.entry.type === 'TaskCreated' ? logged!.entry.payload : null;
    expect(relocation.gone.has(Math.floor(stale!.at / FILE_SPAN))).toBe(true);
    expect(await chronicle.log.read(stale!)).not.toBe(null);
    chronicle.adopt(relocation);
    expect(await chronicle.texts()).toEqual(texts);
    await chronicle.log.dropOld();
    expect(await chronicle.texts()).toEqual(texts);
    await expect(Promise.resolve(chronicle.log.read(stale!))).rejects.toThrow(LogCompactedError);
    const { hash } = chronicle;
    const again = await afterCrash();
    expect(again.hash).toBe(hash);
    await again.log.close();
  });

  it('is reported to a reader of the log when it removes the entries that come next, and leaves no gap there', async () => {
    const chronicle = await lived(0);
    for (let i = 0; i < 12; i++) await chronicle.live(100_000);
    const listing = chronicle.log.entries(1, 1_000_000);
    const seqs: number[] = [];
    const listed = async (): Promise<void> => {
      for await (const { seq } of listing) {
        if (seqs.length === 0) expect(await chronicle.compact()).toBe(true);
        seqs.push(seq);
      }
    };
    await expect(listed()).rejects.toThrow(LogCompactedError);
    expect(seqs).toEqual(seqs.map((_, index) => index + 1));
    expect(chronicle.log.position.firstSeq).toBeGreaterThan(seqs.at(-1)! + 1);
    await chronicle.log.close();
  });

  it('is finished by the next writer when this one dies before it has dropped what was replaced', async () => {
    const chronicle = await lived(60);
    await chronicle.log.compact();
    const { hash } = chronicle;
    const texts = await chronicle.texts();
    const before = await batches();
    const again = await afterCrash();
    expect(again.hash).toBe(hash);
    expect(await again.texts()).toEqual(texts);
    await again.start();
    while (!again.log.wantsCompaction) await again.live();
    expect(await batches()).toBeLessThan(before);
    expect(await again.compact()).toBe(true);
    await again.log.close();
  });

  it('leaves nothing behind when it fails half-way, and the next one succeeds', async () => {
    const chronicle = await lived(200);
    await db.pool.query(`CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'not today'; END $$`);
    await db.pool.query(
      'CREATE TRIGGER refusing BEFORE INSERT ON leasehold.leasehold_checkpoint EXECUTE FUNCTION refuse()',
    );
    const texts = await chronicle.texts();
    await expect(chronicle.log.compact()).rejects.toThrow(/not today/);
    expect(await chronicle.texts()).toEqual(texts);
    // No further compaction is needed until there is space again.
    await until(async () => (await pieces()) === 0);
    await chronicle.live();
    await db.pool.query('DROP TRIGGER refusing ON leasehold.leasehold_checkpoint');
    expect(await checkpoints()).toBe(0);
    expect(await chronicle.compact()).toBe(true);
    const strays = await db.value(`SELECT count(*) FROM leasehold.leasehold_log AS log
      WHERE last_seq IS NULL AND NOT EXISTS (SELECT 1 FROM leasehold.leasehold_checkpoint
        WHERE log.at >= first_part * 4294967296 AND log.at < (last_part + 1) * 4294967296)`);
    expect(Number(strays)).toBe(0);
    expect(await pieces()).toBeGreaterThan(0);
    await chronicle.log.close();
  });

  it('is not believed when its last piece is gone', async () => {
    const chronicle = await lived(60);
    expect(await chronicle.compact()).toBe(true);
    await chronicle.log.close();
    await db.pool.query(`DELETE FROM leasehold.leasehold_log
      WHERE at = (SELECT max(at) FROM leasehold.leasehold_log WHERE last_seq IS NULL)`);
    await expect(afterCrash()).rejects.toThrow(/the checkpoint has no end/);
  });

  it('is undone when it was finished and its reply was lost', async () => {
    const deaf: Threads = {
      start: (module, input) => ({
        result: SMALL.threads.start(module, input).result.then(() => {
          throw new Error('The thread ended before it could say so.');
        }),
        stop: async () => {},
      }),
    };
    const chronicle = await lived(60, { threads: deaf });
    await expect(chronicle.log.compact()).rejects.toThrow(/could say so/);
    // Another one begins only when the first has been cleared up.
    await expect(chronicle.log.compact()).rejects.toThrow(/could say so/);
    await cutConnections(db);
    const again = await afterCrash();
    expect(again.hash).toBe(chronicle.hash);
    expect(await again.texts()).not.toContain(null);
    await again.start();
    while (!again.log.wantsCompaction) await again.live();
    expect(await again.compact()).toBe(true);
    expect(await again.texts()).not.toContain(null);
    await again.log.close();
  });

  it('gets nothing in once it was given up', async () => {
    const { threads, letGo } = lateThreads();
    const chronicle = await lived(60, { threads });
    const refused = expect(chronicle.log.compact()).rejects.toThrow(/abandoned/);
    await until(async () => Number(await db.value('SELECT checkpoint FROM leasehold.leasehold_epoch')) > 0);
    await db.pool.query('UPDATE leasehold.leasehold_epoch SET checkpoint = 0');
    letGo();
    await refused;
    expect(await pieces()).toBe(0);
    await chronicle.live();
    await chronicle.log.close();
  });

  it('comes to nothing when its writer has been deposed meanwhile', async () => {
    const { threads, letGo } = lateThreads();
    const old = await lived(60, { threads });
    const refused = expect(old.log.compact()).rejects.toThrow(/newer writer/);
    await until(async () => Number(await db.value('SELECT checkpoint FROM leasehold.leasehold_epoch')) > 0);
    await freeGuard(db);
    const next = await Chronicle.open(smallEngine());
    letGo();
    await refused;
    expect(await pieces()).toBe(0);
    expect(await checkpoints()).toBe(0);
    await next.log.close();
  });

  it('removes nothing of a later writer, even when it clears up after itself', async () => {
    const { threads, letGo } = lateThreads();
    const old = await lived(60, { threads });
    const refused = expect(old.log.compact()).rejects.toThrow();
    await freeGuard(db);
    const next = await Chronicle.open(smallEngine());
    await next.start();
    expect(await next.compact()).toBe(true);
    const [batchesKept, piecesKept] = [await batches(), await pieces()];
    letGo();
    await refused;
    // Another one begins only when the first has cleared up.
    await expect(old.log.compact()).rejects.toThrow();
    expect([await batches(), await pieces()]).toEqual([batchesKept, piecesKept]);
    expect(await next.texts()).not.toContain(null);
    const again = await afterCrash();
    expect(again.hash).toBe(next.hash);
    await again.log.close();
  });
});

/** Threads that begin only when they are let go. */
function lateThreads(): { threads: Threads; letGo: () => void } {
  let letGo: () => void = () => {};
  const free = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  const start: Threads['start'] = (module, input) => ({
    result: free.then(() => SMALL.threads.start(module, input).result),
    stop: async () => {},
  });
  return { threads: { start }, letGo };
}

describe('who reads along', () => {
  it('sees what the writer sees, batch by batch, and takes over with a warm state', async () => {
    const chronicle = await lived(10);
    const { state, followed } = await following();
    expect(stateHash(state)).toBe(chronicle.hash);
    for (let i = 0; i < 10; i++) {
      await chronicle.live();
      expect(await followed.catchUp()).toBe(true);
      expect(await followed.catchUp()).toBe(false);
      expect(stateHash(state)).toBe(chronicle.hash);
    }
    expect(followed.position).toEqual(chronicle.log.position);
    expect(await followed.leader()).toMatchObject({ holder: 'a test', url: '' });
    expect(await followed.lead()).toBe(null);
    await chronicle.live();
    await chronicle.log.close();
    expect(await followed.leader()).toBe(null);
    const log = await followed.lead();
    expect(stateHash(state)).toBe(chronicle.hash);
    expect(log?.epoch).toBe(chronicle.log.epoch + 1);
    expect(log?.nowMs()).toBeGreaterThan(1_700_000_000_000);
    await log?.close();
  });

  it('is told to start over once there is a newer checkpoint, and finds everything there', async () => {
    const chronicle = await lived(60);
    const { followed } = await following();
    expect(await chronicle.compact()).toBe(true);
    await chronicle.live();
    await expect(followed.catchUp()).rejects.toThrow(LogCompactedError);
    await expect(followed.lead()).rejects.toThrow(LogCompactedError);
    await followed.close();
    const anew = await following();
    expect(stateHash(anew.state)).toBe(chronicle.hash);
    await chronicle.log.close();
    const log = await anew.followed.lead();
    expect(log).not.toBe(null);
    await log?.close();
  });

  it('is told the same when it asks for bytes that have moved, not that they are damaged', async () => {
    const chronicle = await lived(60);
    const { state, followed } = await following();
    const payload = state.tasks.payload.get(1 as TaskRow)!;
    expect(await followed.read(payload)).not.toBe(null);
    expect(await chronicle.compact()).toBe(true);
    await expect(Promise.resolve(followed.read(payload))).rejects.toThrow(LogCompactedError);
    await followed.close();
    await chronicle.log.close();
  });

  it('is told to start over when the database has lost what it had read', async () => {
    const chronicle = await lived(10);
    const { followed } = await following();
    const { lastSeq } = followed.position;
    await cutConnections(db);
    await freeGuard(db);
    await db.pool.query('DELETE FROM leasehold.leasehold_log WHERE last_seq = $1', [lastSeq]);
    await expect(followed.catchUp()).rejects.toThrow();
    // A connection may be cut a moment after that was asked for, and then it is only out of reach.
    let why: unknown = null;
    await until(async () => {
      why = await followed.lead().catch((fault: unknown) => fault);
      return !(why instanceof LogOutOfReachError);
    });
    expect(why).toBeInstanceOf(LogCompactedError);
    await followed.close();
    await chronicle.log.close();
  });
});

describe('a log that has lost its newest rows', () => {
  it('goes on in a new epoch, far above every number ever given out, with every lease ended', async () => {
    const chronicle = await lived(10);
    const { lastSeq } = chronicle.log.position;
    await expect(markRestored(smallEngine())).rejects.toThrow(/in use by/);
    await chronicle.log.close();
    const lost = lastSeq - (await lastSeqBefore(lastSeq));
    await db.pool.query('DELETE FROM leasehold.leasehold_log WHERE last_seq = $1', [lastSeq]);
    const restored = await markRestored(smallEngine());
    expect(restored.lastSeq).toBe(lastSeq - lost);
    expect(restored.seq).toBeGreaterThanOrEqual(lastSeq - lost + 2 ** 40);
    expect(restored.epoch).toBeGreaterThan(chronicle.log.epoch);
    const again = await Chronicle.open(smallEngine());
    expect(again.log.position.lastSeq).toBe(restored.seq);
    expect([...again.state.names.expiring.all()]).toEqual([]);
    expect([...again.state.tasks.expiring.all()]).toEqual([]);
    await again.log.close();
  });

  async function lastSeqBefore(seq: number): Promise<number> {
    return Number(
      await db.value('SELECT max(last_seq) FROM leasehold.leasehold_log WHERE last_seq < $1', [seq]),
    );
  }
});
