/**
 * A thread that watches a deadline while the main event loop may be blocked, and kills the process once it has
 * passed. They share two numbers: the deadline by the machine's monotonic clock, which is the same for all threads
 * (`performance.now` is not), and by the wall clock, which continues while the machine sleeps.
 */
import { isMainThread, Worker } from 'node:worker_threads';
import type { Watchdog } from '../seams/process-ending.ts';
import { threadOptions } from './thread-options.ts';

/** Both files end in `.js` when built and in `.ts` when a Node that supports it runs the sources. */
const THREAD = new URL(
  import.meta.url.endsWith('.ts') ? './node-watchdog-thread.ts' : './node-watchdog-thread.js',
  import.meta.url,
);

/** No deadline yet. */
const NEVER = 0x7fff_ffff_ffff_ffffn;

export interface WatchdogInput {
  /** Two 64-bit numbers (monotonic nanoseconds, wall-clock milliseconds) and a 32-bit stop flag. */
  readonly shared: SharedArrayBuffer;
  /** Printed to standard error before the process is killed. */
  readonly says: string;
}

/** Resolves when the thread is watching. `onDeath` is called when the thread ends unasked. */
export async function startWatchdog(says: string, onDeath: (fault: Error) => void): Promise<Watchdog> {
  // A thread can end only itself, and a lost guard must end the whole process.
  if (!isMainThread) throw new TypeError('A guard ends its process, which only the main thread can do.');
  const shared = new SharedArrayBuffer(24);
  const deadline = new BigInt64Array(shared, 0, 2).fill(NEVER);
  const isStopped = new Int32Array(shared, 16, 1);
  const input: WatchdogInput = { shared, says };
  const worker = new Worker(THREAD, { workerData: input, ...threadOptions() });
  await new Promise<void>((resolve, reject) => {
    worker.once('message', () => resolve());
    worker.once('error', reject);
  });
  worker.removeAllListeners('error');
  worker.once('error', onDeath);
  worker.once('exit', () => {
    if (Atomics.load(isStopped, 0) === 0)
      onDeath(new Error('The thread that watches the deadline has ended.'));
  });
  worker.unref();
  return {
    moveTo({ monotonicMs, wallMs }) {
      const leftNs = BigInt(Math.round((monotonicMs - performance.now()) * 1e6));
      Atomics.store(deadline, 0, process.hrtime.bigint() + leftNs);
      Atomics.store(deadline, 1, BigInt(Math.floor(wallMs)));
    },
    stop() {
      Atomics.store(isStopped, 0, 1);
      Atomics.notify(isStopped, 0);
    },
  };
}
