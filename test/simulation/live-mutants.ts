// Deliberate bugs in the rule of deadlines from samples; see `mutants.ts`, which lists them with the others.
import type { Mutant } from './mutants.ts';

const SAMPLES = 'src/client/authority-samples.ts';

export const LIVE_MUTANTS: readonly Mutant[] = [
  {
    name: 'sample-across-epochs',
    does: 'A sample counts for the grants of a later epoch, whose clock may have jumped.',
    seed: 120_005,
    checker: 'in-time',
    edits: [
      {
        file: SAMPLES,
        from: 'if (sample === null || sample.epoch !== epoch) return null;',
        to: 'if (sample === null || epoch < 0) return null;',
      },
    ],
  },
  {
    name: 'sample-without-rate',
    does: 'Nothing is taken off for what the clocks may differ in rate.',
    seed: 120_030,
    checker: 'in-time',
    edits: [{ file: SAMPLES, from: 'passedMs - RATE * Math.abs(passedMs) - ROUNDING_MS', to: 'passedMs' }],
  },
  {
    name: 'sample-from-the-answer',
    does: 'A sample counts from when the answer came, and not from before the question.',
    seed: 120_009,
    checker: 'in-time',
    edits: [
      {
        file: 'src/client/live-link.ts',
        from: 'if (newest !== undefined) this.#note(newest.moment, atMs, epoch);',
        to: 'if (newest !== undefined) this.#note(momentOf(this.#world.clock), atMs, epoch);',
      },
    ],
  },
];
