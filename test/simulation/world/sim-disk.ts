/**
 * A disk in memory under the Files seam. It knows what a program has written from what a power cut would leave, for bytes
 * and for names. Every step that changes something takes time, and a process may die in the middle of it: what it wrote
 * stays in the cache of the machine. A power cut leaves what was synced, and of the rest any part, sector by sector.
 */
import { basename, dirname } from 'node:path';
import type { Files, HeldLock, OpenFile, OpenMode } from '../../../src/seams/files.ts';
import { DiskTrouble, diskError, SECTOR_BYTES } from './disk-trouble.ts';
import type { Kernel } from './kernel.ts';
import type { Random } from './random.ts';
import { never, type SimProcess } from './sim-process.ts';

/** Where the authority keeps its log. */
export const DATA_DIR = '/data';

/** How many of the newest durable writes can still be undone, as a disk does that lied about them. */
const UNDOABLE_MAX = 16;

export interface Write {
  readonly position: number;
  readonly bytes: Buffer;
}

/** Bytes with a length of their own, in memory that grows ahead of them. */
export class Bytes {
  #memory = Buffer.alloc(4096);
  length = 0;

  get view(): Buffer {
    return this.#memory.subarray(0, this.length);
  }

  put({ position, bytes }: Write): void {
    this.reach(position + bytes.length);
    bytes.copy(this.#memory, position);
  }

  /** Makes it at least this long, with zeros. */
  reach(length: number): void {
    if (length > this.#memory.length) {
      const larger = Buffer.alloc(Math.max(length, this.#memory.length * 2));
      this.#memory.copy(larger, 0, 0, this.length);
      this.#memory = larger;
    }
    this.length = Math.max(this.length, length);
  }

  cut(length: number): void {
    this.#memory.fill(0, length, this.length);
    this.length = length;
  }

  setTo(other: Bytes): void {
    this.cut(0);
    this.put({ position: 0, bytes: other.view });
  }
}

export class Inode {
  /** What programs see. */
  readonly content = new Bytes();
  /** What is left when the power goes. */
  readonly durable = new Bytes();
  unsynced: Write[] = [];
  /** What was there before each of the newest durable writes. */
  readonly undo: Write[] = [];
  /** What would be durable without the damage that was done; null while there is none. */
  mirror: Bytes | null = null;
  /** Which damage it was: they are counted. */
  damage = 0;
  readonly #count: () => number;

  constructor(count: () => number) {
    this.#count = count;
  }

  /** Writes at `position`, or elsewhere if it goes astray. */
  write(bytes: Uint8Array, position: number, landsAt = position): Write {
    const write = { position: landsAt, bytes: Buffer.from(bytes) };
    if (landsAt !== position) this.startMirror();
    this.mirror?.put({ ...write, position });
    this.content.put(write);
    this.unsynced.push(write);
    return write;
  }

  /** From here on the mirror gets what the disk should have got. */
  startMirror(): void {
    this.damage = this.#count();
    if (this.mirror !== null) return;
    this.mirror = new Bytes();
    this.mirror.setTo(this.durable);
    // Of what was written twice, the cache holds the later one.
    for (const { position, bytes } of this.unsynced) {
      this.mirror.put({
        position,
        bytes: Buffer.from(this.content.view.subarray(position, position + bytes.length)),
      });
    }
  }

  repair(): void {
    if (this.mirror === null) return;
    this.unsynced = [];
    this.content.setTo(this.mirror);
    this.durable.setTo(this.mirror);
    this.mirror = null;
  }

  settle(write: Write): void {
    const before = this.durable.view.subarray(write.position, write.position + write.bytes.length);
    this.undo.push({ position: write.position, bytes: Buffer.from(before) });
    if (this.undo.length > UNDOABLE_MAX) this.undo.shift();
    this.durable.put(write);
    this.unsynced = this.unsynced.filter((other) => other !== write);
  }

  sync(): void {
    for (const { position, bytes } of this.unsynced) {
      const newest = this.content.view.subarray(position, position + bytes.length);
      this.durable.put({ position, bytes: Buffer.from(newest) });
    }
    this.unsynced = [];
  }
}

export class SimDisk {
  readonly trouble: DiskTrouble;
  readonly kernel: Kernel;
  names = new Map<string, Inode>();
  durableNames = new Map<string, Inode>();
  #dirs = new Set(['/']);
  #durableDirs = new Set(['/']);
  /** How often something was damaged. */
  damages = 0;
  readonly #locks = new Map<string, SimProcess>();
  readonly #random: Random;
  /** Counts the power cuts: what was on its way before the last one never arrives. */
  #life = 0;

  constructor(kernel: Kernel, random: Random) {
    this.kernel = kernel;
    this.#random = random;
    this.trouble = new DiskTrouble(kernel, random);
  }

  /** The disk as one process sees it. Where `createsSlowly`, it may die before a file that it makes is there. */
  filesFor(process: SimProcess, createsSlowly = false): Files {
    return {
      list: async (dir) => this.#list(this.names, this.#dirs, dir),
      makeDir: (dir) => this.#step(process, 'makeDir', dir, () => this.#makeDir(dir)),
      removeDir: (dir) => this.#step(process, 'removeDir', dir, () => void this.#dirs.delete(dir)),
      syncDir: (dir) => this.#step(process, 'syncDir', dir, () => this.#syncDir(dir)),
      open: async (path, mode) =>
        createsSlowly && mode.create && !this.names.has(path)
          ? this.#step(process, 'create', path, () => this.#open(process, path, mode))
          : this.#open(process, path, mode),
      rename: (from, to) => this.#step(process, 'rename', to, () => this.#rename(from, to)),
      remove: (path) => this.#step(process, 'remove', path, () => this.#remove(path)),
      lock: (path) => this.#step(process, 'lock', path, () => this.#lock(process, path)),
      isLocked: async (path) => this.#locks.has(path),
      realPath: async (dir) => dir,
      networkKind: async () => null,
    };
  }

  /** What a power cut would leave if nothing were damaged, for reading only and at once. */
  durableFiles(): Files {
    const refuse = (): never => {
      throw new Error('This view of the disk is for reading.');
    };
    return {
      list: async (dir) => this.#list(this.durableNames, this.#durableDirs, dir),
      makeDir: refuse,
      removeDir: refuse,
      syncDir: refuse,
      rename: refuse,
      remove: refuse,
      lock: refuse,
      isLocked: async () => false,
      realPath: async (dir) => dir,
      networkKind: async () => null,
      open: async (path) => {
        const inode = this.durableNames.get(path);
        if (inode === undefined) throw diskError('ENOENT');
        const durable = inode.mirror ?? inode.durable;
        const read = (into: Uint8Array, offset: number, length: number, position: number): number =>
          durable.view.copy(into, offset, position, position + length);
        return {
          size: async () => durable.length,
          read: async (into, offset, length, position) => read(into, offset, length, position),
          readSync: read,
          write: refuse,
          writeSync: refuse,
          sync: refuse,
          close: async () => undefined,
        };
      },
    };
  }

  /** Of what was not synced, every sector and every name by chance is there, or is not. */
  cutPower(survives: () => boolean): void {
    this.#life += 1;
    this.#locks.clear();
    for (const inode of this.#inodes()) {
      for (const write of inode.unsynced) {
        // What the cache holds by now is what gets written, be it from a later write to the same sector.
        for (const { position, bytes } of sectorsOf(write)) {
          const newest = inode.content.view.subarray(position, position + bytes.length);
          if (survives()) inode.durable.put({ position, bytes: Buffer.from(newest) });
        }
      }
      inode.unsynced = [];
      inode.content.setTo(inode.durable);
    }
    for (const [path, inode] of this.names) {
      if (!this.durableNames.has(path) && survives()) this.durableNames.set(path, inode);
    }
    for (const path of [...this.durableNames.keys()]) {
      if (!this.names.has(path) && survives()) this.durableNames.delete(path);
    }
    this.names = new Map(this.durableNames);
    this.#dirs = new Set(this.#durableDirs);
  }

  /** Puts back what was damaged, as an operator with a mirror does; answers how many files there were. */
  repair(): number {
    const damaged = this.#inodes().filter(({ mirror }) => mirror !== null);
    for (const inode of damaged) inode.repair();
    return damaged.length;
  }

  /** What turned out to be harmless is never put back: the log has been written over it since. */
  forgetDamage(through: number): void {
    for (const inode of this.#inodes()) if (inode.damage <= through) inode.mirror = null;
  }

  get isDamaged(): boolean {
    return this.#inodes().some(({ mirror }) => mirror !== null);
  }

  #inodes(): Inode[] {
    return [...new Set([...this.names.values(), ...this.durableNames.values()])];
  }

  /** Puts a directory aside under another name, durably; an operator does it, with nothing running. */
  moveAside(dir: string, to: string): void {
    for (const names of [this.names, this.durableNames]) {
      for (const [path, inode] of [...names]) {
        if (dirname(path) !== dir) continue;
        names.delete(path);
        names.set(`${to}/${path.slice(dir.length + 1)}`, inode);
      }
    }
    for (const dirs of [this.#dirs, this.#durableDirs]) dirs.add(to);
  }

  #list(names: ReadonlyMap<string, Inode>, dirs: ReadonlySet<string>, dir: string): readonly string[] | null {
    if (!dirs.has(dir)) return null;
    const found: string[] = [];
    for (const path of names.keys()) if (dirname(path) === dir) found.push(basename(path));
    return found.sort();
  }

  #makeDir(dir: string): boolean {
    if (this.#dirs.has(dir)) return false;
    if (!this.#dirs.has(dirname(dir))) throw diskError('ENOENT');
    this.#dirs.add(dir);
    return true;
  }

  #syncDir(dir: string): void {
    for (const child of this.#dirs) if (dirname(child) === dir) this.#durableDirs.add(child);
    for (const path of [...this.durableNames.keys()]) {
      if (dirname(path) === dir && !this.names.has(path)) this.durableNames.delete(path);
    }
    for (const [path, inode] of this.names) if (dirname(path) === dir) this.durableNames.set(path, inode);
  }

  #rename(from: string, to: string): void {
    const inode = this.names.get(from);
    if (inode === undefined) throw diskError('ENOENT');
    this.names.delete(from);
    this.names.set(to, inode);
  }

  #remove(path: string): void {
    if (!this.names.delete(path)) throw diskError('ENOENT');
  }

  #lock(process: SimProcess, path: string): HeldLock | { heldBy: string } {
    const holder = this.#locks.get(path);
    if (holder !== undefined) return { heldBy: holder.name };
    if (!this.names.has(path)) this.names.set(path, new Inode(() => ++this.damages));
    this.#locks.set(path, process);
    const release = (): void => {
      if (this.#locks.get(path) === process) this.#locks.delete(path);
    };
    process.whenDead(release);
    // It died while the kernel was at it.
    if (process.isDead) release();
    return { isInPlace: () => true, release: async () => release() };
  }

  #open(process: SimProcess, path: string, mode: OpenMode): OpenFile {
    this.trouble.check(process, 'open', path, 'before');
    if (!this.#dirs.has(dirname(path))) throw diskError('ENOENT');
    let inode = this.names.get(path);
    if (inode === undefined) {
      if (!mode.create) throw diskError('ENOENT');
      inode = new Inode(() => ++this.damages);
      this.names.set(path, inode);
    }
    return this.#handle(process, path, inode, mode);
  }

  #handle(process: SimProcess, path: string, inode: Inode, mode: OpenMode): OpenFile {
    const read = (into: Uint8Array, offset: number, length: number, position: number): number => {
      this.trouble.check(process, 'read', path, 'before');
      return inode.content.view.copy(into, offset, position, position + length);
    };
    const begin = (bytes: Uint8Array, position: number): Write => {
      if (mode.readOnly) throw new Error(`${path} is open for reading only.`);
      this.trouble.check(process, 'write', path, 'before');
      this.trouble.assertSpace(this.usedBytes + Math.max(0, position + bytes.length - inode.content.length));
      const placed = mode.durable ? this.trouble.misplace(inode, bytes, position) : position;
      const write = inode.write(bytes, position, placed);
      this.trouble.check(process, 'write', path, 'during');
      return write;
    };
    const end = (write: Write): number => {
      if (mode.durable) {
        this.trouble.assertSynced(path);
        inode.settle(write);
      }
      this.trouble.check(process, 'write', path, 'after');
      return write.bytes.length;
    };
    return {
      size: async () => inode.content.length,
      read: (into, offset, length, position) =>
        this.trouble.isSlow
          ? this.#step(process, 'read', path, () => read(into, offset, length, position))
          : settledWith(() => read(into, offset, length, position)),
      readSync: read,
      write: (bytes, position) => {
        if (process.isDead) return never();
        let write: Write;
        try {
          write = begin(bytes, position);
        } catch (fault) {
          return this.#step(process, 'write', path, () => {
            throw fault;
          });
        }
        return this.#step(process, 'write', path, () => end(write));
      },
      writeSync: (bytes, position) => end(begin(bytes, position)),
      sync: () =>
        this.#step(process, 'sync', path, () => {
          this.trouble.check(process, 'sync', path, 'before');
          this.trouble.assertSynced(path);
          inode.sync();
          this.trouble.check(process, 'sync', path, 'after');
        }),
      close: async () => undefined,
    };
  }

  /** One step that takes time. The disk completes it even if the process dies. */
  #step<T>(process: SimProcess, name: string, path: string, act: () => T): Promise<T> {
    if (process.isDead) return never();
    const life = this.#life;
    return new Promise<T>((resolve, reject) => {
      this.kernel.after(this.trouble.latencyMs(), null, () => {
        if (life !== this.#life) return;
        let tell: () => void;
        try {
          if (name !== 'write' && name !== 'sync') this.trouble.check(process, name, path, 'before');
          const result = act();
          if (name !== 'write' && name !== 'sync') this.trouble.check(process, name, path, 'after');
          tell = () => resolve(result);
        } catch (fault) {
          tell = () => reject(fault as Error);
        }
        if (process.isDead) return;
        if (process.stoppedUntilMs > this.kernel.nowMs) this.kernel.at(process.stoppedUntilMs, process, tell);
        else tell();
      });
    });
  }

  get usedBytes(): number {
    let bytes = 0;
    for (const inode of this.names.values()) bytes += inode.content.length;
    return bytes;
  }

  get random(): Random {
    return this.#random;
  }
}

async function settledWith<T>(act: () => T): Promise<T> {
  return act();
}

function* sectorsOf({ position, bytes }: Write): Generator<Write> {
  for (let at = 0; at < bytes.length; ) {
    const end = Math.min(bytes.length, at + SECTOR_BYTES - ((position + at) % SECTOR_BYTES));
    yield { position: position + at, bytes: bytes.subarray(at, end) };
    at = end;
  }
}
