/**
 * The cost of lease and complete with five million waiting tasks against one thousand, and the longest stall. Both
 * are measured alternately in small rounds: the machine drifts more between two minutes than the figures differ.
 */
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

const dir = benchDir();
const workers = Array.from({ length: 1024 }, (_, index) => `worker-${index}`);
const deep = scaled(5_000_000);
const ROUND = 1_000;
const TURNS = 20;
const rounds = scaled(10);
const loop = watchLoop();
const uncompacted = { compactionBytesMin: Number.POSITIVE_INFINITY };

const shallow = await openBench(join(dir, 'shallow'), uncompacted);
let lh = await openBench(join(dir, 'deep'), uncompacted);
row('waiting tasks', 'lease+complete', 'CPU of it', 'longest stall');
await create(deep, `while creating ${deep.toLocaleString('en')}`);
// Flush what the creates left in the page cache, so that it is not charged to the next measurement.
spawnSync('sync');
await workOff(shallow, 2 * rounds, fill);
await compare(deep.toLocaleString('en'), TURNS);
await lh.close();

// The same log with compaction: the thread starts with the first batch and shares the two cores.
lh = await openBench(join(dir, 'deep'));
await compare(`${deep.toLocaleString('en')}, compacting`, 10 * TURNS, () => !hasCheckpoint());
row('the checkpoint was whole by then', hasCheckpoint() ? 'yes' : 'no');
await create(scaled(500_000), 'while creating');
loop.stop();
await lh.close();
await shallow.close();

async function create(count, what) {
  loop.restart();
  await inFlight(count, 4_096, (_, more) => creates(lh, more));
  row(what, '', '', `${loop.worst().toFixed(0)} ms`);
}

/** Alternates the deep and the shallow log for as long as it is worth measuring. */
async function compare(what, turnsMax, goesOn = () => true) {
  const few = { us: 0, cpuUs: 0 };
  const many = { us: 0, cpuUs: 0 };
  loop.restart();
  let turns = 0;
  do {
    add(few, await workOff(shallow, rounds, fill));
    add(many, await workOff(lh, rounds, () => undefined));
    turns += 1;
  } while (turns < turnsMax && goesOn());
  const each = (sum) => `${(sum / turns).toFixed(2)} µs`;
  row('1,000', each(few.us), each(few.cpuUs));
  row(what, each(many.us), each(many.cpuUs), `${loop.worst().toFixed(0)} ms`);
  row('ratio', (many.us / few.us).toFixed(2), (many.cpuUs / few.cpuUs).toFixed(2));
}

function add(sum, { us, cpuUs }) {
  sum.us += us;
  sum.cpuUs += cpuUs;
}

function hasCheckpoint() {
  return readdirSync(join(dir, 'deep')).some((name) => name.endsWith('.ckpt'));
}

async function fill(handle) {
  await inFlight(ROUND, 256, (_, more) => creates(handle, more));
}

/**
 * Leases and completes a thousand tasks per round; only that is timed. Microseconds per pair: by the clock, and as
 * CPU time of the event loop's thread, which neither the disk nor other threads can increase.
 */
async function workOff(handle, count, before) {
  let ms = 0;
  let cpuUs = 0;
  for (let round = 0; round < count; round++) {
    await before(handle);
    const from = threadCpuUs();
    ms += await inFlight(ROUND, 256, async (worker, more) => {
      while (more()) {
        const { leases } = await handle.call('task.lease', { worker_id: workers[worker] });
        const { task_id, lease_id } = leases[0];
        await handle.call('task.complete', { task_id, lease_id });
      }
    });
    cpuUs += threadCpuUs() - from;
  }
  const pairs = count * ROUND;
  return { us: (ms * 1000) / pairs, cpuUs: cpuUs / pairs };
}
