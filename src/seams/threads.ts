/**
 * Threads, as far as a log needs them: a seam. A module is given by its address; it exports a function `run(input, world)`,
 * which gets plain data, and the world as the thread sees it.
 */
import type { Databases } from './database.ts';
import type { Files } from './files.ts';

export interface ThreadOutput {
  readonly value: unknown;
  /** Memory that is handed over instead of being copied. */
  readonly transfer: readonly ArrayBufferLike[];
}

/** What a thread is lent. */
export interface ThreadWorld {
  readonly files: Files;
  readonly databases: Databases;
  /** Leaves the processor to others for a moment. */
  readonly pause: () => void;
}

export interface ThreadModule {
  run(input: unknown, world: ThreadWorld): Promise<ThreadOutput>;
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
