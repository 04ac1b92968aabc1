// The database's clock as it is read over ways of any length. The clock there runs like the one here, but for an offset.
import { beforeEach, describe, expect, it } from 'vitest';
import { ManualWorld } from '../../../test/support/manual-world.ts';
import type { SqlRow } from '../../seams/database.ts';
import { DatabaseClock, readDatabaseClock } from './database-clock.ts';

type Way = readonly [thereMs: number, backMs: number];

const OFFSET_MS = 1_700_000_000_000;

let world: ManualWorld;
let asked: number;

beforeEach(() => {
  world = new ManualWorld();
  asked = 0;
});

/** Every question takes one of these ways there and back in turn; after the last, the first again. */
const over = (ways: readonly Way[]) => ({
  async query(): Promise<readonly SqlRow[]> {
    const [thereMs, backMs] = ways[asked % ways.length]!;
    asked += 1;
    world.monotonicMs += thereMs;
    const databaseMs = OFFSET_MS + world.monotonicMs;
    world.monotonicMs += backMs;
    return [[String(databaseMs)]];
  },
});

const errorOver = async (...ways: readonly Way[]): Promise<number> =>
  (await readDatabaseClock(over(ways), world)) - OFFSET_MS;

describe('the clock of a database', () => {
  it('is read from the quickest of several answers, however late the others', async () => {
    expect(await errorOver([0, 8_000], [3_000, 0], [1, 1], [0, 40], [9, 9])).toBe(0);
    expect(asked).toBe(5);
  });

  it('is wrong by half a round trip at most, wherever the time went', async () => {
    expect(await errorOver([0, 250])).toBe(-125);
    expect(await errorOver([250, 0])).toBe(125);
  });

  it('is asked again until an answer was quick enough', async () => {
    const slow = Array.from({ length: 15 }, () => [0, 251] as const);
    expect(await errorOver(...slow, [125, 125])).toBe(0);
    expect(asked).toBe(16);
  });

  it('is not led by when no answer is quick enough', async () => {
    await expect(errorOver([130, 130], [0, 300])).rejects.toThrow(
      'too far from the database to lead: the fastest of 18 answers took 260 ms, and the limit is 250 ms',
    );
  });
});

/** As long as a heartbeat. */
const BEAT_MS = 5_000;

describe('the time of a leader', () => {
  let clock: DatabaseClock;
  /** How far the clock there is ahead of what it would be if it ran like ours. */
  let aheadMs: number;

  beforeEach(() => {
    clock = new DatabaseClock(world.clock, OFFSET_MS);
    aheadMs = 0;
  });

  const errorMs = (): number => Math.round(clock.nowMs() - (OFFSET_MS + aheadMs + world.monotonicMs));

  /** One renewal, with this way there and back. */
  function renew([thereMs, backMs]: Way = [1, 1]): void {
    const sentMs = world.monotonicMs;
    world.monotonicMs += thereMs;
    const databaseMs = OFFSET_MS + aheadMs + world.monotonicMs;
    world.monotonicMs += backMs;
    clock.note(sentMs, databaseMs);
  }

  it.each([1 / 1_000, -1 / 1_000])('stays with a database whose clock drifts by %d', (drift) => {
    for (let beat = 0; beat < 10_000; beat++) {
      world.monotonicMs += BEAT_MS;
      aheadMs += BEAT_MS * drift;
      renew();
      expect(Math.abs(errorMs())).toBeLessThanOrEqual(BEAT_MS / 1_000 + 2);
    }
    expect(Math.abs(aheadMs)).toBeGreaterThan(40_000);
  });

  it.each([60_000, -60_000])(
    'follows a clock that was set by %d ms, by a hundredth and no faster',
    (byMs) => {
      aheadMs = byMs;
      renew([0, 0]);
      expect(errorMs()).toBe(-byMs);
      for (let beat = 0; beat < 10; beat++) {
        const beforeMs = clock.nowMs();
        world.monotonicMs += BEAT_MS;
        expect(clock.nowMs() - beforeMs).toBeCloseTo(BEAT_MS * (1 + Math.sign(byMs) / 100), 2);
        renew([0, 0]);
      }
      world.monotonicMs += 100 * Math.abs(byMs);
      expect(errorMs()).toBe(0);
    },
  );

  it('does not follow what may be the way and not the clock', () => {
    for (const way of [
      [0, 250],
      [250, 0],
      [3, 90],
    ] as const) {
      renew(way);
      world.monotonicMs += BEAT_MS;
      expect(errorMs()).toBe(0);
    }
  });

  it('follows no further than an answer demands, whatever the way', () => {
    aheadMs = 10;
    renew([200, 0]);
    world.monotonicMs += 100_000;
    expect(errorMs()).toBe(0);
  });

  it('takes no notice of an answer that comes too late to say much', () => {
    aheadMs = 60_000;
    renew([125, 126]);
    world.monotonicMs += BEAT_MS;
    expect(errorMs()).toBe(-60_000);
  });

  it("starts with another time than the database's, and comes to it by a hundredth", () => {
    clock = new DatabaseClock(world.clock, OFFSET_MS - 2_000, OFFSET_MS);
    expect(errorMs()).toBe(-2_000);
    world.monotonicMs += 100_000;
    expect(errorMs()).toBe(-1_000);
    world.monotonicMs += 200_000;
    expect(errorMs()).toBe(0);
  });

  it("continues from the end of a log that is ahead, never goes back, and slews down to the database's", () => {
    world.monotonicMs += BEAT_MS;
    clock.advanceTo(clock.nowMs() + 5_000);
    expect(errorMs()).toBe(5_000);
    for (let second = 1; second <= 600; second++) {
      const beforeMs = clock.nowMs();
      world.monotonicMs += 1_000;
      expect(clock.nowMs() - beforeMs).toBeCloseTo(second <= 500 ? 990 : 1_000, 2);
    }
    expect(errorMs()).toBe(0);
    clock.advanceTo(clock.nowMs() - 5_000);
    expect(errorMs()).toBe(0);
  });
});
