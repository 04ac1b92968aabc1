// `leasehold run` with real programs: exit codes, environment, signals, and that no program outlives its lease,
// whatever happens to the process that holds it.
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Body, CliBench, isAlive, MAIN, type Process, until } from '../support/cli-processes.ts';

let bench: CliBench;
/** A lease of this test's own, and a file for its program to write to. */
let door: string;
let beats: string;
let doors = 0;

beforeAll(async () => {
  bench = new CliBench();
  await bench.serve();
});

afterAll(() => bench.close());

beforeEach(() => {
  doors += 1;
  door = `door-${doors}`;
  beats = join(bench.dir, `beats-${doors}`);
});

/** A program that writes down the time again and again, and does not end when it is asked to. */
const STUBBORN = `
  const { writeFileSync, renameSync } = require('node:fs');
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => {});
  setInterval(() => {
    writeFileSync(process.argv[1] + '.new', process.pid + ' ' + Date.now());
    renameSync(process.argv[1] + '.new', process.argv[1]);
  }, 5);
`;

/** Starts it under a lease and waits for its first beat. */
async function startStubborn(...options: string[]): Promise<{ run: Process; pid: number }> {
  const run = bench.start(['run', door, ...options, '--', process.execPath, '-e', STUBBORN, beats]);
  await until('the first beat', () => existsSync(beats));
  return { run, pid: lastBeat().pid };
}

function lastBeat(): { pid: number; atMs: number } {
  const [pid = 0, atMs = 0] = readFileSync(beats, 'utf8').split(' ').map(Number);
  return { pid, atMs };
}

/** When the last grant on the door ends, or ended, by the authority's own word. */
async function endOfLease(): Promise<number> {
  const { entries } = await bench.get(`/v1/leases/${door}/history`);
  const last = entries.findLast(({ expires_at: at }: Body) => typeof at === 'string');
  return Date.parse(last.expires_at);
}

async function isFree(): Promise<boolean> {
  return (await bench.get(`/v1/leases/${door}`)).code === 'LEASE_NOT_FOUND';
}

async function isWaitedFor(): Promise<boolean> {
  return (await bench.get('/v1/status')).counts.waiters === 1;
}

describe('the program', () => {
  it('finds the lease in its environment, and the token in a file of its own', async () => {
    const script = `printf '%s\\n' "$LEASEHOLD_LEASE_NAME" "$LEASEHOLD_LEASE_SEQ" "$LEASEHOLD_HOLDER" "$LEASEHOLD_URL" \\
      "$LEASEHOLD_TOKEN_FILE" "$(stat -c %a "$LEASEHOLD_TOKEN_FILE")"
      exec "${process.execPath}" "${MAIN}" lease renew ${door} --holder "$LEASEHOLD_HOLDER" --ttl 1m --token-file "$LEASEHOLD_TOKEN_FILE"`;
    const { status, stdout } = await bench.run(['run', door, '--holder', 'anna', '--', 'sh', '-c', script]);
    expect(status).toBe(0);
    const [name, seq, holder, url, file, mode, renewed] = stdout.split('\n');
    const { entries } = await bench.get(`/v1/leases/${door}/history`);
    expect([name, seq, holder, url, mode]).toEqual([door, `${entries[0].seq}`, 'anna', bench.url, '600']);
    expect(renewed).toMatch(/ is yours for another /);
    expect(existsSync(file!)).toBe(false);
    expect(await isFree()).toBe(true);
  });

  it('gets our input and gives its output byte for byte', async () => {
    const input = randomBytes(300_000);
    const run = bench.start(['run', door, '--', 'cat'], { input });
    expect((await run.ended).status).toBe(0);
    expect(Buffer.concat(run.bytes).equals(input)).toBe(true);
  });

  it.each([
    ['its own code', ['sh', '-c', 'exit 7'], 7],
    ['128 and the signal that ended it', ['sh', '-c', 'kill -9 $$'], 137],
    ['127 when it was not found', ['no-such-program'], 127],
    ['126 when it may not be run', ['/etc/passwd'], 126],
  ])('leaves %s', async (_says, command, status) => {
    const run = await bench.run(['run', door, '--', ...command]);
    expect(run.status).toBe(status);
    if (status === 126 || status === 127) expect(run.stderr).toMatch(/^leasehold: .+\.\n$/);
    expect(await isFree()).toBe(true);
  });

  it('writes fenced objects with nothing but its environment', async () => {
    const put = [process.execPath, MAIN, 'object', 'put', door];
    const run = await bench.run(['run', door, '--', ...put, '{"a": 1.0}']);
    expect(run).toMatchObject({ status: 0, stderr: '' });
    expect((await bench.run(['object', 'get', door])).stdout).toBe('{"a": 1.0}\n');
    const other = [process.execPath, MAIN, 'object', 'put', 'window', '1'];
    const foreign = await bench.run(['run', door, '--', ...other]);
    expect(foreign).toMatchObject({ status: 1, stderr: expect.stringContaining('LEASE_OBJECT_MISMATCH') });
  });

  it('hears the signals that are sent to us, and its whole group with it', async () => {
    const script = `trap 'echo heard; exit 9' HUP; (trap 'echo so did I; exit' HUP; while :; do sleep 0.05; done) &
      echo ready; while :; do sleep 0.05; done`;
    const run = bench.start(['run', door, '--', 'bash', '-c', script]);
    await run.says(/ready/);
    run.kill('SIGHUP');
    const { status, stdout } = await run.ended;
    expect(status).toBe(9);
    expect(stdout).toContain('heard');
  });

  it('is killed by a second Ctrl-C, if it does not heed the first', async () => {
    const run = bench.start([
      'run',
      door,
      '--',
      'sh',
      '-c',
      "trap '' INT; echo on; while :; do sleep 0.02; done",
    ]);
    await run.says(/on/);
    await run.interruptAgainAndAgain();
    expect(await run.ended).toMatchObject({ status: 137, signal: null });
    expect(await isFree()).toBe(true);
  });

  it('leaves nothing of its group behind when it ends', async () => {
    const run = await bench.run([
      'run',
      door,
      '--',
      'sh',
      '-c',
      'sleep 1000 >/dev/null 2>&1 & echo $!; exit 3',
    ]);
    expect(run.status).toBe(3);
    const pid = Number(run.stdout);
    await until('the end of what it left', () => !isAlive(pid));
  });
});

describe('the lease', () => {
  it('that is broken ends the program at once, long before the next renewal: 75', async () => {
    const run = bench.start([
      'run',
      door,
      '--ttl',
      '60s',
      '--',
      'sh',
      '-c',
      `echo in; while ! [ -e ${beats} ]; do sleep 0.05; done; echo out`,
    ]);
    await run.says(/in/);
    expect(await bench.run(['lease', 'break', door, '--reason', 'stuck'])).toMatchObject({ status: 0 });
    expect(await run.ended).toMatchObject({
      status: 75,
      stdout: 'in\n',
      stderr: expect.stringMatching(/^leasehold: LEASE_LOST: .*broken/),
    });
  });

  it('that another caller asks for goes on, and the reason is one line on stderr', async () => {
    const run = bench.start([
      'run',
      door,
      '--',
      'sh',
      '-c',
      `echo in; while ! [ -e ${beats} ]; do sleep 0.05; done; echo out`,
    ]);
    await run.says(/in/);
    const ask = ['lease', 'ask', door, '--reason'];
    expect(await bench.run([...ask, 'a deployment\nwaits'])).toMatchObject({
      stdout: `The holder of ${door} was told.\n`,
    });
    await run.says(/waits/);
    expect(await bench.run([...ask, 'again'])).toMatchObject({ status: 0 });
    writeFileSync(beats, '');
    expect(await run.ended).toMatchObject({
      status: 0,
      stdout: 'in\nout\n',
      stderr: `leasehold: LEASE_ASKED: The holder of "${door}" is asked to give way: a deployment\\nwaits\n`,
    });
  });

  it('is for one at a time: others leave with 73, or wait', async () => {
    const first = bench.start([
      'run',
      door,
      '--',
      'sh',
      '-c',
      `echo in; while ! [ -e ${beats} ]; do sleep 0.05; done`,
    ]);
    await first.says(/in/);
    const second = await bench.run(['run', door, '--', 'touch', join(bench.dir, 'never')]);
    expect(second).toMatchObject({
      status: 73,
      stdout: '',
      stderr: expect.stringMatching(/^leasehold: LEASE_HELD: /),
    });
    expect(existsSync(join(bench.dir, 'never'))).toBe(false);
    const patient = bench.start(['run', door, '--wait', '1m', '--', 'echo', 'my turn']);
    await until('a waiter in line', isWaitedFor);
    writeFileSync(beats, '');
    expect(await first.ended).toMatchObject({ status: 0 });
    expect(await patient.ended).toMatchObject({ status: 0, stdout: 'my turn\n' });
  });

  it('is given up waiting for when a signal comes', async () => {
    await bench.post(`/v1/leases/${door}/acquire`, { holder: 'anna', ttl_ms: 600_000 });
    const run = bench.start(['run', door, '--wait', '10m', '--', 'echo', 'never']);
    await until('a waiter in line', isWaitedFor);
    run.kill('SIGINT');
    expect(await run.ended).toMatchObject({ status: 130, stdout: '' });
  });

  it('is given back after one Ctrl-C under npm, whose second SIGINT comes when the program has ended', async () => {
    const run = bench.start(['run', door, '--', 'sh', '-c', 'echo "$LEASEHOLD_TOKEN_FILE"; exec sleep 600']);
    const [file] = await run.says(/.+(?=\n)/);
    // A server that does not answer prevents the release of the lease meanwhile.
    bench.signalServer('SIGSTOP');
    try {
      run.kill('SIGINT');
      await until('the end of the program', () => !existsSync(file));
      run.kill('SIGINT');
    } finally {
      bench.signalServer('SIGCONT');
    }
    expect(await run.ended).toMatchObject({ status: 130, signal: null });
    expect(await isFree()).toBe(true);
  });

  it('is kept by --at-least when the program ends sooner, so that of two hosts one runs the job', async () => {
    const job = ['run', door, '--at-least', '10m', '--', 'sh', '-c', 'echo ran; exit 7'];
    const fromMs = Date.now();
    const runs = await Promise.all([bench.run(job), bench.run(job)]);
    expect(runs.map(({ status }) => status).sort()).toEqual([7, 73]);
    expect(runs.map(({ stdout }) => stdout).join('')).toBe('ran\n');
    expect(Date.now() - fromMs).toBeLessThan(60_000);
    // A host that is late by seconds finds the job done as well.
    expect(await bench.run(job)).toMatchObject({ status: 73, stdout: '' });
    const endMs = await endOfLease();
    expect(endMs).toBeGreaterThan(fromMs + 595_000);
    expect(endMs).toBeLessThanOrEqual(Date.now() + 600_000);
    const { entries } = await bench.get(`/v1/leases/${door}/history`);
    expect(entries.map(({ type }: Body) => type)).toEqual(['NameLeased', 'NameRenewed']);
  });

  it('is given back when the program took longer than --at-least', async () => {
    expect(await bench.run(['run', door, '--at-least', '50ms', '--', 'sleep', '0.2'])).toMatchObject({
      status: 0,
    });
    expect(await isFree()).toBe(true);
  });

  it('is renewed while the program runs longer than it lasts', async () => {
    const run = await bench.run(['run', door, '--ttl', '1500ms', '--', 'sleep', '4']);
    expect(run).toMatchObject({ status: 0, stderr: '' });
    const { entries } = await bench.get(`/v1/leases/${door}/history`);
    const types = entries.map(({ type }: Body) => type);
    expect(types).toContain('NameRenewed');
    expect(types.at(-1)).toBe('NameReleased');
  });

  it('ends the program when it is broken, and then the code is 75', async () => {
    const { run, pid } = await startStubborn('--ttl', '3s');
    await bench.post(`/v1/leases/${door}/break`, { reason: 'test' });
    expect(await run.ended).toMatchObject({
      status: 75,
      stderr: expect.stringMatching(/^leasehold: LEASE_LOST: .*broken/),
    });
    expect(isAlive(pid)).toBe(false);
  });
});

describe('a server that does not answer any more', () => {
  it('delays no caller: the program is ended in time, and the command exits with 75 soon after it', async () => {
    const { run, pid } = await startStubborn('--ttl', '3s');
    bench.signalServer('SIGSTOP');
    await until('the end of the program', () => !isAlive(pid));
    const from = performance.now();
    const { status, stderr } = await run.ended;
    const tookMs = performance.now() - from;
    bench.signalServer('SIGCONT');
    expect([status, stderr]).toEqual([75, expect.stringContaining('LEASE_LOST')]);
    expect(tookMs).toBeLessThan(6_000);
  });
});

describe('a program that does not heed signals', () => {
  it('is dead before the lease ends when we are stopped past it', async () => {
    const { run, pid } = await startStubborn('--ttl', '3s');
    run.kill('SIGSTOP');
    await until('the end of the lease', isFree);
    expect(isAlive(pid)).toBe(false);
    expect(lastBeat().atMs).toBeLessThan(await endOfLease());
    run.kill('SIGCONT');
    expect(await run.ended).toMatchObject({ status: 75, stderr: expect.stringContaining('LEASE_LOST') });
  });

  it('is dead soon when we are killed, and so is the file with the token', async () => {
    const before = readdirSync(tmpdir()).filter((name) => name.startsWith('leasehold-run-'));
    const { run, pid } = await startStubborn('--ttl', '30s');
    run.kill('SIGKILL');
    await run.ended;
    await until('the end of the program', () => !isAlive(pid));
    expect(lastBeat().atMs).toBeLessThan(await endOfLease());
    await until('the end of the file', () =>
      readdirSync(tmpdir()).every((name) => !name.startsWith('leasehold-run-') || before.includes(name)),
    );
  });

  it('is dead before the lease ends when the server cannot be reached any more', async () => {
    const { run, pid } = await startStubborn('--ttl', '3s');
    await bench.stopServer('SIGKILL');
    expect(await run.ended).toMatchObject({ status: 75, stderr: expect.stringContaining('LEASE_LOST') });
    expect(isAlive(pid)).toBe(false);
    const diedBy = lastBeat().atMs;
    await bench.serve();
    expect(diedBy).toBeLessThan(await endOfLease());
  });

  it('is dead when its keeper is killed, too', async () => {
    const { run, pid } = await startStubborn('--ttl', '30s');
    const keeper = Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]);
    process.kill(keeper, 'SIGKILL');
    expect(await run.ended).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/^leasehold: The keeper process.*has died.*\n$/),
    });
    await until('the end of the program', () => !isAlive(pid));
  });
});
