/**
 * Threads, as far as the file log needs them: a seam. A module is given by its address; it exports a function
 * `run(files, input)`, which gets the disk as the thread sees it and plain data.
 */
import type { Files } from './files.ts';

export interface ThreadOutput {
  readonly value: unknown;
  /** Memory that is handed over instead of being copied. */
  readonly transfer: readonly ArrayBufferLike[];
}

export interface ThreadModule {
  run(files: Files, input: unknown): Promise<ThreadOutput>;
}

export interface RunningThread {
  readonly result: Promise<unknown>;
  /** Ends it wherever it is; the result rejects, unless it is there already. */
  stop(): Promise<void>;
}

export interface Threads {
  start(module: string, input: unknown): RunningThread;
}
