// The lock on a data directory, between real processes: it names its holder, and goes when the holder dies.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type CompactionInput, compact } from '../../src/engines/file/compaction.ts';
import { fileEngine } from '../../src/engines/file/file-engine.ts';
import { verifyLog } from '../../src/engines/file/inspect.ts';
import { LogHeldError } from '../../src/engines/log.ts';
import { Pace } from '../../src/engines/pace.ts';
import type { Files } from '../../src/seams/files.ts';
import type { Threads } from '../../src/seams/threads.ts';
import { nodeFiles } from '../../src/world/node-files.ts';
import { appendBatch, openHeard } from '../support/log-story.ts';

let parent = '';
let dir = '';

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'leasehold-lock-'));
  dir = join(parent, 'data');
});
afterEach(() => rmSync(parent, { recursive: true }));

/** A process of its own that opens the log, says so, and waits to be killed. */
async function holder(): Promise<{
  pid: number;
  kill: (signal: NodeJS.Signals) => void;
  ended: Promise<unknown>;
}> {
  const engines = new URL('../../dist/engines/file/file-engine.js', import.meta.url).href;
  const world = new URL('../../dist/world/node-files.js', import.meta.url).href;
  const script = `
    import { fileEngine } from ${JSON.stringify(engines)};
    import { nodeFiles } from ${JSON.stringify(world)};
    await fileEngine({ dir: ${JSON.stringify(dir)}, files: nodeFiles }).open({ image() {}, entry() {} });
    process.stdout.write('open');
    setInterval(() => {}, 1000);
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const said = await Promise.race([once(child.stdout, 'data'), ended.then(() => ['ended'])]);
  expect(String(said[0])).toBe('open');
  return { pid: child.pid!, kill: (signal) => child.kill(signal), ended };
}

describe('the lock on a data directory', () => {
  const open = () => openHeard(fileEngine({ dir, files: nodeFiles }));

  it('refuses a second process and names the first', async () => {
    const { pid, kill, ended } = await holder();
    const refusal = await open().catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(LogHeldError);
    expect((refusal as LogHeldError).message).toContain(`process ${pid} `);
    const inUseBy = expect.stringContaining(`process ${pid} `);
    expect(await verifyLog(nodeFiles, dir)).toMatchObject({ inUseBy, isInUse: true });
    kill('SIGKILL');
    await ended;
    expect(await verifyLog(nodeFiles, dir)).toMatchObject({ inUseBy, isInUse: false });
    const { log } = await open();
    await appendBatch(log, 1);
    await log.close();
    expect(await verifyLog(nodeFiles, dir)).toMatchObject({ inUseBy: null, isInUse: false });
  });

  it('is looked at without being taken: the file stays as it is, and none is made', async () => {
    const path = join(dir, 'LOCK');
    mkdirSync(dir);
    expect(await nodeFiles.isLocked(path)).toBe(false);
    expect(existsSync(path)).toBe(false);
    writeFileSync(path, 'a process that died\n', { mode: 0o400 });
    expect(await nodeFiles.isLocked(path)).toBe(false);
    expect(readFileSync(path, 'utf8')).toBe('a process that died\n');
    chmodSync(path, 0o600);
    const { log } = await open();
    expect(await nodeFiles.isLocked(path)).toBe(true);
    await log.close();
    expect(await nodeFiles.isLocked(path)).toBe(false);
  });

  it('is not refused to a process because another one inspects it at that moment', async () => {
    mkdirSync(dir);
    const path = join(dir, 'LOCK');
    writeFileSync(path, 'a process that died\n');
    // The same lock as that of one who looks, for as long as its input is open.
    const looker = spawn('flock', ['-s', '-n', path, 'sh', '-c', 'echo looks; cat'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const gone = once(looker, 'close');
    await once(looker.stdout, 'data');
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    try {
      const locking = nodeFiles.lock(path, 'mine');
      await vi.waitUntil(() => vi.getTimerCount() === 1, { timeout: 60_000 });
      looker.stdin.end();
      await gone;
      vi.runAllTimers();
      const lock = await locking;
      expect(lock).not.toHaveProperty('heldBy');
      if ('release' in lock) await lock.release();
    } finally {
      vi.useRealTimers();
    }
  });

  it('holds while its process is paused', async () => {
    const { kill, ended } = await holder();
    kill('SIGSTOP');
    await expect(open()).rejects.toThrow(LogHeldError);
    kill('SIGKILL');
    await ended;
    const { log } = await open();
    await log.close();
  });

  it('refuses a second opening in the same process', async () => {
    const { log } = await open();
    await expect(open()).rejects.toThrow(`process ${process.pid} `);
    expect(readFileSync(join(dir, 'LOCK'), 'utf8')).toContain(String(process.pid));
    await log.close();
  });

  it('lies in a directory that only its owner can enter', async () => {
    const { log } = await open();
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    expect(statSync(join(dir, '0000000000000001.seg')).mode & 0o777).toBe(0o600);
    await log.close();
  });
});

describe('a data directory that is taken away from under its log', () => {
  const open = () => openHeard(fileEngine({ dir, files: nodeFiles, segmentBytes: 64 * 1024 }));

  const LOST = /^The data directory .* was removed or replaced; nothing more is written\.$/;

  it('is noticed at the next commit mark', async () => {
    const { log } = await open();
    await appendBatch(log, 1);
    rmSync(dir, { recursive: true });
    await expect(log.mark()).rejects.toThrow(LOST);
    expect((await log.lost).message).toMatch(LOST);
    await expect(log.compact()).rejects.toThrow(LOST);
    await log.close();
  });

  it('does the log at the same path no harm', async () => {
    const { log: old } = await open();
    await appendBatch(old, 1);
    renameSync(dir, join(parent, 'aside'));
    const { log } = await open();
    await appendBatch(log, 1);
    const before = readdirSync(dir).sort();
    // Until it needs its next file.
    for (let isWritten = true; isWritten; ) {
      isWritten = await appendBatch(old, 8).then(
        () => true,
        () => false,
      );
    }
    expect((await old.lost).message).toMatch(LOST);
    expect(readdirSync(dir).sort()).toEqual(before);
    await old.close();
    await log.close();
    expect(await verifyLog(nodeFiles, dir)).toMatchObject({ lastSeq: 1 });
  });

  it('does it no harm either where its own file was only half made', async () => {
    let isFull = true;
    const files: Files = {
      ...nodeFiles,
      async open(path, mode) {
        const file = await nodeFiles.open(path, mode);
        const write = file.write.bind(file);
        const full = Object.assign(new Error('There is no space.'), { code: 'ENOSPC' });
        if (mode.create)
          file.write = (bytes, at) => (isFull && at > 0 ? Promise.reject(full) : write(bytes, at));
        return file;
      },
    };
    const sizes = { segmentBytes: 1024 * 1024, operationBytesMax: 32 * 1024 };
    const { log: old } = await openHeard(fileEngine({ dir, files, ...sizes }));
    await appendBatch(old, 1);
    expect(old.full).toBe(true);
    renameSync(dir, join(parent, 'aside'));
    const { log } = await openHeard(fileEngine({ dir, files: nodeFiles, ...sizes }));
    for (let batch = 0; batch < 30; batch++) await appendBatch(log, 300);
    isFull = false;
    old.seekSpace();
    expect((await old.lost).message).toMatch(LOST);
    await old.close();
    await log.close();
    expect(await verifyLog(nodeFiles, dir)).toMatchObject({ lastSeq: 9_000 });
  });

  it('does it no harm either where a compaction of its own was on its way', async () => {
    const { log: old } = await openHeard(engineWith(replacing(nodeFiles)));
    while (!old.wantsCompaction) await appendBatch(old, 100);
    await expect(old.compact()).rejects.toThrow(LOST);
    await old.close();
    expect(readdirSync(dir).filter((name) => name.endsWith('.ckpt'))).toEqual([]);
    const { log } = await open();
    await log.close();
    expect(readdirSync(dir).filter((name) => name.includes('ckpt'))).toEqual([]);
    expect(await verifyLog(nodeFiles, dir)).toMatchObject({ lastSeq: 1 });

    function engineWith(files: Files) {
      const start: Threads['start'] = (_, input) => ({
        result: compact(files, input as CompactionInput, new Pace(() => undefined)),
        stop: async () => {},
      });
      return fileEngine({
        dir,
        files: nodeFiles,
        threads: { start },
        segmentBytes: 64 * 1024,
        compactionBytesMin: 128 * 1024,
      });
    }

    /** Puts another log at the path when the first file of a checkpoint is about to be made. */
    function replacing(files: Files): Files {
      return {
        ...files,
        async open(path, mode) {
          if (mode.create && path.endsWith('.ckpt.tmp') && !existsSync(join(parent, 'aside'))) {
            renameSync(dir, join(parent, 'aside'));
            const { log } = await open();
            await appendBatch(log, 1);
            await log.close();
          }
          return files.open(path, mode);
        },
      };
    }
  });
});
