/**
 * The real disk: the Files seam on `node:fs`. The lock is `flock(2)`, taken by flock(1) on an inherited descriptor:
 * the lock belongs to the open file, so it outlives flock(1) and ends with this process. Without flock(1), koffi
 * calls flock(2) directly; without both, no data directory is opened.
 *
 * A durable write is one call with `O_DSYNC`, except on macOS: there the flag leaves the bytes in the cache of the drive, so
 * every write is followed by `fdatasync`, which Node implements as `F_FULLFSYNC`.
 */
import { spawnSync } from 'node:child_process';
import type { PathLike } from 'node:fs';
import fs from 'node:fs';
import type { Files, HeldLock, OpenFile, OpenMode } from '../seams/files.ts';

/** `f_type` of statfs(2) for file systems whose files are on another machine or served by another process. */
const NETWORK_KINDS: ReadonlyMap<number, string> = new Map([
  [0x6969, 'nfs'],
  [0x517b, 'smb'],
  [0xff534d42, 'cifs'],
  [0xfe534d42, 'smb2'],
  [0x65735546, 'fuse'],
  [0x00c36400, 'ceph'],
  [0x5346414f, 'afs'],
  [0x73757245, 'coda'],
  [0x0bd00bd0, 'lustre'],
  [0x564c, 'ncp'],
]);

const FLOCK_TAKEN = 1;
const LOCK_NOW = 4;
/** The names of the modes for flock(1) and flock(2). */
const EXCLUSIVE = { flag: '-x', operation: 2 } as const;
const SHARED = { flag: '-s', operation: 1 } as const;
type LockKind = typeof EXCLUSIVE | typeof SHARED;
/** Much longer than another process's check of the lock takes. */
const LOOK_MS = 100;

/** No way to lock a file is available, so the state of locks is unknown too. */
class NoLockError extends Error {
  override readonly name = 'NoLockError';
}

export const nodeFiles: Files = {
  async list(dir) {
    try {
      return await fs.promises.readdir(dir);
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return null;
      throw error;
    }
  },

  async makeDir(dir) {
    try {
      await fs.promises.mkdir(dir, { mode: 0o700 });
      return true;
    } catch (error) {
      if (hasCode(error, 'EEXIST')) return false;
      throw error;
    }
  },

  removeDir: (dir) => fs.promises.rmdir(dir),

  async syncDir(dir) {
    const handle = await fs.promises.open(dir, fs.constants.O_RDONLY | fs.constants.O_DIRECTORY);
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  },

  open: (path, mode) => openFileOn(process.platform, path, mode),

  rename: (from, to) => fs.promises.rename(from, to),
  remove: (path) => fs.promises.unlink(path),

  async lock(path, owner) {
    const descriptor = await openDescriptor(path, fs.constants.O_RDWR | fs.constants.O_CREAT);
    try {
      if (!(await takeLockDespiteChecks(descriptor))) {
        const heldBy = fs.readFileSync(path, 'utf8').trim();
        fs.closeSync(descriptor);
        return { heldBy };
      }
      writeOwner(descriptor, `${owner}\n`);
      return heldLock(descriptor, path);
    } catch (error) {
      fs.closeSync(descriptor);
      throw error;
    }
  },

  async isLocked(path) {
    let descriptor: number;
    try {
      descriptor = await openDescriptor(path, fs.constants.O_RDONLY);
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return false;
      throw error;
    }
    try {
      // The kernel answers only an attempt: on a full disk a holder has no name in the file. Shared, so that two checks
      // do not see each other.
      return !(await takeLock(descriptor, SHARED));
    } catch (error) {
      if (error instanceof NoLockError) return null;
      throw error;
    } finally {
      fs.closeSync(descriptor);
    }
  },

  realPath: (dir) => fs.promises.realpath(dir),

  async networkKind(dir) {
    const { type } = await fs.promises.statfs(dir);
    // Some kernels return the type as a signed number.
    return NETWORK_KINDS.get(type < 0 ? type + 2 ** 32 : type) ?? null;
  },
};

/** `Files.open` as it must be on a platform. */
export async function openFileOn(platform: NodeJS.Platform, path: string, mode: OpenMode): Promise<OpenFile> {
  const { O_RDONLY, O_RDWR, O_CREAT, O_DSYNC } = fs.constants;
  if (mode.readOnly) return new NodeFile(await openDescriptor(path, O_RDONLY));
  const syncsWrites = mode.durable === true && platform === 'darwin';
  const durable = mode.durable && !syncsWrites ? O_DSYNC : 0;
  const flags = O_RDWR | (mode.create ? O_CREAT : 0) | durable;
  return new NodeFile(await openDescriptor(path, flags), syncsWrites);
}

class NodeFile implements OpenFile {
  readonly #descriptor: number;
  readonly #syncsWrites: boolean;

  constructor(descriptor: number, syncsWrites = false) {
    this.#descriptor = descriptor;
    this.#syncsWrites = syncsWrites;
  }

  size(): Promise<number> {
    return new Promise((resolve, reject) => {
      fs.fstat(this.#descriptor, (error, stats) => (error ? reject(error) : resolve(stats.size)));
    });
  }

  async read(into: Uint8Array, offset: number, length: number, position: number): Promise<number> {
    let done = 0;
    while (done < length) {
      const count = await this.#readOnce(into, offset + done, length - done, position + done);
      if (count === 0) break;
      done += count;
    }
    return done;
  }

  readSync(into: Uint8Array, offset: number, length: number, position: number): number {
    let done = 0;
    while (done < length) {
      const count = fs.readSync(this.#descriptor, into, offset + done, length - done, position + done);
      if (count === 0) break;
      done += count;
    }
    return done;
  }

  write(bytes: Uint8Array, position: number): Promise<number> {
    const written = new Promise<number>((resolve, reject) => {
      fs.write(this.#descriptor, bytes, 0, bytes.length, position, (error, count) =>
        error ? reject(error) : resolve(count),
      );
    });
    return this.#syncsWrites ? written.then((count) => this.sync().then(() => count)) : written;
  }

  writeSync(bytes: Uint8Array, position: number): number {
    const count = fs.writeSync(this.#descriptor, bytes, 0, bytes.length, position);
    if (this.#syncsWrites) fs.fdatasyncSync(this.#descriptor);
    return count;
  }

  sync(): Promise<void> {
    return new Promise((resolve, reject) => {
      fs.fdatasync(this.#descriptor, (error) => (error ? reject(error) : resolve()));
    });
  }

  close(): Promise<void> {
    return new Promise((resolve, reject) => {
      fs.close(this.#descriptor, (error) => (error ? reject(error) : resolve()));
    });
  }

  #readOnce(into: Uint8Array, offset: number, length: number, position: number): Promise<number> {
    return new Promise((resolve, reject) => {
      fs.read(this.#descriptor, into, offset, length, position, (error, count) =>
        error ? reject(error) : resolve(count),
      );
    });
  }
}

function openDescriptor(path: PathLike, flags: number): Promise<number> {
  return new Promise((resolve, reject) => {
    fs.open(path, flags, 0o600, (error, descriptor) => (error ? reject(error) : resolve(descriptor)));
  });
}

/** A holder without a name holds the lock as well: on a full disk there may be no room for one. */
function writeOwner(descriptor: number, text: string): void {
  try {
    // In place, because truncating first would give the space of the text away.
    fs.writeSync(descriptor, text, 0);
    fs.ftruncateSync(descriptor, Buffer.byteLength(text));
  } catch (error) {
    if (!hasCode(error, 'ENOSPC') && !hasCode(error, 'EDQUOT')) throw error;
    // The name of a former holder would mislead.
    fs.ftruncateSync(descriptor);
  }
}

function heldLock(descriptor: number, path: string): HeldLock {
  const { dev, ino } = fs.fstatSync(descriptor, { bigint: true });
  return {
    isInPlace() {
      try {
        const found = fs.statSync(path, { bigint: true });
        return found.dev === dev && found.ino === ino;
      } catch (error) {
        // No other error means that the file is gone.
        return !hasCode(error, 'ENOENT') && !hasCode(error, 'ENOTDIR');
      }
    },
    async release() {
      // The name of a former holder would mislead. The file itself stays, or two processes could lock two files.
      fs.ftruncateSync(descriptor);
      fs.closeSync(descriptor);
    },
  };
}

/** A check of the lock holds it for a moment. A real holder still has it afterwards. */
async function takeLockDespiteChecks(descriptor: number): Promise<boolean> {
  if (await takeLock(descriptor, EXCLUSIVE)) return true;
  await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  return takeLock(descriptor, EXCLUSIVE);
}

async function takeLock(descriptor: number, kind: LockKind): Promise<boolean> {
  const flock = spawnSync('flock', ['-n', kind.flag, '3'], {
    stdio: ['ignore', 'ignore', 'ignore', descriptor],
  });
  if (flock.status === 0) return true;
  if (flock.status === FLOCK_TAKEN) return false;
  return lockByCall(descriptor, kind, flock.error);
}

async function lockByCall(
  descriptor: number,
  { operation }: LockKind,
  cause: Error | undefined,
): Promise<boolean> {
  const koffi = await import('koffi').then(
    (loaded) => loaded.default,
    () => null,
  );
  if (koffi === null) {
    throw new NoLockError(
      'The data directory cannot be locked: neither flock(1) nor the package koffi is available.',
      {
        cause,
      },
    );
  }
  // The symbols of this process: the C library has another file name on glibc, musl and macOS.
  const library = koffi.load(null);
  const call = library.func('int flock(int, int)') as (descriptor: number, operation: number) => number;
  if (call(descriptor, operation | LOCK_NOW) === 0) return true;
  const errno = koffi.errno();
  if (errno === koffi.os.errno.EWOULDBLOCK) return false;
  throw new NoLockError(`The data directory cannot be locked: flock(2) failed with errno ${errno}.`);
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
