/**
 * The disk, as far as the file log needs it: a seam. Every step that makes something durable is a call of its
 * own, so that a simulated disk can lose whatever was not asked for:
 *
 *   bytes of a file    durable after its `sync`, or with each write when opened `durable`
 *   names              created, renamed or removed for good only after `syncDir` of their directory
 *
 * Errors are thrown as Node throws them, with a `code` (ENOENT, ENOSPC, EIO, …).
 */
export interface OpenFile {
  size(): Promise<number>;
  /** Reads up to `length` bytes at `position` into `into` at `offset`; fewer only at the end of the file. */
  read(into: Uint8Array, offset: number, length: number, position: number): Promise<number>;
  /** The same without leaving the thread, for where a checkpoint copies a million small pieces. */
  readSync(into: Uint8Array, offset: number, length: number, position: number): number;
  /** Answers how many bytes were written; fewer than given is a failure for the caller to name. */
  write(bytes: Uint8Array, position: number): Promise<number>;
  /** The same without leaving the thread: for a lone small write it is the faster way by half. */
  writeSync(bytes: Uint8Array, position: number): number;
  sync(): Promise<void>;
  close(): Promise<void>;
}

export interface OpenMode {
  /** Makes the file when there is none, readable for its owner only. */
  readonly create?: boolean;
  /** Every write is durable when it resolves (O_DSYNC). */
  readonly durable?: boolean;
  readonly readOnly?: boolean;
}

export interface HeldLock {
  /** Whether the file that is locked is still the one at its path; false when that was removed or replaced. */
  isInPlace(): boolean;
  release(): Promise<void>;
}

export interface Files {
  /** The names in a directory; null when there is no such directory. */
  list(dir: string): Promise<readonly string[] | null>;
  /** Makes one directory, for its owner only; false when it was there already. ENOENT without its parent. */
  makeDir(dir: string): Promise<boolean>;
  /** Removes a directory in which nothing is. */
  removeDir(dir: string): Promise<void>;
  syncDir(dir: string): Promise<void>;
  open(path: string, mode: OpenMode): Promise<OpenFile>;
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  /**
   * A lock that the kernel takes back when the process dies and keeps while it is paused. `owner` is written
   * into the file; when somebody else holds the lock, what they wrote is the answer.
   */
  lock(path: string, owner: string): Promise<HeldLock | { readonly heldBy: string }>;
  /**
   * Whether somebody holds that lock now; null when nobody can say. Nothing is written or made, and whoever wants
   * the lock meanwhile gets it.
   */
  isLocked(path: string): Promise<boolean | null>;
  /** A directory that is there, by the path that leads to it without symbolic links. */
  realPath(dir: string): Promise<string>;
  /** The kind of a network file system `dir` lies on ("nfs"), where a lock may lie; null for a local one. */
  networkKind(dir: string): Promise<string | null>;
}
