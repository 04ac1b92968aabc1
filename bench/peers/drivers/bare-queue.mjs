/**
 * The bare queue of the server suite: batches over HTTP, a Map, a list and a log that is synced in groups. It is to
 * lifecycles what the sketch is to locks. Its worker must know how many tasks there are, because the
 * server has no answer for an empty queue.
 */
import { bareQueue } from '../../server/bare-queue.mjs';

const noWait = 'It has no calls that wait.';

export const peer = {
  name: 'bare queue',
  kinds: ['queue'],
  needs: {},
  variants: [
    {
      name: 'HTTP batches',
      durable: 'yes',
      skips: { latency: noWait, waiting: 'It recovers nothing after a restart.' },
    },
  ],
  async start() {
    const queue = await bareQueue();
    return {
      pids: [queue.pid],
      stop: () => queue.close(),
      enqueue: (payload) => queue.task.create({ payload }),
      async work({ width, count, handle, completed, failed }) {
        let left = count;
        const loop = async (_, lane) => {
          while (left-- > 0) {
            const { leases } = await queue.task.lease({ worker_id: `worker-${lane}` });
            const [{ task_id, lease_id, payload }] = leases;
            handle(payload);
            const { outcome } = await queue.task.complete({ task_id, lease_id });
            if (outcome !== 'COMMITTED') throw new Error(`The outcome was ${outcome}.`);
            completed();
          }
        };
        const loops = Promise.all(Array.from({ length: width }, loop)).catch(failed);
        return { stop: () => loops };
      },
    };
  },
};
