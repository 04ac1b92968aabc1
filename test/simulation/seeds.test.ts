// Whole worlds: the seeds that once found something, a few of every kind, and with `LEASEHOLD_SEED` also fresh ones, for a
// few seconds. Each is run twice and judged by every checker. A seed that fails prints the command that reproduces it.
import { afterAll, describe, expect, it } from 'vitest';
import { freshSeed } from '../support/seed.ts';
import { planFrom } from './plan-from.ts';
import { Crew } from './runner/crew.ts';
import { reportOf } from './runner/report.ts';

/** Those that have found a bug are in docs/testing.md; the others are mild and cruel ones of every kind. */
const FIXED_SEEDS = [
  2, 7, 9, 17, 25, 61, 67, 111, 144, 703, 1308, 2158, 5453, 7723, 9326, 10018, 20091, 30020, 30064, 30116,
  40051, 40082, 40108, 80069, 100001, 140285, 140377, 459850985,
];
const FRESH_MS = 8_000;

const crew = new Crew({ size: 1 });
afterAll(() => crew.close());

async function failureOf(seed: number): Promise<string | null> {
  const outcome = await crew.run({ plan: seed, isRepeated: true });
  if (outcome.findings.length === 0) return null;
  return reportOf(outcome, planFrom(seed), `npm run sim -- --seed ${seed}`);
}

describe('a seed', () => {
  it.each(FIXED_SEEDS)('%i finds nothing', async (seed) => {
    expect(await failureOf(seed)).toBeNull();
  });

  const first = freshSeed;
  if (first !== null) {
    it('that has not been tried before finds nothing', async () => {
      const untilMs = performance.now() + FRESH_MS;
      let seed = first;
      for (; performance.now() < untilMs; seed++) expect(await failureOf(seed)).toBeNull();
      console.log(`fresh seeds: ${first} to ${seed - 1}`);
    });
  }
});
