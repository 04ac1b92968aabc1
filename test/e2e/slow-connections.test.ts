// Connections that are slow, silent or stalled: each is cut in time, costs nothing lasting, and does not affect
// others. The timeouts are those of the server, shortened.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type RawConnection, type Served, startServed, stopAllServed } from '../support/served.ts';
import { TEST_CERTIFICATE, TEST_KEY } from '../support/test-certificate.ts';
import { expectProblem } from '../support/wire-contract.ts';

const TIMEOUTS = { headersMs: 400, requestMs: 800, keepAliveMs: 500, stallMs: 500, checkMs: 50 };
/** Long enough for whatever is late on a busy machine, and far below the times a server has by itself. */
const SOON_MS = 8_000;
const HEAD =
  'POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n';

let served: Served;

beforeEach(async () => {
  served = await startServed({ timeouts: TIMEOUTS });
});
afterEach(stopAllServed);

async function gauge(name: string): Promise<number> {
  const { text } = await served.send('GET', '/metrics');
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
}

/** Sends a byte now and then until the connection is closed; how long that took. */
async function trickle(connection: RawConnection, text: string): Promise<number> {
  const from = performance.now();
  let at = 0;
  const timer = setInterval(() => connection.write(text[at++ % text.length]!), 20);
  await connection.closed;
  clearInterval(timer);
  return performance.now() - from;
}

describe('a connection', () => {
  it('on which nothing comes is told that it is too slow, and closed', async () => {
    const connection = await served.connect();
    expect(expectProblem(await connection.answer()).code).toBe('REQUEST_TIMEOUT');
    await connection.closed;
  });

  it('on which the head comes byte by byte is cut, however busy it looks', async () => {
    const connection = await served.connect();
    const answer = connection.answer();
    const endless = `GET /healthz HTTP/1.1\r\n${'X-Header: x\r\n'.repeat(1_000)}`;
    expect(await trickle(connection, endless)).toBeLessThan(SOON_MS);
    expect(expectProblem(await answer).code).toBe('REQUEST_TIMEOUT');
  });

  it('on which the body comes byte by byte is cut, and nothing comes of it', async () => {
    const connection = await served.connect();
    const answer = connection.answer();
    connection.write(HEAD);
    expect(await trickle(connection, '{"payload":1}'.padEnd(1_000))).toBeLessThan(SOON_MS);
    expect(expectProblem(await answer).code).toBe('REQUEST_TIMEOUT');
    expect((await served.done('status.get')).seq).toBe(1);
  });

  it('on which a second request stays a fragment is cut too', async () => {
    const connection = await served.connect();
    connection.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /heal');
    expect((await connection.answer()).status).toBe(200);
    expect(expectProblem(await connection.answer()).code).toBe('REQUEST_TIMEOUT');
    await connection.closed;
  });

  it('on which no handshake comes where one must is closed', async () => {
    const guarded = await startServed({ timeouts: TIMEOUTS, tls: { cert: TEST_CERTIFICATE, key: TEST_KEY } });
    const connection = await guarded.connect();
    // The beginning of a record of 16 KiB, which at this pace would take minutes.
    expect(await trickle(connection, `\x16\x03\x01\x3f\xff${'\x01'.repeat(16_383)}`)).toBeLessThan(SOON_MS);
  });

  it('that waits for a task is not slow', async () => {
    const connection = await served.connect();
    const body = `{"worker_id":"w","wait_ms":${3 * TIMEOUTS.requestMs}}`;
    const head = HEAD.replace('/v1/tasks', '/v1/tasks/lease').replace('1000', String(body.length));
    connection.write(head + body);
    expect((await connection.answer()).status).toBe(200);
  });

  it('that follows the log is not slow', async () => {
    const stream = await served.stream('/v1/log?from=1&follow=1');
    expect((await stream.line()).seq).toBe(1);
    await served.send('POST', '/v1/tasks/lease', {
      body: { worker_id: 'w', wait_ms: 3 * TIMEOUTS.requestMs },
    });
    await served.done('queue.pause', { queue: 'q' });
    expect((await stream.line()).seq).toBe(2);
    stream.destroy();
  });

  it('that is kept for the next request is closed after a while', async () => {
    const connection = await served.connect();
    connection.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
    expect((await connection.answer()).status).toBe(200);
    await connection.closed;
  });

  it('whose other side takes nothing of a long answer is cut', async () => {
    const payload = 'x'.repeat(250_000);
    const ops = Array.from({ length: 4 }, () => ({ op: 'task.create', payload }));
    for (let times = 0; times < 10; times++) await served.send('POST', '/v1/batch', { body: { ops } });
    for (const path of ['/v1/tasks', '/v1/log?from=1']) {
      const stalled = await served.connect();
      stalled.socket.pause();
      stalled.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      await served.until(async () => (await gauge('leasehold_http_requests_in_flight')) === 2);
      await served.until(async () => (await gauge('leasehold_http_requests_in_flight')) === 1);
      stalled.destroy();
    }
  });
});

describe('hundreds of slow connections', () => {
  it('do not keep other clients from being served, and leave nothing behind', async () => {
    const count = 600;
    const connections = await Promise.all(Array.from({ length: count }, () => served.connect()));
    const texts = [
      '',
      'GET /v1/st',
      'GET /v1/status HTTP/1.1\r\nHost: localhost\r\nX',
      HEAD,
      `${HEAD}{"payload"`,
    ];
    for (const [n, connection] of connections.entries()) connection.write(texts[n % texts.length]!);
    const from = performance.now();
    await served.done('task.create', { payload: 1 });
    expect(performance.now() - from).toBeLessThan(SOON_MS);
    await Promise.all(connections.map(({ closed }) => closed));
    await served.until(async () => (await gauge('leasehold_http_requests_in_flight')) === 1);
    expect(await gauge('leasehold_http_connections')).toBeLessThanOrEqual(2);
    expect(served.troubles).toEqual([]);
  });
});
