// What no simulated disk can show: that the real one syncs what the log relies on, and that files are private.
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { OpenMode } from '../seams/files.ts';
import { nodeFiles, openFileOn } from './node-files.ts';

let dir = '';
beforeEach(() => {
  dir = fs.mkdtempSync(join(tmpdir(), 'leasehold-files-'));
});
afterEach(() => {
  vi.restoreAllMocks();
  fs.rmSync(dir, { recursive: true });
});

const BYTES = Buffer.from('bytes');

/** The flags a file was opened with, as the kernel was asked for them. */
async function flagsOf(mode: OpenMode): Promise<number> {
  const path = join(dir, 'file');
  fs.writeFileSync(path, '');
  const asked = vi.spyOn(fs, 'open');
  const file = await nodeFiles.open(path, mode);
  await file.close();
  const [, flags] = asked.mock.lastCall as unknown as [string, number];
  asked.mockRestore();
  return flags;
}

describe('a file', () => {
  it('that is opened durable has every write on disk when it is done, and others have not', async () => {
    const { O_DSYNC } = fs.constants;
    expect((await flagsOf({ durable: true })) & O_DSYNC).toBe(O_DSYNC);
    expect((await flagsOf({ create: true, durable: true })) & O_DSYNC).toBe(O_DSYNC);
    expect((await flagsOf({ create: true })) & O_DSYNC).toBe(0);
  });

  it('that is synced is synced by the kernel, and a failure is passed on', async () => {
    const synced = vi.spyOn(fs, 'fdatasync');
    const file = await nodeFiles.open(join(dir, 'file'), { create: true });
    await file.write(BYTES, 0);
    expect(synced).not.toHaveBeenCalled();
    await file.sync();
    expect(synced).toHaveBeenCalledTimes(1);
    synced.mockImplementation(((_: number, done: (fault: Error) => void) => done(new Error('EIO'))) as never);
    await expect(file.sync()).rejects.toThrow('EIO');
    await file.close();
  });

  it('that is opened durable on macOS is flushed by F_FULLFSYNC after every write, and others are not', async () => {
    const calls: string[] = [];
    for (const name of ['write', 'writeSync', 'fdatasync', 'fdatasyncSync'] as const) {
      const real = fs[name] as (...parameters: unknown[]) => unknown;
      vi.spyOn(fs, name).mockImplementation(((...parameters: unknown[]) => {
        calls.push(name);
        return real(...parameters);
      }) as never);
    }
    const opened = vi.spyOn(fs, 'open');
    const path = join(dir, 'file');
    const durable = await openFileOn('darwin', path, { create: true, durable: true });
    expect(await durable.write(BYTES, 0)).toBe(BYTES.length);
    expect(durable.writeSync(BYTES, BYTES.length)).toBe(BYTES.length);
    expect(calls).toEqual(['write', 'fdatasync', 'writeSync', 'fdatasyncSync']);
    expect(Number(opened.mock.lastCall![1]) & fs.constants.O_DSYNC).toBe(0);
    calls.length = 0;
    const plain = await openFileOn('darwin', path, {});
    await plain.write(BYTES, 0);
    plain.writeSync(BYTES, 0);
    expect(calls).toEqual(['write', 'writeSync']);
    await Promise.all([durable.close(), plain.close()]);
  });

  it('that is opened durable on macOS passes on a failure to flush', async () => {
    const file = await openFileOn('darwin', join(dir, 'file'), { create: true, durable: true });
    vi.spyOn(fs, 'fdatasync').mockImplementation(((_: number, done: (fault: Error) => void) =>
      done(new Error('EIO'))) as never);
    await expect(file.write(BYTES, 0)).rejects.toThrow('EIO');
    await file.close();
  });

  it('is for its owner only, and so is a directory', async () => {
    const made = join(dir, 'made');
    expect(await nodeFiles.makeDir(made)).toBe(true);
    const file = await nodeFiles.open(join(made, 'file'), { create: true });
    await file.close();
    const lock = await nodeFiles.lock(join(made, 'LOCK'), 'somebody');
    expect(fs.statSync(made).mode & 0o777).toBe(0o700);
    for (const name of ['file', 'LOCK']) expect(fs.statSync(join(made, name)).mode & 0o777).toBe(0o600);
    if ('release' in lock) await lock.release();
  });
});

describe('a directory', () => {
  it('that is synced is synced by the kernel, and is not left open', async () => {
    const calls: string[] = [];
    const open = fs.promises.open.bind(fs.promises);
    vi.spyOn(fs.promises, 'open').mockImplementation(async (...parameters) => {
      const handle = await open(...parameters);
      for (const name of ['sync', 'close'] as const) {
        const call = handle[name].bind(handle);
        handle[name] = async () => {
          calls.push(name);
          await call();
        };
      }
      return handle;
    });
    await nodeFiles.syncDir(dir);
    expect(calls).toEqual(['sync', 'close']);
  });
});

describe('a network file system', () => {
  it.each([
    [0x6969, 'nfs'],
    [0xff534d42, 'cifs'],
    [0xff534d42 - 2 ** 32, 'cifs'],
    [0xfe534d42 - 2 ** 32, 'smb2'],
    [0xef53, null],
  ])('of type %i is known as %s, also where the kernel gives a signed number', async (type, kind) => {
    vi.spyOn(fs.promises, 'statfs').mockResolvedValue({ type } as never);
    expect(await nodeFiles.networkKind(dir)).toBe(kind);
  });
});

describe('a lock on a full disk', () => {
  it('is held without the name of its holder, and not with that of the one before', async () => {
    const path = join(dir, 'LOCK');
    fs.writeFileSync(path, 'a holder that was killed\n');
    const full = vi.spyOn(fs, 'writeSync').mockImplementation(() => {
      throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
    });
    const first = await nodeFiles.lock(path, 'first');
    full.mockRestore();
    expect(await nodeFiles.lock(path, 'second')).toEqual({ heldBy: '' });
    expect(await nodeFiles.isLocked(path)).toBe(true);
    if ('release' in first) await first.release();
    expect(await nodeFiles.isLocked(path)).toBe(false);
  });

  it('is named in place of a longer name, without giving the space of that away first', async () => {
    const path = join(dir, 'LOCK');
    fs.writeFileSync(path, 'a holder with a long name that was killed\n');
    const first = await nodeFiles.lock(path, 'first');
    expect(fs.readFileSync(path, 'utf8')).toBe('first\n');
    if ('release' in first) await first.release();
  });
});

describe('a lock where flock(1) is missing', () => {
  it('is taken by flock(2), and names its holder to a second one', async () => {
    vi.stubEnv('PATH', dir);
    const path = join(dir, 'LOCK');
    const first = await nodeFiles.lock(path, 'first');
    expect(await nodeFiles.lock(path, 'second')).toEqual({ heldBy: 'first' });
    expect(await nodeFiles.isLocked(path)).toBe(true);
    if ('release' in first) await first.release();
    expect(await nodeFiles.lock(path, 'second')).toHaveProperty('release');
    vi.unstubAllEnvs();
  });
});
