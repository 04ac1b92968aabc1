// What the client relies on from every Http implementation: tested against bare servers that behave and misbehave.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Http, HttpRequest } from '../../src/seams/http.ts';

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void;

let server: Server;
let origin: string;
/** What the bare server does with a request. */
let handler: Handler;
/** Method, path and body of what arrived. */
let arrived: string[];

/** Resolves when `call` is called. */
export function signalled(): { readonly done: Promise<void>; readonly call: () => void } {
  let call = (): void => undefined;
  const done = new Promise<void>((resolve) => {
    call = resolve;
  });
  return { done, call };
}

const utf8 = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

async function textOf(chunks: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const chunk of chunks) text += chunk;
  return text;
}

export function httpContract(name: string, make: () => Http): void {
  let http: Http;

  beforeEach(async () => {
    arrived = [];
    handler = (_, response) => response.end('{}');
    server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString();
        arrived.push(`${request.method} ${request.url} ${body}`);
        handler(request, response, body);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    http = make();
  });

  afterEach(async () => {
    await http.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  const request = (more: Partial<HttpRequest> = {}): HttpRequest => ({
    lane: 'calls',
    method: 'GET',
    origin,
    path: '/',
    headers: {},
    body: null,
    signal: new AbortController().signal,
    ...more,
  });

  describe(name, () => {
    it('sends method, path, headers and body as they are, and gives status, headers and bytes', async () => {
      let headers: IncomingMessage['headers'] = {};
      handler = (incoming, response) => {
        headers = incoming.headers;
        response.writeHead(418, { 'Retry-After': '7', 'content-type': 'application/json' }).end('{"é":"😀"}');
      };
      const reply = await http.send(
        request({
          method: 'PUT',
          path: '/v1/objects/a%2Fb%20c?x=%2B',
          headers: { authorization: 'Bearer t', 'content-type': 'application/json' },
          body: '{"value":"ü"}',
        }),
      );
      expect(arrived).toEqual(['PUT /v1/objects/a%2Fb%20c?x=%2B {"value":"ü"}']);
      expect(headers).toMatchObject({ authorization: 'Bearer t', 'content-type': 'application/json' });
      expect(reply.status).toBe(418);
      expect(utf8(reply.body)).toBe('{"é":"😀"}');
      expect(reply.header('retry-after')).toBe('7');
      expect(reply.header('content-type')).toBe('application/json');
      expect(reply.header('x-none')).toBeNull();
    });

    it.each(['GET', 'POST', 'PUT', 'DELETE'] as const)(
      'knows the method %s, with a body or an empty reply',
      async (method) => {
        handler = (_, response) => response.end();
        const body = method === 'GET' ? null : '{}';
        const reply = await http.send(request({ method, body }));
        expect([reply.status, utf8(reply.body)]).toEqual([200, '']);
        expect(arrived).toEqual([`${method} / ${body ?? ''}`]);
      },
    );

    it('gives large replies whole, also when a character is cut in two on the way', async () => {
      const text = JSON.stringify('ab😀é'.repeat(200_000));
      const bytes = Buffer.from(text);
      handler = (_, response) => {
        response.write(bytes.subarray(0, 4));
        setImmediate(() => response.end(bytes.subarray(4)));
      };
      expect(utf8((await http.send(request())).body)).toBe(text);
      expect(await textOf((await http.stream(request())).chunks)).toBe(text);
    });

    it('uses connections again', async () => {
      const ports = new Set<number | undefined>();
      handler = ({ socket }, response) => {
        ports.add(socket.remotePort);
        response.end('{}');
      };
      for (let round = 0; round < 20; round++) await http.send(request());
      // The next request may leave before the last connection is known to be free.
      expect(ports.size).toBeLessThanOrEqual(2);
    });

    it('says that nothing has left when no server listens', async () => {
      const { port } = server.address() as AddressInfo;
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      const gone = request({ origin: `http://127.0.0.1:${port}`, method: 'POST', body: '{}' });
      const fault = { name: 'HttpFault', effect: 'none', message: expect.stringContaining(gone.origin) };
      await expect(http.send(gone)).rejects.toMatchObject(fault);
      await expect(http.stream(gone)).rejects.toMatchObject({ name: 'HttpFault' });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    });

    it.each([
      ['before the answer', (response: ServerResponse) => response.socket!.destroy()],
      [
        'in the middle of the answer',
        (response: ServerResponse) => {
          response.writeHead(200, { 'content-length': '100' });
          response.write('{"half":');
          setImmediate(() => response.socket!.destroy());
        },
      ],
    ])('says that the request may have arrived when the connection breaks %s', async (_, misbehave) => {
      handler = (_request, response) => misbehave(response);
      await expect(http.send(request({ method: 'POST', body: '{}' }))).rejects.toMatchObject({
        name: 'HttpFault',
        effect: 'unknown',
      });
      expect(arrived).toEqual(['POST / {}']);
    });

    it('ends the connection of a request whose signal aborts, and rejects with the reason', async () => {
      const came = signalled();
      const closed = signalled();
      handler = (_, response) => {
        response.on('close', closed.call);
        came.call();
      };
      const abort = new AbortController();
      const reply = http.send(request({ signal: abort.signal, lane: 'waits' }));
      reply.catch(() => undefined);
      await came.done;
      const reason = new Error('enough');
      abort.abort(reason);
      await expect(reply).rejects.toBe(reason);
      await closed.done;
    });

    it('does not send what has been aborted before', async () => {
      const aborted = request({ signal: AbortSignal.abort('why') });
      await expect(http.send(aborted)).rejects.toBe('why');
      await expect(http.stream(aborted)).rejects.toBe('why');
      await http.send(request());
      expect(arrived).toHaveLength(1);
    });

    it('gives a stream as it comes', async () => {
      const more = signalled();
      handler = async (_, response) => {
        response.writeHead(200, { 'content-type': 'application/x-ndjson' });
        response.write('{"seq":1}\n');
        await more.done;
        response.end('{"seq":2}\n');
      };
      const stream = await http.stream(request({ lane: 'waits' }));
      expect(stream.status).toBe(200);
      expect(stream.header('content-type')).toBe('application/x-ndjson');
      const chunks = stream.chunks[Symbol.asyncIterator]();
      expect(await chunks.next()).toMatchObject({ value: '{"seq":1}\n' });
      more.call();
      expect(await chunks.next()).toMatchObject({ value: '{"seq":2}\n' });
      expect(await chunks.next()).toMatchObject({ done: true });
    });

    it('ends the connection of a stream that is no longer read', async () => {
      const closed = signalled();
      handler = (_, response) => {
        response.on('close', closed.call);
        response.write('first\n');
      };
      const stream = await http.stream(request());
      for await (const chunk of stream.chunks) {
        expect(chunk).toBe('first\n');
        break;
      }
      await closed.done;
    });

    it('rejects with the reason when the signal of a stream aborts', async () => {
      handler = (_, response) => response.write('first\n');
      const abort = new AbortController();
      const stream = await http.stream(request({ signal: abort.signal }));
      const chunks = stream.chunks[Symbol.asyncIterator]();
      await chunks.next();
      const next = chunks.next();
      next.catch(() => undefined);
      const reason = new Error('enough');
      abort.abort(reason);
      await expect(next).rejects.toBe(reason);
    });

    it('tells when a stream breaks', async () => {
      handler = (_, response) => {
        response.write('first\n');
        setImmediate(() => response.socket!.destroy());
      };
      const stream = await http.stream(request());
      await expect(textOf(stream.chunks)).rejects.toMatchObject({ name: 'HttpFault', effect: 'unknown' });
    });

    it('gives the body of a stream that was refused', async () => {
      handler = (_, response) => response.writeHead(410).end('{"code":"LOG_COMPACTED"}');
      const stream = await http.stream(request());
      expect(stream.status).toBe(410);
      expect(await textOf(stream.chunks)).toBe('{"code":"LOG_COMPACTED"}');
    });
  });
}
