/** BullMQ with its own queue and worker. “In batches” adds 500 jobs in one call; its worker has no batches. */
import { REDIS_VARIANTS, redisServer } from '../redis-server.mjs';

const BATCH = 500;
const CONCURRENCY_MAX = 1_000;
const QUEUE = 'bench';
const always = REDIS_VARIANTS.find(({ appendfsync }) => appendfsync === 'always');

export const peer = {
  name: 'BullMQ',
  kinds: ['queue'],
  needs: { commands: ['redis-server'], packages: ['bullmq', 'ioredis'] },
  variants: [...REDIS_VARIANTS, { ...always, name: `${always.name}, in batches`, batch: BATCH }],
  async start(spec) {
    const { Queue, Worker } = await import('bullmq');
    const redis = await redisServer(spec);
    const connection = { host: '127.0.0.1', port: redis.port, maxRetriesPerRequest: null };
    const options = { removeOnComplete: true, removeOnFail: true };
    const openQueue = async () => {
      const queue = new Queue(QUEUE, { connection, defaultJobOptions: options });
      await queue.waitUntilReady();
      return queue;
    };
    let queue = await openQueue();
    const { batch = spec.work === 'waiting' ? BATCH : undefined } = spec.variant;
    return {
      pids: redis.pids,
      batch,
      async stop() {
        await queue.close();
        await redis.stop();
      },
      enqueue: (data) => queue.add('task', data),
      enqueueMany: batch && ((list) => queue.addBulk(list.map((data) => ({ name: 'task', data })))),
      async work({ width, handle, completed, failed }) {
        const concurrency = Math.min(width, CONCURRENCY_MAX);
        const worker = new Worker(QUEUE, async ({ data }) => handle(data), { connection, concurrency });
        worker.on('completed', completed);
        worker.on('failed', (_, fault) => failed(fault));
        worker.on('error', failed);
        return { stop: () => worker.close() };
      },
      async kill() {
        await queue.close();
        await redis.kill();
      },
      async revive() {
        await redis.revive();
        queue = await openQueue();
      },
      waitingCount: () => queue.getWaitingCount(),
    };
  },
};
