/**
 * Full task lifecycles (create, lease, complete) with the log in Postgres, each acknowledged after its commit, with 1
 * to 4 096 in flight; compared with bare commits of one small row each, one by one on one connection.
 */
import pg from 'pg';
import { inFlight, lifecycles, nowMs, perSecond, row, scaled } from '../core/bench-world.mjs';
import { openOn, withPostgres } from './bench-postgres.mjs';

await withPostgres(async (url) => {
  const lh = await openOn(url, 'bench_lifecycles');
  const workers = Array.from({ length: 4_096 }, (_, index) => `worker-${index}`);
  const run = (width, count) =>
    inFlight(count, width, (worker, more) => lifecycles(lh, workers[worker], more));
  await run(256, scaled(30_000));
  row('in flight', 'lifecycles/s', 'µs each');
  const bareUs = await bareCommits(url, scaled(1_000));
  for (const [width, count] of [
    [1, 1_000],
    [64, 30_000],
    [1_024, 200_000],
    [4_096, 300_000],
  ]) {
    const ms = await run(width, scaled(count));
    row(width, perSecond(scaled(count), ms), ((ms * 1000) / scaled(count)).toFixed(1));
    if (width === 1) row('  three bare commits of a row', '', (3 * bareUs).toFixed(1));
  }
  await lh.close();
});

/** Microseconds for one durable commit of 512 bytes. */
async function bareCommits(url, count) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('CREATE TABLE IF NOT EXISTS bare (bytes bytea)');
  const bytes = Buffer.alloc(512, 7);
  const from = nowMs();
  for (let index = 0; index < count; index++) {
    await client.query({ name: 'bare', text: 'INSERT INTO bare VALUES ($1)', values: [bytes] });
  }
  const us = ((nowMs() - from) * 1000) / count;
  await client.query('DROP TABLE bare');
  await client.end();
  return us;
}
