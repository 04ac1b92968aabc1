// `npm test`: the stages in order, one line each. A failed stage prints its output, and the others still run. The
// last line is always `N passed, N failed, N skipped`. To add a stage, add a line to STAGES; a stage of tests is also
// a project in vitest.config.ts.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const STAGES = [
  { name: 'check', ...script('scripts/check.mjs'), says: 'types, lint, format, unused code' },
  { name: 'unit', ...vitest('unit'), says: 'rules, engine contract, properties, old logs, house rules' },
  { name: 'live', ...vitest('live'), says: 'the operations over a live connection' },
  { name: 'processes', ...vitest('processes'), says: 'real processes, crashes, kill -9' },
  { name: 'postgres', ...vitest('postgres'), says: 'leases and fences in a real Postgres' },
  { name: 'browser', ...vitest('browser'), says: 'the console in a real Chromium, behind a real nginx' },
  { name: 'simulation', ...vitest('simulation'), says: 'every fault we can name, from a seed' },
];

const HELP = `Usage: npm test -- [--only NAME]... [--without NAME]...

Runs these stages in order and counts their tests:
${STAGES.map(({ name, says }) => `  ${name.padEnd(11)} ${says}`).join('\n')}

  --only NAME     run this stage; may be repeated
  --without NAME  leave this stage out; may be repeated
  --help          print this text

Exit codes: 0 all passed, 1 something failed or no test ran, 2 the command line is wrong.`;

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const selection = readCommandLine(process.argv.slice(2));
const stages = STAGES.filter(
  ({ name }) => selection.only.length === 0 || selection.only.includes(name),
).filter(({ name }) => !selection.without.includes(name));
if (stages.length === 0) wrong('these flags leave no stage to run.');

const total = { passed: 0, failed: 0, skipped: 0 };
let testsRun = 0;
for (const stage of stages) {
  const from = performance.now();
  const { passed, failed, skipped, output } = await stage.run();
  const seconds = ((performance.now() - from) / 1000).toFixed(1);
  if (failed > 0) process.stdout.write(`${output.trimEnd()}\n`);
  const verdict = failed > 0 ? 'FAILED' : 'ok';
  console.log(
    `${stage.name.padEnd(11)} ${verdict.padEnd(6)} ${seconds.padStart(6)} s  ${passed} passed, ${failed} failed, ${skipped} skipped`,
  );
  total.passed += passed;
  total.failed += failed;
  total.skipped += skipped;
  if (stage.hasTests) testsRun += passed + failed;
}

const flags = [
  ...selection.only.map((name) => `--only ${name}`),
  ...selection.without.map((name) => `--without ${name}`),
];
// A run without any test must not look successful.
if (testsRun === 0 && stages.some((stage) => stage.hasTests)) {
  console.log('No test ran, which counts as one failure.');
  total.failed += 1;
}
if (flags.length > 0) console.log(`Only a part was run: ${flags.join(' ')}`);
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exitCode = total.failed > 0 ? 1 : 0;

function readCommandLine(args) {
  const selection = { only: [], without: [] };
  const rest = args.flatMap((arg) => (/^--(only|without)=/.test(arg) ? splitOnce(arg) : [arg]));
  while (rest.length > 0) {
    const flag = rest.shift();
    if (flag === '--help') {
      console.log(HELP);
      process.exit(0);
    }
    if (flag !== '--only' && flag !== '--without') {
      wrong(`${flag} is not a flag of this command; see npm test -- --help.`);
    }
    const name = rest.shift();
    if (!STAGES.some((stage) => stage.name === name)) {
      const names = STAGES.map((stage) => stage.name).join(', ');
      wrong(
        `${flag} needs the name of a stage (${names})${name === undefined ? '' : `, and ${name} is none`}.`,
      );
    }
    selection[flag.slice(2)].push(name);
  }
  return selection;
}

function splitOnce(arg) {
  const at = arg.indexOf('=');
  return [arg.slice(0, at), arg.slice(at + 1)];
}

function wrong(sentence) {
  console.error(`npm test: ${sentence}`);
  process.exit(2);
}

/** A stage that is one script counts as one test, passed or failed by its exit code. */
function script(path) {
  const run = async () => {
    const { code, output } = await runNode([path]);
    return { passed: code === 0 ? 1 : 0, failed: code === 0 ? 0 : 1, skipped: 0, output };
  };
  return { run, hasTests: false };
}

/** A stage that is a project in vitest.config.ts. Its counts come from the JSON report. */
function vitest(project) {
  const run = async () => {
    const folder = mkdtempSync(join(tmpdir(), 'leasehold-test-'));
    const report = join(folder, 'report.json');
    try {
      const { code, output } = await runNode([
        join('node_modules', 'vitest', 'vitest.mjs'),
        'run',
        `--project=${project}`,
        '--reporter=default',
        '--reporter=json',
        `--outputFile.json=${report}`,
      ]);
      const counts = existsSync(report)
        ? count(JSON.parse(readFileSync(report, 'utf8')))
        : count({ testResults: [] });
      // A runner that fails without a failed test (an unhandled rejection, a crash, no report) is a failure too.
      if (code !== 0 && counts.failed === 0) counts.failed = 1;
      return { ...counts, output };
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };
  return { run, hasTests: true };
}

function count(report) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const file of report.testResults) {
    const failedBefore = counts.failed;
    for (const { status } of file.assertionResults) {
      if (status === 'passed') counts.passed += 1;
      else if (status === 'failed') counts.failed += 1;
      else counts.skipped += 1;
    }
    // A file that could not be loaded has no failed tests, only its own state.
    if (file.status === 'failed' && counts.failed === failedBefore) counts.failed += 1;
  }
  return counts;
}

/** Runs this Node in the repository and collects its output. */
function runNode(args) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const gather = (chunk) => {
      output += chunk;
    };
    child.stdout.setEncoding('utf8').on('data', gather);
    child.stderr.setEncoding('utf8').on('data', gather);
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, output }));
  });
}
