// The contract of HTTP, held by undici, and what is promised of it besides: lanes, TLS and an end.
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { Http, HttpRequest, Lane } from '../../src/seams/http.ts';
import { undiciHttp } from '../../src/world/undici-http.ts';
import { TEST_CERTIFICATE, TEST_KEY } from '../support/test-certificate.ts';
import { httpContract, signalled } from './http-contract.ts';

httpContract('HTTP by undici', () => undiciHttp());

const cleanups: (() => Promise<unknown> | unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

async function listening(server: Server & { closeAllConnections(): void }, scheme: string): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => server.closeAllConnections());
  cleanups.push(() => new Promise((resolve) => server.close(resolve)));
  return `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function opened(http: Http): Http {
  cleanups.unshift(() => http.close());
  return http;
}

function get(origin: string, lane: Lane = 'calls'): HttpRequest {
  const { signal } = new AbortController();
  return { lane, method: 'GET', origin, path: '/', headers: {}, body: null, signal };
}

describe('lanes', () => {
  it('have connections of their own: whatever waits, and however much, calls and renewals leave', async () => {
    const count = 200;
    const waiting = signalled();
    const release = signalled();
    let waits = 0;
    const server = createServer(async (request, response) => {
      if (request.headers['x-wait'] === '1') {
        waits += 1;
        if (waits === count) waiting.call();
        await release.done;
      }
      response.end('{}');
    });
    const origin = await listening(server, 'http');
    const http = opened(undiciHttp());
    const replies = Array.from({ length: count }, () =>
      http.send({ ...get(origin, 'waits'), headers: { 'x-wait': '1' } }),
    );
    await waiting.done;
    expect(await http.send(get(origin, 'calls'))).toMatchObject({ status: 200 });
    expect(await http.send(get(origin, 'renewals'))).toMatchObject({ status: 200 });
    release.call();
    expect(await Promise.all(replies)).toHaveLength(count);
  });

  it('let renewals leave although every connection for calls is busy', async () => {
    const release = signalled();
    const busy = signalled();
    let calls = 0;
    const server = createServer(async (request, response) => {
      if (request.headers['x-call'] === '1') {
        calls += 1;
        if (calls === 32) busy.call();
        await release.done;
      }
      response.end('{}');
    });
    const origin = await listening(server, 'http');
    const http = opened(undiciHttp());
    const replies = Array.from({ length: 64 }, () =>
      http.send({ ...get(origin), headers: { 'x-call': '1' } }),
    );
    await busy.done;
    expect(await http.send(get(origin, 'renewals'))).toMatchObject({ status: 200 });
    expect(calls).toBe(32);
    release.call();
    await Promise.all(replies);
    expect(calls).toBe(64);
  });
});

describe('TLS', () => {
  it('says in one line that a server speaks no TLS', async () => {
    const origin = await listening(createServer(), 'https');
    await expect(opened(undiciHttp()).send(get(origin))).rejects.toMatchObject({
      effect: 'none',
      message: `No connection to ${origin} could be made: it does not speak TLS; its URL may begin with http:// instead.`,
    });
  });

  it('trusts the certificate that it is given, and no stranger', async () => {
    const server = createTlsServer({ cert: TEST_CERTIFICATE, key: TEST_KEY }, (_, response) =>
      response.end('{}'),
    );
    const origin = await listening(server, 'https');
    expect(await opened(undiciHttp({ ca: TEST_CERTIFICATE })).send(get(origin))).toMatchObject({
      status: 200,
    });
    await expect(opened(undiciHttp()).send(get(origin))).rejects.toMatchObject({
      name: 'HttpFault',
      effect: 'none',
      message: expect.stringContaining(origin),
    });
  });
});

describe('a signal', () => {
  it('is left alone once the reply is there', async () => {
    const origin = await listening(
      createServer((_, response) => response.end('{}')),
      'http',
    );
    const http = opened(undiciHttp());
    const { signal } = new AbortController();
    let listeners = 0;
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
      listeners += 1;
      addEventListener.apply(signal, args);
    };
    signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
      listeners -= 1;
      removeEventListener.apply(signal, args);
    };
    for (let round = 0; round < 3; round++) await http.send({ ...get(origin), signal });
    expect(listeners).toBe(0);
  });
});

describe('closing', () => {
  it('rejects what is under way and what comes later', async () => {
    const came = signalled();
    const origin = await listening(
      createServer(() => came.call()),
      'http',
    );
    const http = undiciHttp();
    const reply = http.send(get(origin));
    reply.catch(() => undefined);
    await came.done;
    await http.close();
    await expect(reply).rejects.toMatchObject({ name: 'HttpFault', effect: 'unknown' });
    // On lanes that were used before and on those that were not.
    for (const lane of ['calls', 'waits', 'renewals'] as const) {
      await expect(http.send(get(origin, lane))).rejects.toMatchObject({ name: 'HttpFault', effect: 'none' });
    }
    await http.close();
  });
});
