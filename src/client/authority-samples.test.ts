// Deadlines from samples of the authority's clock: whatever the clocks do within what they may do, a client never relies on a
// lease after the authority's end of it. Each run is a small world with one true time, an authority whose clock slews, a client
// whose clocks drift, jump and stand still, and a network that delays.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Clock } from '../seams/clock.ts';
import { Deadline, type Moment, momentOf } from '../seams/deadline.ts';
import { AuthoritySamples } from './authority-samples.ts';

/** The clocks of a client: both drift together, a suspend stops one of them, and the other may be set. */
class ClientClock implements Clock {
  mono = 5_000;
  wall = 1_700_000_000_000;
  private readonly rate: number;

  constructor(rate: number) {
    this.rate = rate;
  }

  pass(trueMs: number, isSuspended: boolean): void {
    if (!isSuspended) this.mono += trueMs * this.rate;
    this.wall += trueMs * this.rate;
  }

  readonly monotonicMs = (): number => this.mono;
  readonly wallMs = (): number => this.wall;
}

/** The authority slews by at most 1 %, jumps only with its epoch, and tells whole milliseconds. */
class Authority {
  epoch = 1;
  private now = 1_800_000_000_000.4;

  pass(trueMs: number, slew: number): void {
    this.now += trueMs * (1 + slew);
  }

  restart(jumpMs: number): void {
    this.epoch += 1;
    this.now += jumpMs;
  }

  nowMs(): number {
    return Math.floor(this.now);
  }
}

type Step =
  | { readonly do: 'pass'; readonly ms: number; readonly slew: number; readonly isSuspended: boolean }
  | { readonly do: 'exchange'; readonly outMs: number; readonly backMs: number; readonly slew: number }
  | { readonly do: 'grant'; readonly ttlMs: number; readonly backMs: number; readonly slew: number }
  | { readonly do: 'set wall'; readonly byMs: number }
  | { readonly do: 'sleep and set wall'; readonly ms: number; readonly byMs: number; readonly slew: number }
  | { readonly do: 'restart'; readonly jumpMs: number };

const slew = fc.double({ min: -0.01, max: 0.01, noNaN: true });
const delay = fc.integer({ min: 0, max: 400 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('pass' as const),
      ms: fc.integer({ min: 1, max: 6_000 }),
      slew,
      isSuspended: fc.constant(false),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('pass' as const),
      ms: fc.integer({ min: 1, max: 60_000 }),
      slew,
      isSuspended: fc.constant(true),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('exchange' as const), outMs: delay, backMs: delay, slew }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('grant' as const),
      ttlMs: fc.integer({ min: 10, max: 60_000 }),
      backMs: delay,
      slew,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('set wall' as const),
      byMs: fc.integer({ min: -5_000, max: 5_000 }),
    }),
  },
  {
    weight: 1,
    // In the same moment: by as much as it slept, by a little less or more, or by anything.
    arbitrary: fc
      .record({
        ms: fc.integer({ min: 1, max: 20_000 }),
        by: fc.oneof(
          fc.constant(-1),
          fc.double({ min: -1.01, max: -0.99, noNaN: true }),
          fc.double({ min: -2, max: 2, noNaN: true }),
        ),
        slew,
      })
      .map(({ ms, by, slew: at }) => ({ do: 'sleep and set wall' as const, ms, byMs: ms * by, slew: at })),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('restart' as const),
      jumpMs: fc.integer({ min: 0, max: 100_000 }),
    }),
  },
);

/** What each local clock has lost against true time, beside its drift. */
interface Lost {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

interface Held {
  readonly deadline: Deadline;
  readonly expiresAtMs: number;
  readonly epoch: number;
  /** What had been lost when its sample was taken. */
  readonly lostAtSample: Lost;
}

interface Sampled {
  readonly sent: Moment;
  readonly atMs: number;
  readonly lost: Lost;
}

interface Counts {
  computed: number;
  blind: number;
}

/**
 * Runs the steps, and fails where a grant is relied on after its end although one of the two local clocks has counted all the
 * time since its sample: the monotonic one did not stand still, or the wall clock was not set back. Where both have lost
 * time no deadline can know, computed or not, and that is the only excuse.
 */
function run(rate: number, steps: readonly Step[], counts: Counts): void {
  const clock = new ClientClock(rate);
  const authority = new Authority();
  const samples = new AuthoritySamples(clock);
  const taken: Sampled[] = [];
  const held: Held[] = [];
  let lost: Lost = { monotonicMs: 0, wallMs: 0 };
  const pass = (ms: number, by: number, isSuspended = false): void => {
    // In small pieces, so that every end is looked at from both sides.
    for (let left = ms; left > 0; left -= 50) {
      const piece = Math.min(50, left);
      clock.pass(piece, isSuspended);
      authority.pass(piece, by);
      if (isSuspended) lost = { ...lost, monotonicMs: lost.monotonicMs + piece };
      else look();
    }
  };
  const look = (): void => {
    for (const { deadline, expiresAtMs, epoch, lostAtSample } of held) {
      if (epoch !== authority.epoch || authority.nowMs() < expiresAtMs || deadline.isOver(clock)) continue;
      const isBlind = lost.monotonicMs > lostAtSample.monotonicMs && lost.wallMs > lostAtSample.wallMs;
      expect(isBlind, `${authority.nowMs() - expiresAtMs} ms after the end`).toBe(true);
      counts.blind += 1;
    }
  };
  const setWall = (byMs: number): void => {
    clock.wall += byMs;
    lost = { ...lost, wallMs: lost.wallMs + Math.max(0, -byMs) };
  };
  for (const each of steps) {
    if (each.do === 'pass') pass(each.ms, each.slew, each.isSuspended);
    else if (each.do === 'set wall') setWall(each.byMs);
    else if (each.do === 'sleep and set wall') {
      pass(each.ms, each.slew, true);
      setWall(each.byMs);
    } else if (each.do === 'restart') authority.restart(each.jumpMs);
    else if (each.do === 'exchange') {
      const sent = momentOf(clock);
      const lostThen = lost;
      pass(each.outMs, each.slew);
      const [atMs, epoch] = [authority.nowMs(), authority.epoch];
      pass(each.backMs, each.slew);
      samples.note(sent, atMs, epoch);
      taken.push({ sent, atMs, lost: lostThen });
    } else {
      // Granted now to a client that has waited for who knows how long.
      const grantedAtMs = authority.nowMs();
      const { epoch } = authority;
      const expiresAtMs = grantedAtMs + each.ttlMs;
      pass(each.backMs, each.slew);
      const earliest = samples.earliest(grantedAtMs, epoch);
      if (earliest === null) continue;
      counts.computed += 1;
      const used = taken.findLast(({ sent, atMs }) => isFrom(earliest, sent, grantedAtMs - atMs))!;
      held.push({
        deadline: new Deadline(earliest, each.ttlMs),
        expiresAtMs,
        epoch,
        lostAtSample: used.lost,
      });
    }
  }
}

/** Which sample a moment was computed from, by the rule of decision 0094. */
function isFrom(earliest: Moment, sent: Moment, passedMs: number): boolean {
  return earliest.monotonicMs === sent.monotonicMs + (passedMs - 0.015 * Math.abs(passedMs) - 1);
}

describe('a deadline that is computed from samples', () => {
  it('is over by the authority’s end of the lease, whatever the clocks do within what they may', () => {
    const counts: Counts = { computed: 0, blind: 0 };
    fc.assert(
      fc.property(
        fc.double({ min: 0.996, max: 1.004, noNaN: true }),
        fc.array(step, { minLength: 5, maxLength: 40 }),
        (rate, steps) => run(rate, steps, counts),
      ),
      { numRuns: 1_500, seed: 24 },
    );
    expect(counts.computed).toBeGreaterThan(1_500);
    // The excuse is real, and rare.
    expect(counts.blind).toBeGreaterThan(0);
  });

  const at = (monotonicMs: number, wallMs = monotonicMs): Moment => ({ monotonicMs, wallMs });
  const clock = { now: at(0), monotonicMs: () => clock.now.monotonicMs, wallMs: () => clock.now.wallMs };

  function sampled(): AuthoritySamples {
    clock.now = at(1_000);
    const samples = new AuthoritySamples(clock);
    samples.note(at(1_000), 50_000, 3);
    return samples;
  }

  it('counts from the sample, less 1.5 % of what has passed since and a millisecond', () => {
    expect(sampled().earliest(52_000, 3)).toEqual(at(1_000 + 2_000 - 30 - 1));
    expect(sampled().earliest(49_000, 3)).toEqual(at(1_000 - 1_000 - 15 - 1));
  });

  it('needs a sample of the same epoch', () => {
    expect(sampled().earliest(52_000, 4)).toBeNull();
  });

  it.each([
    ['is more than 10 s old', at(11_001)],
    ['was taken before the wall clock was set', at(1_500, 1_551)],
    ['was taken before the wall clock was set back', at(1_500, 1_400)],
    ['was taken before the machine slept', at(1_500, 9_000)],
  ])('needs a sample that is none which %s', (_, now) => {
    const samples = sampled();
    clock.now = now;
    expect(samples.earliest(52_000, 3)).toBeNull();
  });

  it('keeps the sample that says most, until it is 5 s old', () => {
    const samples = sampled();
    clock.now = at(3_000);
    samples.note(at(2_000), 51_500, 3);
    expect(samples.earliest(50_000, 3)!.monotonicMs).toBe(999);
    clock.now = at(8_000);
    samples.note(at(7_000), 56_500, 3);
    expect(samples.earliest(56_500, 3)!.monotonicMs).toBe(6_999);
  });
});
