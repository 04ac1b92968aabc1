// The guard as its holder lives through it: a database that answers when the test says so, and time moved by hand. What
// the statements do is tested with a real Postgres in test/postgres.
import { beforeEach, describe, expect, it } from 'vitest';
import { ManualWorld } from '../../../test/support/manual-world.ts';
import type { SqlConnection, SqlRow } from '../../seams/database.ts';
import { type Guard, lookAtGuard, takeGuard } from './guard.ts';
import { SleepWatch } from './sleep-watch.ts';
import type { Tables } from './tables.ts';

const TTL_MS = 15_000;
const HEARTBEAT_MS = 5_000;
/** So much earlier than others its holder takes it for over. */
const MARGIN_MS = 1_000;
const EPOCH = 7;
/** What a renewal answers is the time there. */
const DATABASE_MS = 1_700_000_000_000;
const RENEWED: readonly SqlRow[] = [[String(DATABASE_MS)]];

interface Asked {
  readonly text: string;
  readonly values: readonly unknown[];
  readonly answer: (rows: readonly SqlRow[]) => void;
  readonly fail: (fault: Error) => void;
}

let world: ManualWorld;
let asked: Asked[];
let cut: (fault: Error) => void;
let fault: Error | null;
/** What the clock was told. */
let noted: number[][];
/** The time by which it is taken and renewed. */
const nowMs = (): number => DATABASE_MS + world.monotonicMs;

beforeEach(() => {
  world = new ManualWorld();
  asked = [];
  fault = null;
  noted = [];
});

/** A guard that was asked for now, and answered so much later. */
async function taken(answeredMs = 0): Promise<Guard> {
  const connection: Pick<SqlConnection, 'query' | 'lost'> = {
    query: (text, values = []) =>
      new Promise((resolve, reject) => asked.push({ text, values, answer: resolve, fail: reject })),
    lost: new Promise((resolve) => {
      cut = resolve;
    }),
  };
  const tables = { guard: 'guard', epoch: 'epoch' } as Tables;
  const times = { ttlMs: TTL_MS, heartbeatMs: HEARTBEAT_MS };
  const taking = takeGuard(
    connection as SqlConnection,
    { world, tables, holder: 'holder', url: 'http://holder', ...times },
    {
      overdueRow: null,
      sleep: new SleepWatch(world.clock),
      clock: { nowMs, note: (sentMs, databaseMs) => void noted.push([sentMs, databaseMs]) },
    },
  );
  await world.advance(answeredMs);
  asked[0]!.answer([[String(EPOCH), 50_000]]);
  const guard = (await world.finish(taking))!;
  void guard.lost.then((why) => {
    fault = why;
  });
  return guard;
}

/** Time passes and nothing happens, as when this process is paused: it is ours so long, and not longer. */
function expectOursFor(guard: Guard, ms: number): void {
  world.monotonicMs += ms - 1;
  expect(guard.isOurs).toBe(true);
  world.monotonicMs += 1;
  expect(guard.isOurs).toBe(false);
}

describe('a guard', () => {
  it('counts from before it was asked for, however late the answer', async () => {
    const guard = await taken(4_000);
    expect(guard.epoch).toBe(EPOCH);
    expectOursFor(guard, TTL_MS - MARGIN_MS - 4_000);
  });

  it('counts from before a renewal was sent, however late the answer', async () => {
    const guard = await taken();
    await world.advance(HEARTBEAT_MS + 4_000);
    asked[1]!.answer(RENEWED);
    await world.settle();
    expectOursFor(guard, TTL_MS - MARGIN_MS - 4_000);
  });

  it('tells the time that a renewal brings, with the moment the renewal was sent', async () => {
    await taken();
    await world.advance(HEARTBEAT_MS);
    const sentMs = world.monotonicMs;
    await world.advance(40);
    asked[1]!.answer(RENEWED);
    await world.settle();
    expect(noted).toEqual([[sentMs, DATABASE_MS]]);
  });

  it('is over when the wall clock says so, though the monotonic one stood still', async () => {
    const guard = await taken();
    world.setWall(world.wallMs + TTL_MS - MARGIN_MS - 1);
    expect(guard.isOurs).toBe(true);
    world.setWall(world.wallMs + 1);
    expect(guard.isOurs).toBe(false);
  });

  it.each([50, 3_000, 3_600_000])(
    'is over once the machine slept for %i ms, and is not renewed',
    async (ms) => {
      const guard = await taken();
      expect([guard.hasSlept, guard.isOurs]).toEqual([false, true]);
      world.suspend(ms);
      expect([guard.hasSlept, guard.isOurs]).toEqual([true, false]);
      await world.advance(HEARTBEAT_MS);
      expect([asked.length, fault?.message]).toEqual([1, expect.stringContaining('suspended')]);
    },
  );

  it('outlasts a wall clock that is set by less than its TTL', async () => {
    const guard = await taken();
    world.setWall(world.wallMs + 5_000);
    expect([guard.hasSlept, guard.isOurs]).toEqual([false, true]);
  });

  it('is over within a second after a sleep that a wall clock set back has hidden', async () => {
    const guard = await taken();
    world.suspend(3_000);
    world.setWall(world.wallMs - 3_000);
    world.monotonicMs += 1_000;
    expect([guard.hasSlept, guard.isOurs]).toEqual([true, false]);
  });

  it('is renewed every heartbeat, with its own token, for as long as each is answered before the next', async () => {
    const guard = await taken();
    for (let beat = 1; beat <= 20; beat++) {
      await world.advance(HEARTBEAT_MS);
      expect(asked).toHaveLength(1 + beat);
      expect(asked[beat]!.values).toEqual([asked[0]!.values[2], nowMs() + TTL_MS]);
      asked[beat]!.answer(RENEWED);
    }
    await world.settle();
    expect([guard.isOurs, fault]).toEqual([true, null]);
  });

  it.each<[why: string, happens: () => void, says: RegExp]>([
    ['a renewal finds it gone', () => asked[1]!.answer([]), /no longer holds the guard/],
    ['a renewal fails', () => asked[1]!.fail(new Error('no')), /could not be renewed/],
    ['its connection is cut', () => cut(new Error('no')), /was cut/],
  ])('is lost when %s, at once and for ever', async (_, happens, says) => {
    const guard = await taken();
    await world.advance(HEARTBEAT_MS);
    happens();
    await world.settle();
    expect(fault?.message).toMatch(says);
    expect(guard.isOurs).toBe(false);
    asked[1]!.answer(RENEWED);
    await world.advance(60_000);
    expect([guard.isOurs, asked.length]).toEqual([false, 2]);
  });

  it('is lost when a renewal is not answered by the time of the next, and a late answer does not bring it back', async () => {
    const guard = await taken();
    await world.advance(2 * HEARTBEAT_MS - 1);
    expect([guard.isOurs, fault]).toEqual([true, null]);
    await world.advance(1);
    expect(guard.isOurs).toBe(false);
    expect(fault?.message).toMatch(/not answered in time/);
    asked[1]!.answer(RENEWED);
    await world.settle();
    expect(guard.isOurs).toBe(false);
  });

  it('is given back by its own token, is not ours from then on, and is not lost either', async () => {
    const guard = await taken();
    const released = guard.release();
    expect(guard.isOurs).toBe(false);
    expect(asked[1]!.values).toEqual([asked[0]!.values[2]]);
    asked[1]!.answer([]);
    await world.finish(released);
    cut(new Error('closed'));
    await world.advance(60_000);
    expect([asked.length, fault]).toEqual([2, null]);
  });
});

describe('a look at the guard', () => {
  const tables = { guard: 'guard', log: 'log' } as Tables;
  const told = (...row: unknown[]) =>
    lookAtGuard({ query: async () => [[String(DATABASE_MS), '7', ...row]] }, tables);

  it('tells how long its holder goes by a renewal, and the time of its holder when it sent the last', async () => {
    await taken();
    const token = String(asked[0]!.values[2]);
    const expiresAtMs = Number(asked[0]!.values[3]);
    expect(await told(`${token} 1`, token, String(expiresAtMs), 'holder', 'http://holder')).toEqual({
      held: {
        row: `${token} 1`,
        holder: 'holder',
        url: 'http://holder',
        terms: { ttlMs: TTL_MS, renewedAtMs: nowMs() },
      },
      tail: '7',
      databaseMs: DATABASE_MS,
    });
  });

  it('tells neither of a holder of an older version, whose token is nothing but random', async () => {
    const { held } = await told('token 1', 'token', String(DATABASE_MS), 'older', '');
    expect(held).toEqual({ row: 'token 1', holder: 'older', url: '', terms: null });
  });

  it('tells that it was given back', async () => {
    expect((await told(null, null, null, null, null)).held).toBeNull();
  });
});
