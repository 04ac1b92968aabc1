/**
 * The watchdog thread: sleeps until the deadline, reads it again because it may have moved, and kills the process
 * when it has passed. It never sleeps long: after a suspend the deadline may already have passed.
 */
import { writeSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import type { WatchdogInput } from './node-watchdog.ts';

const LOOK_MS = 250;

const { shared, says } = workerData as WatchdogInput;
const deadline = new BigInt64Array(shared, 0, 2);
const isStopped = new Int32Array(shared, 16, 1);

function remainingMs(): number {
  const monotonicNs = Atomics.load(deadline, 0) - process.hrtime.bigint();
  const wallMs = Atomics.load(deadline, 1) - BigInt(Date.now());
  return Math.min(Number(monotonicNs) / 1e6, Number(wallMs));
}

parentPort?.postMessage('watching');
while (Atomics.load(isStopped, 0) === 0) {
  const leftMs = remainingMs();
  if (leftMs <= 0) {
    writeSync(2, `${says}\n`);
    // SIGKILL only: handlers and exits need the event loop that is blocked.
    process.kill(process.pid, 'SIGKILL');
  }
  Atomics.wait(isStopped, 0, 0, Math.min(leftMs, LOOK_MS));
}
