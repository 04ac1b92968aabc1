/** Real threads: the Threads seam on `node:worker_threads`. */
import { Worker } from 'node:worker_threads';
import type { RunningThread, Threads } from '../seams/threads.ts';
import type { ThreadData } from './thread-main.ts';
import { threadOptions } from './thread-options.ts';

/** Both files end in `.js` when built and in `.ts` when a Node that supports it runs the sources. */
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
    // A compaction must not keep an otherwise idle process alive.
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
