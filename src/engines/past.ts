/**
 * The past of a log: what the time machine replays to show an earlier position. The writer describes it as plain data
 * (`LogPast`), and a thread reads it through `PastLog`, from files or a connection of its own. Only durable batches are
 * in it. A checkpoint or the beginning of the log is a base: a replay starts there.
 */
import type { ImageRecord } from '../core/image.ts';
import type { Opaque } from '../core/opaque.ts';
import type { Replay } from './log.ts';
import type { Checkpoint } from './postgres/checkpoint.ts';

/** A position that a replay can start from. */
export interface PastBase {
  /** The newest entry in it; 0 for the beginning of the log. */
  readonly seq: number;
  readonly atMs: number;
  /** The file numbers of its parts; empty for the beginning of the log. */
  readonly parts: readonly number[];
}

export interface FilePast {
  readonly kind: 'file';
  readonly dir: string;
  /** In order. `seq` is the first position it may hold; `end` is its durable length, null for up to its last frame. */
  readonly segments: readonly {
    readonly number: number;
    readonly seq: number;
    readonly end: number | null;
  }[];
}

export interface PostgresPast {
  readonly kind: 'postgres';
  readonly address: string;
  readonly schema: string;
  readonly checkpoint: Checkpoint | null;
  /** Everything up to this position is durable. */
  readonly lastSeq: number;
}

export interface LogPast<Source extends FilePast | PostgresPast = FilePast | PostgresPast> {
  /** The oldest first, at least one. Everything after the oldest can be shown. */
  readonly bases: readonly [PastBase, ...PastBase[]];
  /** The time of the oldest entry that is kept; null when there is none. */
  readonly firstAtMs: number | null;
  readonly source: Source;
}

/** A batch of the past. */
export interface PastBatch {
  readonly firstSeq: number;
  readonly atMs: number;
  /** The cursor from which reading can continue at this batch. */
  readonly cursor: number;
  each(take: Replay['entry']): void;
}

export interface PastLog {
  /** Replays the image of a base. */
  restore(base: PastBase, image: (record: ImageRecord) => void): Promise<void>;
  /** The batches that hold entries after `seq`, in order. `cursor`: that of a batch at or before it; 0 when unknown. */
  batches(seq: number, cursor: number): AsyncGenerator<PastBatch>;
  /** The bytes of an opaque; null when they are damaged. */
  read(reference: Opaque): Promise<Uint8Array | null>;
  close(): Promise<void>;
}
