// A worker in a process of its own that is asked to end: SIGTERM and SIGINT drain it, and then the process ends by itself.
// And one that cannot go on: that is written to stderr, and ends nothing.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'leasehold-worker-signals-'));
});

afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

/** Works on one task; the handler says when it has begun, and ends when `heeds` lets it. */
const program = (options: string, heeds: string): string => `
  import { defineTask, open } from 'leasehold';
  const lh = await open(process.argv[1]);
  const task = defineTask('slow');
  const worker = lh.work(task, ${options}, async ({ signal }) => {
    console.log('begun');
    ${heeds}
    console.log('finished');
  });
  const { taskId } = await lh.enqueue(task, 1);
  await worker.done;
  console.log((await lh.receipt(task, taskId).result()).state, JSON.stringify(worker.counts));
`;

/** Sends the signal, so often, once the handler has begun. */
async function runUntilTerm(
  script: string,
  signals = 1,
  name: NodeJS.Signals = 'SIGTERM',
): Promise<{ end: unknown; lines: string[] }> {
  const args = ['--input-type=module', '-e', script, join(dir, 'data')];
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
    if (!chunk.includes('begun')) return;
    for (let sent = 0; sent < signals; sent++) child.kill(name);
  });
  const end = await new Promise((resolve) => {
    child.on('close', (code, signal) => resolve(code ?? signal));
  });
  return { end, lines: output.trimEnd().split('\n') };
}

describe('SIGTERM', () => {
  it('lets a running handler finish, however often it comes, and the process ends by itself', async () => {
    const takesTime = 'await new Promise((resolve) => setTimeout(resolve, 300));';
    const { end, lines } = await runUntilTerm(program('{}', takesTime), 3);
    expect(lines.slice(0, 2)).toEqual(['begun', 'finished']);
    expect(lines[2]).toMatch(/^COMPLETED .*"completed":1/);
    expect(end).toBe(0);
  });

  it('aborts the signal of a handler that takes longer than the grace period, and hands its task back', async () => {
    const heeds = `await new Promise((_, reject) => {
      const alive = setInterval(() => {}, 1_000);
      signal.addEventListener('abort', () => { clearInterval(alive); reject(signal.reason); });
    });`;
    const { end, lines } = await runUntilTerm(program("{ grace: '50ms' }", heeds));
    expect(lines[0]).toBe('begun');
    expect(lines[1]).toMatch(/^WAITING .*"released":1/);
    expect(end).toBe(0);
  });

  it('ends the process as ever when the worker was told to leave signals alone', async () => {
    const forEver = 'await new Promise(() => setInterval(() => {}, 1_000));';
    const { end, lines } = await runUntilTerm(program('{ drainOn: [] }', forEver));
    expect(lines).toEqual(['begun']);
    expect(end).toBe('SIGTERM');
  });
});

describe('SIGINT', () => {
  it('lets a running handler finish, and the process ends by itself', async () => {
    const takesTime = 'await new Promise((resolve) => setTimeout(resolve, 300));';
    const { end, lines } = await runUntilTerm(program('{}', takesTime), 1, 'SIGINT');
    expect(lines.slice(0, 2)).toEqual(['begun', 'finished']);
    expect(end).toBe(0);
  });

  it('ends the process when it comes again', async () => {
    const forEver = `process.on('SIGCHLD', () => {});
      setTimeout(() => process.kill(process.pid, 'SIGINT'), 300);
      await new Promise(() => setInterval(() => {}, 1_000));`;
    const { end, lines } = await runUntilTerm(program('{}', forEver), 1, 'SIGINT');
    expect(lines).toEqual(['begun']);
    expect(end).toBe('SIGINT');
  });
});

describe('a worker that cannot go on', () => {
  it('says so on stderr, and its process continues although nothing awaits its end', async () => {
    const script = `
      import { connect, defineTask } from 'leasehold';
      import { createServer } from 'node:http';
      const problem = { code: 'FORBIDDEN', status: 403, title: 'no', detail: 'The token may not do this.' };
      const server = createServer((request, response) => {
        response.writeHead(403, { 'content-type': 'application/json' });
        request.resume().on('end', () => response.end(JSON.stringify(problem)));
      }).listen(0, '127.0.0.1', () => {
        const lh = connect('http://127.0.0.1:' + server.address().port);
        lh.work(defineTask('mail'), () => 1);
        setTimeout(async () => { console.log('still here'); await lh.close(); server.close(); }, 3_000);
      });`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], { cwd: ROOT });
    const said = { stdout: '', stderr: '' };
    child.stdout.on('data', (chunk: Buffer) => (said.stdout += chunk));
    child.stderr.on('data', (chunk: Buffer) => (said.stderr += chunk));
    const code = await new Promise((resolve) => child.on('close', resolve));
    expect({ code, ...said }).toEqual({
      code: 0,
      stdout: 'still here\n',
      stderr: 'leasehold: a worker cannot go on: The token may not do this.\n',
    });
  });
});
