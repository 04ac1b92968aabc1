/** graphile-worker: jobs added and run one by one; and with all its batching, as its docs advise. */
import process from 'node:process';
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import pg from 'pg';
import { answer, data, inFlight, tasks, url } from './peer-world.mjs';

const WIDTH = 64;
const ADDED = 500;

const logger = new Logger(() => () => undefined);
const pgPool = new pg.Pool({ connectionString: url, max: WIDTH });
pgPool.on('error', fail);
pgPool.on('connect', (client) => client.on('error', fail));
const utils = await makeWorkerUtils({ pgPool, logger });
await utils.migrate();

const alone = Math.ceil(tasks / 20);
const addMs = await inFlight(alone, WIDTH, () => utils.addJob('task', data));
answer('one by one', alone, addMs + (await workOff(alone, {})));

const batches = Math.ceil(tasks / ADDED);
const jobs = Array.from({ length: ADDED }, () => ({ identifier: 'task', payload: data }));
const batchMs = await inFlight(batches, 4, () => utils.addJobs(jobs));
const batching = { localQueue: { size: ADDED }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };
answer(`by ${ADDED}, batched`, batches * ADDED, batchMs + (await workOff(batches * ADDED, batching)));
process.exit(0);

function fail(fault) {
  throw fault;
}

/** Milliseconds until every job has run and its completion is in the database. */
async function workOff(count, worker) {
  await pgPool.query('ANALYZE graphile_worker._private_jobs');
  const from = performance.now();
  let left = count;
  let allDone = () => undefined;
  const done = new Promise((resolve) => {
    allDone = resolve;
  });
  const task = async () => {
    left -= 1;
    if (left === 0) allDone();
  };
  const runner = await run({
    pgPool,
    logger,
    concurrency: 24,
    noHandleSignals: true,
    taskList: { task },
    preset: { worker },
  });
  await done;
  const text = 'SELECT EXISTS (SELECT 1 FROM graphile_worker._private_jobs) AS any_left';
  while ((await pgPool.query(text)).rows[0].any_left) await new Promise((resolve) => setImmediate(resolve));
  const ms = performance.now() - from;
  await runner.stop();
  return ms;
}
