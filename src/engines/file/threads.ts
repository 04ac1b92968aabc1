/**
 * Threads, as far as a log needs them: a seam. A module is given by its address; it exports a function
 * `run(files, input, databases)`, which gets the disk and the databases as the thread sees them, and plain data.
 */
import type { Databases } from '../postgres/sql.ts';
import type { Files } from './files.ts';

export interface ThreadOutput {
  readonly value: unknown;
  /** Memory that is handed over instead of being copied. */
  readonly transfer: readonly ArrayBufferLike[];
}

export interface ThreadModule {
  run(files: Files, input: unknown, databases: Databases): Promise<ThreadOutput>;
}

export interface RunningThread {
  readonly result: Promise<unknown>;
  /** Ends it wherever it is; the result rejects, unless it is there already. */
  stop(): Promise<void>;
}

export interface Threads {
  /** One that is not urgent takes only what nobody else wants of the processors. */
  start(module: string, input: unknown, isUrgent?: boolean): RunningThread;
}
