// The simulated disk: what it keeps, what it loses, and everything that can be wrong with it.
import { describe, expect, it } from 'vitest';
import type { Files } from '../../src/seams/files.ts';
import { Kernel } from './world/kernel.ts';
import { Random } from './world/random.ts';
import { SimClock } from './world/sim-clock.ts';
import { SimDisk } from './world/sim-disk.ts';
import { SimProcess } from './world/sim-process.ts';

const kernel = () => new Kernel();

function start(seed = 1) {
  const time = kernel();
  const disk = new SimDisk(time, new Random(seed, 'disk'));
  const spawn = () => new SimProcess(time, 'p', new SimClock(time, 0, 0), new Random(seed, 'p'));
  const process = spawn();
  const files = disk.filesFor(process);
  /** Lets time pass until the work is done; a work that never ends gives `undefined`. */
  const run = async <T>(work: Promise<T>): Promise<T | undefined> => {
    let result: { value: T } | { fault: unknown } | null = null;
    work.then(
      (value) => {
        result = { value };
      },
      (fault: unknown) => {
        result = { fault };
      },
    );
    await time.run(() => result !== null);
    const settled = result as { value: T } | { fault: unknown } | null;
    if (settled === null) return undefined;
    if ('fault' in settled) throw settled.fault;
    return settled.value;
  };
  return { time, disk, process, files, run, spawn };
}

async function content(files: Files, path: string, length = 8): Promise<string> {
  const into = Buffer.alloc(length);
  const file = await files.open(path, { readOnly: true });
  return into.subarray(0, await file.read(into, 0, length, 0)).toString();
}

const write = async (files: Files, text: string, mode: { durable?: boolean } = {}, at = 0): Promise<void> => {
  const file = await files.open('/f', { create: true, ...mode });
  await file.write(Buffer.from(text), at);
};

describe('the simulated disk', () => {
  it('shows every write at once, and loses what was not synced when the power goes', async () => {
    const { disk, files, run } = start();
    await run(write(files, 'kept', { durable: true }));
    await run(files.syncDir('/'));
    await run(write(files, 'lost'));
    expect(await content(files, '/f')).toBe('lost');
    disk.cutPower(() => false);
    expect(await content(files, '/f')).toBe('kept');
  });

  it('keeps what was synced, and every name whose directory was', async () => {
    const { disk, files, run } = start();
    await run(write(files, 'text'));
    await run((async () => (await files.open('/f', {})).sync())());
    disk.cutPower(() => false);
    expect(await files.list('/')).toEqual([]);
    await run(write(files, 'text'));
    await run((async () => (await files.open('/f', {})).sync())());
    await run(files.syncDir('/'));
    disk.cutPower(() => false);
    expect([await files.list('/'), await content(files, '/f')]).toEqual([['f'], 'text']);
  });

  it('keeps any sectors of a write that was under way, and never brings older bytes back', async () => {
    const { disk, files, run } = start();
    await run(write(files, `${'a'.repeat(512)}${'a'.repeat(512)}`, { durable: true }));
    await run(files.syncDir('/'));
    const torn = write(files, `${'b'.repeat(512)}${'b'.repeat(512)}`, { durable: true });
    await run(Promise.resolve());
    let sector = 0;
    disk.cutPower(() => sector++ === 1);
    expect(await run(torn)).toBeUndefined();
    expect(await content(files, '/f', 1_024)).toBe('a'.repeat(512) + 'b'.repeat(512));
  });

  it('keeps everything when only the process dies, and gives its lock away', async () => {
    const { disk, process, files, run, spawn } = start();
    await run(write(files, 'text'));
    await run(files.lock('/lock', ''));
    const other = disk.filesFor(spawn());
    expect(await run(other.lock('/lock', ''))).toEqual({ heldBy: 'p' });
    process.die();
    expect(await content(other, '/f')).toBe('text');
    expect(await run(other.lock('/lock', ''))).toHaveProperty('release');
    expect(await run(files.syncDir('/'))).toBeUndefined();
  });

  it('sends a write astray: the old bytes stay, others are overwritten, and a repair undoes both', async () => {
    const { disk, files, run } = start();
    await run(write(files, 'o'.repeat(2_048), { durable: true }));
    await run(files.syncDir('/'));
    disk.trouble.isMisdirecting = true;
    const told: number[] = [];
    disk.trouble.onMisplaced = ({ landedAt }) => told.push(landedAt);
    await run(write(files, 'n', { durable: true }));
    const after = await content(files, '/f', 2_048);
    expect(after[0]).toBe('o');
    expect(after.indexOf('n')).toBe(told[0]);
    expect(disk.repair()).toBe(1);
    expect(await content(files, '/f', 2_048)).toBe(`n${'o'.repeat(2_047)}`);
  });

  it('fails with EIO as often as it was told to', async () => {
    const { disk, files, run } = start();
    await run(write(files, 'text', { durable: true }));
    disk.trouble.failing = { step: 'write', times: 1 };
    await expect(run(write(files, 'fail', { durable: true }))).rejects.toMatchObject({ code: 'EIO' });
    expect(await content(files, '/f')).toBe('text');
    await run(write(files, 'good', { durable: true }));
    disk.trouble.failing = { step: 'read', times: 1 };
    await expect(content(files, '/f')).rejects.toMatchObject({ code: 'EIO' });
    expect(await content(files, '/f')).toBe('good');
  });

  it('has the bytes of a failed sync in its cache, and nowhere else', async () => {
    const { disk, files, run } = start();
    await run(write(files, 'kept', { durable: true }));
    await run(files.syncDir('/'));
    disk.trouble.failingSyncs = 1;
    await expect(run(write(files, 'lost', { durable: true }))).rejects.toMatchObject({ code: 'EIO' });
    expect(await content(files, '/f')).toBe('lost');
    disk.cutPower(() => false);
    expect(await content(files, '/f')).toBe('kept');
  });

  it('refuses what makes a file longer while it is full, and nothing else', async () => {
    const { disk, files, run } = start();
    await run(write(files, 'text', { durable: true }));
    disk.trouble.capacityBytes = disk.usedBytes;
    await expect(run(write(files, 'more', {}, 2))).rejects.toMatchObject({ code: 'ENOSPC' });
    await run(write(files, 'same', {}));
    expect(await content(files, '/f')).toBe('same');
  });

  it('takes its time while it is slow', async () => {
    const { disk, files, run, time } = start();
    disk.trouble.slowDown(1_000, 60_000);
    await run(write(files, 'text'));
    expect(time.nowMs).toBeGreaterThanOrEqual(500);
  });

  it.each(['before', 'after'] as const)('kills a process %s the step it was told', async (when) => {
    const { disk, process, files, run, spawn } = start();
    disk.trouble.killPoint = { step: 'rename', when, countdown: 1, kill: (victim) => victim.die() };
    await run(write(files, 'text'));
    expect(await run(files.rename('/f', '/g'))).toBeUndefined();
    expect(process.isDead).toBe(true);
    expect(await disk.filesFor(spawn()).list('/')).toEqual([when === 'before' ? 'f' : 'g']);
  });
});
