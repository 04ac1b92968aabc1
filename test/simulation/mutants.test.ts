// The proof that the simulator bites: each deliberate bug is found by the seed recorded beside it, and the same seed finds
// nothing in the product as it is.
import { afterAll, describe, expect, it } from 'vitest';
import { CHECKERS } from './checkers/all.ts';
import { MUTANTS } from './mutants.ts';
import { Crew } from './runner/crew.ts';
import type { Outcome } from './runner/run-plan.ts';

/** A bug may make a run endless; that is found too, but soon. */
const LIMIT_MS = 60_000;

const sound = new Crew({ size: 1, limitMs: LIMIT_MS });
const soundRuns = new Map<number, Promise<Outcome>>();
const soundRun = (seed: number): Promise<Outcome> => {
  const known = soundRuns.get(seed) ?? sound.run({ plan: seed, isRepeated: false });
  soundRuns.set(seed, known);
  return known;
};
afterAll(() => sound.close());

describe('the deliberate bugs', () => {
  it('are many, and each has a name of its own', () => {
    expect(MUTANTS.length).toBeGreaterThanOrEqual(15);
    expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
  });

  it('are found by checkers that exist', () => {
    const names = CHECKERS.map(({ name }) => name);
    for (const { checker } of MUTANTS) expect(names).toContain(checker);
  });

  it.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))('%s is found', async (_, mutant) => {
    const crew = new Crew({ size: 1, edits: mutant.edits, limitMs: LIMIT_MS });
    try {
      const { findings } = await crew.run({ plan: mutant.seed, isRepeated: false });
      expect(findings.map(({ checker }) => checker)).toContain(mutant.checker);
    } finally {
      crew.close();
    }
    const { findings } = await soundRun(mutant.seed);
    expect(findings.map(({ checker, says }) => `${checker}: ${says}`)).toEqual([]);
  });
});
