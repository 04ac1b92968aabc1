// The package as its users get it: imported, required, and alone with its data directory.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'leasehold-package-'));
});

afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

function runScript(script: string, type: 'commonjs' | 'module') {
  const args = [`--input-type=${type}`, '-e', script, join(dir, 'data')];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' });
  return { status, stdout, stderr };
}

describe('the package', () => {
  it('can be required as well as imported', () => {
    const body = `(async () => {
      const lh = await open(process.argv[1]);
      console.log((await lh.call('task.create', { payload: 1 })).state);
      await lh.close();
    })();`;
    const required = runScript(`const { open } = require('leasehold'); ${body}`, 'commonjs');
    expect({ ...required, stderr: withoutWarnings(required.stderr) }).toEqual({
      status: 0,
      stdout: 'WAITING\n',
      stderr: '',
    });
    expect(runScript(`import { open } from 'leasehold'; ${body}`, 'module')).toMatchObject({
      status: 0,
      stdout: 'WAITING\n',
    });
  });

  it('has leasehold/postgres, which loads no driver', () => {
    const script = `const { RuntimeLease } = require('leasehold/postgres');
      console.log(typeof RuntimeLease.acquire, Object.keys(require.cache).filter((path) => path.includes('/node_modules/pg/')).length);`;
    expect(runScript(script, 'commonjs')).toMatchObject({ status: 0, stdout: 'function 0\n' });
  });

  it('keeps a process alive that waits for a lease, and lets one end that waits for nothing', () => {
    const script = `import { open } from 'leasehold';
      const lh = await open(process.argv[1]);
      await lh.call('lease.acquire', { name: 'n', holder: 'a', ttl_ms: 300 });
      const { holder } = await lh.acquire('n', { holder: 'b', ttl: '10m', wait: '1m' });
      console.log(holder);`;
    expect(runScript(script, 'module')).toMatchObject({ status: 0, stdout: 'b\n' });
  });
});

describe('a second process on the same data directory', () => {
  it('is refused at once and told the pid of the one that has it', async () => {
    const holder = spawn(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `import { open } from 'leasehold'; await open(process.argv[1]); console.log('open'); setInterval(() => {}, 1000);`,
        join(dir, 'data'),
      ],
      { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] },
    );
    try {
      await new Promise((resolve) => holder.stdout.once('data', resolve));
      const second = `import { open } from 'leasehold';
        await open(process.argv[1]).catch((fault) => console.log(fault.name, fault.message));`;
      const { stdout } = runScript(second, 'module');
      expect(stdout).toMatch(/^LogHeldError/);
      expect(stdout).toContain(String(holder.pid));
      holder.kill('SIGKILL');
      await new Promise((resolve) => holder.once('exit', resolve));
      expect(runScript(second, 'module')).toMatchObject({ status: 0, stdout: '' });
    } finally {
      holder.kill('SIGKILL');
    }
  });
});

/** Node says once that require of an ES module is experimental on the older lines. */
function withoutWarnings(text: string): string {
  return text
    .split('\n')
    .filter((line) => !/ExperimentalWarning|node --trace-warnings/.test(line))
    .join('\n');
}
