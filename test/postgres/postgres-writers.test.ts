// Two writers on one database: a deposed writer appends nothing, however long it slept, and answers nothing from
// memory once another may hold the guard.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { LogClosedError, LogHeldError } from '../../src/engines/log.ts';
import { appendBatch, Heard, openHeard } from '../support/log-story.ts';
import { isSettled, ManualWorld } from '../support/manual-world.ts';
import { TestDatabase } from '../support/postgres.ts';
import { cutConnections, engineOn, freeGuard, until, untilBlocked } from '../support/postgres-log.ts';

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

const rowsInLog = async (): Promise<number> =>
  Number(await db.value('SELECT count(*) FROM leasehold.leasehold_log'));

/** A world whose time stands still, for an engine on a real database. */
function stoppedWorld() {
  const world = new ManualWorld();
  return { world, engine: engineOn(db, { world, holder: 'the sleeper' }) };
}

describe('the guard', () => {
  it('keeps a second opener out, and says who has the log', async () => {
    const first = await openHeard(engineOn(db, { holder: 'server one', guardTtlMs: 1_500 }));
    const second = engineOn(db, { holder: 'server two' });
    await expect(openHeard(second)).rejects.toThrow(new LogHeldError('server one'));
    await first.log.close();
    await (await openHeard(second)).log.close();
  });

  it('is waited for by an opener whose own is shorter, and taken if it is not renewed', async () => {
    await openHeard(engineOn(db, { guardTtlMs: 1_500 }));
    await cutConnections(db);
    const fromMs = performance.now();
    const { log } = await openHeard(engineOn(db, { guardTtlMs: 300 }));
    expect(performance.now() - fromMs).toBeGreaterThan(1_500);
    await log.close();
  });

  it('goes to exactly one of many who want it at once', async () => {
    const engines = Array.from({ length: 8 }, (_, i) => engineOn(db, { holder: `server ${i}` }));
    const followed = await Promise.all(engines.map((engine) => engine.follow(new Heard())));
    const logs = await Promise.all(followed.map((follower) => follower.lead()));
    const winners = logs.filter((log) => log !== null);
    expect(winners).toHaveLength(1);
    await appendBatch(winners[0]!, 1);
    await winners[0]!.close();
    for (const follower of followed) await follower.close();
  });

  it('must last for at least three of its heartbeats', () => {
    expect(() => engineOn(db, { guardTtlMs: 900, guardHeartbeatMs: 301 })).toThrow(/three of its heartbeats/);
    expect(() => engineOn(db, { guardTtlMs: 900, guardHeartbeatMs: 0 })).toThrow(/three of its heartbeats/);
  });

  it('lets the writer answer from memory until a margin before it runs out, by either clock', async () => {
    const { world, engine } = stoppedWorld();
    const { log } = await openHeard(engine);
    expect(log.mayAnswer).toBe(true);
    const { monotonicMs, wallMs } = world;
    world.monotonicMs = monotonicMs + 13_999;
    expect(log.mayAnswer).toBe(true);
    world.monotonicMs = monotonicMs + 14_000;
    expect(log.mayAnswer).toBe(false);
    world.monotonicMs = monotonicMs;
    world.wallMs = wallMs + 14_000;
    expect(log.mayAnswer).toBe(false);
    world.wallMs = wallMs;
    expect(log.mayAnswer).toBe(true);
    await log.close();
  });

  it('is renewed by heartbeats, and the deadline moves with them', async () => {
    const { world, engine } = stoppedWorld();
    const { log } = await openHeard(engine);
    const expiresAt = (): Promise<unknown> =>
      db.value('SELECT expires_at::text FROM leasehold.leasehold_guard');
    for (let beat = 1; beat <= 4; beat++) {
      const before = await expiresAt();
      await world.advance(5_000);
      await until(async () => (await expiresAt()) !== before);
      await world.settle();
    }
    expect(log.mayAnswer).toBe(true);
    await log.close();
  });
});

describe('a writer that was deposed', () => {
  it('gets nothing in, and hears of it at its first append', async () => {
    const { engine } = stoppedWorld();
    const sleeper = await openHeard(engine);
    await appendBatch(sleeper.log, 2);
    await freeGuard(db);
    const next = await openHeard(engineOn(db));
    expect(next.heard.seqs).toEqual([1, 2]);
    await expect(appendBatch(sleeper.log, 1)).rejects.toThrow(LogClosedError);
    await expect(appendBatch(sleeper.log, 1)).rejects.toThrow(/newer writer/);
    expect(await sleeper.log.lost).toBeInstanceOf(LogClosedError);
    await appendBatch(next.log, 1);
    expect(await rowsInLog()).toBe(2);
    await next.log.close();
  });

  it('ends by itself at its next heartbeat although it appends nothing', async () => {
    const { world, engine } = stoppedWorld();
    const sleeper = await openHeard(engine);
    await freeGuard(db);
    const next = await openHeard(engineOn(db));
    await world.advance(5_000);
    expect((await sleeper.log.lost).message).toMatch(/no longer holds the guard/);
    expect(sleeper.log.mayAnswer).toBe(false);
    await expect(sleeper.log.append()).rejects.toThrow(LogClosedError);
    await next.log.close();
  });

  it('does not come back to a guard that was taken away, even if no other process has taken it', async () => {
    const { world, engine } = stoppedWorld();
    const sleeper = await openHeard(engine);
    await freeGuard(db);
    await world.advance(5_000);
    expect((await sleeper.log.lost).message).toMatch(/no longer holds the guard/);
  });
});

describe('an append under way while another takes over', () => {
  it('is either seen by the new writer or not there at all', async () => {
    const { engine } = stoppedWorld();
    const old = await openHeard(engine);
    await appendBatch(old.log, 1);
    await freeGuard(db);
    // Holds the append after it has locked the epoch: a row with the same seq may yet be committed before its own.
    const holder = await db.pool.connect();
    await holder.query('BEGIN');
    await holder.query("INSERT INTO leasehold.leasehold_log VALUES (1, 0, 2, 0, 0, '')");
    const appending = appendBatch(old.log, 1);
    await untilBlocked(db, 'INSERT INTO');
    const opening = openHeard(engineOn(db));
    await untilBlocked(db, 'raised');
    expect(await isSettled(opening)).toBe(false);
    await holder.query('ROLLBACK');
    holder.release();
    await appending;
    const next = await opening;
    expect(next.heard.seqs).toEqual([1, 2]);
    await expect(appendBatch(old.log, 1)).rejects.toThrow(LogClosedError);
    await appendBatch(next.log, 1);
    await next.log.close();
  });

  it('is refused when the epoch was raised before it got to it', async () => {
    const { engine } = stoppedWorld();
    const old = await openHeard(engine);
    const holder = await db.pool.connect();
    await holder.query('BEGIN');
    await holder.query('UPDATE leasehold.leasehold_epoch SET epoch = epoch + 1');
    const appending = appendBatch(old.log, 1);
    const refused = expect(appending).rejects.toThrow(LogClosedError);
    await untilBlocked(db, 'INSERT INTO');
    await holder.query('COMMIT');
    holder.release();
    await refused;
    expect(await rowsInLog()).toBe(0);
  });

  it('loses or repeats nothing over many hand-overs under load', async () => {
    const seen: number[] = [];
    for (let round = 0; round < 15; round++) {
      const { log, heard } = await openHeard(engineOn(db));
      expect(heard.seqs).toEqual(Array.from({ length: heard.seqs.length }, (_, i) => i + 1));
      for (const seq of seen) expect(heard.seqs).toContain(seq);
      const writing = (async () => {
        for (;;) {
          const from = log.position.lastSeq + 1;
          await appendBatch(log, 2);
          seen.push(from, from + 1);
        }
      })();
      const over = expect(writing).rejects.toThrow();
      await until(async () => log.position.lastSeq > heard.seqs.length + round);
      await freeGuard(db);
      const next = await openHeard(engineOn(db));
      await over;
      await next.log.close();
    }
    const { log, heard } = await openHeard(engineOn(db));
    expect(heard.seqs).toEqual(Array.from({ length: heard.seqs.length }, (_, i) => i + 1));
    expect(new Set(seen).size).toBe(seen.length);
    for (const seq of seen) expect(heard.seqs).toContain(seq);
    await log.close();
  });
});

describe('a row that is not where the writer left it', () => {
  it('ends the writer instead of leaving a gap behind it', async () => {
    const { log } = await openHeard(engineOn(db));
    await appendBatch(log, 1);
    await appendBatch(log, 1);
    await db.pool.query('DELETE FROM leasehold.leasehold_log WHERE last_seq = 2');
    await expect(appendBatch(log, 1)).rejects.toThrow(LogClosedError);
    await freeGuard(db);
    const next = await openHeard(engineOn(db));
    expect(next.heard.seqs).toEqual([1]);
    await next.log.close();
  });
});
