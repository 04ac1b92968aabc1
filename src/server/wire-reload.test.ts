// Tokens and certificate replaced while the server serves: who is still answered, which streams and waits end.
import { connect, type TLSSocket } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { type Served, startServed, stopAllServed } from '../../test/support/served.ts';
import {
  RENEWED_CERTIFICATE,
  RENEWED_KEY,
  TEST_CERTIFICATE,
  TEST_KEY,
} from '../../test/support/test-certificate.ts';

afterEach(stopAllServed);

const KEPT = { token: 'kept-0123456789abcdef', scopes: ['*'] };
const DROPPED = { token: 'dropped-0123456789abc', scopes: ['v1:read', 'v1:write', 'v3:read'] };

const served = (): Promise<Served> => startServed({ tokens: [KEPT, DROPPED] });

describe('a token that a reload drops', () => {
  it('is answered 401 on the connection it has, and the others are answered as before', async () => {
    const server = await served();
    const status = async (token: string) => (await server.send('GET', '/v1/status', { token })).status;
    expect([await status(KEPT.token), await status(DROPPED.token)]).toEqual([200, 200]);
    server.access.replaceTokens([KEPT]);
    expect([await status(KEPT.token), await status(DROPPED.token)]).toEqual([200, 401]);
  });

  it.each(['/v1/log?follow=1', '/v1/events'])(
    'loses its stream of %s, and no other token does',
    async (path) => {
      const server = await served();
      const lost = await server.stream(path, { token: DROPPED.token });
      const kept = await server.stream(path, { token: KEPT.token });
      server.access.replaceTokens([KEPT]);
      expect(await lost.take(/never/)).toBeNull();
      await server.done('task.create', { payload: 1 }, { token: KEPT.token });
      expect(await kept.take(/TaskCreated/)).not.toBeNull();
    },
  );

  it('loses its stream of a session', async () => {
    const server = await served();
    const intent = { type: 'live', serviceRef: '1:0:1', profileID: 'demo' };
    const { session_id: id } = await server.done('intent.accept', intent, { token: KEPT.token });
    const lost = await server.stream(`/api/v3/sessions/${id}/events`, { token: DROPPED.token });
    server.access.replaceTokens([KEPT]);
    expect(await lost.take(/never/)).toBeNull();
  });

  it('is granted nothing that it waits for', async () => {
    const server = await served();
    const wait = { worker_id: 'w', wait_ms: 60_000 };
    const waiting = server.call('task.lease', wait, { token: DROPPED.token });
    await server.until(async () => / 1$/m.test(await waits(server)));
    server.access.replaceTokens([KEPT]);
    expect(await waiting).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
    const { task_id } = await server.done('task.create', { payload: 1 }, { token: KEPT.token });
    expect(await server.done('task.get', { task_id }, { token: KEPT.token })).toMatchObject({
      state: 'WAITING',
      attempt: 0,
    });
  });
});

async function waits(server: Served): Promise<string> {
  const { text } = await server.send('GET', '/metrics', { token: KEPT.token });
  return /^leasehold_http_waits.*$/m.exec(text)?.[0] ?? '';
}

describe('a certificate that a reload replaces', () => {
  async function open(port: number): Promise<TLSSocket> {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
    await new Promise((resolve) => socket.once('secureConnect', resolve));
    return socket;
  }
  const subject = (socket: TLSSocket) => socket.getPeerCertificate().subject.CN;

  it('is shown to new connections, and the open ones continue', async () => {
    const server = await startServed({ tls: { cert: TEST_CERTIFICATE, key: TEST_KEY } });
    const old = await open(server.port);
    const { validTo } = server.access.replaceTls({ cert: RENEWED_CERTIFICATE, key: RENEWED_KEY });
    expect(validTo).toMatch(/2126 GMT$/);
    const young = await open(server.port);
    expect([subject(old), subject(young)]).toEqual(['localhost', 'renewed.localhost']);
    for (const socket of [old, young]) {
      socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
      let text = '';
      for await (const chunk of socket.setEncoding('latin1')) text += chunk;
      expect(text).toMatch(/^HTTP\/1.1 200 /);
    }
  });

  it('is refused when the key is of another one, and the old one stays', async () => {
    const server = await startServed({ tls: { cert: TEST_CERTIFICATE, key: TEST_KEY } });
    const replace = () => server.access.replaceTls({ cert: RENEWED_CERTIFICATE, key: TEST_KEY });
    expect(replace).toThrow(/does not belong to the first certificate/);
    const socket = await open(server.port);
    expect(subject(socket)).toBe('localhost');
    socket.destroy();
  });
});
