/** The first code of every thread: steps back behind the thread that serves, loads the module it was told to, and lends it the real disk and databases. */
import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';
import { basename } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import type { ThreadModule } from '../seams/threads.ts';
import { nodeFiles } from './node-files.ts';
import { pgConnections } from './pg-connections.ts';

export interface ThreadData {
  readonly module: string;
  readonly input: unknown;
  readonly isUrgent: boolean;
}

/** The least there is: with a little more, what serves waits for a whole slice of it each time it wakes up. */
const BEHIND = 19;

/** On Linux a priority belongs to a thread. Elsewhere there is no such name, and the thread runs as any other. */
function stepBack(): void {
  try {
    setPriority(Number(basename(readlinkSync('/proc/thread-self'))), BEHIND);
  } catch {
    // A checkpoint made at full speed is a checkpoint as well.
  }
}

/** As short as the system can: some fifty microseconds more than this. */
const PAUSE_MS = 0.05;
const nothing = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
const pause = (): void => void Atomics.wait(nothing, 0, 0, PAUSE_MS);
const goOn = (): void => undefined;

async function main(): Promise<void> {
  const { module, input, isUrgent } = workerData as ThreadData;
  if (!isUrgent) stepBack();
  const { run } = (await import(module)) as ThreadModule;
  const world = { files: nodeFiles, databases: pgConnections, pause: isUrgent ? goOn : pause };
  const { value, transfer } = await run(input, world);
  parentPort?.postMessage(value, transfer as ArrayBuffer[]);
}

// A failure is not caught here: it ends the thread, and whoever started it hears of it.
void main();
