// Who sees what: tokens, scopes, read-only consoles, a path prefix behind a real nginx, and the size of it all.
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { until } from '../support/cli-processes.ts';
import { ConsoleBench, DESK, PHONE } from '../support/console-bench.ts';

const bench = new ConsoleBench();
const TOKENS = JSON.stringify([
  { token: 'token-of-a-reader', scopes: ['v1:read'], name: 'reader' },
  { token: 'token-of-an-admin', scopes: ['v1:admin', 'v3:admin'], name: 'admin' },
]);
let url = '';

beforeAll(async () => {
  await bench.open();
  ({ url } = await bench.another(['--hide-payloads'], { LEASEHOLD_TOKENS: TOKENS }));
  await send('/v1/leases/report/acquire', {
    holder: 'host-1',
    ttl_ms: 600_000,
    metadata: { secret: 'kept' },
  });
});
afterAll(() => bench.close());

function send(path: string, body: object): Promise<Response> {
  const headers = { 'content-type': 'application/json', authorization: 'Bearer token-of-an-admin' };
  return fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
}

describe('a server with tokens', () => {
  it('makes the console ask for one, refuses a wrong one, and keeps it in the tab', async () => {
    const page = await bench.tab('leases/report', PHONE, url);
    const field = page.getByLabel('Token', { exact: true });
    await field.waitFor();
    await bench.expectSound(page, 'token-390-dark');
    await field.fill('token-of-nobody');
    await page.keyboard.press('Enter');
    await page.getByText('The server does not accept this token.').waitFor();
    await field.fill('token-of-a-reader');
    await page.keyboard.press('Enter');
    await page.getByText(/host-1 holds it since/).waitFor();
    expect(await page.evaluate(() => localStorage.length)).toBe(0);
    const other = await page.context().newPage();
    await other.goto(`${url}/#/now`);
    await other.getByLabel('Token', { exact: true }).waitFor();
  });

  it('lets scopes decide which buttons exist, and shows payloads to writers only', async () => {
    const page = await bench.tab('leases/report', DESK, url);
    const signIn = async (token: string): Promise<void> => {
      await page.getByLabel('Token', { exact: true }).fill(token);
      await page.keyboard.press('Enter');
      await page.getByText(/host-1 holds it since/).waitFor();
    };
    await signIn('token-of-a-reader');
    await page.getByText('reader', { exact: true }).waitFor();
    expect(await page.getByRole('button', { name: 'Break…' }).count()).toBe(0);
    expect(await page.getByText('secret').count()).toBe(0);
    await page.getByRole('button', { name: 'Forget token' }).click();
    await signIn('token-of-an-admin');
    await page.getByRole('button', { name: 'Break…' }).waitFor();
    await page.getByText('"secret": "kept"').waitFor();
  });
});

describe('a console that is read-only', () => {
  it('shows no buttons that change something, whatever the token may do', async () => {
    const { url: readOnly } = await bench.another(['--console-read-only']);
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ holder: 'host-1', ttl_ms: 600_000 });
    await fetch(`${readOnly}/v1/leases/report/acquire`, { method: 'POST', headers, body });
    const page = await bench.tab('leases/report', DESK, readOnly);
    await page.getByText(/host-1 holds it since/).waitFor();
    await page.getByText('read-only').waitFor();
    expect(await page.getByRole('button', { name: 'Break…' }).count()).toBe(0);
  });
});

describe('under a path prefix behind nginx', () => {
  let nginx: ChildProcess | null = null;
  afterAll(() => {
    nginx?.kill('SIGKILL');
  });

  it('works as anywhere else, changes included', async () => {
    const port = await freePort();
    const { url: behind } = await bench.another([
      '--base-path',
      '/leasehold',
      '--trusted-proxy',
      '127.0.0.1',
    ]);
    const config = join(bench.dir, 'nginx.conf');
    writeFileSync(config, nginxConfig(bench.dir, port, new URL(behind).host));
    nginx = spawn(inject('nginx'), ['-p', bench.dir, '-c', config, '-e', join(bench.dir, 'error.log')], {
      stdio: 'ignore',
    });
    const front = `http://localhost:${port}/leasehold`;
    await until('nginx', () =>
      fetch(`${front}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      ),
    );
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ holder: 'host-1', ttl_ms: 600_000 });
    await fetch(`${front}/v1/leases/report/acquire`, { method: 'POST', headers, body });
    expect((await fetch(front, { redirect: 'manual' })).headers.get('location')).toBe('/leasehold/');
    const page = await bench.tab('leases/report', DESK, front);
    await until('a live connection', () =>
      bench.sockets.some((each) => each === `ws://localhost:${port}/leasehold/v1/live`),
    );
    await page.getByRole('button', { name: 'Break…' }).click();
    await page.getByRole('dialog').getByRole('textbox').fill('through a proxy');
    await page.getByRole('button', { name: 'Break the lease' }).click();
    await page.getByText('No one holds it now').waitFor();
    await bench.expectSound(page, 'behind-nginx');
  });
});

describe('the console', () => {
  it('has at most 200 KB, compressed, in all', () => {
    const folder = fileURLToPath(new URL('../../dist/console/', import.meta.url));
    const files = JSON.parse(readFileSync(`${folder}files.json`, 'utf8')) as { path: string }[];
    const bytes = files.reduce(
      (sum, { path }) => sum + gzipSync(readFileSync(folder + path), { level: 9 }).length,
      0,
    );
    console.log(`console: ${files.length} files, ${bytes} bytes gzipped`);
    expect(bytes).toBeLessThanOrEqual(200_000);
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

function nginxConfig(dir: string, port: number, upstream: string): string {
  return `daemon off; master_process off; pid ${dir}/nginx.pid;
events {}
http {
  access_log off;
  map $http_upgrade $connection_upgrade { default upgrade; '' ''; }
  client_body_temp_path ${dir}/body; proxy_temp_path ${dir}/proxy; fastcgi_temp_path ${dir}/f; uwsgi_temp_path ${dir}/u; scgi_temp_path ${dir}/s;
  server {
    listen 127.0.0.1:${port};
    location /leasehold {
      proxy_pass http://${upstream};
      proxy_http_version 1.1;
      proxy_buffering off;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_set_header X-Forwarded-Host $http_host;
    }
  }
}
`;
}
