// The same over TLS: requests, streams, rubbish and the stop.
import { request } from 'node:https';
import { connect } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RawConnection, type Served, startServed, stopAllServed } from '../../test/support/served.ts';
import { TEST_CERTIFICATE, TEST_KEY } from '../../test/support/test-certificate.ts';

let served: Served;

beforeEach(async () => {
  served = await startServed({ tls: { cert: TEST_CERTIFICATE, key: TEST_KEY } });
});
afterEach(stopAllServed);

function get(path: string): Promise<{ readonly status: number | undefined; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port: served.port, path, rejectUnauthorized: false, agent: false };
    const asked = request(options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode, text: Buffer.concat(chunks).toString() }),
      );
    });
    asked.on('error', reject);
    asked.end();
  });
}

describe('over TLS', () => {
  it('requests are answered at an https address', async () => {
    expect(served.url).toMatch(/^https:/);
    expect((await get('/v1/status')).status).toBe(200);
    expect(JSON.parse((await get('/nothing')).text).code).toBe('ROUTE_NOT_FOUND');
    expect((await get('/v1/log?from=1')).text).toContain('EpochStarted');
  });

  it('a client that has closed its side is answered before the connection is closed', async () => {
    const options = { host: '127.0.0.1', port: served.port, rejectUnauthorized: false, allowHalfOpen: true };
    const body = '{"payload":1}';
    const head = `Host: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
    for (let times = 0; times < 20; times++) {
      const socket = connect(options);
      socket.once('secureConnect', () => socket.end(`POST /v1/tasks HTTP/1.1\r\n${head}\r\n${body}`));
      let text = '';
      for await (const chunk of socket.setEncoding('latin1')) text += chunk;
      expect(text).toMatch(/^HTTP\/1.1 201 /);
    }
  });

  it('a plain request is not, and does no harm', async () => {
    const plain = await RawConnection.to(served.port);
    plain.write('GET /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await plain.closed;
    expect((await get('/healthz')).status).toBe(200);
    expect(served.troubles).toEqual([]);
  });

  it('a stop does not wait for connections on which nothing came', async () => {
    const silent = await RawConnection.to(served.port);
    await get('/healthz');
    await served.stop();
    await silent.closed;
  });
});
