/**
 * `npm run bench -- SUITE [SECTION…] [--quick]`: measures the machine and leasehold in one run. Every section runs in
 * its own process on an empty directory, so that none inherits another's heap. Compare figures of one run only, never
 * of two runs.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { basename, dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

/** A young generation large enough for thousands of calls in flight; docs/operating.md recommends it. */
const NODE_FLAGS = ['--expose-gc', '--max-semi-space-size=64'];

const here = dirname(fileURLToPath(import.meta.url));
const suites = readdirSync(here, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && existsSync(join(here, entry.name, 'sections.mjs')))
  .map((entry) => entry.name);

// This suite has options of its own and no sections.
if (process.argv[2] === 'peers') {
  process.argv.splice(2, 1);
  await import('./peers/main.mjs');
  process.exit();
}

const args = process.argv.slice(2);
const flags = args.filter((arg) => arg.startsWith('--'));
const [suite, ...wanted] = args.filter((arg) => !arg.startsWith('--'));
const unknown = flags.find((flag) => flag !== '--quick' && flag !== '--help');

if (suite === undefined || flags.includes('--help') || unknown !== undefined || !suites.includes(suite)) {
  if (unknown !== undefined) console.error(`${unknown} is not a flag of this command.`);
  else if (suite !== undefined && !suites.includes(suite)) console.error(`There is no suite ${suite}.`);
  console.log(`Usage: npm run bench -- SUITE [SECTION...] [--quick]

Suites: ${suites.join(', ')}; peers, which has options of its own: npm run bench -- peers --help
--quick takes a tenth of the work, for trying things out; its figures mean little.`);
  process.exit(flags.includes('--help') ? 0 : 2);
}

const { SECTIONS, PLAIN_SECTIONS } = await import(join(here, suite, 'sections.mjs'));
const strange = wanted.find((name) => !SECTIONS.includes(name));
if (strange !== undefined) {
  console.error(`There is no section ${strange} in ${suite}; there are: ${SECTIONS.join(', ')}.`);
  process.exit(2);
}

const cores = cpus();
console.log(
  `${suite} on Node ${process.version}, ${cores.length} × ${cores[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${NODE_FLAGS.join(' ')}`,
);
for (const section of SECTIONS) {
  if (wanted.length > 0 && !wanted.includes(section)) continue;
  console.log(`\n${section}`);
  const nodeFlags = PLAIN_SECTIONS.includes(section) ? ['--expose-gc'] : NODE_FLAGS;
  const file = join(here, suite, `${basename(section)}.mjs`);
  const { status } = spawnSync(process.execPath, [...nodeFlags, file, ...flags], { stdio: 'inherit' });
  if (status !== 0) process.exit(1);
}
