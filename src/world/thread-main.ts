/** The first code of every thread: loads the module it was told to, and lends it the real disk. */
import { parentPort, workerData } from 'node:worker_threads';
import type { ThreadModule } from '../engines/file/threads.ts';
import { nodeFiles } from './node-files.ts';

async function main(): Promise<void> {
  const { module, input } = workerData as { readonly module: string; readonly input: unknown };
  const { run } = (await import(module)) as ThreadModule;
  const { value, transfer } = await run(nodeFiles, input);
  parentPort?.postMessage(value, transfer as ArrayBuffer[]);
}

// A failure is not caught here: it ends the thread, and whoever started it hears of it.
void main();
