// Threads of ours start whatever flags their process was started with: the one that watches a guard, and the one that compacts.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

const DIST = new URL('../../dist/', import.meta.url);

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'leasehold-threads-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

it.each([
  [['--max-old-space-size=500', '--expose-gc', '--input-type=commonjs']],
  [['--max-semi-space-size=64', '--enable-source-maps']],
  [['--input-type=module', '--max-old-space-size=500']],
])('a guard is watched and a log is compacted under %j', (flags) => {
  const program = `Promise.all([import('${DIST}index.js'), import('${DIST}open.js'),
    import('${DIST}engines/file/file-engine.js'), import('${DIST}world/node-files.js'),
    import('${DIST}world/node-threads.js'), import('${DIST}world/node-world.js')])
    .then(async ([{ open }, { openCore }, { fileEngine }, { nodeFiles: files }, { nodeThreads: threads }, { nodeWorld }]) => {
      const lh = await open(${JSON.stringify(join(dir, 'guard'))});
      console.log(await lh.guard('system:only', async () => 'watched'));
      await lh.close();
      const sizes = { segmentBytes: 65536, compactionBytesMin: 1 };
      const engine = fileEngine({ dir: ${JSON.stringify(join(dir, 'log'))}, files, threads, ...sizes });
      const world = { ...nodeWorld, hashSeed: 1 };
      const { authority } = await openCore(engine, world, { onCompactionFault: (fault) => console.log(String(fault)) });
      for (let made = 0; authority.stats.compactions + authority.stats.compactionFaults === 0 && made < 5000; made++)
        await authority.call({ type: 'PauseQueue', queue: 'q'.repeat(250) + made });
      console.log(authority.stats.compactions > 0 ? 'compacted' : 'not compacted');
      await authority.close();
    });`;
  const { stdout, stderr } = spawnSync(process.execPath, [...flags, '-e', program], { encoding: 'utf8' });
  expect([stdout, stderr]).toEqual(['watched\ncompacted\n', '']);
});
