// What a process may conclude from looks at a guard that another holds: when it may take it, and what time it is. The
// guard is a row that the test writes, and the clocks of the database and of this process are moved by hand.
import { beforeEach, describe, expect, it } from 'vitest';
import { ManualWorld } from '../../../test/support/manual-world.ts';
import type { SqlRow } from '../../seams/database.ts';
import { DatabaseClock } from './database-clock.ts';
import { GuardWatch } from './guard-watch.ts';
import type { Tables } from './tables.ts';

const OWN_TTL_MS = 20_000;
const TTL_MS = 15_000;
/** How long it is waited for: the TTL of the holder, and a margin. */
const WAIT_MS = 16_000;
const LOOK_MS = 200;
/** The time of the holder when the test begins; the database's is another. */
const LEADER_MS = 1_700_000_000_000;
const DATABASE_AHEAD_MS = 60_000;

let world: ManualWorld;
let watch: GuardWatch;
let token: string | null;
let expiresAtMs: number;
let tail: number;
let stepMs: number;

beforeEach(() => {
  world = new ManualWorld();
  watch = new GuardWatch(world.clock, { guard: 'guard', log: 'log' } as Tables, OWN_TTL_MS);
  token = `${TTL_MS}ms secret`;
  tail = 1;
  stepMs = 0;
  renew();
});

const leaderMs = (): number => LEADER_MS + world.monotonicMs;
const databaseMs = (): number => leaderMs() + DATABASE_AHEAD_MS + stepMs;

function renew(): void {
  world.monotonicMs += 1;
  expiresAtMs = leaderMs() + TTL_MS;
}

async function query(): Promise<readonly SqlRow[]> {
  const held = [`${token} ${expiresAtMs}`, token, expiresAtMs, 'holder', 'http://holder'];
  return [[databaseMs(), tail, ...(token === null ? [null, null, null, null, null] : held)]];
}

const look = () => watch.look({ query });

/** Time passes, with a look now and then. */
async function pass(ms: number): Promise<void> {
  for (let leftMs = ms; leftMs > 0; leftMs -= LOOK_MS) {
    world.monotonicMs += Math.min(LOOK_MS, leftMs);
    await look();
  }
}

/** It is waited for so long from now on, and not longer. */
async function expectWait(ms: number): Promise<void> {
  world.monotonicMs += ms - 1;
  expect([(await look())?.remainingMs, watch.overdueRow]).toEqual([1, null]);
  world.monotonicMs += 1;
  expect([await look(), watch.overdueRow]).toEqual([null, `${token} ${expiresAtMs}`]);
}

describe('a guard that another holds', () => {
  it('may be taken at once when it was given back', async () => {
    token = null;
    expect([await look(), watch.row]).toEqual([null, null]);
  });

  it("is waited for by its holder's TTL and a margin, from the first look on, however old it is", async () => {
    expect(await look()).toEqual({ holder: 'holder', url: 'http://holder', remainingMs: WAIT_MS });
    await expectWait(WAIT_MS);
  });

  it('is waited for by our own TTL when its holder does not say its own', async () => {
    token = 'secret';
    await look();
    await expectWait(OWN_TTL_MS + 1_000);
  });

  it.each<[what: string, happens: () => void]>([
    ['it is renewed', () => renew()],
    [
      'something is appended',
      () => {
        tail += 1;
      },
    ],
  ])('is waited for anew when %s', async (_what, happens) => {
    await look();
    await pass(10_000);
    happens();
    await look();
    await expectWait(WAIT_MS);
  });

  it.each([3_600_000, -3_600_000])(
    "is waited for as long when the database's clock is set by %i ms",
    async (byMs) => {
      await look();
      await pass(1_000);
      stepMs = byMs;
      await look();
      await expectWait(WAIT_MS - 1_000);
    },
  );

  it('counts from the answer, because the renewal may have come while the question was on its way', async () => {
    await watch.look({
      query: async () => {
        world.monotonicMs += 3_000;
        return query();
      },
    });
    await expectWait(WAIT_MS);
  });
});

describe('the time of a process that looks at the guard', () => {
  const errorMs = (): number => Math.round(watch.nowMs()! - leaderMs());
  const errorAtLead = (): number => {
    const databaseOffsetMs = databaseMs() - world.monotonicMs;
    return Math.round(watch.clockToLead(databaseOffsetMs).nowMs() - leaderMs());
  };

  it("is not known before the first look, and the database's before the first renewal", async () => {
    expect(watch.nowMs()).toBeNull();
    await look();
    await pass(1_000);
    expect([errorMs(), errorAtLead()]).toEqual([DATABASE_AHEAD_MS, DATABASE_AHEAD_MS]);
  });

  it("is the holder's from the first renewal on, whatever the database's clock does", async () => {
    await look();
    renew();
    await pass(LOOK_MS);
    expect([errorMs(), errorAtLead()]).toEqual([-LOOK_MS, -LOOK_MS]);
    stepMs = -3_600_000;
    await pass(20_000);
    expect([errorMs(), errorAtLead()]).toEqual([-LOOK_MS, -LOOK_MS]);
  });

  it("is the database's again after the machine slept, until the next renewal is seen as it comes", async () => {
    await look();
    renew();
    await look();
    world.suspend(30_000);
    expect(errorAtLead()).toBe(DATABASE_AHEAD_MS);
    renew();
    await look();
    expect(errorMs()).toBe(DATABASE_AHEAD_MS);
    renew();
    await look();
    expect(errorMs()).toBe(0);
  });

  it('is not taken from a renewal that was found by a look during which the machine slept', async () => {
    await look();
    renew();
    await watch.look({
      query: async () => {
        world.suspend(30_000);
        return query();
      },
    });
    expect(errorMs()).toBe(DATABASE_AHEAD_MS);
  });

  it("is the database's when the machine slept while it led", async () => {
    await look();
    renew();
    await look();
    watch.lead(watch.clockToLead(0));
    world.suspend(30_000);
    expect(errorAtLead()).toBe(DATABASE_AHEAD_MS);
  });

  it("follows the database's by a hundredth once it leads", async () => {
    await look();
    renew();
    await look();
    const clock = watch.clockToLead(databaseMs() - world.monotonicMs);
    world.monotonicMs += 100_000;
    expect(Math.round(clock.nowMs() - leaderMs())).toBe(1_000);
  });

  it('continues by itself while the database is away, and is not set back by a renewal from before', async () => {
    await look();
    renew();
    await look();
    renew();
    world.monotonicMs += 600_000;
    await look();
    expect(errorMs()).toBe(0);
  });

  it("stays the database's when the only renewal that was seen may be old", async () => {
    await look();
    renew();
    world.monotonicMs += 600_000;
    await look();
    expect(errorMs()).toBe(DATABASE_AHEAD_MS);
  });

  it('is its own after it has led, until another renews', async () => {
    token = null;
    await look();
    watch.lead(new DatabaseClock(world.clock, LEADER_MS + 5_000));
    token = `${TTL_MS}ms own`;
    renew();
    await look();
    await pass(20_000);
    expect(errorMs()).toBe(5_000);
    token = `${TTL_MS}ms another`;
    renew();
    await pass(LOOK_MS);
    expect(errorMs()).toBe(-LOOK_MS);
  });
});
