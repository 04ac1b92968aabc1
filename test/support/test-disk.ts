// A disk in memory under the Files seam that loses everything that was not synced. It tracks syncs of bytes and of
// names; a power failure drops the rest, or any part of it, sector by sector. Every operation passes a gate first,
// where a test may count it, fail it, or cut the power in the middle of it.
import { dirname } from 'node:path';
import type { Files, HeldLock, OpenFile, OpenMode } from '../../src/seams/files.ts';

export const SECTOR_BYTES = 512;

export type OperationName =
  | 'list'
  | 'makeDir'
  | 'removeDir'
  | 'syncDir'
  | 'open'
  | 'rename'
  | 'remove'
  | 'lock'
  | 'isLocked'
  | 'read'
  | 'write'
  | 'sync';

export interface Operation {
  readonly name: OperationName;
  readonly path: string;
}

/** Thrown by everything after the power was cut. */
export class PowerCutError extends Error {
  override readonly name = 'PowerCutError';
}

/** An error as Node throws it. */
export function diskError(code: 'EIO' | 'ENOSPC' | 'ENOENT' | 'ENOTEMPTY'): Error {
  return Object.assign(new Error(`${code}: injected`), { code });
}

interface UnsyncedWrite {
  readonly position: number;
  readonly bytes: Buffer;
}

class Inode {
  content: Buffer = Buffer.alloc(0);
  durable: Buffer = Buffer.alloc(0);
  unsynced: UnsyncedWrite[] = [];

  write(bytes: Uint8Array, position: number): UnsyncedWrite {
    const write = { position, bytes: Buffer.from(bytes) };
    this.content = overlaid(this.content, write);
    this.unsynced.push(write);
    return write;
  }

  sync(): void {
    this.durable = Buffer.from(this.content);
    this.unsynced = [];
  }
}

function overlaid(content: Buffer, { position, bytes }: UnsyncedWrite): Buffer {
  if (position + bytes.length > content.length) {
    const longer = Buffer.alloc(position + bytes.length);
    content.copy(longer);
    content = longer;
  }
  bytes.copy(content, position);
  return content;
}

export interface Survivors {
  /** Which sectors of unsynced writes reach the disk; none by default. */
  readonly sector?: (path: string, sector: number) => boolean;
  /** Whether names that were not synced are there after the cut, or which. */
  readonly names?: boolean | ((path: string) => boolean);
}

export class TestDisk implements Files {
  /** Called before every operation; what it throws, the operation throws. */
  gate: (operation: Operation) => void = () => {};
  /** What a write waits for on its way to the disk; null for nothing. */
  slow: (operation: Operation) => Promise<void> | null = () => null;
  /** Bytes all files together may have; a write beyond fails with ENOSPC. */
  capacityBytes = Number.POSITIVE_INFINITY;
  /** Whether a write that does not fit takes what does, as a kernel does, before the next one fails. */
  writesShort = false;
  network: string | null = null;
  readonly operations: Operation[] = [];
  /** The files that are open, each as often as it is. */
  readonly openPaths: string[] = [];
  #names = new Map<string, Inode>();
  #durableNames = new Map<string, Inode>();
  #dirs = new Set(['/']);
  #durableDirs = new Set(['/']);
  /** Directories that were renamed, by their new names, until the directory they are in is synced. */
  #renamedDirs = new Map<string, string>();
  readonly #locks = new Map<string, string>();
  #isCut = false;

  /** Everything under way and everything later fails, as if the machine were gone. */
  cutPower(): void {
    this.#isCut = true;
  }

  /** The disk as the next machine finds it. */
  afterPowerCut(survivors: Survivors = {}): TestDisk {
    this.cutPower();
    return this.copy(survivors);
  }

  /** What a power cut would leave, without the cut. */
  copy({ sector = () => false, names = false }: Survivors = {}): TestDisk {
    const next = new TestDisk();
    const isKept = typeof names === 'function' ? names : () => names;
    const durableNames = new Map(this.#durableNames);
    for (const [to, from] of this.#renamedDirs) if (isKept(to)) moveAll(durableNames, from, to);
    next.#dirs = new Set(kept(asMap(this.#dirs), asMap(this.#durableDirs), isKept).keys());
    next.#durableDirs = new Set(next.#dirs);
    for (const [path, inode] of kept(this.#names, durableNames, isKept)) {
      if (!next.#dirs.has(dirname(path))) continue;
      const kept = new Inode();
      kept.content = Buffer.from(inode.durable);
      for (const { position, bytes } of inode.unsynced) {
        for (const piece of sectors(position, bytes)) {
          if (sector(path, Math.floor(piece.position / SECTOR_BYTES)))
            kept.content = overlaid(kept.content, piece);
        }
      }
      kept.sync();
      next.#names.set(path, kept);
      next.#durableNames.set(path, kept);
    }
    return next;
  }

  /** The disk after the process died and the machine did not: the kernel has everything, synced or not. */
  afterKill(): TestDisk {
    this.cutPower();
    const next = new TestDisk();
    next.#dirs = this.#dirs;
    next.#durableDirs = this.#durableDirs;
    next.#names = this.#names;
    next.#durableNames = this.#durableNames;
    next.#renamedDirs = this.#renamedDirs;
    return next;
  }

  paths(): string[] {
    return [...this.#names.keys()].sort();
  }

  contentOf(path: string): Buffer {
    return this.#inode(path).content;
  }

  /** Changes bytes behind everybody's back, durably. */
  tamper(path: string, change: (content: Buffer) => Buffer): void {
    const inode = this.#inode(path);
    inode.content = change(Buffer.from(inode.content));
    inode.sync();
  }

  unlinkBehindTheBack(path: string): void {
    this.#names.delete(path);
    this.#durableNames.delete(path);
  }

  async list(dir: string): Promise<readonly string[] | null> {
    await this.#pass('list', dir);
    if (!this.#dirs.has(dir)) return null;
    return [...this.#names.keys()]
      .filter((path) => dirname(path) === dir)
      .map((path) => path.slice(dir.length + 1));
  }

  async makeDir(dir: string): Promise<boolean> {
    await this.#pass('makeDir', dir);
    if (this.#dirs.has(dir)) return false;
    if (!this.#dirs.has(dirname(dir))) throw diskError('ENOENT');
    this.#dirs.add(dir);
    return true;
  }

  async removeDir(dir: string): Promise<void> {
    await this.#pass('removeDir', dir);
    if (!this.#dirs.has(dir)) throw diskError('ENOENT');
    const children = [...this.#names.keys(), ...this.#dirs].filter((path) => path !== dir);
    if (children.some((path) => dirname(path) === dir)) throw diskError('ENOTEMPTY');
    this.#dirs.delete(dir);
  }

  async syncDir(dir: string): Promise<void> {
    await this.#pass('syncDir', dir);
    for (const [to, from] of this.#renamedDirs) {
      if (dirname(to) !== dir) continue;
      moveAll(this.#durableNames, from, to);
      this.#renamedDirs.delete(to);
    }
    for (const child of this.#durableDirs) {
      if (dirname(child) === dir && !this.#dirs.has(child)) this.#durableDirs.delete(child);
    }
    for (const child of this.#dirs) if (dirname(child) === dir) this.#durableDirs.add(child);
    for (const path of this.#durableNames.keys()) {
      if (dirname(path) === dir && !this.#names.has(path)) this.#durableNames.delete(path);
    }
    for (const [path, inode] of this.#names) if (dirname(path) === dir) this.#durableNames.set(path, inode);
  }

  async open(path: string, mode: OpenMode): Promise<OpenFile> {
    await this.#pass('open', path);
    if (!this.#dirs.has(dirname(path))) throw diskError('ENOENT');
    let inode = this.#names.get(path);
    if (!inode) {
      if (!mode.create) throw diskError('ENOENT');
      inode = new Inode();
      this.#names.set(path, inode);
    }
    return this.#handle(path, inode, mode);
  }

  async rename(from: string, to: string): Promise<void> {
    await this.#pass('rename', to);
    if (this.#dirs.delete(from)) {
      this.#dirs.add(to);
      this.#renamedDirs.set(to, from);
      moveAll(this.#names, from, to);
      return;
    }
    const inode = this.#inode(from);
    this.#names.delete(from);
    this.#names.set(to, inode);
  }

  async remove(path: string): Promise<void> {
    await this.#pass('remove', path);
    this.#inode(path);
    this.#names.delete(path);
  }

  async lock(path: string, owner: string): Promise<HeldLock | { readonly heldBy: string }> {
    await this.#pass('lock', path);
    const heldBy = this.#locks.get(path);
    if (heldBy !== undefined) return { heldBy };
    this.#locks.set(path, owner);
    return { isInPlace: () => true, release: async () => void this.#locks.delete(path) };
  }

  async isLocked(path: string): Promise<boolean> {
    await this.#pass('isLocked', path);
    return this.#locks.has(path);
  }

  /** There are no links on this disk. */
  async realPath(dir: string): Promise<string> {
    if (!this.#dirs.has(dir)) throw diskError('ENOENT');
    return dir;
  }

  async networkKind(): Promise<string | null> {
    return this.network;
  }

  #handle(path: string, inode: Inode, mode: OpenMode): OpenFile {
    const read = (into: Uint8Array, offset: number, length: number, position: number): number =>
      inode.content.copy(into, offset, position, position + length);
    let isOpen = true;
    this.openPaths.push(path);
    return {
      size: async () => inode.content.length,
      read: async (into, offset, length, position) => {
        await this.#pass('read', path);
        return read(into, offset, length, position);
      },
      readSync: (into, offset, length, position) => {
        this.#check('read', path);
        return read(into, offset, length, position);
      },
      write: async (bytes, position) => {
        if (mode.readOnly) throw new Error(`${path} is open for reading only.`);
        this.#check('write', path);
        bytes = this.#fitting(inode, bytes, position);
        const write = inode.write(bytes, position);
        await this.slow({ name: 'write', path });
        // The power may go while the write is on its way: then it is one of those that were not synced.
        await this.#tick();
        if (mode.durable) {
          inode.durable = overlaid(inode.durable, write);
          inode.unsynced = inode.unsynced.filter((other) => other !== write);
        }
        return bytes.length;
      },
      writeSync: (bytes, position) => {
        if (mode.readOnly) throw new Error(`${path} is open for reading only.`);
        this.#check('write', path);
        bytes = this.#fitting(inode, bytes, position);
        const write = inode.write(bytes, position);
        if (this.#isCut) throw new PowerCutError('The power is cut.');
        if (mode.durable) {
          inode.durable = overlaid(inode.durable, write);
          inode.unsynced = inode.unsynced.filter((other) => other !== write);
        }
        return bytes.length;
      },
      sync: async () => {
        await this.#pass('sync', path);
        inode.sync();
      },
      close: async () => {
        if (isOpen) this.openPaths.splice(this.openPaths.indexOf(path), 1);
        isOpen = false;
      },
    };
  }

  /** What there is space for, of the bytes of a write. */
  #fitting(inode: Inode, bytes: Uint8Array, position: number): Uint8Array {
    const size = position + bytes.length;
    if (size <= inode.content.length) return bytes;
    const used = [...new Set(this.#names.values())].reduce((sum, { content }) => sum + content.length, 0);
    const excess = used - inode.content.length + size - this.capacityBytes;
    if (excess <= 0) return bytes;
    if (!this.writesShort || excess >= bytes.length) throw diskError('ENOSPC');
    return bytes.subarray(0, bytes.length - excess);
  }

  #inode(path: string): Inode {
    const inode = this.#names.get(path);
    if (!inode) throw diskError('ENOENT');
    return inode;
  }

  async #pass(name: OperationName, path: string): Promise<void> {
    this.#check(name, path);
    await this.#tick();
  }

  #check(name: OperationName, path: string): void {
    if (this.#isCut) throw new PowerCutError('The power is cut.');
    const operation = { name, path };
    this.operations.push(operation);
    this.gate(operation);
    if (this.#isCut && name !== 'write') throw new PowerCutError('The power is cut.');
  }

  async #tick(): Promise<void> {
    await Promise.resolve();
    if (this.#isCut) throw new PowerCutError('The power is cut.');
  }
}

const asMap = (paths: ReadonlySet<string>): ReadonlyMap<string, true> =>
  new Map([...paths].map((path) => [path, true]));

/** What was synced, and changed where a change that was not synced is kept. */
function kept<T>(
  present: ReadonlyMap<string, T>,
  durable: ReadonlyMap<string, T>,
  isKept: (path: string) => boolean,
): Map<string, T> {
  const found = new Map([...durable].filter(([path]) => present.has(path) || !isKept(path)));
  for (const [path, value] of present) if (isKept(path)) found.set(path, value);
  return found;
}

/** Gives the files of a directory the paths they have when it is renamed. */
function moveAll(names: Map<string, Inode>, from: string, to: string): void {
  for (const [path, inode] of [...names]) {
    if (dirname(path) !== from) continue;
    names.delete(path);
    names.set(to + path.slice(from.length), inode);
  }
}

function* sectors(position: number, bytes: Buffer): Generator<UnsyncedWrite> {
  for (let at = 0; at < bytes.length; ) {
    const end = Math.min(bytes.length, at + SECTOR_BYTES - ((position + at) % SECTOR_BYTES));
    yield { position: position + at, bytes: bytes.subarray(at, end) };
    at = end;
  }
}
