/**
 * The Postgres to measure on: a temporary one that syncs its commits, or the one in LEASEHOLD_BENCH_POSTGRES; and a
 * handle with its log in it.
 */
import process from 'node:process';
import pg from 'pg';
import { postgresEngine } from '../../dist/engines/postgres/postgres-engine.js';
import { openWith } from '../../dist/open.js';
import { nodeThreads } from '../../dist/world/node-threads.js';
import { pgConnections } from '../../dist/world/pg-connections.js';
import { systemClock, systemTimers } from '../../dist/world/system-clock.js';
import { systemIds } from '../../dist/world/system-ids.js';
import { startCluster, stopCluster } from '../../scripts/postgres-cluster.mjs';

/** Passes the URL of an empty database to the work, and removes everything afterwards. */
export async function withPostgres(work) {
  const given = process.env.LEASEHOLD_BENCH_POSTGRES;
  if (given !== undefined) return work(given);
  const cluster = await startCluster(['fsync=on'], process.env.LEASEHOLD_BENCH_DIR);
  try {
    return await work(`postgres://postgres@127.0.0.1:${cluster.port}/postgres`);
  } finally {
    await stopCluster(cluster);
  }
}

export function openOn(url, schema, engineOptions = {}) {
  const world = {
    clock: systemClock,
    timers: systemTimers,
    newToken: systemIds.token,
    hashSeed: systemIds.seed(),
  };
  const engine = postgresEngine({
    connections: pgConnections(url),
    world,
    holder: 'the benchmark',
    schema,
    threads: nodeThreads,
    ...engineOptions,
  });
  return openWith(engine, world);
}

export async function statement(url, text) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}
