// The web console as the server sends it: exact types, caching, a strict policy, and no file that the build did not list.
import { afterEach, describe, expect, it } from 'vitest';
import { type Answer, startServed, stopAllServed } from '../../test/support/served.ts';
import { expectProblem } from '../../test/support/wire-contract.ts';
import type { ConsoleFile } from './console-files.ts';

const SCRIPT = 'console.log("<script>");\n'.repeat(40);
const FILES: readonly ConsoleFile[] = [
  file('index.html', 'text/html; charset=utf-8', '<!doctype html><div id="console" data-options="{}"></div>'),
  file('assets/index-4f3c2b1a.js', 'text/javascript; charset=utf-8', SCRIPT),
];

function file(path: string, type: string, text: string): ConsoleFile {
  return { path, type, bytes: Buffer.from(text) };
}

afterEach(stopAllServed);

describe('the console', () => {
  it('is one page at /, which browsers revalidate', async () => {
    const served = await startServed({ consoleFiles: FILES });
    const { status, headers, text } = await served.send('GET', '/');
    expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(text).toContain('data-options="{&quot;read_only&quot;:false}"');
    expect(headers['cache-control']).toBe('no-cache');
    const again = await served.send('GET', '/', { headers: { 'if-none-match': headers.etag! } });
    expect([again.status, again.text, again.headers.etag]).toEqual([304, '', headers.etag]);
  });

  it('needs nothing from elsewhere and runs nothing inline, which its policy enforces', async () => {
    const served = await startServed({ consoleFiles: FILES });
    const policy = (await served.send('GET', '/')).headers['content-security-policy'];
    expect(policy).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
  });

  it('has files that browsers keep, compressed where they take it', async () => {
    const served = await startServed({ consoleFiles: FILES });
    const path = '/assets/index-4f3c2b1a.js';
    const plain = await served.send('GET', path);
    expect(plain.text).toBe(SCRIPT);
    expect(plain.headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      'x-content-type-options': 'nosniff',
      vary: 'accept-encoding',
    });
    const zipped = await fetch(served.url + path, { headers: { 'accept-encoding': 'gzip' } });
    expect(zipped.headers.get('content-encoding')).toBe('gzip');
    expect(await zipped.text()).toBe(SCRIPT);
  });

  it.each([
    '/assets/other.js',
    '/assets/..%2findex.html',
    '/assets/..%2f..%2f..%2fetc%2fpasswd',
    '/assets/%2e%2e/index.html',
    '/assets/__proto__',
    '/assets/',
    '/index.html',
    '/files.json',
  ])('has no file at %s', async (path) => {
    const served = await startServed({ consoleFiles: FILES });
    expect(expectProblem(await served.send('GET', path)).code).toBe('ROUTE_NOT_FOUND');
  });

  it('is told when it shall show no buttons', async () => {
    const served = await startServed({ consoleFiles: FILES, console: { readOnly: true } });
    expect((await served.send('GET', '/')).text).toContain('{&quot;read_only&quot;:true}');
  });

  it('is sent to callers without a token, and nothing else is', async () => {
    const tokens = [{ token: 'secret', scopes: ['*'] }];
    const served = await startServed({ consoleFiles: FILES, tokens });
    expect((await served.send('GET', '/')).status).toBe(200);
    expect((await served.send('GET', '/v1/overview')).status).toBe(401);
  });
});

describe('a server under a path prefix', () => {
  const start = () => startServed({ consoleFiles: FILES, basePath: '/leasehold' });

  it('serves every path with it and without it', async () => {
    const served = await start();
    for (const path of ['/leasehold/', '/', '/leasehold/v1/status', '/v1/status', '/leasehold/healthz?x=1'])
      expect([path, (await served.send('GET', path)).status]).toEqual([path, 200]);
  });

  it('names it in the description of its API', async () => {
    const { text } = await (await start()).send('GET', '/leasehold/openapi.json');
    expect(JSON.parse(text).servers[0]).toMatchObject({ url: '/leasehold' });
    const plain = await startServed({ consoleFiles: FILES });
    expect(JSON.parse((await plain.send('GET', '/openapi.json')).text).servers[0]).toMatchObject({
      url: '/',
    });
  });

  it('leads to its folder, where relative URLs begin', async () => {
    const { status, headers } = await (await start()).send('GET', '/leasehold');
    expect([status, headers.location]).toEqual([308, '/leasehold/']);
  });

  it('knows no other prefix', async () => {
    const served = await start();
    for (const path of ['/leaseholder/v1/status', '/other/v1/status', '/leasehold/leasehold/v1/status'])
      expect([path, (await served.send('GET', path)).status]).toEqual([path, 404]);
  });
});

describe('without tokens, a request that came through a proxy', () => {
  const SENT = [
    { 'x-forwarded-for': '10.0.0.7' },
    { 'x-forwarded-proto': 'https' },
    { forwarded: 'for=10.0.0.7' },
  ];

  it.each(SENT)('is refused: %o', async (headers) => {
    const served = await startServed({ consoleFiles: FILES });
    const { code, detail } = expectProblem(await served.send('GET', '/v1/status', { headers }));
    expect(code).toBe('FORBIDDEN');
    expect(detail).toContain('--trusted-proxy');
  });

  it.each(SENT)('is served when the proxy is trusted: %o', async (headers) => {
    const served = await startServed({ trustedProxies: ['127.0.0.1'] });
    expect((await served.send('GET', '/v1/status', { headers })).status).toBe(200);
  });

  it('may come from the page that the proxy shows, and from no other site', async () => {
    const served = await startServed({ trustedProxies: ['127.0.0.1'] });
    const send = (origin: string): Promise<Answer> => {
      const headers = { origin, 'x-forwarded-host': 'console.example.org' };
      return served.send('POST', '/v1/queues/mail/pause', { body: {}, headers });
    };
    expect((await send('https://console.example.org')).status).toBe(200);
    expect((await send('https://evil.example.org')).status).toBe(403);
  });

  it('is served with tokens, as ever', async () => {
    const served = await startServed({ tokens: [{ token: 'secret', scopes: ['v1:read'] }] });
    const headers = { 'x-forwarded-for': '10.0.0.7' };
    expect((await served.send('GET', '/v1/status', { headers, token: 'secret' })).status).toBe(200);
  });
});

describe('with hidden payloads', () => {
  const tokens = [
    { token: 'reader', scopes: ['v1:read'] },
    { token: 'writer', scopes: ['v1:write'] },
  ];

  it('opaque values are shown to tokens with v1:write only', async () => {
    const served = await startServed({ tokens, hidePayloads: true });
    const write = { token: 'writer' };
    await served.done('task.create', { task_id: 'a', payload: { secret: 1 } }, write);
    const { leases } = await served.done('task.lease', { worker_id: 'w' }, write);
    const { lease_id } = leases[0];
    await served.done('task.checkpoint', { task_id: 'a', lease_id, value: { secret: 2 } }, write);
    await served.done('task.complete', { task_id: 'a', lease_id, result: { secret: 3 } }, write);
    const held = await served.done(
      'lease.acquire',
      { name: 'n', holder: 'h', ttl_ms: 60_000, metadata: { secret: 4 } },
      write,
    );
    const lease = { lease_seq: held.lease_seq };
    await served.done('object.write', { object_id: 'n', value: { secret: 5 }, lease }, write);
    for (const path of [
      '/v1/tasks/a',
      '/v1/tasks',
      '/v1/tasks/a/history',
      '/v1/leases',
      '/v1/leases/n',
      '/v1/leases/n/history',
      '/v1/objects/n',
      '/v1/log',
    ]) {
      const hidden = await served.send('GET', path, { token: 'reader' });
      expect([path, hidden.status, hidden.text.includes('secret')]).toEqual([path, 200, false]);
      expect([path, (await served.send('GET', path, write)).text.includes('secret')]).toEqual([path, true]);
    }
    const lines = (await served.send('GET', '/v1/log', { token: 'reader' })).text.trim().split('\n');
    expect(lines.map((line) => JSON.parse(line).seq)).toEqual(lines.map((_, index) => index + 1));
  });

  it('the live connection hides them too', async () => {
    const served = await startServed({ tokens, hidePayloads: true });
    await served.done('task.create', { task_id: 'a', payload: { secret: 1 } }, { token: 'writer' });
    for (const [token, isShown] of [
      ['reader', false],
      ['writer', true],
    ] as const) {
      const wire = await served.live({ token });
      const { status, body } = await wire.call('task.get', { task_id: 'a' });
      expect([status, body.task_id, 'payload' in body]).toEqual([200, 'a', isShown]);
    }
  });

  it('followers of the log get entries without them', async () => {
    const served = await startServed({ tokens, hidePayloads: true });
    await served.done('task.create', { payload: { secret: 1 } }, { token: 'writer' });
    const response = await fetch(`${served.url}/v1/log?from=1&follow=1&limit=2`, {
      headers: { authorization: 'Bearer reader' },
    });
    const text = await response.text();
    expect(text).toContain('TaskCreated');
    expect(text).not.toContain('secret');
  });
});
