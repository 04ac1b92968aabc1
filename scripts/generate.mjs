// `npm run generate`: writes the files that are generated from definitions. `test/generated.test.ts` checks that they
// are current.
import { spawnSync } from 'node:child_process';
import process from 'node:process';

const { status } = spawnSync('npx', ['vitest', 'run', '--project', 'unit', 'test/generated.test.ts'], {
  stdio: 'inherit',
  env: { ...process.env, LEASEHOLD_GENERATE: '1' },
});
process.exitCode = status ?? 1;
