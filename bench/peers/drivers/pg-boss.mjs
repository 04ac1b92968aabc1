/**
 * pg-boss. A backlog is worked off by loops of fetch and complete; for latency its own worker waits for NOTIFY. “In
 * batches” inserts 500 jobs, and fetches and completes 100.
 */
import { crashingQueue, postmasterPid } from '../postgres-processes.mjs';

const CONNECTIONS_MAX = 64;
const BATCH = 500;
const FETCHED = 100;
const FETCHERS = 16;
const QUEUE = 'bench';

export const peer = {
  name: 'pg-boss',
  kinds: ['queue'],
  needs: { packages: ['pg-boss', 'pg'], postgres: true, newerNode: true },
  variants: [
    { name: 'one by one', durable: 'yes' },
    { name: 'in batches', durable: 'yes', batch: BATCH },
  ],
  async start({ variant, width, work: workName, database, cluster }) {
    const [{ PgBoss }, { default: pg }] = await Promise.all([import('pg-boss'), import('pg')]);
    const { batch = workName === 'waiting' ? BATCH : undefined } = variant;
    let boss;
    let pool;
    const open = async () => {
      const connections = { connectionString: database, max: Math.min(Math.max(width, 4), CONNECTIONS_MAX) };
      const useListenNotify = workName === 'latency';
      boss = new PgBoss({ ...connections, schedule: false, supervise: false, useListenNotify });
      // It reports connections that a crash ended; calls fail by themselves.
      boss.on('error', () => undefined);
      await boss.start();
      await boss.createQueue(QUEUE, { notify: useListenNotify });
      pool = new pg.Pool({ connectionString: database, max: 1 });
      pool.on('error', () => undefined);
    };
    const close = async () => {
      await boss.stop({ graceful: false });
      await pool.end();
    };
    await open();
    return {
      pids: [postmasterPid(cluster)],
      batch,
      stop: close,
      enqueue: (data) => boss.send(QUEUE, data),
      enqueueMany:
        batch &&
        ((list) =>
          boss.insert(
            QUEUE,
            list.map((data) => ({ data })),
          )),
      async work({ isDraining, handle, completed, failed }) {
        if (!isDraining) {
          const options = { batchSize: FETCHED, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true };
          const id = await boss.work(QUEUE, options, async (jobs) => {
            for (const { data } of jobs) handle(data);
          });
          return { stop: () => boss.offWork(QUEUE, { id }) };
        }
        await pool.query('ANALYZE');
        const batchSize = batch === undefined ? 1 : FETCHED;
        let isStopped = false;
        const loop = async () => {
          while (!isStopped) {
            const jobs = await boss.fetch(QUEUE, { batchSize });
            if (jobs.length === 0) continue;
            for (const { data } of jobs) handle(data);
            await boss.complete(
              QUEUE,
              jobs.map(({ id }) => id),
            );
            for (const _ of jobs) completed();
          }
        };
        const fetchers = batch === undefined ? Math.min(width, CONNECTIONS_MAX) : FETCHERS;
        const loops = Promise.all(Array.from({ length: fetchers }, loop)).catch(failed);
        return {
          async stop() {
            isStopped = true;
            await loops;
          },
        };
      },
      ...crashingQueue({
        cluster,
        open,
        close,
        query: (text) => pool.query(text),
        countText: "SELECT count(*) FROM pgboss.job WHERE state = 'created'",
      }),
    };
  },
};
