// The processes that run plans: what they answer, and that a bug which could not be put in is not passed over.
import { describe, expect, it } from 'vitest';
import { planFrom } from '../plan-from.ts';
import { simulate } from '../simulate.ts';
import { Crew, type CrewOptions } from './crew.ts';

/** A quick one. */
const SEED = 9;

async function outcomeOf(options: Partial<CrewOptions>) {
  const crew = new Crew({ size: 1, ...options });
  try {
    return await crew.run({ plan: SEED, isRepeated: false });
  } finally {
    crew.close();
  }
}

describe('a child process', () => {
  it('gives the same history as this one does', async () => {
    const { hash } = await simulate(planFrom(SEED));
    expect((await outcomeOf({})).hash).toBe(hash);
  });

  it('fails when the text to be changed is not there, or there twice', async () => {
    const edit = { file: 'src/core/machine.ts', to: '' };
    const missing = await outcomeOf({ edits: [{ ...edit, from: 'no such text' }] });
    expect(missing.findings).toEqual([
      expect.objectContaining({ checker: 'child', says: expect.stringContaining('0 times') }),
    ]);
    const twice = await outcomeOf({ edits: [{ ...edit, from: 'this.serve();' }] });
    expect(twice.findings[0]?.says).toContain('not once');
  });

  it('is replaced after so many plans, and nothing is lost', async () => {
    const crew = new Crew({ size: 1, plansMax: 1 });
    const outcomes = await Promise.all([SEED, SEED].map((plan) => crew.run({ plan, isRepeated: false })));
    crew.close();
    expect(outcomes.map(({ findings }) => findings)).toEqual([[], []]);
    expect(outcomes[0]!.hash).toBe(outcomes[1]!.hash);
  });

  it('that does not end in time fails its plan', async () => {
    const { findings } = await outcomeOf({ limitMs: 1 });
    expect(findings.map(({ checker }) => checker)).toEqual(['endless']);
  });
});
