// What `npm run sim` says while it runs and at the end.
import { describe, expect, it } from 'vitest';
import type { Outcome } from './run-plan.ts';
import { Tally } from './tally.ts';

const outcome = (seed: number, more: Partial<Outcome> = {}): Outcome => ({
  seed,
  hash: '',
  findings: [],
  tail: [],
  counts: { steps: 1, calls: 10, faults: 2, simMs: 1_800_000 },
  seen: { 'net.loss': 2 },
  tookMs: 1,
  ...more,
});

describe('the tally', () => {
  it('counts seeds, simulated hours, calls and faults', () => {
    const tally = new Tally({ write: () => undefined });
    tally.add(outcome(1));
    tally.add(outcome(2, { findings: [{ checker: 'c', says: 's', proof: [] }] }));
    const summary = tally.summary();
    expect(summary).toContain('2 seeds');
    expect(summary).toContain('1 failed: 1.0 simulated hours, 20 calls, 4 faults');
    expect(summary).toContain('faults: net.loss 4');
  });

  it('writes over its own line on a terminal', () => {
    const written: string[] = [];
    const tally = new Tally({ isTTY: true, write: (text: string) => written.push(text) });
    tally.add(outcome(1));
    expect(written).toEqual([expect.stringMatching(/^\r.*last seed 1$/)]);
  });

  it.each([true, false])('says at once which seed fails, and why; on a terminal: %s', (isTTY) => {
    const written: string[] = [];
    const tally = new Tally({ isTTY, write: (text: string) => written.push(text) });
    tally.add(outcome(7, { findings: [{ checker: 'durable', says: 'entries are gone', proof: [] }] }));
    expect(written[0]).toContain('seed 7 FAILED: durable: entries are gone\n');
  });
});
