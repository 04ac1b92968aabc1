// `leasehold up`: a server and an orchestrator as one, which die alone and end together.

import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Body, CliBench, isAlive, type Process, until } from '../support/cli-processes.ts';

let bench: CliBench;

beforeEach(() => {
  bench = new CliBench();
});

afterEach(() => bench.close());

const HAS_IPV6 = Object.values(networkInterfaces()).some((found) =>
  found?.some(({ address }) => address === '::1'),
);
const GUARD = encodeURIComponent('system:orchestrator:guard_lock');

/** Of two addresses to listen on, the last one counts. */
function start(...flags: string[]): Process {
  const data = join(bench.dir, 'data');
  return bench.start(['up', '--data', data, '--listen', '127.0.0.1:0', '--log-level', 'error', ...flags]);
}

/** Starts both and waits until intents are taken. */
async function up(...flags: string[]): Promise<Process> {
  const started = start('--json', ...flags);
  const [, url] = await started.says(/"url":"([^"]+)"/);
  bench.url = url!;
  await started.says(/taking intents/);
  return started;
}

async function demo(): Promise<string> {
  const { session_id: id } = await bench.post('/api/v3/intents', {
    type: 'live',
    serviceRef: 'news',
    profileID: 'demo',
  });
  await until(`${id} to be ready`, async () => (await session(id)).state === 'READY');
  return id;
}

const session = (id: string): Promise<Body> => bench.get(`/api/v3/sessions/${id}`);

async function guardPid(): Promise<number> {
  return (await bench.get(`/v1/leases/${GUARD}`)).metadata?.pid ?? 0;
}

describe('up', () => {
  it('says where it is and three commands to try, runs the demo, and ends cleanly with one Ctrl-C', async () => {
    const both = start();
    const [, url] = await both.says(/is up at (http:\S+), with its data in/);
    bench.url = url!;
    const id = await demo();
    expect(both.stdout.match(/^ {4}(npx|curl) .+$/gm)).toHaveLength(3);
    const log = join(bench.dir, 'data', 'leasehold-sessions', `${id}.log`);
    await until('the first tick', () => existsSync(log) && /tick 1/.test(readFileSync(log, 'utf8')));
    const orchestrator = await guardPid();
    both.kill('SIGINT');
    expect((await both.ended).status).toBe(0);
    expect(isAlive(orchestrator)).toBe(false);
    expect(readFileSync(log, 'utf8')).toContain('asked to end');
    // Another one finds everything in order.
    await up();
    expect(await session(id)).toMatchObject({ code: 'SESSION_TERMINAL', reason: 'R_SHUTDOWN' });
  });

  it('starts the orchestrator again when it dies, and the server does not notice', async () => {
    await up('--heartbeat', '1s', '--guard-ttl', '10s');
    const first = await guardPid();
    process.kill(first, 'SIGKILL');
    await until('another orchestrator', async () => ![first, 0].includes(await guardPid()));
    await demo();
  });

  it('ends its orchestrator and pipelines when it is killed itself', async () => {
    // So long that no renewal tells it in time that its server is gone.
    const both = await up('--heartbeat', '60s', '--guard-ttl', '300s', '--grace', '1s');
    const id = await demo();
    const orchestrator = await guardPid();
    both.kill('SIGKILL');
    await until('the end of the orchestrator', () => !isAlive(orchestrator));
    const log = join(bench.dir, 'data', 'leasehold-sessions', `${id}.log`);
    await until(
      'the end of the demo',
      () => existsSync(log) && /asked to end/.test(readFileSync(log, 'utf8')),
    );
  });

  it('gives the orchestrator its own token where there are tokens, which no other process sees', async () => {
    bench = new CliBench();
    const tokens = JSON.stringify([{ token: 'a-token-of-somebody', scopes: ['v1:read'] }]);
    const both = bench.start(['up', '--data', join(bench.dir, 'data'), '--listen', '127.0.0.1:0', '--json'], {
      env: { LEASEHOLD_TOKENS: tokens },
    });
    await both.says(/taking intents/);
    const [, url] = await both.says(/"url":"([^"]+)"/);
    const headers = { authorization: 'Bearer a-token-of-somebody' };
    const guard = (await (await fetch(`${url}/v1/leases/${GUARD}`, { headers })).json()) as Body;
    const line = readFileSync(`/proc/${guard.metadata.pid}/cmdline`, 'utf8');
    const env = readFileSync(`/proc/${guard.metadata.pid}/environ`, 'utf8');
    const [, token = ''] = /LEASEHOLD_TOKEN=([^\0]+)/.exec(env) ?? [];
    expect(token).toHaveLength(24);
    expect(line).not.toContain(token);
    expect(env).not.toContain('a-token-of-somebody');
    expect(both.stdout + both.stderr).not.toContain(token);
  });

  it.each([
    ['wrong times', ['--guard-ttl', '1s'], 2],
    ['a configuration that is not there', ['--config', '/nowhere.json'], 2],
    ['a file where the output of pipelines should go', ['--log-dir', '/dev/null'], 2],
    ['a network that shuts out its own orchestrator', ['--allow-net', '10.0.0.0/8'], 2],
    ['an address of another family than its network', ['--listen', '[::1]:0', '--allow-net', '127.0.0.1'], 2],
  ])('leaves with its own code for %s, and has not begun', async (_what, flags, code) => {
    expect((await start(...flags).ended).status).toBe(code);
    expect(existsSync(join(bench.dir, 'data'))).toBe(false);
  });

  it('names the address under which its orchestrator would come', async () => {
    const shutOut = async (listen: string): Promise<string | undefined> => {
      const { stderr } = await start('--listen', listen, '--allow-net', '10.0.0.0/8').ended;
      return /; allow (\S+) as well/.exec(stderr)?.[1];
    };
    expect(await shutOut('[::1]:0')).toBe('::1');
    expect(await shutOut('[::]:0')).toBe('::1');
    expect(await shutOut('0.0.0.0:0')).toBe('127.0.0.1');
    expect(await shutOut('192.168.1.7:0')).toBe('192.168.1.7');
  });

  // A machine without IPv6 has no such address.
  it.skipIf(!HAS_IPV6)('lets its orchestrator in by the IPv6 address that it listens on', async () => {
    await up('--listen', '[::1]:0', '--allow-net', '::1');
    expect(bench.url).toMatch(/^http:\/\/\[::1\]:\d+$/);
    await demo();
  });

  it('leaves with 1 when the port is taken, and with 3 when the data directory is', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as { port: number };
    try {
      const taken = await bench.run([
        'up',
        '--data',
        join(bench.dir, 'new'),
        '--listen',
        `127.0.0.1:${port}`,
      ]);
      expect(taken).toMatchObject({ status: 1, stderr: expect.stringContaining(`${port}`) });
    } finally {
      other.close();
    }
    await up();
    expect((await start().ended).status).toBe(3);
  });
});
