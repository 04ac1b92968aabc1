/**
 * A thread that watches a deadline while the main loop may be blocked, and kills the process once it has passed. The two
 * share two numbers: the deadline by the monotonic clock of the machine, which is the same for all threads (the
 * `performance.now` of a thread is not), and by the wall clock, which goes on while the machine sleeps.
 */
import { isMainThread, Worker } from 'node:worker_threads';
import type { Watchdog } from '../seams/process-ending.ts';
import { threadOptions } from './thread-options.ts';

/** Built, this file and the other one end in .js; run from source, on a Node that can, both end in .ts. */
const THREAD = new URL(
  import.meta.url.endsWith('.ts') ? './node-watchdog-thread.ts' : './node-watchdog-thread.js',
  import.meta.url,
);

/** No deadline yet. */
const NEVER = 0x7fff_ffff_ffff_ffffn;

export interface WatchdogInput {
  /** Two 64-bit numbers, nanoseconds of the monotonic and milliseconds of the wall clock, and a 32-bit flag that ends it. */
  readonly shared: SharedArrayBuffer;
  /** Written to the standard error before the end. */
  readonly says: string;
}

/** Resolves once the thread watches. `onDeath` hears of a thread that ends without having been asked to. */
export async function startWatchdog(says: string, onDeath: (fault: Error) => void): Promise<Watchdog> {
  // A thread cannot end its process, only itself, and a guard that is lost must end everything.
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
