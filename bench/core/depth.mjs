/** What lease and complete cost with five million waiting tasks against one thousand, and the longest stall. */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  benchDir,
  creates,
  inFlight,
  openBench,
  row,
  scaled,
  threadCpuUs,
  watchLoop,
} from './bench-world.mjs';

const data = join(benchDir(), 'data');
const workers = Array.from({ length: 1024 }, (_, index) => `worker-${index}`);
const deep = scaled(5_000_000);
const ROUND = 1_000;
const rounds = scaled(200);
const loop = watchLoop();

row('waiting tasks', 'lease+complete', 'CPU of it', 'longest stall');
let lh = await openBench(data, { compactionBytesMin: Number.POSITIVE_INFINITY });
await workOff(20, fill);
const shallow = await measure('1,000', fill);
await create(deep, `while creating ${deep.toLocaleString('en')}`);
// What the creates left for the disk to do in the background would be charged to the wrong account.
spawnSync('sync');
against(shallow, await measure(deep.toLocaleString('en'), () => undefined));
await lh.close();

// The same log, opened so that it is compacted: the thread begins with the first batch and shares the two cores.
lh = await openBench(data);
against(shallow, await measure(`${deep.toLocaleString('en')}, compacting`, () => undefined));
await create(scaled(500_000), 'while creating, compacting');
row('compaction was still running', isCompacting() ? 'yes' : 'no');
loop.stop();
await lh.close();

async function create(count, what) {
  loop.restart();
  await inFlight(count, 4_096, (_, more) => creates(lh, more));
  row(what, '', '', `${loop.worst().toFixed(0)} ms`);
}

async function measure(what, before) {
  loop.restart();
  const each = await workOff(rounds, before);
  row(what, `${each.us.toFixed(2)} µs`, `${each.cpuUs.toFixed(2)} µs`, `${loop.worst().toFixed(0)} ms`);
  return each;
}

function against(one, other) {
  row('ratio', (other.us / one.us).toFixed(2), (other.cpuUs / one.cpuUs).toFixed(2));
}

function isCompacting() {
  return readdirSync(data).some((name) => name.endsWith('.tmp'));
}

async function fill() {
  await inFlight(ROUND, 256, (_, more) => creates(lh, more));
}

/**
 * Leases and completes a thousand tasks a round; only that is timed. Microseconds a pair: as the clock has it, and what
 * the loop's thread had of a processor, which neither the disk nor a thread that shares the core can make dearer.
 */
async function workOff(count, before) {
  let ms = 0;
  let cpuUs = 0;
  for (let round = 0; round < count; round++) {
    await before();
    const from = threadCpuUs();
    ms += await inFlight(ROUND, 256, async (worker, more) => {
      while (more()) {
        const { leases } = await lh.task.lease({ worker_id: workers[worker] });
        const { task_id, lease_id } = leases[0];
        await lh.task.complete({ task_id, lease_id });
      }
    });
    cpuUs += threadCpuUs() - from;
  }
  const pairs = count * ROUND;
  return { us: (ms * 1000) / pairs, cpuUs: cpuUs / pairs };
}
