/**
 * A durable log, as the authority sees it. Every engine keeps three promises, which `test/contract/log-contract.ts`
 * checks:
 *
 *   durable  append resolved: the batch survives a crash. Rejected: unknown; stop, open again, replay.
 *   ordered  replay has no gaps and ends at the last durable batch.
 *   fenced   once a newer writer has opened the log, every append of an older one rejects.
 *
 * A batch is built in place (`begin`, `add`, `add`, …) and made durable as a unit (`append`). There is one batch at a
 * time: `begin` may be called again only after `append` has resolved. A failed append is final: every later call
 * rejects with the same fault.
 */

import type { Entry } from '../core/entries.ts';
import type { ImageRecord } from '../core/image.ts';
import type { Opaque } from '../core/opaque.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import type { LogPast } from './past.ts';

/** Receives the past when a log is opened: at most one image, then every entry after it. */
export interface Replay {
  image(record: ImageRecord): void;
  entry(entry: Entry, seq: number, atMs: number): void;
}

export interface LogPosition {
  /** The newest durable `seq`; 0 for an empty log. */
  readonly lastSeq: number;
  /** The oldest `seq` that can still be read; lastSeq + 1 when none can. */
  readonly firstSeq: number;
  readonly lastAtMs: number;
}

/**
 * What a compaction moved. `oldAt` ascends, `newAt` has the new position at the same index. Every opaque of the state
 * in one of the files `gone` is included.
 */
export interface Relocation {
  readonly oldAt: Float64Array;
  readonly newAt: Float64Array;
  /** Numbers of the files that `dropOld` will delete: a position divided by 2^32, rounded down. */
  readonly gone: ReadonlySet<number>;
}

export interface LoggedEntry {
  readonly seq: number;
  readonly atMs: number;
  readonly entry: Entry;
}

export interface LogSize {
  readonly bytes: number;
  readonly files: number;
}

/** One file of a snapshot, with its content at that moment. */
export interface SnapshotFile {
  readonly name: string;
  readonly bytes: number;
  /** All of it, in pieces that the reader may keep. */
  read(): AsyncIterable<Uint8Array>;
}

/**
 * Everything that was durable at one position, as files that form a complete log. Later writes are not visible in it,
 * and later deletions do not affect it until it is released.
 */
export interface LogSnapshot {
  /** The newest entry in it, the epoch of its writer, and its time. */
  readonly seq: number;
  readonly epoch: number;
  readonly atMs: number;
  /** The newest first: an interrupted copy lacks its beginning and cannot pass for a shorter log. */
  readonly files: readonly SnapshotFile[];
  /** Releases the files. Idempotent. */
  release(): Promise<void>;
}

/** A server that would take over, as the leader sees it. */
export interface StandbyServer {
  readonly url: string;
  /** Time since its last sign of life. */
  readonly silentMs: number;
}

export interface Log {
  /** Higher than that of any earlier writer, usually by one. Every batch contains it. */
  readonly epoch: number;
  readonly position: LogPosition;
  readonly size: LogSize;

  /**
   * Whether answers from memory may still be sent: false once another writer may have the log. Checked after the
   * decision and right before the answer is sent. Always true for a log whose lock cannot be lost.
   */
  readonly mayAnswer: boolean;
  /** Resolves when the log ends by itself, even without an append; never after `close`. */
  readonly lost: Promise<Error>;
  /**
   * The time by the log's own clock, which all its writers share; monotonic, and never behind the newest entry. Null
   * when the machine's clock is used.
   */
  nowMs(): number | null;

  /**
   * True while no space for the next segment is available. Only entries that end or keep ownership may be appended.
   */
  readonly full: boolean;
  /** How many bytes a full log still has to allocate; undefined for a log that allocates none. */
  readonly missingBytes?: number;
  /** Retries the allocation in the background if the log is full. `begin` does so too. */
  seekSpace(): void;

  /** Where the opaque bytes of the next batch begin, if `begin` is called in the same turn. */
  readonly areaAt: number;
  /** Starts a batch whose first entry gets `firstSeq` (last + 1, or higher for a restored epoch). */
  begin(firstSeq: number, atMs: number): void;
  /** Adds an entry to the batch. Its opaque bytes must follow those before them, from `areaAt` on. */
  add(entry: Entry): void;
  /**
   * The size of the batch so far. The authority ends a batch before `batchBytesMax`; only the last operation may
   * exceed it. In a full log the limit shrinks with the reserve. At 0 nothing fits, and every write is refused.
   */
  readonly batchBytes: number;
  readonly batchBytesMax: number;
  /**
   * Makes the batch durable. An empty batch writes nothing. With `isDirect` the engine may write
   * synchronously instead of handing the bytes to another thread.
   */
  append(isDirect?: boolean): Promise<void>;
  /**
   * Records in the log that the newest batch was durable, so that damage to it can be told from a torn write. The
   * next batch records it too; this is for an idle log. Idempotent.
   */
  mark(): Promise<void>;

  /**
   * The bytes of an opaque of a durable entry: synchronously when they are in memory, else a promise. Null: they are
   * damaged (wrong checksum), which affects no other data. Rejects with LogCompactedError when the reference is older
   * than the last relocation: look it up again.
   */
  read(reference: Opaque): Uint8Array | null | Promise<Uint8Array | null>;

  /**
   * Durable entries from `fromSeq` on, at most `limit`, up to the newest one durable at the call. Starts at
   * `position.firstSeq` when `fromSeq` is lower; the caller decides whether that is acceptable.
   */
  entries(fromSeq: number, limit: number): AsyncIterable<LoggedEntry>;

  /** Where earlier positions can be read from; null for a log that shows none. */
  past(): LogPast | null;

  /** The servers that stand by, now; absent for a log that one process has for itself. */
  standbys?(): Promise<readonly StandbyServer[]>;

  /** A snapshot to copy while the log continues; null for a log that is not stored in files. */
  snapshot(): Promise<LogSnapshot | null>;

  /** True when enough was written since the last checkpoint to make `compact` worthwhile. */
  readonly wantsCompaction: boolean;
  /**
   * Writes a durable checkpoint of everything but the newest segment, in the background; null when there is nothing
   * to compact. The replaced files stay until the caller has adopted the new positions and calls `dropOld`. A failure
   * leaves the log unchanged.
   */
  compact(): Promise<Relocation | null>;
  /** Deletes what the last `compact` replaced. Old positions are invalid from then on. */
  dropOld(): Promise<void>;

  close(): Promise<void>;
}

/** The process that may append to a log that several processes can reach. */
export interface Leader {
  readonly holder: string;
  /** Its address for clients; '' when unknown. */
  readonly url: string;
  /** How long until it may be replaced unless it renews the guard. */
  readonly remainingMs: number;
}

/**
 * A log written by another process, read by a standby. New entries go to the `Replay` it was opened with, in order
 * and once. Throws LogCompactedError when the next entries were compacted away: follow again from the checkpoint.
 */
export interface FollowedLog {
  readonly position: LogPosition;
  readonly size: LogSize;
  /** Replays what was appended since the last call; true when there was something. */
  catchUp(): Promise<boolean>;
  /** The holder of the guard; null when the guard may be taken. */
  leader(): Promise<Leader | null>;
  /**
   * Tries to become the writer: takes the guard, raises the epoch and replays to the end. Null when another process
   * holds the guard. After success the follower is replaced by the log and need not be closed.
   */
  lead(): Promise<Log | null>;
  /** Same as `Log.read`. */
  read(reference: Opaque): Uint8Array | null | Promise<Uint8Array | null>;
  /** The time by the log's clock as far as known here; null before the first call of `leader`. */
  nowMs(): number | null;
  /**
   * Gives up a silent connection. Calls in flight fail at once; the next call uses a new connection and continues
   * where the last one ended.
   */
  hangUp(): void;
  close(): Promise<void>;
}

export interface Engine {
  /** Verifies, replays, cuts a torn tail, and returns the log with the right to append. */
  open(replay: Replay): Promise<Log>;
  /** Throws LogHeldError when another writer has the log. Changes nothing. */
  assertFree?(): Promise<void>;
  /**
   * Follows the log without the right to append, where several processes can reach it. The signal aborts the initial
   * replay; afterwards it has no effect.
   */
  follow?(replay: Replay, signal?: AbortSignal): Promise<FollowedLog>;
}

/** The database is too far away to lead. A standby that asked keeps its state. */
export class LogTooFarError extends Error {
  override readonly name = 'LogTooFarError';
}

/** Another process (or handle) has the log. */
export class LogHeldError extends LeaseholdError {
  override readonly name: string = 'LogHeldError';
  readonly holder: string;
  constructor(
    holder: string,
    says = `The log is in use by ${holder}: stop that process first, or connect to it if it is a server.`,
  ) {
    super('LOG_HELD', says, { details: { holder } });
    this.holder = holder;
  }
}

/** Durable bytes have changed. Nothing is repaired automatically. */
export class LogDamagedError extends LeaseholdError {
  override readonly name: string = 'LogDamagedError';
  readonly file: string;
  readonly offset: number;
  constructor(
    file: string,
    offset: number,
    why: string,
    says = `The log is damaged: ${file} at offset ${offset}: ${why}.`,
  ) {
    super('LOG_DAMAGED', says, { details: { file, offset } });
    this.file = file;
    this.offset = offset;
  }
}

/** The log was written by a newer version of leasehold. */
export class LogTooNewError extends LeaseholdError {
  override readonly name: string = 'LogTooNewError';
  constructor(says: string) {
    super('LOG_TOO_NEW', says);
  }
}

/** The requested bytes or entries were compacted away. The state has their new positions. */
export class LogCompactedError extends Error {
  override readonly name = 'LogCompactedError';
}

/** The log accepts no more appends: the writer failed, was deposed, or was closed. */
export class LogClosedError extends Error {
  override readonly name = 'LogClosedError';
}

/** The log cannot be read now because its storage does not answer. Retry later. */
export class LogOutOfReachError extends Error {
  override readonly name: string = 'LogOutOfReachError';
}

/** The log existed and is gone. No new log is created in its place: it would issue the same numbers again. */
export class LogGoneError extends LogOutOfReachError {
  override readonly name = 'LogGoneError';
}
