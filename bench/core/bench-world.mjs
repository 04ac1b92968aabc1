/** Shared by the core sections: a directory, a handle, a clock, a payload of 256 bytes, and rows of figures. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import process from 'node:process';
import { fileEngine } from '../../dist/engines/file/file-engine.js';
import { Json } from '../../dist/index.js';
import { openCore, openWith } from '../../dist/open.js';
import { nodeFiles } from '../../dist/world/node-files.js';
import { nodeThreads } from '../../dist/world/node-threads.js';
import { systemClock, systemTimers } from '../../dist/world/system-clock.js';
import { systemIds } from '../../dist/world/system-ids.js';

export const quick = process.argv.includes('--quick');

/** `--quick` does a tenth of the work. */
export const scaled = (count) => (quick ? Math.ceil(count / 10) : count);

/** LEASEHOLD_BENCH_DIR names a directory on the disk to measure. */
export function benchDir() {
  const dir = mkdtempSync(join(process.env.LEASEHOLD_BENCH_DIR ?? tmpdir(), 'leasehold-bench-'));
  process.on('exit', () => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

const world = {
  clock: systemClock,
  timers: systemTimers,
  newToken: systemIds.token,
  hashSeed: systemIds.seed(),
};

const engineOn = (dir, options) => fileEngine({ dir, files: nodeFiles, threads: nodeThreads, ...options });

export function openBench(dir, engineOptions = {}, options = {}) {
  return openWith(engineOn(dir, engineOptions), world, options);
}

/** Without the handle, for figures that only the authority has. */
export const openBenchCore = (dir) => openCore(engineOn(dir, {}), world);

export const payload = Json.of({ data: 'x'.repeat(256 - '{"data":""}'.length) });

export const nowMs = () => performance.now();

export function row(...cells) {
  console.log(
    `  ${cells.map((cell, index) => (index === 0 ? String(cell).padEnd(44) : String(cell).padStart(14))).join('')}`,
  );
}

export const perSecond = (count, ms) => Math.round((count * 1000) / ms).toLocaleString('en');

/**
 * Runs `width` loops concurrently until `count` turns are taken; returns the milliseconds. Each section writes its
 * own loop, `while (more())`, so that the harness adds no promise per turn.
 */
export async function inFlight(count, width, loop) {
  let left = count;
  const more = () => left-- > 0;
  const from = nowMs();
  await Promise.all(Array.from({ length: width }, (_, worker) => loop(worker, more)));
  return nowMs() - from;
}

/** Tasks from creation to completion; throws on any refusal. */
export async function lifecycles(lh, worker, more, value = payload) {
  while (more()) {
    await lh.call('task.create', { payload: value });
    const { leases } = await lh.call('task.lease', { worker_id: worker });
    const { task_id, lease_id } = leases[0];
    const { outcome } = await lh.call('task.complete', { task_id, lease_id });
    if (outcome !== 'COMMITTED') throw new Error(`The outcome was ${outcome}.`);
  }
}

/** Tasks that are only created. */
export async function creates(lh, more) {
  while (more()) await lh.call('task.create', { payload });
}

/**
 * CPU time of this thread in microseconds. Unlike the clock, it excludes time in which other threads had the core.
 * NaN where the system does not tell.
 */
export function threadCpuUs() {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ', 1)[0]) / 1_000;
  } catch {
    return Number.NaN;
  }
}

/**
 * The longest stall of the event loop, seen by a timer of one millisecond. Checking between all turns would keep a
 * core busy that the threads of the log need.
 */
export function watchLoop() {
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  return {
    restart: () => delays.reset(),
    worst: () => Math.max(0, delays.max / 1e6 - 1),
    stop: () => delays.disable(),
  };
}
