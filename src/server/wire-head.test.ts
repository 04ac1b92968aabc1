// HEAD wherever there is GET: the same head, no body, and an end; also of streams and of calls that would wait.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, type Served, startServed, stopAllServed } from '../../test/support/served.ts';
import { TestDisk } from '../../test/support/test-disk.ts';
import { fileEngine } from '../engines/file/file-engine.ts';
import { PAGES } from '../operations/pages.ts';
import { OPERATIONS } from '../operations/table.ts';

const TOKENS = [
  { token: 'token-of-a-reader', scopes: ['v1:read'] },
  { token: 'token-of-a-god', scopes: ['*'] },
];

let served: Served;
let guarded: Served;
type Head = Pick<Answer, 'status' | 'headers'>;
/** What stands in the paths. */
const there: Record<string, string> = {
  code: 'LEASE_HELD',
  name: 'n',
  object_id: 'n',
  queue: 'default',
  file: 'index-4f3c2b1a.js',
};
const CONSOLE = ['index.html', 'assets/index-4f3c2b1a.js'].map((path) => ({
  path,
  type: 'text/plain',
  bytes: Buffer.from(path),
}));

beforeAll(async () => {
  const engine = fileEngine({ dir: '/data', files: new TestDisk(), segmentBytes: 64 * 1024 });
  served = await startServed({ engine, consoleFiles: CONSOLE });
  guarded = await startServed({ tokens: TOKENS });
  there.task_id = (await served.done('task.create', { payload: 'x'.repeat(100_000) })).task_id;
  const { lease_seq } = await served.done('lease.acquire', { name: 'n', holder: 'h', ttl_ms: 600_000 });
  await served.done('object.write', { object_id: 'n', value: 1, lease: { lease_seq } });
  await served.done('schedule.put', { name: 'n', every_ms: 3_600_000, queue: 'nightly', payload: 1 });
  const intent = { type: 'live', serviceRef: 'one', profileID: 'low' };
  there.session_id = (await served.done('intent.accept', intent)).session_id;
});
afterAll(stopAllServed);

const GETS = Object.entries({ ...OPERATIONS, ...PAGES })
  // One that upgrades answers an ordinary request with a refusal.
  .filter(([name, { method }]) => method === 'GET' && name !== 'live')
  .map(([name, { path }]) => [name, path] as const);

function filled(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, field: string) => there[field] ?? '');
}

/** The answer to HEAD, and proof that it has ended without a body: the next one begins right behind its head. */
async function head(at: Served, path: string, headers: Record<string, string> = {}): Promise<Head> {
  const connection = await at.connect();
  const lines = Object.entries({ host: `127.0.0.1:${at.port}`, ...headers });
  const fields = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  connection.write(`HEAD ${path} HTTP/1.1\r\n${fields}\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  const answer = await connection.head();
  const next = await connection.answer();
  connection.destroy();
  expect([next.status, next.text]).toEqual([200, '{"status":"alive"}']);
  return answer;
}

/** Streams are left alone once their head has come. */
async function get(at: Served, path: string): Promise<Head> {
  const connection = await at.connect();
  connection.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  const answer = await connection.head();
  connection.destroy();
  return answer;
}

describe('HEAD', () => {
  it.each(GETS)('of %s has the head of GET and nothing else', async (name, path) => {
    const [asked, got] = [await head(served, filled(path)), await get(served, filled(path))];
    expect(got.status).toBe(200);
    const { status, headers } = asked;
    expect([status, headers['content-type']]).toEqual([200, got.headers['content-type']]);
    expect(headers['x-request-id']).toBeDefined();
    expect(headers['transfer-encoding']).toBeUndefined();
    // Others show the time, or what there was to do meanwhile.
    if (!['metrics', 'overview.get', 'status.get'].includes(name) && !name.startsWith('session')) {
      expect(headers['content-length']).toBe(got.headers['content-length']);
    }
    expect(served.troubles).toEqual([]);
  });

  it.each([
    '/v1/log?follow=1',
    '/v1/log?follow=1&from=1',
    '/v1/log?from=1&limit=1',
    '/v1/events?from=1',
    '/v1/events',
  ])('ends where GET would continue: %s', async (path) => {
    expect((await head(served, path)).status).toBe(200);
  });

  it('waits for nothing', async () => {
    const { status } = await head(served, `/v1/tasks/${there.task_id}?wait_ms=600000`);
    expect(status).toBe(200);
  });

  it.each([
    ['/v1/tasks/nothing', 404],
    ['/v1/tasks/nothing?wait_ms=600000', 404],
    [`/v1/tasks?state=NOPE`, 400],
    ['/v1/tasks/x?wait_ms=600001', 400],
    ['/v1/log?limit=0', 400],
    ['/v1/events?limit=1', 400],
    ['/api/v3/sessions/s0000000zzzz/events', 404],
    ['/nothing', 404],
  ])('is refused as GET is: %s', async (path, status) => {
    const asked = await head(served, path);
    expect([asked.status, asked.headers['content-type']]).toEqual([status, 'application/problem+json']);
    expect((await get(served, path)).status).toBe(status);
  });

  it('needs the token and the scope that GET needs', async () => {
    const as = (token: string) => ({ authorization: `Bearer ${token}` });
    expect((await head(guarded, '/v1/status')).status).toBe(401);
    expect((await head(guarded, '/v1/status', as('token-of-a-reader'))).status).toBe(200);
    expect((await head(guarded, '/v1/backup', as('token-of-a-reader'))).status).toBe(403);
    // The log of this one is in memory.
    expect((await head(guarded, '/v1/backup', as('token-of-a-god'))).status).toBe(404);
  });

  it('is not taken where there is no GET', async () => {
    const { status, headers } = await served.send('HEAD', '/v1/batch');
    expect([status, headers.allow]).toEqual([405, 'POST']);
  });

  it('leaves no follower behind, though its connection stays', async () => {
    const as = { token: 'token-of-a-god' };
    const connection = await guarded.connect();
    connection.write(`HEAD /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${as.token}\r\n\r\n`);
    expect((await connection.head()).status).toBe(200);
    expect((await guarded.send('GET', '/metrics', as)).text).toContain('\nleasehold_followers 0\n');
    connection.destroy();
  });
});
