// The kinds of tests. "unit" runs in memory or on a scratch directory and is quick; "live" runs the tests of operations over a
// live connection instead of HTTP; "processes" starts real processes, kills them and waits, so it has the longer limits;
// "postgres" starts a real Postgres for each worker; "browser" opens the console in a real Chromium; "simulation" runs whole
// worlds, each from one seed. Two workers, because two cores are what the budget of `npm test` is written for, and more where
// tests mostly wait; forks, because tests may change the process they run in.
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files with one long test. Without times of an earlier run Vitest starts the largest files first, and would end with these. */
const LONG = /\/(crash|many-connections|live-kills)\.test\.ts$/;

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) => LONG.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 2,
    passWithNoTests: true,
    sequence: { sequencer: LongFirst },
    setupFiles: ['test/support/property-seed.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: [
            'src/**/*.test.ts',
            'test/contract/**/*.test.ts',
            'test/properties/**/*.test.ts',
            'test/golden/**/*.test.ts',
            'test/docs.test.ts',
            'test/generated.test.ts',
            'test/tidy.test.ts',
            'bench/peers/*.test.mjs',
          ],
          testTimeout: 60_000,
          hookTimeout: 20_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'live',
          // The tests of operations once more: `test/support/served.ts` then sends them over a live connection.
          include: [
            'operations',
            'refusals',
            'verdicts',
            'waits',
            'sessions',
            'opaque',
            'cancel',
            'checkpoint',
            'requeue',
            'guards',
            'lists',
            'access',
            'bulk',
            'lease-record',
            'session-refusals',
          ].map((what) => `src/server/wire-${what}.test.ts`),
          env: { LEASEHOLD_WIRE: 'live' },
          testTimeout: 20_000,
          hookTimeout: 20_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'processes',
          include: ['test/e2e/**/*.test.ts', 'test/types/**/*.test.ts'],
          // They use half of two cores: a worker waits for a process to start, or for a lease to end.
          maxWorkers: 3,
          // Vitest asks for it where the number of workers differs from that of other projects.
          sequence: { groupOrder: 1 },
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'postgres',
          include: ['test/postgres/**/*.test.ts'],
          globalSetup: ['test/support/postgres-setup.ts'],
          maxWorkers: 2,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'browser',
          include: ['test/browser/**/*.test.ts'],
          globalSetup: ['test/support/browser-setup.ts'],
          fileParallelism: false,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'simulation',
          include: ['test/simulation/**/*.test.ts'],
          testTimeout: 150_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
