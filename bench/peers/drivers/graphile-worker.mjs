/** graphile-worker. “In batches” adds 500 jobs in one call and uses its local queue and batched completions. */
import { crashingQueue, postmasterPid } from '../postgres-processes.mjs';

const CONNECTIONS_MAX = 64;
const BATCH = 500;
const JOBS = 'graphile_worker._private_jobs';

export const peer = {
  name: 'graphile-worker',
  kinds: ['queue'],
  needs: { packages: ['graphile-worker', 'pg'], postgres: true, newerNode: true },
  variants: [
    { name: 'one by one', durable: 'yes' },
    { name: 'in batches', durable: 'yes', batch: BATCH },
  ],
  async start({ variant, width, work: workName, database, cluster }) {
    const [{ Logger, makeWorkerUtils, run }, { default: pg }] = await Promise.all([
      import('graphile-worker'),
      import('pg'),
    ]);
    const { batch = workName === 'waiting' ? BATCH : undefined } = variant;
    const logger = new Logger(() => () => undefined);
    const connections = Math.min(Math.max(width, 4), CONNECTIONS_MAX);
    let pgPool;
    let utils;
    const open = async () => {
      pgPool = new pg.Pool({ connectionString: database, max: connections + 2 });
      // A crash ends connections; calls that need them fail by themselves.
      pgPool.on('error', () => undefined);
      pgPool.on('connect', (client) => client.on('error', () => undefined));
      utils = await makeWorkerUtils({ pgPool, logger });
      await utils.migrate();
    };
    const close = async () => {
      await utils.release();
      await pgPool.end();
    };
    await open();
    return {
      pids: [postmasterPid(cluster)],
      batch,
      stop: close,
      enqueue: (data) => utils.addJob('task', data),
      enqueueMany:
        batch && ((list) => utils.addJobs(list.map((payload) => ({ identifier: 'task', payload })))),
      async work({ isDraining, handle, completed }) {
        if (isDraining) await pgPool.query(`ANALYZE ${JOBS}`);
        const batching = { localQueue: { size: BATCH }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };
        const task = async (data) => {
          handle(data);
          completed();
        };
        const runner = await run({
          pgPool,
          logger,
          concurrency: Math.min(width, connections),
          noHandleSignals: true,
          taskList: { task },
          preset: { worker: batch === undefined ? {} : batching },
        });
        return {
          // It does not tell when a completion is committed; the row is gone then.
          async settled() {
            const text = `SELECT EXISTS (SELECT 1 FROM ${JOBS}) AS found`;
            while ((await pgPool.query(text)).rows[0].found)
              await new Promise((resolve) => setImmediate(resolve));
          },
          stop: () => runner.stop(),
        };
      },
      ...crashingQueue({
        cluster,
        open,
        close,
        query: (text) => pgPool.query(text),
        countText: `SELECT count(*) FROM ${JOBS}`,
      }),
    };
  },
};
