/**
 * `npm run bench -- peers`: leasehold beside what users would pick instead. Checks that everything is there, takes the
 * measurements in turn, prints and stores them, and makes the report from what is stored. It ends only what it started.
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { cpus, release, tmpdir, totalmem } from 'node:os';
import { basename, dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { startCluster, stopCluster } from '../../scripts/postgres-cluster.mjs';
import { withRun } from './keep-run.mjs';
import { install, missingFor, versionsFor } from './missing.mjs';
import { optionsOf, usage } from './options.mjs';
import { planOf } from './plan.mjs';
import { figureText, plainTable } from './report.mjs';
import { endDrivers, runJob } from './run-job.mjs';
import { summary } from './statistics.mjs';
import { PAYLOAD_BYTES, WORKS, workOf } from './works.mjs';
import { STORED, storedRun, writeReport } from './write-report.mjs';

/**
 * Node compiles what runs often while it runs: the warm-up is not counted. A peer that cannot keep up may take so long
 * for its stragglers.
 */
const AMOUNTS = { warmMs: 3_000, ms: 4_000, stragglersMs: 15_000, tasks: 1_000_000 };
const QUICK_AMOUNTS = { warmMs: 1_000, ms: 1_000, stragglersMs: 4_000, tasks: 50_000 };
const QUICK_LIMIT_MS = 170_000;
const TMPFS = 0x01021994;

const here = dirname(fileURLToPath(import.meta.url));
const drivers = readdirSync(join(here, 'drivers')).filter((file) => file.endsWith('.mjs'));
const peers = await Promise.all(
  drivers.map(async (file) => {
    const { peer } = await import(join(here, 'drivers', file));
    return { driver: basename(file, '.mjs'), peer };
  }),
);
const peerNames = peers.map(({ peer }) => peer.name);
const { options, problem } = optionsOf(process.argv.slice(2), peerNames);
if (problem !== undefined) leave(2, `${problem}\n\n${usage(peerNames)}`);
if (options.help) leave(0, usage(peerNames));
if (options.report) leave(0, writeReport());

const { jobs, skipped } = planOf(peers, options);
if (jobs.length === 0) leave(2, 'None of these peers takes part in any of these works.');
prepare();

const parent = process.env.LEASEHOLD_BENCH_DIR ?? tmpdir();
const folder = mkdtempSync(join(parent, 'leasehold-peers-'));
let cluster = null;
let isInterrupted = false;
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    isInterrupted = true;
    endDrivers();
  });
}
const fromMs = performance.now();
const results = {
  date: new Date().toISOString(),
  isQuick: options.isQuick,
  rounds: options.rounds,
  payloadBytes: PAYLOAD_BYTES,
  machine: machine(),
  versions: versionsFor(jobs),
  measured: [],
  skipped,
  failed: [],
};
console.log(
  `peers on Node ${process.version}, ${results.machine.cores} × ${results.machine.cpu}, ${results.machine.memoryGiB} GiB: ${jobs.length} measurements`,
);
if (results.machine.isMemoryDisk) {
  console.log(
    `${parent} is in memory, so syncs cost nothing there: set LEASEHOLD_BENCH_DIR to a directory on a disk.`,
  );
}
try {
  if (jobs.some(({ needs }) => needs.postgres)) {
    console.log('Starting Postgres.');
    cluster = await startCluster(['fsync=on'], parent);
  }
  await runAll();
} finally {
  await cleanUp();
}
if (isInterrupted) leave(130, 'Interrupted: everything that was started is stopped, and nothing is stored.');
const file = store();
console.log(`\n${file}`);
for (const { work, width, peer, variant, round, fault } of results.failed) {
  console.log(`FAILED ${work} ${width}, ${peer}, ${variant}, round ${round}: ${fault.split('\n')[0]}`);
}
process.exitCode = results.failed.length === 0 ? 0 : 1;

async function runAll() {
  const amounts = options.isQuick ? QUICK_AMOUNTS : AMOUNTS;
  for (const [index, job] of jobs.entries()) {
    if (isInterrupted) return;
    const passedMs = performance.now() - fromMs;
    const { work, width, round, peer, variant } = job;
    const limitMs = options.isQuick ? QUICK_LIMIT_MS - passedMs : Number.POSITIVE_INFINITY;
    const answer =
      limitMs > 0
        ? await runJob({ ...job, ...amounts }, { folder, cluster, limitMs })
        : { fault: `The ${QUICK_LIMIT_MS / 1_000} s of a quick run were over.` };
    if (isInterrupted) return;
    const place = `[${index + 1}/${jobs.length} ${clock(passedMs)}]`;
    const what = `${work} ${width} #${round}  ${peer}, ${variant}`;
    if (answer.fault !== undefined) {
      results.failed.push({ work, width, round, peer, variant, fault: answer.fault });
      console.log(`${place} ${what}: FAILED ${answer.fault}`);
    } else {
      note(job, answer.figures);
      const [first] = workOf(work).figures;
      console.log(
        `${place} ${what}: ${figureText(answer.figures[first.figure], first.digits)} ${first.says}`,
      );
    }
    const next = jobs[index + 1];
    if (next?.work !== work || next.width !== width) printTable(work, width);
  }
}

function note({ work, width, peer, variant, durable }, figures) {
  const isSame = (each) =>
    each.work === work && each.width === width && each.peer === peer && each.variant === variant;
  let entry = results.measured.find(isSame);
  if (entry === undefined) {
    entry = { work, width, peer, variant, durable, date: results.date, rounds: [] };
    results.measured.push(entry);
  }
  entry.rounds.push(figures);
  entry.summary = summary(entry.rounds);
}

function printTable(name, width) {
  const work = WORKS.find((each) => each.name === name);
  console.log(`\n${work.title}, ${width} in flight\n${plainTable(work, width, results)}\n`);
}

/** Only what is to be kept becomes the report; every other run is stored apart and is not for committing. */
function store() {
  const path = options.keep ? STORED : join(dirname(STORED), 'peers-partial.json');
  const stored = options.keep ? withRun(storedRun(), results) : results;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(stored, rounded, 1)}\n`);
  return options.keep
    ? `Stored in ${path}; \`npm run bench -- peers --report\` writes docs/performance.md from it.`
    : `Stored in ${path}, which git ignores; --keep puts a run into the report.`;
}

function prepare() {
  const steps = missingFor(jobs);
  if (steps.length === 0) return;
  if (options.install) {
    const failed = install(steps);
    if (failed !== null) leave(1, `This failed: ${failed.join(' ')}`);
    if (missingFor(jobs).length === 0) return;
  }
  const lines = missingFor(jobs).map(({ what, run }) => `  ${what.join(', ')}\n    ${run.join(' ')}`);
  leave(
    1,
    `Missing for this run:\n${lines.join('\n')}\nInstall it so, or run this again with --install, or choose other peers with --only.`,
  );
}

async function cleanUp() {
  endDrivers();
  if (cluster !== null) {
    try {
      await stopCluster(cluster);
    } catch {
      // A measurement may have ended between killing Postgres and starting it again.
      rmSync(cluster.folder, { recursive: true, force: true });
    }
  }
  rmSync(folder, { recursive: true, force: true });
}

function machine() {
  const cores = cpus();
  return {
    cpu: cores[0]?.model.trim() ?? 'unknown',
    cores: cores.length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${process.platform} ${release().split('.').slice(0, 2).join('.')}`,
    isMemoryDisk: statfsSync(parent).type === TMPFS,
  };
}

function clock(ms) {
  const seconds = Math.floor(ms / 1_000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

function rounded(_, value) {
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(5)) : value;
}

function leave(code, text) {
  (code === 0 ? console.log : console.error)(text);
  process.exit(code);
}
