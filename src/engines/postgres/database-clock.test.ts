// The database's clock as it is read over ways of any length. The clock there runs like the one here, but for an offset.
import { beforeEach, describe, expect, it } from 'vitest';
import { ManualWorld } from '../../../test/support/manual-world.ts';
import { readDatabaseClock } from './database-clock.ts';
import type { SqlRow } from './sql.ts';

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
      'too far away to lead by its clock: the quickest of 18 answers took 260 ms, and at most 250 ms will do',
    );
  });
});
