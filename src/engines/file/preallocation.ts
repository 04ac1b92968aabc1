/**
 * Allocates disk space in advance: writes and syncs zeros piece by piece in the background, one segment at a time.
 * Overwriting allocated bytes is a third faster than extending a file and cannot run out of space. A failure does not
 * end the log: it is the state `full`, and allocation is retried on request.
 */
import { dirname } from 'node:path';
import type { Files, OpenFile } from '../../seams/files.ts';
import type { Segment } from './segment.ts';
import { ZEROS } from './zeroed-space.ts';

/** The first piece is small, so that a new log opens at once. */
const FIRST_PIECE_BYTES = 128 * 1024;

interface Waiter {
  readonly segment: Segment;
  readonly bytes: number;
  readonly resolve: () => void;
  readonly reject: (fault: Error) => void;
}

export class Preallocation {
  /** Why the last attempt failed; null when it did not. */
  fault: Error | null = null;
  readonly #files: Files;
  /** Returns the segment that needs space most, or null. */
  readonly #wanted: () => Segment | null;
  /** Returns the bytes a new file starts with, or null. Throws when nothing may be written there. */
  readonly #lead: (segment: Segment) => Buffer | null;
  /** Frees space; false when there is none to free. */
  readonly #makeRoom: () => Promise<boolean>;
  #waiters: Waiter[] = [];
  #running: Promise<void> | null = null;
  #stopped = false;

  constructor(
    files: Files,
    wanted: () => Segment | null,
    lead: (segment: Segment) => Buffer | null,
    makeRoom: () => Promise<boolean>,
  ) {
    this.#files = files;
    this.#makeRoom = makeRoom;
    this.#wanted = wanted;
    this.#lead = lead;
  }

  /** Starts allocating if a segment needs space and no allocation is running. */
  seek(): void {
    if (this.#running || this.#stopped || this.#wanted() === null) return;
    this.#running = this.#run().finally(() => {
      this.#running = null;
      // A batch that came in meanwhile may need another piece.
      if (this.fault === null) this.seek();
    });
  }

  /** Resolves when the first `bytes` of a segment are allocated; rejects when the disk is full. */
  room(segment: Segment, bytes: number): Promise<void> {
    if (segment.allocated >= bytes) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#waiters.push({ segment, bytes, resolve, reject });
      this.seek();
    });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    this.fault = await this.#allocateAll();
    const waiters = this.#waiters;
    this.#waiters = [];
    const fault = this.fault ?? new Error('The log was closed before space was allocated.');
    for (const waiter of waiters) waiter.reject(fault);
  }

  async #allocateAll(): Promise<Error | null> {
    for (;;) {
      try {
        for (let segment = this.#wanted(); segment && !this.#stopped; segment = this.#wanted()) {
          await this.#allocate(segment);
        }
        return null;
      } catch (fault) {
        const hasRoom = !this.#stopped && isFull(fault) && (await this.#makeRoom().catch(() => false));
        if (!hasRoom) return fault as Error;
      }
    }
  }

  async #allocate(segment: Segment): Promise<void> {
    const { path, capacity } = segment;
    const lead = this.#lead(segment);
    // Not opened for durable writes: a sync every megabyte is enough for zeros, and much cheaper.
    const file = await this.#files.open(path, { create: true });
    try {
      while (segment.allocated < capacity && !this.#stopped) {
        const piece = pieceOf(segment, lead);
        const written = await file.write(piece, segment.allocated);
        if (written !== piece.length) {
          const says = `Only ${written} of ${piece.length} bytes fit.`;
          throw Object.assign(new Error(says), { code: 'ENOSPC' });
        }
        await file.sync();
        if (segment.file === null) segment.file = await this.#name(path);
        segment.allocated += piece.length;
        this.#wake();
      }
    } finally {
      await file.close();
    }
  }

  /** A new file is durable only when its directory is synced. Nothing may be written to it before. */
  async #name(path: string): Promise<OpenFile> {
    await this.#files.syncDir(dirname(path));
    return this.#files.open(path, { durable: true });
  }

  #wake(): void {
    const waiting = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiting) {
      if (waiter.segment.allocated >= waiter.bytes) waiter.resolve();
      else this.#waiters.push(waiter);
    }
  }
}

function pieceOf({ allocated, capacity }: Segment, lead: Buffer | null): Buffer {
  if (allocated > 0) return ZEROS.subarray(0, Math.min(ZEROS.length, capacity - allocated));
  const first = Buffer.alloc(Math.min(FIRST_PIECE_BYTES, capacity));
  lead?.copy(first);
  return first;
}

/** Whether it is for want of space. */
export function isFull(fault: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes(String((fault as NodeJS.ErrnoException).code));
}
