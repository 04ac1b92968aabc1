/**
 * A durable log, as the authority sees it. Every engine keeps three promises, and
 * `test/contract/log-contract.ts` holds it to them:
 *
 *   durable  append resolved: the batch survives a crash. Rejected: unknown; stop, open again, replay.
 *   ordered  replay is gapless and ends at the last durable batch.
 *   fenced   once a newer writer has opened the log, every append of an older one rejects.
 *
 * A batch is built in place (`begin`, `add`, `add`, …) and made durable as one (`append`). One batch at a
 * time: `begin` may be called again only after `append` has resolved. A failed append is final: every
 * later call rejects with the same fault.
 */
import { LeaseholdError } from '../client/error.ts';
import type { Entry } from '../core/entries.ts';
import type { ImageRecord } from '../core/image.ts';
import type { Opaque } from '../core/opaque.ts';

/** Who hears the past when a log is opened: at most one image first, then every entry after it. */
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
 * What a compaction moved. Old positions ascend and stand beside the new ones; every opaque that the
 * state refers to in one of the files `gone` is among them.
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

/** One file of a snapshot, as it was at that moment. */
export interface SnapshotFile {
  readonly name: string;
  readonly bytes: number;
  /** All of it, in pieces that are the reader's to keep. */
  read(): AsyncIterable<Uint8Array>;
}

/**
 * Everything that was durable at one position, as files that make a log of their own. Nothing that is written
 * later shows in it, and nothing that is deleted later is missing from it until it is released.
 */
export interface LogSnapshot {
  /** The newest entry in it, the epoch of its writer, and its time. */
  readonly seq: number;
  readonly epoch: number;
  readonly atMs: number;
  /** The newest first: a copy that was cut short lacks its beginning, so nobody will take it for a shorter log. */
  readonly files: readonly SnapshotFile[];
  /** Lets go of the files. Harmless twice. */
  release(): Promise<void>;
}

export interface Log {
  /** Higher than that of any writer before, usually by one; it stands in every batch. */
  readonly epoch: number;
  readonly position: LogPosition;
  readonly size: LogSize;

  /**
   * Whether what only memory knows may still be told: false once another writer may have the log. Asked after the
   * decision and right before the answer leaves. Always true for a log whose lock cannot be lost.
   */
  readonly mayAnswer: boolean;
  /** Resolves when the log has ended by itself, also while nothing is being appended; never after `close`. */
  readonly lost: Promise<Error>;
  /**
   * The time by the clock this log is bound to, one for all who ever write it, never behind its newest entry and never
   * going back; null when the machine's own will do.
   */
  nowMs(): number | null;

  /** True while the space for the next segment could not be had: only what ends or keeps ownership may be appended. */
  readonly full: boolean;
  /** Asks for space again, in the background; nothing happens unless the log is full. `begin` does it as well. */
  seekSpace(): void;

  /** Starts a batch whose first entry gets `firstSeq` (last + 1, or higher for a restored epoch). */
  begin(firstSeq: number, atMs: number): void;
  /** Takes an entry into the batch and fills in `at` and `crc` of its opaque bytes. */
  add(entry: Entry): void;
  /**
   * How large the batch is so far; the authority ends it before `batchBytesMax`, and only the last
   * operation may lead beyond. In a full log the limit shrinks with the reserve, at last to 0: then
   * nothing fits any more, and everything is to be refused.
   */
  readonly batchBytes: number;
  readonly batchBytesMax: number;
  /**
   * Makes the batch durable. A batch without entries is nothing, and writes nothing. `isLone` says that nobody
   * else is waiting: the engine may then write without handing the bytes to another thread.
   */
  append(isLone?: boolean): Promise<void>;
  /**
   * Says in the log itself that the newest batch was durable, so that damage to it can be told from a torn
   * write. The next batch says it as well; this is for when none comes. Costs nothing the second time.
   */
  mark(): Promise<void>;

  /**
   * The bytes behind an opaque reference of a durable entry: at once when they are in memory, else a
   * promise. `null`: they are damaged (their checksum is wrong), which concerns nothing else. Rejects with
   * LogCompactedError when the reference is older than the last relocation: look it up again.
   */
  read(reference: Opaque): Uint8Array | null | Promise<Uint8Array | null>;

  /**
   * Durable entries from `fromSeq` on, at most `limit`; stops at the newest one durable when asked. Begins at
   * `position.firstSeq` when `fromSeq` lies below: whether that will do is for the caller to say.
   */
  entries(fromSeq: number, limit: number): AsyncIterable<LoggedEntry>;

  /** What is durable now, to be copied while the log goes on; null for a log that is not in files. */
  snapshot(): Promise<LogSnapshot | null>;

  /** True when enough has been written since the last checkpoint that `compact` is worth its cost. */
  readonly wantsCompaction: boolean;
  /**
   * Makes a durable checkpoint of everything but the newest segment, in the background; null when there
   * is nothing to compact. The files it replaces stay until the caller has adopted the new positions
   * and calls `dropOld`. A fault in it leaves the log as it was.
   */
  compact(): Promise<Relocation | null>;
  /** Deletes what the last `compact` replaced. From then on old positions are gone. */
  dropOld(): Promise<void>;

  close(): Promise<void>;
}

/** Who has the right to append to a log that several processes can reach. */
export interface Leader {
  readonly holder: string;
  /** Where it serves; '' when it did not say. */
  readonly url: string;
  /** How long it will be waited for unless it gives another sign of life. */
  readonly remainingMs: number;
}

/**
 * A log that another writes, read along. What it tells goes to the `Replay` it was opened with, in order and once.
 * Throws LogCompactedError when what comes next was compacted away: then follow anew, from the checkpoint.
 */
export interface FollowedLog {
  readonly position: LogPosition;
  readonly size: LogSize;
  /** Replays what was appended since; true when there was something. */
  catchUp(): Promise<boolean>;
  /** Who holds the guard; null when it may be taken. */
  leader(): Promise<Leader | null>;
  /**
   * Tries to become the writer: takes the guard, raises the epoch and replays to the very end; null when another
   * holds the guard. Afterwards the follower is the log: it is not used any more, and need not be closed.
   */
  lead(): Promise<Log | null>;
  /** The bytes behind a reference, as `Log.read` gives them; with the same words about compaction. */
  read(reference: Opaque): Uint8Array | null | Promise<Uint8Array | null>;
  /** The time by the clock of the log, as far as it is known from here; null before it was first asked who leads. */
  nowMs(): number | null;
  /**
   * Gives up a connection on which nothing comes any more. What is under way fails at once and tells nothing more; the
   * next call asks on another connection, from where the last one has come.
   */
  hangUp(): void;
  close(): Promise<void>;
}

export interface Engine {
  /** Verifies, replays, cuts a torn tail, and gives the log with the right to append to it. */
  open(replay: Replay): Promise<Log>;
  /** Throws LogHeldError when another writer has the log, and changes nothing in it. */
  assertFree?(): Promise<void>;
  /**
   * Reads along without the right to append; only where several processes can reach the log. The signal ends the replay
   * that comes first, and what it reads over; afterwards it has no effect.
   */
  follow?(replay: Replay, signal?: AbortSignal): Promise<FollowedLog>;
}

/** The log cannot be led from here now; whoever has read along loses nothing by having asked. */
export class LogTooFarError extends Error {
  override readonly name = 'LogTooFarError';
}

/** Another process (or handle) has the log. */
export class LogHeldError extends LeaseholdError {
  override readonly name: string = 'LogHeldError';
  readonly holder: string;
  constructor(holder: string, says = `The log is in use by ${holder}.`) {
    super('LOG_HELD', says, { details: { holder } });
    this.holder = holder;
  }
}

/** Bytes that were durable are no longer what they were. Nothing is repaired behind anybody's back. */
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

/** The bytes or entries asked for were compacted away; the state knows where they are now. */
export class LogCompactedError extends Error {
  override readonly name = 'LogCompactedError';
}

/** The log takes no more appends: the writer failed, was deposed, or was closed. */
export class LogClosedError extends Error {
  override readonly name = 'LogClosedError';
}

/** The log could not be read now, because what it lies in did not answer. It may be there again at once. */
export class LogOutOfReachError extends Error {
  override readonly name: string = 'LogOutOfReachError';
}

/** The log was there and is not any more. Nobody begins a new one in its place, whose numbers would be the old ones again. */
export class LogGoneError extends LogOutOfReachError {
  override readonly name = 'LogGoneError';
}
