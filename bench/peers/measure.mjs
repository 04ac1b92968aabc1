/**
 * The loop of each work, the same for every peer: `measure[work](peer, spec)` gives its figures. `peer` is what the
 * driver's `start` resolved with; drivers/README.md lists what it has. `spec` has the width, the time of the warm-up and
 * that of the measurement.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { residentBytes, startMeter } from './processor-time.mjs';
import { percentile } from './statistics.mjs';
import { PAYLOAD_BYTES } from './works.mjs';

const OFFERED_PER_SECOND = 2_000;
/** Tasks of one lifecycle phase, so that a fast peer does not fill the memory. */
const TASKS_MAX = 200_000;
const BATCH_CALLS = 4;

const now = () => performance.now();

export const measure = { lifecycle, lock, hot, latency, renewals, waiting };

/** A payload of exactly 256 bytes as JSON; `fromMs` is when it was made. */
export function payloadAt(fromMs) {
  const from = fromMs.toFixed(3).padStart(16, '0');
  return { from, data: 'x'.repeat(PAYLOAD_BYTES - JSON.stringify({ from, data: '' }).length) };
}

async function lifecycle(peer, { width, warmMs, ms }) {
  await workOff(peer, width, await enqueueFor(peer, width, warmMs / 2));
  const meter = startMeter(peer.pids);
  const count = await enqueueFor(peer, width, ms / 2);
  const enqueueSeconds = meter.stop(count).seconds;
  await workOff(peer, width, count);
  const figures = meter.stop(count);
  return {
    ...figures,
    tasks: count,
    enqueuePerSecond: count / enqueueSeconds,
    workPerSecond: count / (figures.seconds - enqueueSeconds),
  };
}

/** Enqueues with `width` calls in flight until the time is up; resolves with how many were acknowledged. */
async function enqueueFor(peer, width, ms, most = TASKS_MAX) {
  const data = payloadAt(0);
  const size = peer.enqueueMany === undefined ? 1 : peer.batch;
  const list = new Array(size).fill(data);
  const callers = size === 1 ? width : Math.min(BATCH_CALLS, Math.ceil(width / size));
  const untilMs = now() + ms;
  let count = 0;
  const isOpen = () => now() < untilMs && count < most;
  await Promise.all(
    Array.from({ length: callers }, async (_, lane) => {
      while (isOpen()) {
        count += size;
        if (size === 1) await peer.enqueue(data, lane);
        else await peer.enqueueMany(list, lane);
      }
    }),
  );
  return count;
}

/** Resolves when a worker has completed `count` tasks and every completion is acknowledged. */
async function workOff(peer, width, count) {
  let left = count;
  let worker;
  await new Promise((resolve, reject) => {
    const completed = () => {
      left -= 1;
      if (left === 0) resolve();
    };
    peer
      .work({ width, count, isDraining: true, handle: () => undefined, completed, failed: reject })
      .then((started) => {
        worker = started;
      }, reject);
  });
  await worker?.settled?.();
  await worker?.stop();
}

/** Keeps `width` callers at it, and counts what they do between the end of the warm-up and the end of the time. */
async function steady(peer, { width, warmMs, ms }, turn) {
  const state = { count: 0, samples: [], isCounting: false, isOver: false };
  const callers = Promise.all(
    Array.from({ length: width }, async (_, lane) => {
      while (!state.isOver) await turn(lane, state);
    }),
  );
  const clock = async () => {
    await pause(warmMs);
    const meter = startMeter(peer.pids);
    state.isCounting = true;
    state.count = 0;
    await pause(ms);
    state.isCounting = false;
    state.isOver = true;
    return meter.stop(state.count);
  };
  // A caller that fails ends the measurement at once; the process ends with it.
  const [figures] = await Promise.all([clock(), callers]);
  if (state.count === 0) throw new Error('Nothing was done in the time given.');
  const [p50Ms, p99Ms] = [0.5, 0.99].map((part) => percentile(state.samples, part));
  return { ...figures, p50Ms, p99Ms };
}

function lock(peer, spec) {
  let names = 0;
  return steady(peer, spec, async (lane, state) => {
    const from = now();
    const held = await peer.acquire(`name-${names++}`, { lane, isContended: false });
    await peer.release(held);
    count(state, now() - from);
  });
}

async function hot(peer, spec) {
  const turns = new Array(spec.width).fill(0);
  const figures = await steady(peer, spec, async (lane, state) => {
    const from = now();
    const held = await peer.acquire('the-one', { lane, isContended: true });
    if (state.isCounting) turns[lane] += 1;
    count(state, now() - from);
    await peer.release(held);
  });
  return { ...figures, turnsMin: Math.min(...turns), turnsMax: Math.max(...turns) };
}

async function renewals(peer, spec) {
  const renew = await Promise.all(
    Array.from({ length: spec.width }, (_, lane) => peer.renewable(`name-${lane}`, lane)),
  );
  return steady(peer, spec, async (lane, state) => {
    const from = now();
    await renew[lane]();
    count(state, now() - from);
  });
}

function count(state, ms) {
  if (!state.isCounting) return;
  state.count += 1;
  state.samples.push(ms);
}

async function latency(peer, { width, warmMs, ms, stragglersMs }) {
  let waits = [];
  let arrived = () => undefined;
  let failed;
  const trouble = new Promise((_, reject) => {
    failed = reject;
  });
  trouble.catch(() => undefined);
  const handle = (data) => {
    waits.push(now() - Number(data.from));
    arrived();
  };
  const worker = await peer.work({ width, isDraining: false, handle, completed: () => undefined, failed });
  /** Offers tasks at their time and waits until all are handled, at most as long as stragglers may take. */
  const offer = async (offeredMs) => {
    waits = [];
    const total = Math.round((OFFERED_PER_SECOND * offeredMs) / 1_000);
    const all = new Promise((resolve) => {
      arrived = () => waits.length === total && resolve();
    });
    const startMs = now();
    for (let made = 0; made < total; ) {
      const due = Math.min(total, ((now() - startMs) / 1_000) * OFFERED_PER_SECOND);
      for (; made < due; made++) peer.enqueue(payloadAt(now()), made % width).catch(failed);
      await Promise.race([trouble, pause(1)]);
    }
    const isDone = await Promise.race([
      trouble,
      all.then(() => true),
      pause(stragglersMs, false, { ref: false }),
    ]);
    return { isDone: isDone === true, unhandled: total - waits.length };
  };
  let meter = startMeter(peer.pids);
  let offered = await offer(warmMs);
  // The backlog of the warm-up is gone before anything is measured; a peer that is still behind shows that already.
  if (offered.isDone) {
    meter = startMeter(peer.pids);
    offered = await offer(ms);
  }
  if (waits.length === 0) throw new Error('No task was handled in time.');
  const figures = meter.stop(waits.length);
  const [p50Ms, p99Ms] = [0.5, 0.99].map((part) => percentile(waits, part));
  // Stopping a peer that is still behind would wait for the rest.
  if (offered.isDone) await worker.stop();
  return { ...figures, p50Ms, p99Ms, unhandled: offered.unhandled };
}

async function waiting(peer, { width, tasks, dir }) {
  await pause(300);
  const empty = residentBytes(peer.pids);
  const tasksMade = await enqueueFor(peer, width, Number.POSITIVE_INFINITY, tasks);
  await pause(2_000);
  const full = residentBytes(peer.pids);
  const folder = peer.dataDir ?? dir;
  const diskBytes = peer.diskBytes === undefined ? bytesBelow(folder) : await peer.diskBytes();
  await peer.kill();
  const fromMs = now();
  await peer.revive();
  const afterRestart = await peer.waitingCount();
  const restartMs = now() - fromMs;
  return {
    tasks: tasksMade,
    bytesPerTask: peer.hasOwnMemory === false ? null : (full - empty) / tasksMade,
    diskBytesPerTask: diskBytes / tasksMade,
    restartMs,
    afterRestart,
  };
}

/** What the files below a folder take on the disk. */
function bytesBelow(folder) {
  let bytes = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    if (entry.isFile()) bytes += statSync(join(entry.parentPath, entry.name)).blocks * 512;
  }
  return bytes;
}
