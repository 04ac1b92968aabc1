// Compaction as users have it: the built package, a real disk and a real thread.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type * as Engine from '../../src/engines/file/file-engine.ts';
import type * as Files from '../../src/world/node-files.ts';
import type * as Threads from '../../src/world/node-threads.ts';
import { Chronicle } from '../support/chronicle.ts';

const built = (path: string): string => new URL(`../../dist/${path}`, import.meta.url).href;

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'leasehold-compaction-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

async function engine() {
  const { fileEngine } = (await import(built('engines/file/file-engine.js'))) as typeof Engine;
  const { nodeFiles } = (await import(built('world/node-files.js'))) as typeof Files;
  const { nodeThreads } = (await import(built('world/node-threads.js'))) as typeof Threads;
  return fileEngine({
    dir,
    files: nodeFiles,
    threads: nodeThreads,
    segmentBytes: 256 * 1024,
    compactionBytesMin: 512 * 1024,
  });
}

// Elsewhere a priority belongs to the whole process.
describe.runIf(process.platform === 'linux')('a thread', () => {
  /** What runs there says with which priority. */
  const MODULE = `data:text/javascript,${encodeURIComponent(`
    import { readFileSync } from 'node:fs';
    export const run = async () => ({ value: readFileSync('/proc/thread-self/stat', 'utf8'), transfer: [] });
  `)}`;
  const niceIn = (stat: unknown): number => Number(String(stat).split(') ').at(-1)!.split(' ')[16]);

  it('steps back behind everybody else, unless it is urgent', async () => {
    const { nodeThreads } = (await import(built('world/node-threads.js'))) as typeof Threads;
    const own = niceIn(readFileSync('/proc/thread-self/stat', 'utf8'));
    expect(niceIn(await nodeThreads.start(MODULE, null).result)).toBe(19);
    expect(niceIn(await nodeThreads.start(MODULE, null, true).result)).toBe(own);
  });
});

describe('compaction on a thread', () => {
  it('replaces old segments by a checkpoint while the log grows', async () => {
    const chronicle = await Chronicle.open(await engine());
    await chronicle.start();
    while (!chronicle.log.wantsCompaction) await chronicle.live(200);
    const compacting = chronicle.log.compact();
    for (let i = 0; i < 50; i++) await chronicle.live(200);
    chronicle.adopt((await compacting)!);
    await chronicle.log.dropOld();
    expect(readdirSync(dir).filter((name) => name.endsWith('.ckpt'))).toHaveLength(1);
    const { hash } = chronicle;
    const texts = await chronicle.texts();
    expect(texts).not.toContain(null);
    await chronicle.log.close();
    const again = await Chronicle.open(await engine());
    expect(again.hash).toBe(hash);
    expect(await again.texts()).toEqual(texts);
    await again.log.close();
  });

  it('is ended by closing the log, and leaves nothing that matters', async () => {
    const chronicle = await Chronicle.open(await engine());
    await chronicle.start();
    while (!chronicle.log.wantsCompaction) await chronicle.live(200);
    const { hash } = chronicle;
    const compacting = chronicle.log.compact().catch((error: unknown) => error);
    await chronicle.log.close();
    await compacting;
    const again = await Chronicle.open(await engine());
    expect(again.hash).toBe(hash);
    expect(readdirSync(dir).filter((name) => name.endsWith('.tmp'))).toEqual([]);
    await again.log.close();
  });
});
