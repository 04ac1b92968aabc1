/**
 * Threads: a seam. A module is given by its URL and exports `run(input, world)`, which gets plain data and the thread's
 * access to disk and database, or `serve(world)`, which answers any number of questions.
 */
import type { Databases } from './database.ts';
import type { Files } from './files.ts';

export interface ThreadOutput {
  readonly value: unknown;
  /** Memory to transfer instead of copying. */
  readonly transfer: readonly ArrayBufferLike[];
}

/** What a thread can use. */
export interface ThreadWorld {
  readonly files: Files;
  readonly databases: Databases;
  /** Yields the CPU for a moment. */
  readonly pause: () => void;
}

export interface ThreadModule {
  run(input: unknown, world: ThreadWorld): Promise<ThreadOutput>;
}

/** A module whose thread answers questions, one at a time. */
export interface ServingModule {
  serve(world: ThreadWorld): (question: unknown) => Promise<ThreadOutput>;
}

export interface RunningThread {
  readonly result: Promise<unknown>;
  /** Stops it at any point. The result rejects unless it has already resolved. */
  stop(): Promise<void>;
}

/** A thread that answers questions until it is stopped. */
export interface ServingThread {
  /** Rejects when the thread fails or has ended. */
  ask(question: unknown): Promise<unknown>;
  stop(): Promise<void>;
}

export interface Threads {
  /** A thread that is not urgent runs at idle CPU priority. */
  start(module: string, input: unknown, isUrgent?: boolean): RunningThread;
}

export interface ServingThreads {
  /** At idle CPU priority. The module exports `serve(world)`. */
  serve(module: string): ServingThread;
}
