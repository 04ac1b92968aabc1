// The client's live connection with a proxy between it and the server: a real nginx that passes upgrades on, one that does not, one
// that is restarted, and a slow line on which renewals must overtake large creates.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openSlowLine } from '../../bench/server/slow-line.mjs';
import { connect, type Leasehold } from '../../src/client-node.ts';
import { until } from '../support/cli-processes.ts';
import { debianProgram } from '../support/debian-program.ts';
import { type Served, startServed, stopAllServed } from '../support/served.ts';

let served: Served;
let client: Leasehold;

beforeEach(async () => {
  served = await startServed();
});
afterEach(async () => {
  await client.close();
  await stopAllServed();
});

describe('behind nginx a client', () => {
  let dir: string;
  let program: string;
  let nginx: ChildProcess;

  beforeAll(() => {
    program = debianProgram('nginx-light', ['nginx']);
    dir = mkdtempSync(join(tmpdir(), 'leasehold-nginx-'));
  });
  afterEach(() => stop());
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  async function start(port: number, passesUpgrades: boolean): Promise<string> {
    const config = join(dir, 'nginx.conf');
    writeFileSync(config, configOf(dir, port, served.port, passesUpgrades));
    nginx = spawn(program, ['-p', dir, '-c', config, '-e', join(dir, 'error.log')], { stdio: 'ignore' });
    const url = `http://127.0.0.1:${port}`;
    await until('nginx', () =>
      fetch(`${url}/healthz`).then(
        (reply) => reply.ok,
        () => false,
      ),
    );
    return url;
  }

  async function stop(): Promise<void> {
    const ended = new Promise((resolve) => nginx.once('exit', resolve));
    if (nginx.exitCode !== null || nginx.signalCode !== null) return;
    nginx.kill('SIGKILL');
    await ended;
  }

  it('is live where upgrades are passed on, and is told of a loss at once', async () => {
    const url = await start(await freePort(), true);
    client = connect(url);
    const lease = await client.acquire('report', { ttl: '10m' });
    expect(client.connection).toEqual({ state: 'live', url });
    const lost = new Promise((resolve) => lease.signal.addEventListener('abort', resolve));
    await served.done('lease.break', { name: 'report', reason: 'on purpose' });
    await lost;
    expect(lease.signal.reason).toMatchObject({ details: { loss: 'broken' } });
  });

  it('uses HTTP where they are not, says so, and loses nothing but the speed', async () => {
    const url = await start(await freePort(), false);
    client = connect(url);
    const lease = await client.acquire('report', { ttl: '10m' });
    expect(client.connection).toEqual({ state: 'polling', url });
    const waiting = client.acquire('report', { ttl: '10m', wait: '1m' });
    await until('the second to wait', async () => (await served.json('/v1/status')).counts.waiters === 1);
    await lease.release();
    (await waiting).assertHeld();
    expect(client.connection).toEqual({ state: 'polling', url });
  });

  it('is live again after nginx was restarted, with what it held and what it waited for', async () => {
    const port = await freePort();
    const url = await start(port, true);
    client = connect(url);
    const states: string[] = [];
    client.on('connection', ({ state }) => states.push(state));
    const lease = await client.acquire('report', { ttl: '10m' });
    const other = await served.done('lease.acquire', { name: 'busy', holder: 'h', ttl_ms: 600_000 });
    const waiting = client.acquire('busy', { ttl: '10m', wait: '1m' });
    const waits = async () => (await served.json('/v1/status')).counts.waiters === 1;
    await until('it to wait', waits);
    await stop();
    await until('it to have gone', async () => !(await waits()));
    await start(port, true);
    await until('it to wait again', waits);
    await served.done('lease.release', { name: 'busy', holder: 'h', token: other.token });
    (await waiting).assertHeld();
    await lease.write({ by: 'the same holder' });
    await until('a live connection', async () => {
      await client.status();
      return client.connection.state === 'live';
    });
    expect(states.slice(0, 2)).toEqual(['live', 'away']);
    const history = await served.done('lease.history', { name: 'report' });
    expect(history.entries.map(({ type }: { type: string }) => type)).not.toContain('NameReleased');
  });
});

describe('on a slow line', () => {
  it('renewals overtake creates of 250 KiB: at most what is under way is answered before them', async () => {
    const line = await openSlowLine(served.port, 40_000_000);
    try {
      client = connect(line.url);
      const lease = { name: 'report', holder: 'h', token: 'x'.repeat(22), ttl_ms: 600_000 };
      await client.call('lease.acquire', lease);
      let created = 0;
      const payload = 'x'.repeat(250 * 1024);
      const creates = Array.from({ length: 16 }, async (_, n) => {
        expect(await client.call('task.create', { task_id: `t${n}`, payload })).toMatchObject({ ok: true });
        created += 1;
      });
      const between: number[] = [];
      while (created < creates.length - 3) {
        const before = created;
        expect(await client.call('lease.renew', lease)).toMatchObject({ ok: true });
        between.push(created - before);
      }
      await Promise.all(creates);
      // The one that is under way, and the one whose answer is.
      expect(Math.max(...between)).toBeLessThanOrEqual(2);
      expect(client.connection.state).toBe('live');
    } finally {
      line.close();
    }
  });
});

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
}

/** Without the two headers nginx asks the server in HTTP/1.0, and `Upgrade` ends with it. */
function configOf(dir: string, port: number, upstream: number, passesUpgrades: boolean): string {
  const upgrades = `proxy_http_version 1.1;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;`;
  return `daemon off; master_process off; pid ${dir}/nginx.pid;
events {}
http {
  access_log off;
  map $http_upgrade $connection_upgrade { default upgrade; '' ''; }
  client_body_temp_path ${dir}/body; proxy_temp_path ${dir}/proxy; fastcgi_temp_path ${dir}/f; uwsgi_temp_path ${dir}/u; scgi_temp_path ${dir}/s;
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://127.0.0.1:${upstream};
      proxy_buffering off;
      ${passesUpgrades ? upgrades : ''}
    }
  }
}
`;
}
