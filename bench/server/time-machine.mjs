/**
 * What the time machine costs the server: renewals while its thread replays, and without, in turns. Each question is about
 * a position before all cached moments, or far after them, so that each is a replay. Before that, the memory of the
 * process with and without one earlier moment of that size, from which the bound in `src/operations/past-thread.ts` is set.
 */
import { readFileSync } from 'node:fs';
import { connect } from '../../dist/index.js';
import { row, scaled } from '../core/bench-world.mjs';
import { inBatches, renewals } from './load.mjs';
import { served } from './served.mjs';

const TASKS = scaled(1_000_000);
const ROUNDS = 3;
const ROUND_MS = scaled(20_000);
/** More than the moments that are cached. */
const POSITIONS = 8;

const server = await served();
const lh = connect(server.url);
const lease = { name: 'renewed', holder: 'h' };
const { token } = await lh.call('lease.acquire', { ...lease, ttl_ms: 600_000 });
await inBatches(server.url, TASKS, (n) => ({ op: 'task.create', task_id: `task-${n}`, payload: n }));
const { seq } = await lh.call('status.get', {});

await settled();
const beforeMiB = memoryMiB();
const fromMs = performance.now();
await look(seq);
const replayMs = performance.now() - fromMs;
const withMiB = memoryMiB();
row('tasks', 'replay s', 'MiB before', 'MiB with it', 'bytes a row');
row(
  TASKS,
  (replayMs / 1_000).toFixed(1),
  Math.round(beforeMiB),
  Math.round(withMiB),
  Math.round(((withMiB - beforeMiB) * 1024 * 1024) / TASKS),
);

row('renewals', 'p50 ms', 'p99 ms', 'max ms', 'replays');
for (let round = 0; round < ROUNDS; round++) {
  row('without replays', ...(await renewals(lh, { ...lease, token }, ROUND_MS)), 0);
  const replays = replayUntilTold();
  const figures = await renewals(lh, { ...lease, token }, ROUND_MS);
  row('beside replays', ...figures, await replays());
}
await lh.close();
await server.stop();

async function look(position) {
  const reply = await lh.call('status.get', { at_seq: position });
  if (!reply.ok || reply.seq !== position) throw new Error(JSON.stringify(reply));
}

/** Replays one after the other; what it returns stops them and gives their number. */
function replayUntilTold() {
  let isTold = false;
  const work = (async () => {
    let count = 0;
    for (; !isTold; count++) await look(Math.ceil((seq * (POSITIONS - (count % POSITIONS))) / POSITIONS));
    return count;
  })();
  return () => {
    isTold = true;
    return work;
  };
}

/** Until the allocations of the load are collected and the memory no longer falls. */
async function settled() {
  for (let last = Number.POSITIVE_INFINITY; memoryMiB() < last; ) {
    last = memoryMiB();
    await new Promise((resolve) => setTimeout(resolve, 3_000));
  }
}

function memoryMiB() {
  const [, kib] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'));
  return Number(kib) / 1024;
}
