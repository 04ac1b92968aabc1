/** What lease and complete cost with five million waiting tasks against one thousand, and the longest stall. */
import { join } from 'node:path';
import { benchDir, inFlight, openBench, payload, row, scaled, watchLoop } from './bench-world.mjs';

const lh = await openBench(join(benchDir(), 'data'));
const workers = Array.from({ length: 1024 }, (_, index) => `worker-${index}`);
const deep = scaled(5_000_000);
const loop = watchLoop();

const ROUND = 1_000;
const rounds = scaled(200);

row('waiting tasks', 'lease+complete', 'longest stall');
await workOff(20, fill);
loop.restart();
const shallowUs = await workOff(rounds, fill);
row('1,000', `${shallowUs.toFixed(2)} µs`, `${loop.worst().toFixed(0)} ms`);
loop.restart();
await inFlight(deep, 4_096, () => lh.task.create({ payload }));
row(`while creating ${deep.toLocaleString('en')}`, '', `${loop.worst().toFixed(0)} ms`);
loop.restart();
const deepUs = await workOff(rounds, () => undefined);
row(deep.toLocaleString('en'), `${deepUs.toFixed(2)} µs`, `${loop.worst().toFixed(0)} ms`);
row('ratio', (deepUs / shallowUs).toFixed(2));
loop.stop();
await lh.close();

async function fill() {
  await inFlight(ROUND, 256, () => lh.task.create({ payload }));
}

/** Leases and completes a thousand tasks a round; only that is timed. Microseconds a pair. */
async function workOff(count, before) {
  let ms = 0;
  for (let round = 0; round < count; round++) {
    await before();
    ms += await inFlight(ROUND, 256, async (worker) => {
      const { leases } = await lh.task.lease({ worker_id: workers[worker] });
      const { task_id, lease_id } = leases[0];
      await lh.task.complete({ task_id, lease_id });
    });
  }
  return (ms * 1000) / (count * ROUND);
}
