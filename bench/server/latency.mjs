/** Latency from enqueue to handler at 2 000 tasks a second, evenly spaced and not in bursts. */
import { connect, defineTask } from '../../dist/index.js';
import { quick, row } from '../core/bench-world.mjs';
import { percentile, served } from './served.mjs';

const PER_SECOND = 2_000;
const WARM_SECONDS = quick ? 1 : 4;
const SECONDS = quick ? 1 : 10;
const total = PER_SECOND * (WARM_SECONDS + SECONDS);
const server = await served();
const producer = connect(server.url);
const consumer = connect(server.url);
const task = defineTask('latency');
const waits = [];
let arrived = () => undefined;
const worker = consumer.work(task, { concurrency: 256 }, async ({ input }) => {
  waits.push(performance.now() - input.fromMs);
  if (waits.length === total) arrived();
  return null;
});
const all = new Promise((resolve) => {
  arrived = resolve;
});
const startMs = performance.now();
await new Promise((resolve, reject) => {
  let made = 0;
  const tick = () => {
    const dueBy = ((performance.now() - startMs) / 1000) * PER_SECOND;
    for (; made < Math.min(total, dueBy); made++) {
      producer.enqueue(task, { fromMs: performance.now() }).catch(reject);
    }
    if (made < total) setImmediate(tick);
    else resolve();
  };
  tick();
});
await all;
const measured = waits.slice(PER_SECOND * WARM_SECONDS);
row('enqueue to handler, 2 000 tasks/s offered', 'p50 ms', 'p99 ms', 'worst ms');
row(
  '',
  percentile(measured, 0.5).toFixed(2),
  percentile(measured, 0.99).toFixed(2),
  Math.max(...measured).toFixed(1),
);
await worker.drain();
await Promise.all([producer.close(), consumer.close()]);
await server.stop();
