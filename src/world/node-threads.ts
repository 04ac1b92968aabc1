/** Real threads: the seams of threads on `node:worker_threads`. */
import { Worker } from 'node:worker_threads';
import type { RunningThread, ServingThread, ServingThreads, Threads } from '../seams/threads.ts';
import type { ThreadAnswer, ThreadData } from './thread-main.ts';
import { threadOptions } from './thread-options.ts';

/** Both files end in `.js` when built and in `.ts` when a Node that supports it runs the sources. */
const MAIN = new URL(
  import.meta.url.endsWith('.ts') ? './thread-main.ts' : './thread-main.js',
  import.meta.url,
);

export const nodeThreads: Threads & ServingThreads = {
  start(module, input, isUrgent = false): RunningThread {
    const worker = startWorker({ module, input, isUrgent, isServing: false });
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

  serve(module): ServingThread {
    const worker = startWorker({ module, input: null, isUrgent: false, isServing: true });
    const asked = new Map<number, { resolve(value: unknown): void; reject(fault: unknown): void }>();
    let count = 0;
    let ended: Error | null = null;
    const end = (fault: Error): void => {
      ended ??= fault;
      for (const { reject } of asked.values()) reject(ended);
      asked.clear();
    };
    worker.on('message', ({ id, value, fault }: ThreadAnswer) => {
      const question = asked.get(id);
      asked.delete(id);
      if (fault === undefined) question?.resolve(value);
      else question?.reject(fault);
    });
    worker.once('error', end);
    worker.once('exit', (code) => end(new Error(`The thread ended with code ${code}.`)));
    return {
      ask(question) {
        if (ended !== null) return Promise.reject(ended);
        count += 1;
        const id = count;
        worker.postMessage({ id, question });
        return new Promise((resolve, reject) => asked.set(id, { resolve, reject }));
      },
      async stop() {
        await worker.terminate();
      },
    };
  },
};

function startWorker(data: ThreadData): Worker {
  const worker = new Worker(MAIN, { workerData: data, ...threadOptions() });
  // A thread must not keep an otherwise idle process alive.
  worker.unref();
  return worker;
}
