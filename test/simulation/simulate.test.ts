// The simulator as such: one seed, one history; and on a few seeds, what must hold in any world.
import { describe, expect, it } from 'vitest';
import type { History, HistoryEvent } from './history.ts';
import { WORKLOADS } from './plan.ts';
import { planFrom } from './plan-from.ts';
import { simulate } from './simulate.ts';

const SEEDS = [1, 3, 5, 7, 9, 10];

const histories = new Map<number, Promise<History>>();
const historyOf = (seed: number): Promise<History> => {
  const known = histories.get(seed) ?? simulate(planFrom(seed));
  histories.set(seed, known);
  return known;
};

const of = <K extends HistoryEvent['kind']>({ events }: History, kind: K) =>
  events.filter((event): event is Extract<HistoryEvent, { kind: K }> => event.kind === kind);

describe('a plan', () => {
  it('is the same for the same seed, and plain data', () => {
    expect(planFrom(42)).toEqual(planFrom(42));
    expect(JSON.parse(JSON.stringify(planFrom(42)))).toEqual(planFrom(42));
    expect(planFrom(42)).not.toEqual(planFrom(43));
  });

  it('reaches every workload and both engines within a few hundred seeds', () => {
    const plans = [29_850, 90_000, 100_000, 110_000, 120_000, 130_000].flatMap((from) =>
      Array.from({ length: 300 }, (_, index) => planFrom(from + index)),
    );
    const workloads = new Set(plans.flatMap((plan) => plan.workloads.map(({ name }) => name)));
    expect([...workloads].sort()).toEqual([...WORKLOADS].sort());
    expect(new Set(plans.map(({ engine }) => engine))).toEqual(new Set(['file', 'memory']));
    const crowds = plans.flatMap(({ workloads: all }) => all.flatMap(({ waiters }) => waiters ?? []));
    expect(Math.max(...crowds)).toBeGreaterThan(2_000);
    expect(Math.min(...crowds)).toBeLessThan(500);
  });

  it('has several servers on one database where seeds are set aside for it, and in some fresh ones', () => {
    const engines = (from: number) =>
      new Set(Array.from({ length: 300 }, (_, index) => planFrom(from + index).engine));
    expect([...engines(39_700)].sort()).toEqual(['file', 'memory']);
    expect([...engines(40_000)]).toEqual(['postgres']);
    expect([...engines(1_000_000)].sort()).toEqual(['file', 'memory', 'postgres']);
  });
});

describe('a run', () => {
  it.each(SEEDS)('of seed %i gives the same history every time', async (seed) => {
    const again = await simulate(planFrom(seed));
    expect(again.hash).toBe((await historyOf(seed)).hash);
  });

  it('without its faults is another run of the same plan', async () => {
    const plan = planFrom(7);
    const mild = await simulate({ ...plan, faults: [] });
    expect(mild.hash).not.toBe((await historyOf(7)).hash);
    expect(of(mild, 'fault')).toEqual([]);
    expect(of(mild, 'stuck')).toEqual([]);
  });

  it.each(SEEDS)('of seed %i comes to an end, with the live state equal to a replay', async (seed) => {
    const history = await historyOf(seed);
    expect(of(history, 'broken')).toEqual([]);
    expect(of(history, 'stuck')).toEqual([]);
    const states = of(history, 'state');
    expect(states.length).toBeGreaterThan(0);
    for (const { hash, replayHash, lastSeq, replaySeq } of states) {
      expect([replayHash, replaySeq]).toEqual([hash, lastSeq]);
    }
  });

  it.each(SEEDS)('of seed %i shows nothing that is not in its log', async (seed) => {
    const history = await historyOf(seed);
    const isLossy = of(history, 'fault').some(({ allows }) => allows.some(({ may }) => may !== 'refuse'));
    if (isLossy) return;
    const logged = new Map(
      of(history, 'entry').flatMap((e) => (e.source === 'log' ? [[e.seq, e.entry]] : [])),
    );
    const first = Math.min(...logged.keys());
    for (const { source, seq, entry } of of(history, 'entry')) {
      if (source === 'feed' && seq >= first) expect(logged.get(seq)).toEqual(entry);
    }
  });
});
