/**
 * The entry point of every thread: lowers its priority below the serving thread, loads the given module, and passes
 * in the real disk and databases.
 */
import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';
import { basename } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import type { ServingModule, ThreadModule, ThreadWorld } from '../seams/threads.ts';
import { nodeFiles } from './node-files.ts';
import { pgConnections } from './pg-connections.ts';

export interface ThreadData {
  readonly module: string;
  readonly input: unknown;
  readonly isUrgent: boolean;
  /** The thread answers questions, which arrive as messages. */
  readonly isServing: boolean;
}

export interface ThreadQuestion {
  readonly id: number;
  readonly question: unknown;
}

export interface ThreadAnswer {
  readonly id: number;
  readonly value?: unknown;
  readonly fault?: unknown;
}

/** The lowest priority. With a slightly higher one the serving thread waits for a whole time slice on each wakeup. */
const LOWEST_PRIORITY = 19;

/** On Linux a priority belongs to a thread. Elsewhere the thread runs at normal priority. */
function lowerPriority(): void {
  try {
    setPriority(Number(basename(readlinkSync('/proc/thread-self'))), LOWEST_PRIORITY);
  } catch {
    // Compaction works at normal priority too.
  }
}

/** The shortest sleep: the system adds some fifty microseconds. */
const PAUSE_MS = 0.05;
const nothing = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
const pause = (): void => void Atomics.wait(nothing, 0, 0, PAUSE_MS);
const goOn = (): void => undefined;

async function main(): Promise<void> {
  const { module, input, isUrgent, isServing } = workerData as ThreadData;
  if (!isUrgent) lowerPriority();
  const world = { files: nodeFiles, databases: pgConnections, pause: isUrgent ? goOn : pause };
  const loaded = (await import(module)) as ThreadModule & ServingModule;
  if (isServing) return serve(loaded, world);
  const { value, transfer } = await loaded.run(input, world);
  parentPort?.postMessage(value, transfer as ArrayBuffer[]);
}

/** Questions that came while the module was loading are still in the port. */
function serve(module: ServingModule, world: ThreadWorld): void {
  const answer = module.serve(world);
  parentPort?.on('message', ({ id, question }: ThreadQuestion) => {
    answer(question).then(
      ({ value, transfer }) => parentPort?.postMessage({ id, value }, transfer as ArrayBuffer[]),
      (fault: unknown) => parentPort?.postMessage({ id, fault }),
    );
  });
}

// A failure is not caught here: it ends the thread and is reported to its starter.
void main();
