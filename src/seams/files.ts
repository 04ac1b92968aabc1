/**
 * The disk, as far as the file log needs it: a seam. Every step towards durability is a separate call, so that a
 * simulated disk can lose everything that was not synced:
 *
 *   bytes of a file    durable after its `sync`, or with each write when opened `durable`
 *   names              creation, rename and removal are durable after `syncDir` of their directory
 *
 * Errors are thrown as Node throws them, with a `code` (ENOENT, ENOSPC, EIO, …).
 */
export interface OpenFile {
  size(): Promise<number>;
  /** Reads up to `length` bytes at `position` into `into` at `offset`; fewer only at the end of the file. */
  read(into: Uint8Array, offset: number, length: number, position: number): Promise<number>;
  /** The same, synchronously: a checkpoint copies a million small pieces. */
  readSync(into: Uint8Array, offset: number, length: number, position: number): number;
  /** Returns how many bytes were written. Fewer than given is a failure that the caller reports. */
  write(bytes: Uint8Array, position: number): Promise<number>;
  /** The same, synchronously: twice as fast for a single small write. */
  writeSync(bytes: Uint8Array, position: number): number;
  sync(): Promise<void>;
  close(): Promise<void>;
}

export interface OpenMode {
  /** Creates the file if it does not exist, readable by its owner only. */
  readonly create?: boolean;
  /** Every write is durable when it resolves (O_DSYNC). */
  readonly durable?: boolean;
  readonly readOnly?: boolean;
}

export interface HeldLock {
  /** Whether the locked file is still the one at its path; false when it was removed or replaced. */
  isInPlace(): boolean;
  release(): Promise<void>;
}

export interface Files {
  /** The names in a directory; null when there is no such directory. */
  list(dir: string): Promise<readonly string[] | null>;
  /** Creates one directory, for its owner only; false when it exists. ENOENT without its parent. */
  makeDir(dir: string): Promise<boolean>;
  /** Removes an empty directory. */
  removeDir(dir: string): Promise<void>;
  syncDir(dir: string): Promise<void>;
  open(path: string, mode: OpenMode): Promise<OpenFile>;
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  /**
   * A lock that the kernel releases when the process dies and keeps while it is paused. `owner` is written into the
   * file. When the lock is held, returns what its holder wrote.
   */
  lock(path: string, owner: string): Promise<HeldLock | { readonly heldBy: string }>;
  /**
   * Whether the lock is held now; null when unknown. Writes and creates nothing, and does not keep others from taking
   * the lock.
   */
  isLocked(path: string): Promise<boolean | null>;
  /** The path of an existing directory with symbolic links resolved. */
  realPath(dir: string): Promise<string>;
  /**
   * The kind of network file system that `dir` is on ("nfs"), where locks may be unreliable; null for a local one.
   */
  networkKind(dir: string): Promise<string | null>;
}
