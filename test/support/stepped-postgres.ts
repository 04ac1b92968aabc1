// A Postgres whose clock a test can set, while the clocks of everything else on the machine go on: libfaketime is loaded
// into the server alone. Where it is missing root installs it; otherwise the run fails and says how.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { type Cluster, startCluster, stopCluster } from '../../scripts/postgres-cluster.mjs';

const INSTALL = 'apt-get update && apt-get install -y --no-install-recommends faketime';
export const INSTALL_MS_MAX = 180_000;

export class SteppedPostgres {
  private readonly cluster: Cluster;
  private readonly folder: string;
  private databases = 0;

  private constructor(cluster: Cluster, folder: string) {
    this.cluster = cluster;
    this.folder = folder;
  }

  static async start(): Promise<SteppedPostgres> {
    const library = installedLibrary();
    const folder = mkdtempSync(join(tmpdir(), 'leasehold-clock-'));
    await chmod(folder, 0o755);
    setClock(folder, 0);
    try {
      const cluster = await startCluster(['fsync=off'], tmpdir(), {
        LD_PRELOAD: library,
        FAKETIME_TIMESTAMP_FILE: clockFile(folder),
        FAKETIME_NO_CACHE: '1',
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
      });
      return new SteppedPostgres(cluster, folder);
    } catch (fault) {
      rmSync(folder, { recursive: true, force: true });
      throw fault;
    }
  }

  /** Sets its clock so far ahead of the true time, or behind it. */
  setAhead(seconds: number): void {
    setClock(this.folder, seconds);
  }

  /** The URL of an empty database. */
  async newDatabase(): Promise<string> {
    this.databases += 1;
    const client = new pg.Client({ connectionString: this.urlOf('postgres') });
    await client.connect();
    try {
      await client.query(`CREATE DATABASE test_${this.databases}`);
    } finally {
      await client.end();
    }
    return this.urlOf(`test_${this.databases}`);
  }

  private urlOf(name: string): string {
    return `postgres://postgres@127.0.0.1:${this.cluster.port}/${name}`;
  }

  async stop(): Promise<void> {
    await stopCluster(this.cluster);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const clockFile = (folder: string): string => join(folder, 'clock');

/** In one step: a file that is half written would be another time. */
function setClock(folder: string, seconds: number): void {
  const next = join(folder, 'next');
  writeFileSync(next, `${seconds < 0 ? '-' : '+'}${Math.abs(seconds)}\n`, { mode: 0o644 });
  renameSync(next, clockFile(folder));
}

function installedLibrary(): string {
  const found = library();
  if (found !== null) return found;
  if (process.getuid?.() === 0) {
    execFileSync('sh', ['-c', INSTALL], { stdio: 'ignore', timeout: INSTALL_MS_MAX });
  }
  const installed = library();
  if (installed === null) throw new Error(`libfaketime is missing. Install it, as root: ${INSTALL}`);
  return installed;
}

/** Debian keeps it in a folder named after the architecture. */
function library(): string | null {
  for (const folder of readdirSync('/usr/lib')) {
    const file = join('/usr/lib', folder, 'faketime', 'libfaketime.so.1');
    if (existsSync(file)) return file;
  }
  return null;
}
