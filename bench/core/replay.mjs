/** Replay of three million entries (one million lifecycles), and a start with one million waiting tasks. */
import { join } from 'node:path';
import { benchDir, creates, inFlight, lifecycles, nowMs, openBench, row, scaled } from './bench-world.mjs';

const keep = { compactionBytesMin: Number.POSITIVE_INFINITY };
const dir = benchDir();
const count = scaled(1_000_000);

const ended = join(dir, 'ended');
let lh = await openBench(ended, keep);
await inFlight(count, 4_096, (worker, more) => lifecycles(lh, `worker-${worker}`, more));
await lh.close();
await measure(`replay of ${(3 * count).toLocaleString('en')} entries`, ended, 'COMPLETED');

const waiting = join(dir, 'waiting');
lh = await openBench(waiting, keep);
await inFlight(count, 4_096, (_, more) => creates(lh, more));
await lh.close();
await measure(`start with ${count.toLocaleString('en')} waiting tasks`, waiting, 'WAITING');

async function measure(what, path, state) {
  const from = nowMs();
  const handle = await openBench(path, keep);
  const status = await handle.status();
  row(what, `${((nowMs() - from) / 1000).toFixed(2)} s`);
  if (status.counts.tasks[state] !== count) throw new Error(`There are ${status.counts.tasks[state]} tasks.`);
  await handle.close();
}
