// Prepares a clone: checks the Node version, installs when the lockfile changed, builds when sources changed. It runs
// before `npm start` and `npm test`, so it uses only Node itself and prints nothing when there is nothing to do.
//
//   node scripts/setup.mjs             install and build where needed
//   node scripts/setup.mjs --no-build  install only, for commands that read sources and not dist/
//   node scripts/setup.mjs --rebuild   build even if dist/ looks fresh
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';

const OLDEST_NODE = [20, 19];
const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const lockFile = join(root, 'package-lock.json');
const installStamp = join(root, 'node_modules', '.leasehold-stamp');
const dist = join(root, 'dist');
const buildStamp = join(dist, '.built');
const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
const builds = [join('scripts', 'build-console.mjs'), join('scripts', 'commonjs.mjs')];

const flags = process.argv.slice(2);
const unknownFlag = flags.find((flag) => flag !== '--no-build' && flag !== '--rebuild');
if (unknownFlag !== undefined) {
  console.error(`setup: ${unknownFlag} is not a flag of this script; it knows --no-build and --rebuild.`);
  process.exit(2);
}

checkNode();
installIfNeeded();
if (!flags.includes('--no-build')) buildIfNeeded(flags.includes('--rebuild'));

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_NODE;
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return;
  console.error(
    `leasehold needs Node ${OLDEST_NODE.join('.')} or newer, and this is Node ${process.versions.node}: install a newer one and run this again.`,
  );
  process.exit(1);
}

function installIfNeeded() {
  const wanted = createHash('sha256').update(readFileSync(lockFile)).digest('hex');
  if (existsSync(installStamp) && readFileSync(installStamp, 'utf8').trim() === wanted) return;
  // `npm ci` removes node_modules first, and the stamp with it: an interrupted install never looks complete.
  // `--include=dev` because NODE_ENV=production would omit the compiler and the test runner.
  step('install', () =>
    run('npm', ['ci', '--include=dev', '--no-audit', '--no-fund'], process.platform === 'win32'),
  );
  writeFileSync(installStamp, `${wanted}\n`);
}

function buildIfNeeded(force) {
  if (!force && existsSync(buildStamp) && newestSource() <= statSync(buildStamp).mtimeMs) return;
  const startedAt = new Date();
  step('build', () => {
    // Output of deleted sources would otherwise stay importable and would be published.
    rmSync(dist, { recursive: true, force: true });
    run(process.execPath, [compiler, '-p', 'tsconfig.json'], false);
    for (const script of builds) run(process.execPath, [script], false);
    // npm makes a command executable when it links it, which in a clone happens once and not after every build.
    chmodSync(join(dist, 'cli', 'main.js'), 0o755);
  });
  mkdirSync(dist, { recursive: true });
  writeFileSync(buildStamp, '');
  // The stamp has the time before the compiler started, so that an edit made meanwhile causes another build.
  utimesSync(buildStamp, startedAt, startedAt);
}

/** Directories count too, because removing a file changes only its directory. Tests are not part of the build. */
function newestSource() {
  let newest = 0;
  const look = (path) => {
    newest = Math.max(newest, statSync(path).mtimeMs);
  };
  for (const name of ['package.json', 'tsconfig.json', ...builds]) look(join(root, name));
  const walk = (folder) => {
    look(folder);
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) walk(path);
      else if (!entry.name.endsWith('.test.ts')) look(path);
    }
  };
  const sources = join(root, 'src');
  if (existsSync(sources)) walk(sources);
  return newest;
}

function step(name, work) {
  const from = performance.now();
  work();
  console.log(`setup: ${name} ${((performance.now() - from) / 1000).toFixed(1)} s`);
}

/** Runs quietly. Shows the full output of a failed command and ends the setup. */
function run(command, args, shell) {
  const result = spawnSync(command, args, {
    cwd: root,
    encoding: 'utf8',
    shell,
    maxBuffer: 256 * 1024 * 1024,
  });
  if (result.status === 0) return;
  process.stdout.write(result.stdout ?? '');
  process.stderr.write(result.stderr ?? '');
  const end =
    result.error?.message ?? (result.signal ? `ended by ${result.signal}` : `exit code ${result.status}`);
  console.error(`setup: \`${[command, ...args].join(' ')}\` failed (${end}).`);
  process.exit(1);
}
