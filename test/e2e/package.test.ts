// The package as its users get it: imported, required, and alone with its data directory.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
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

function runScript(script: string, type: 'commonjs' | 'module', ...flags: string[]) {
  const args = [...flags, `--input-type=${type}`, '-e', script, join(dir, 'data')];
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

  it('is one copy in a process that requires and imports it', () => {
    const script = `const { LeaseholdError } = require('leasehold');
      import('leasehold').then((imported) => console.log(imported.LeaseholdError === LeaseholdError));`;
    expect(runScript(script, 'commonjs')).toMatchObject({ status: 0, stdout: 'true\n' });
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

// Jest has its own module system, which can neither require an ES module nor run `import()`. Node without its support for
// the first resolves the package as Jest does.
describe('the package where ES modules cannot be required', () => {
  const WITHOUT_ESM = '--no-experimental-require-module';

  it('opens a data directory, works, holds leases and watches a guard', () => {
    const script = `const { defineTask, LeaseholdError, open } = require('leasehold');
      const { connect } = require('leasehold/client');
      const { testLeasehold } = require('leasehold/testing');
      const greet = defineTask('greet');
      const isHeld = (error) => console.log(LeaseholdError.is(error, 'LEASE_HELD'), error instanceof LeaseholdError);
      (async () => {
        const lh = await open(process.argv[1]);
        lh.work(greet, ({ input }) => 'Hello, ' + input);
        console.log(await (await lh.enqueue(greet, 'Ada')).output());
        await lh.withLease('report', () => lh.acquire('report', { holder: 'other' }).catch(isHeld));
        console.log(await lh.guard('single', () => 'guarded'));
        await lh.close();
        const t = await testLeasehold();
        await t.lh.acquire('report');
        await t.lh.acquire('report', { holder: 'other' }).catch(isHeld);
        await t.close();
        const nowhere = connect('http://127.0.0.1:1', { retry: { tries: 1 } });
        await nowhere.status().catch(({ code }) => console.log(code));
      })();`;
    expect(runScript(script, 'commonjs', WITHOUT_ESM)).toEqual({
      status: 0,
      stdout: 'Hello, Ada\ntrue true\nguarded\ntrue true\nUNREACHABLE\n',
      stderr: '',
    });
  });

  it('has every entry point, with the names that the ES module has', () => {
    const names = Object.keys(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).exports)
      .filter((path) => path !== './package.json')
      .map((path) => path.replace('.', 'leasehold'));
    const list = `const listed = (all) => Object.keys(all).filter((key) => key !== 'module.exports').sort();`;
    const required = `${list} console.log(JSON.stringify(${JSON.stringify(names)}.map((name) => [name, listed(require(name))])));`;
    const imported = `${list} console.log(JSON.stringify(await Promise.all(${JSON.stringify(names)}.map(async (name) => [name, listed(await import(name))]))));`;
    const { stdout } = runScript(imported, 'module');
    expect(JSON.parse(stdout).length).toBe(6);
    expect(runScript(required, 'commonjs', WITHOUT_ESM)).toEqual({ status: 0, stdout, stderr: '' });
  });

  it('runs no import(), and starts its threads and the keeper from files that exist', () => {
    const folder = join(ROOT, 'dist', 'cjs');
    const files = readdirSync(folder).filter((name) => name.endsWith('.cjs'));
    const code = files.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n');
    expect(code).not.toMatch(/[=(\s]import\(/);
    const started = [...code.matchAll(/new URL\(new URL\("([^"]+)".*? : "([^"]+\.js)"/g)].map(
      ([, module, file]) => new URL(file!, new URL(module!, `file://${folder}/`)),
    );
    expect(started.map(({ pathname }) => pathname.split('/').at(-1)).sort()).toEqual([
      'compaction-thread.js',
      'keeper-main.js',
      'node-watchdog-thread.js',
      'past-thread.js',
      'thread-main.js',
    ]);
    for (const file of started) expect(existsSync(file), file.pathname).toBe(true);
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
