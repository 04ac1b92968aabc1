/**
 * Sealed segments that a checkpoint has replaced and that are kept for the time machine, with the checkpoint before
 * them. A stretch is a base (a checkpoint, or the beginning of the log) and the segments from there to the next base.
 * Stretches are dropped as a whole, the oldest first: its checkpoint, then its segments in order. So a crash in between
 * leaves files without a base, which the next opening removes.
 */
import { join } from 'node:path';
import type { Files } from '../../seams/files.ts';
import { FRAME_HEAD_BYTES, readHead } from '../frame.ts';
import type { PastBase } from '../past.ts';
import { type CheckpointOnDisk, findCheckpoints } from './checkpoint.ts';
import { decodeFileHead, FILE_HEAD_BYTES } from './file-head.ts';
import { numberedNames } from './file-names.ts';
import type { LogFile } from './log-file.ts';
import { baseOf } from './past-of.ts';
import { Segment } from './segment.ts';

export interface HistoryLimits {
  /** How long segments are kept after a checkpoint has replaced them. */
  readonly forMs: number;
  /** How many bytes of disk they may take, with their checkpoints. */
  readonly bytesMax: number;
}

/** The default of `bytesMax`. */
export const HISTORY_BYTES_MAX = 10e9;

const NONE: HistoryLimits = { forMs: 0, bytesMax: 0 };
export const EVERYTHING: HistoryLimits = {
  forMs: Number.POSITIVE_INFINITY,
  bytesMax: Number.POSITIVE_INFINITY,
};

interface Stretch {
  readonly base: PastBase;
  readonly parts: readonly LogFile[];
  readonly segments: readonly Segment[];
  /** The time of its newest entry. */
  readonly endAtMs: number;
}

export class KeptHistory {
  readonly #files: Files;
  readonly #dir: string;
  readonly #limits: HistoryLimits | null;
  /** The oldest first. */
  readonly #stretches: Stretch[] = [];

  constructor(files: Files, dir: string, limits: HistoryLimits | null) {
    this.#files = files;
    this.#dir = dir;
    this.#limits = limits;
  }

  get bases(): PastBase[] {
    return this.#stretches.map(({ base }) => base);
  }

  get segments(): Segment[] {
    return this.#stretches.flatMap(({ segments }) => segments);
  }

  /** On disk: segments have the size they were allocated with. */
  get bytes(): number {
    return this.#stretches.reduce((sum, stretch) => sum + bytesOf(stretch), 0);
  }

  /** Takes over, after a restart, what the newest checkpoint does not need; returns the names it cannot use. */
  async find(names: readonly string[], newest: CheckpointOnDisk | null): Promise<string[]> {
    if (this.#limits === null || newest === null) return [...names];
    const numbered = numberedNames(names);
    const checkpoints = await findCheckpoints(this.#files, this.#dir, numbered);
    const segments: Segment[] = [];
    for (const { name, number, kind } of numbered) {
      const segment = kind === 'seg' ? await openSealed(this.#files, join(this.#dir, name), number) : null;
      if (segment !== null) segments.push(segment);
    }
    const used = new Set<LogFile>();
    let next = newest;
    for (const base of [...checkpoints.reverse(), null]) {
      const below = base?.head.sealedThrough ?? 0;
      const own = segments.filter(({ number }) => number > below && number <= next.head.sealedThrough);
      if (!continues(base, own)) break;
      own.at(-1)!.lastSeq = next.head.seq;
      for (const [index, segment] of own.entries()) {
        const follower = own[index + 1];
        if (follower !== undefined) segment.lastSeq = follower.head!.seq - 1;
      }
      const stretch = stretchOf(base, own, next.head.atMs);
      this.#stretches.unshift(stretch);
      for (const file of [...stretch.parts, ...own]) used.add(file);
      if (base === null) break;
      next = base;
    }
    const all: LogFile[] = [...checkpoints.flatMap(({ parts }) => parts), ...segments];
    for (const file of all) if (!used.has(file) || !(file instanceof Segment)) await file.drop();
    const kept = new Set([...used].map(({ name }) => name));
    return names.filter((name) => !kept.has(name));
  }

  /** Keeps what a checkpoint has replaced. `endAtMs`: the time of its newest entry. */
  async add(base: CheckpointOnDisk | null, segments: readonly Segment[], endAtMs: number): Promise<void> {
    this.#stretches.push(stretchOf(base, segments, endAtMs));
    // References to its bytes have moved to the new checkpoint.
    for (const part of base?.parts ?? []) await part.drop();
  }

  async trim(nowMs: number): Promise<void> {
    const { forMs, bytesMax } = this.#limits ?? NONE;
    for (let oldest = this.#stretches[0]; oldest !== undefined; oldest = this.#stretches[0]) {
      if (oldest.endAtMs > nowMs - forMs && this.bytes <= bytesMax) return;
      await this.dropOldest();
    }
  }

  /** False when there is nothing to drop. */
  async dropOldest(): Promise<boolean> {
    const oldest = this.#stretches.shift();
    if (oldest === undefined) return false;
    for (const file of [...oldest.parts, ...oldest.segments]) {
      await file.drop();
      await this.#files.remove(file.path);
    }
    await this.#files.syncDir(this.#dir);
    return true;
  }

  async close(): Promise<void> {
    for (const segment of this.segments) await segment.drop();
  }
}

function stretchOf(base: CheckpointOnDisk | null, segments: readonly Segment[], endAtMs: number): Stretch {
  return { base: baseOf(base), parts: base?.parts ?? [], segments, endAtMs };
}

function bytesOf({ parts, segments }: Stretch): number {
  const sum = (bytes: readonly number[]): number => bytes.reduce((total, each) => total + each, 0);
  return sum(parts.map(({ durable }) => durable)) + sum(segments.map(({ allocated }) => allocated));
}

/** Whether the segments begin where the base ends. A replay detects one missing in between. */
function continues(base: CheckpointOnDisk | null, [first]: readonly Segment[]): boolean {
  const { seq, previous } = base?.head ?? { seq: 0, previous: 0 };
  return first?.head?.seq === seq + 1 && first.head.previous === previous;
}

/** A segment whose end is found by reading it; null when it has no entry. */
async function openSealed(files: Files, path: string, number: number): Promise<Segment | null> {
  const file = await files.open(path, { readOnly: true });
  const size = await file.size();
  const segment = new Segment(number, path, size, file);
  const bytes = Buffer.alloc(Math.min(size, FILE_HEAD_BYTES + FRAME_HEAD_BYTES));
  await file.read(bytes, 0, bytes.length, 0);
  const head = decodeFileHead('seg', segment.name, bytes);
  const frame = readHead(bytes, FILE_HEAD_BYTES);
  if (head === null || frame === null) {
    await segment.drop();
    return null;
  }
  segment.head = head;
  segment.allocated = size;
  segment.end = size;
  segment.durable = size;
  segment.endsEarly = true;
  segment.note(frame.firstSeq, frame.count, FILE_HEAD_BYTES, frame.atMs);
  return segment;
}
