// The command line against a real server, as a person at a shell uses it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CliBench, isAlive, MAIN, until } from '../support/cli-processes.ts';

let bench: CliBench;

beforeAll(async () => {
  bench = new CliBench();
  const tokens = [
    { token: 'all-of-it-0123456789', scopes: ['v1:admin'] },
    { token: 'only-look-0123456789', scopes: ['v1:read'] },
  ];
  await bench.serve({ LEASEHOLD_TOKENS: JSON.stringify(tokens) });
});

afterAll(() => bench.close());

const ADMIN = { env: { LEASEHOLD_TOKEN: 'all-of-it-0123456789' } };

describe('a server', () => {
  it('that is not there is told of in one sentence', async () => {
    const message =
      'No leasehold server answers at http://127.0.0.1:1. Start one with `leasehold up`, or name another with --server or LEASEHOLD_URL. A data directory that a program has opened with open() has no server.';
    const status = ['status', '--server', 'http://127.0.0.1:1'];
    const run = await bench.run(status);
    expect(run).toMatchObject({ status: 1, stdout: '', stderr: `leasehold: ${message}\n` });
    const asJson = await bench.run([...status, '--json']);
    expect(asJson).toMatchObject({ status: 1, stdout: '' });
    expect(JSON.parse(asJson.stderr)).toEqual({ code: 'UNREACHABLE', message, exit_code: 1 });
  });

  it('that wants a token says so, and takes it from the option or the environment', async () => {
    const refused = await bench.run(['status']);
    expect(refused).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/^leasehold: UNAUTHENTICATED: .+\n$/),
    });
    expect(await bench.run(['status'], ADMIN)).toMatchObject({ status: 0, stderr: '' });
    expect(await bench.run(['status', '--token', 'only-look-0123456789'])).toMatchObject({ status: 0 });
    const forbidden = await bench.run(['task', 'add', '1', '--token', 'only-look-0123456789']);
    expect(forbidden).toMatchObject({ status: 1, stderr: expect.stringMatching(/^leasehold: FORBIDDEN: /) });
  });
});

describe('a walk through', () => {
  it('tasks', async () => {
    const input = '{"b":1.0,"a":12345678901234567890}\n';
    const add = await bench.run(['task', 'add', '-', '--id', 'walk', '--queue', 'w'], { ...ADMIN, input });
    expect(add).toMatchObject({ status: 0, stdout: expect.stringMatching(/^walk waits in queue w/) });
    const show = await bench.run(['task', 'show', 'walk', '--json'], ADMIN);
    expect(show.stdout).toContain(`"payload":${input.trim()}`);
    expect((await bench.run(['task', 'why', 'walk'], ADMIN)).stdout).toMatch(/^WAITING_FOR_WORKER: /);
    expect((await bench.run(['task', 'ls', '--state', 'waiting'], ADMIN)).stdout).toMatch(
      /\nwalk +w +WAITING/,
    );
    expect(await bench.run(['task', 'kill', 'walk', '--reason', 'done'], ADMIN)).toMatchObject({ status: 0 });
    const history = await bench.run(['task', 'history', 'walk'], ADMIN);
    expect(history.stdout).toMatch(/TaskCreated[\s\S]*TaskDead/);
  });

  it('leases and objects', async () => {
    const tokenFile = join(bench.dir, 'token');
    const holder = ['--holder', 'anna', '--token-file', tokenFile];
    const acquire = ['lease', 'acquire', 'a/b c', '--ttl', '1m', ...holder, '--json'];
    const { lease_seq: seq } = JSON.parse((await bench.run(acquire, ADMIN)).stdout);
    expect(statSync(tokenFile).mode & 0o777).toBe(0o600);
    const held = await bench.run(['lease', 'acquire', 'a/b c', '--holder', 'b', '--ttl', '1s'], ADMIN);
    expect(held).toMatchObject({ status: 73, stderr: expect.stringContaining('LEASE_HELD') });
    const value = '{"x": [1.50, 2e3]}';
    const put = await bench.run(['object', 'put', 'a/b c', value, '--lease-seq', String(seq)], ADMIN);
    expect(put).toMatchObject({ status: 0 });
    expect((await bench.run(['object', 'get', 'a/b c'], ADMIN)).stdout).toBe(`${value}\n`);
    const stale = await bench.run(['object', 'put', 'a/b c', '1', '--lease-seq', String(seq - 1)], ADMIN);
    expect(stale).toMatchObject({ status: 1, stderr: expect.stringContaining('WRITE_STALE_FENCE') });
    const release = await bench.run(['lease', 'release', 'a/b c', ...holder, '--json'], ADMIN);
    expect(JSON.parse(release.stdout)).toMatchObject({ released: true });
    const out = join(bench.dir, 'fencing_rejection_receipts.json');
    expect(await bench.run(['receipts', '--output', out], ADMIN)).toMatchObject({ status: 0 });
    expect(JSON.parse(readFileSync(out, 'utf8')).receipts[0]).toMatchObject({
      code: 'WRITE_STALE_FENCE',
      object_id: 'a/b c',
      presented_lease_seq: seq - 1,
      current_fence: seq,
    });
  });

  it('the log, as it grows', async () => {
    const tail = bench.start(['log', 'tail', '-f', '--json'], ADMIN);
    await tail.says(/"type":"EpochStarted"/);
    await bench.run(['queue', 'pause', 'log-queue'], ADMIN);
    await tail.says(/"type":"QueuePaused","queue":"log-queue"/);
    tail.kill('SIGINT');
    expect(await tail.ended).toMatchObject({ status: 0, stderr: '' });
  });
});

describe('top', () => {
  it('draws on a terminal until q is pressed, and leaves the screen as it was', async () => {
    // `script` gives it a terminal.
    const command = `"${process.execPath}" "${MAIN}" top`;
    const env = { ...process.env, ...ADMIN.env, LEASEHOLD_URL: bench.url };
    const top = spawn('script', ['-qec', command, '/dev/null'], { env });
    const ended = once(top, 'close');
    let screen = '';
    top.stdout.setEncoding('utf8').on('data', (text: string) => {
      screen += text;
    });
    await until('rates on the screen', () => screen.includes('entries/s'));
    top.stdin.write('q');
    expect(await ended).toEqual([0, null]);
    expect(screen).toContain('\u001b[?1049h');
    expect(screen.trimEnd().endsWith('\u001b[?1049l')).toBe(true);
  });
});

describe('doctor', () => {
  it('finds a healthy server and its data directory healthy', async () => {
    const run = await bench.run(['doctor', '--data', join(bench.dir, 'data'), '--json'], ADMIN);
    const levels = Object.fromEntries(
      JSON.parse(run.stdout).findings.map(({ check, level }: Record<string, string>) => [check, level]),
    );
    // The disk may be slow while other tests use it.
    expect(levels['disk sync']).toMatch(/ok|note|wrong/);
    expect(levels).toMatchObject({
      versions: 'ok',
      server: 'ok',
      access: 'ok',
      'server version': 'ok',
      'data directory': 'ok',
      'file system': 'ok',
    });
  });

  it('exits with 1 and one sentence when no server answers', async () => {
    const run = await bench.run(['doctor', '--server', 'http://127.0.0.1:1']);
    expect(run).toMatchObject({ status: 1, stderr: 'leasehold: server: something is wrong.\n' });
    expect(run.stdout).toContain('✗ server: no server answers at http://127.0.0.1:1');
  });
});

describe('demo', () => {
  it('shows both fencing numbers, the refusal of the late write, and leaves nothing behind', async () => {
    const run = await bench.run(['demo', '--fast']);
    expect(run).toMatchObject({ status: 0, stderr: '' });
    const [, dir] = /its log is in (\S+)\.\n/.exec(run.stdout)!;
    const [, presented, fence] =
      /writes under (\d+): refused, WRITE_STALE_FENCE\. The fence stands at (\d+)/.exec(run.stdout)!;
    expect(Number(presented)).toBeLessThan(Number(fence));
    expect(run.stdout).toContain('kill -STOP');
    expect(existsSync(dir!)).toBe(false);
  });

  it.each([
    ['SIGINT', /its log is in (\S+)\.\n/, 130],
    ['SIGTERM', /its log is in (\S+)\.\n[\s\S]*kill -STOP/, 143],
  ] as const)(
    'ends with %s wherever it is, says nothing more and leaves nothing behind',
    async (signal, when, status) => {
      const demo = bench.start(['demo']);
      const [said, dir] = await demo.says(when);
      const [, holder] = /\(process (\d+)\) holds it/.exec(said) ?? [];
      demo.kill(signal);
      const { stdout, ...end } = await demo.ended;
      expect(end).toEqual({ status, signal: null, stderr: '' });
      expect(stdout).not.toContain('boris holds it now');
      expect(existsSync(dir!)).toBe(false);
      if (holder !== undefined) expect(isAlive(Number(holder))).toBe(false);
    },
  );

  it('gives what came of it as one object with --json', async () => {
    const { status, stdout } = await bench.run(['demo', '--json']);
    expect(status).toBe(0);
    const outcome = JSON.parse(stdout);
    expect(outcome).toMatchObject({ code: 'WRITE_STALE_FENCE', receipt: { code: 'WRITE_STALE_FENCE' } });
    expect(outcome.object.lease_seq).toBe(outcome.current_fence);
  });
});

describe('task add', () => {
  it('waits for the end and prints the result, or fails with the reason', async () => {
    const work = bench.start(
      ['work', 'waited', '--', 'sh', '-c', 'read x; [ "$x" = 1 ] && echo good'],
      ADMIN,
    );
    const good = await bench.run(['task', 'add', '1', '--queue', 'waited', '--wait'], ADMIN);
    expect(good).toMatchObject({ status: 0, stdout: '"good"\n' });
    const words = ['task', 'add', '2', '--queue', 'waited', '--id', 'bad', '--max-failures', '1'];
    const bad = await bench.run([...words, '--wait'], ADMIN);
    expect(bad).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringContaining('TASK_FAILED: bad is FAILED: '),
    });
    expect((await bench.run(words, ADMIN)).stdout).toContain('has ended: FAILED');
    work.kill('SIGTERM');
    expect(await work.ended).toMatchObject({ status: 0 });
  });

  it('makes a task of every line, reports those that are none, and adds nothing twice', async () => {
    const words = ['task', 'add', '--stdin-lines', '--queue', 'lines', '--id', 'line'];
    const input = [...Array.from({ length: 600 }, (_, at) => `{"at": ${at}}`), 'no', ''].join('\n');
    const first = await bench.run(words, { ...ADMIN, input });
    expect(first).toMatchObject({ status: 1, stdout: '' });
    expect(first.stderr).toContain('Line 601 is not JSON');
    expect(first.stderr).toContain('600 tasks were added.');
    const again = await bench.run(words, { ...ADMIN, input: input.replace('no', '1') });
    expect(again).toMatchObject({ status: 0, stdout: '1 task was added, 600 were there already.\n' });
  });

  it('says how many were added when it is interrupted, and the same command adds the rest', async () => {
    const words = ['task', 'add', '--stdin-lines', '--queue', 'half', '--id', 'half'];
    const adding = bench.start(words, { ...ADMIN, input: '1\n2\n3\n', staysOpen: true });
    await until('the third', async () => (await bench.run(['task', 'show', 'half-3'], ADMIN)).status === 0);
    adding.kill('SIGINT');
    expect(await adding.ended).toMatchObject({
      status: 130,
      stdout: '',
      stderr: 'leasehold: Interrupted: 3 tasks were added.\n',
    });
    const again = await bench.run(words, { ...ADMIN, input: '1\n2\n3\n4\n' });
    expect(again).toMatchObject({ status: 0, stdout: '1 task was added, 3 were there already.\n' });
  });
});
