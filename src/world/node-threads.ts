/** Real threads: the Threads seam on `node:worker_threads`. */
import { Worker } from 'node:worker_threads';
import type { RunningThread, Threads } from '../seams/threads.ts';
import type { ThreadData } from './thread-main.ts';
import { threadOptions } from './thread-options.ts';

/** Built, this file and the other one end in .js; run from source, on a Node that can, both end in .ts. */
const MAIN = new URL(
  import.meta.url.endsWith('.ts') ? './thread-main.ts' : './thread-main.js',
  import.meta.url,
);

export const nodeThreads: Threads = {
  start(module, input, isUrgent = false): RunningThread {
    const worker = new Worker(MAIN, {
      workerData: { module, input, isUrgent } satisfies ThreadData,
      ...threadOptions(),
    });
    // A thread that makes a checkpoint must not keep a process alive that has nothing else to do.
    worker.unref();
    const result = new Promise<unknown>((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
      worker.once('exit', (code) =>
        reject(new Error(`The thread ended with code ${code} before it was done.`)),
      );
    });
    return {
      result,
      async stop() {
        await worker.terminate();
      },
    };
  },
};
