/**
 * Lifecycles a second on one Postgres: leasehold with 1 024 in flight, pg-boss and graphile-worker, in turn and
 * twice, so that machine drift affects all alike. The others are installed on first use, into bench/peers only; they
 * need a newer Node, which is installed with them.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { inFlight, lifecycles, perSecond, row, scaled } from '../core/bench-world.mjs';
import { openOn, statement, withPostgres } from './bench-postgres.mjs';

const ROUNDS = 2;
const folder = join(dirname(fileURLToPath(import.meta.url)), '..', 'peers');

install();
await withPostgres(async (url) => {
  row('', 'lifecycles/s');
  for (let round = 1; round <= ROUNDS; round++) {
    await ourselves(url, round, scaled(100_000));
    for (const peer of ['pg-boss', 'graphile-worker']) await other(url, peer, round, scaled(20_000));
  }
});

async function ourselves(url, round, count) {
  const lh = await openOn(url, `bench_peers_${round}`);
  await inFlight(scaled(20_000), 1_024, (worker, more) => lifecycles(lh, `worker-${worker}`, more));
  const ms = await inFlight(count, 1_024, (worker, more) => lifecycles(lh, `worker-${worker}`, more));
  row('leasehold, 1 024 in flight, one by one', perSecond(count, ms));
  await lh.close();
}

/** Each in a new database. */
async function other(url, peer, round, count) {
  const name = `bench_${peer.replace('-', '_')}_${round}`;
  await statement(url, `CREATE DATABASE ${name}`);
  const own = new URL(url);
  own.pathname = `/${name}`;
  const { status, stdout } = spawnSync(newerNode(), [join(folder, `${peer}.mjs`), own.href, String(count)], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await statement(url, `DROP DATABASE ${name} WITH (FORCE)`);
  if (status !== 0) throw new Error(`${peer} ended with ${status}.`);
  for (const line of stdout.trim().split('\n')) {
    const found = JSON.parse(line);
    row(`${peer}, ${found.mode}`, Math.round(found.perSecond).toLocaleString('en'));
  }
}

function install() {
  if (existsSync(join(folder, 'node_modules', 'pg-boss'))) return;
  console.log('  installing the others into bench/peers');
  const args = ['ci', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
  const { status } = spawnSync('npm', args, { cwd: folder, stdio: 'inherit' });
  if (status !== 0) process.exit(1);
}

function newerNode() {
  const own = join(folder, 'node_modules', `node-${process.platform}-${process.arch}`, 'bin', 'node');
  return existsSync(own) ? own : process.execPath;
}
