/** Resident memory per task: one million waiting tasks minus the empty process. */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { benchDir, creates, inFlight, openBench, row, scaled } from './bench-world.mjs';

const lh = await openBench(join(benchDir(), 'data'));
await settle();
const empty = process.memoryUsage.rss();
const count = scaled(1_000_000);
await inFlight(count, 1_024, (_, more) => creates(lh, more));
await settle();
const full = process.memoryUsage.rss();
row('empty process', `${Math.round(empty / 2 ** 20)} MiB`);
row(`${count.toLocaleString('en')} waiting tasks`, `${Math.round(full / 2 ** 20)} MiB`);
row('bytes a task', Math.round((full - empty) / count));
await lh.close();

async function settle() {
  for (let round = 0; round < 5; round++) {
    globalThis.gc?.();
    await pause(200);
  }
}
