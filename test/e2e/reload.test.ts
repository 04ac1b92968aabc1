// SIGHUP to real servers: tokens and certificate change, connections stay, and the process never ends of it.
import { hash } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CliBench, isAlive, type Process, until } from '../support/cli-processes.ts';
import { LiveWire } from '../support/live-wire.ts';
import { RawConnection } from '../support/served.ts';
import { RENEWED_CERTIFICATE, RENEWED_KEY, TEST_CERTIFICATE, TEST_KEY } from '../support/test-certificate.ts';

let bench: CliBench;

beforeEach(() => {
  bench = new CliBench();
});

afterEach(() => bench.close());

const OLD = 'old-0123456789abcdef01';
const NEW = 'new-0123456789abcdef01';
const file = (name: string): string => join(bench.dir, name);
const writeTokens = (...tokens: string[]): void =>
  writeFileSync(file('tokens.json'), JSON.stringify(tokens.map((token) => ({ token, scopes: ['*'] }))));

async function started(command: string, ...flags: string[]): Promise<Process> {
  const server = bench.start([
    command,
    '--data',
    file('data'),
    '--listen',
    '127.0.0.1:0',
    '--json',
    ...flags,
  ]);
  const [, url] = await server.says(/"url":"([^"]+)"/);
  bench.url = url!;
  return server;
}

/** Hangs up, and waits for what is said of it, for the so-manieth time. */
async function reload(server: Process, says: string, times = 1): Promise<void> {
  server.kill('SIGHUP');
  await until(`${says}, ${times} times`, () => server.stderr.split(says).length - 1 >= times);
}

const statusWith = async (token: string): Promise<number> =>
  (await fetch(`${bench.url}/v1/status`, { headers: { authorization: `Bearer ${token}` } })).status;

describe('SIGHUP to serve', () => {
  it('takes new tokens, also as hashes, and ends the streams and live connections of those that are gone', async () => {
    writeTokens(OLD);
    const server = await started('serve', '--tokens', file('tokens.json'));
    const stream = await fetch(`${bench.url}/v1/log?follow=1`, {
      headers: { authorization: `Bearer ${OLD}` },
    });
    const wire = await LiveWire.open(Number(new URL(bench.url).port), { token: OLD });
    writeTokens(`sha256:${hash('sha256', NEW, 'hex')}`);
    await reload(server, 'tokens reloaded');
    expect([await statusWith(OLD), await statusWith(NEW)]).toEqual([401, 200]);
    expect(await stream.text()).toBe('');
    expect(await wire.closed).toMatchObject({ code: 4401 });
  });

  it('keeps the old tokens when the file is bad, and the next one that is good counts', async () => {
    writeTokens(OLD);
    const server = await started('serve', '--tokens', file('tokens.json'));
    writeFileSync(file('tokens.json'), '[{"token": "');
    await reload(server, 'the tokens are not reloaded');
    rmSync(file('tokens.json'));
    await reload(server, 'the tokens are not reloaded', 2);
    expect(server.stderr).toMatch(/"why":"[^"]*tokens\.json is not JSON/);
    expect(server.stderr).toMatch(/"why":"[^"]*there is no such file/);
    expect(await statusWith(OLD)).toBe(200);
    writeTokens(NEW);
    await reload(server, 'tokens reloaded');
    expect([await statusWith(OLD), await statusWith(NEW)]).toEqual([401, 200]);
  });

  it('shows the new certificate to new connections; a connection that is open is answered', async () => {
    writeFileSync(file('cert.pem'), TEST_CERTIFICATE);
    writeFileSync(file('key.pem'), TEST_KEY);
    const server = await started('serve', '--tls-cert', file('cert.pem'), '--tls-key', file('key.pem'));
    const port = Number(new URL(bench.url).port);
    const open = async (): Promise<TLSSocket> => {
      const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
      await new Promise((resolve) => socket.once('secureConnect', resolve));
      return socket;
    };
    const subject = (socket: TLSSocket): unknown => socket.getPeerCertificate().subject.CN;
    const old = await open();
    writeFileSync(file('cert.pem'), RENEWED_CERTIFICATE);
    await reload(server, 'the certificate is not reloaded');
    const between = await open();
    expect(subject(between)).toBe('localhost');
    between.destroy();
    writeFileSync(file('key.pem'), RENEWED_KEY);
    await reload(server, 'certificate reloaded');
    const young = await open();
    expect(subject(young)).toBe('renewed.localhost');
    young.destroy();
    expect(server.stderr).toMatch(
      /"subject":"CN=renewed\.localhost","valid_from":"[^"]+","valid_to":"[^"]+2126 GMT"/,
    );
    old.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    let text = '';
    for await (const chunk of old.setEncoding('latin1')) text += chunk;
    expect(text).toMatch(/^HTTP\/1.1 200 /);
  });

  it('does not end it: not while it starts, not without anything to reload, not twice, not while it stops', async () => {
    const server = bench.start(['serve', '--data', file('data'), '--listen', '127.0.0.1:0', '--json']);
    // From when the process listens to the signal until it serves.
    await until('it to catch SIGHUP', () => server.catches('SIGHUP'));
    while (server.stdout === '') {
      expect(isAlive(server.pid)).toBe(true);
      server.kill('SIGHUP');
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const [, port] = await server.says(/"url":"http:\/\/127\.0\.0\.1:(\d+)"/);
    await reload(server, 'nothing to reload');
    server.kill('SIGHUP');
    const connection = await RawConnection.to(Number(port));
    connection.write(
      'POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 13\r\nExpect: 100-continue\r\n\r\n',
    );
    expect((await connection.head()).status).toBe(100);
    server.kill('SIGTERM');
    await server.says(/"says":"stopping"/);
    server.kill('SIGHUP');
    server.kill('SIGHUP');
    connection.write('{"payload":1}');
    expect((await connection.answer()).status).toBe(201);
    expect(await server.ended).toMatchObject({ status: 0, signal: null });
  });
});

describe('SIGHUP to up', () => {
  it('takes new tokens, and the orchestrator keeps its own', async () => {
    writeTokens(OLD);
    const both = await started('up', '--tokens', file('tokens.json'));
    await both.says(/taking intents/);
    writeTokens(NEW);
    await reload(both, 'tokens reloaded');
    expect([await statusWith(OLD), await statusWith(NEW)]).toEqual([401, 200]);
    const headers = { authorization: `Bearer ${NEW}`, 'content-type': 'application/json' };
    const intent = JSON.stringify({ type: 'live', serviceRef: 'news', profileID: 'demo' });
    const reply = await fetch(`${bench.url}/api/v3/intents`, { method: 'POST', headers, body: intent });
    const { session_id: id } = (await reply.json()) as { session_id: string };
    await until('the session to be ready', async () => {
      const session = await fetch(`${bench.url}/api/v3/sessions/${id}`, { headers });
      return ((await session.json()) as { state: string }).state === 'READY';
    });
    both.kill('SIGTERM');
    expect(await both.ended).toMatchObject({ status: 0, signal: null });
  });
});
