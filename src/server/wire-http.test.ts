// HTTP itself, as it should and should not be: paths, methods, media types, sizes, and what is hardly HTTP at all. Every
// "no" is a problem with a code, whichever layer says it, and a connection is never left hanging.
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { family, parseMetrics } from '../../test/support/parse-metrics.ts';
import { type Answer, type Served, startServed, stopAllServed } from '../../test/support/served.ts';
import { expectProblem } from '../../test/support/wire-contract.ts';
import { LIMITS } from '../protocol/limits.ts';

let served: Served;

beforeAll(async () => {
  served = await startServed();
});
afterAll(stopAllServed);

const HOST = 'Host: localhost\r\n';
const JSON_BODY = 'Content-Type: application/json\r\n';

/** The whole answer to bytes as they are. */
async function tell(text: string): Promise<Answer> {
  const connection = await served.connect();
  connection.write(text);
  const answer = await connection.answer();
  connection.destroy();
  return answer;
}

/** The refusal of a request that should have been a create; nothing may have come of it. */
async function refusedCreate(head: string, body = '{"payload":1}'): Promise<string> {
  const { seq } = await served.done('status.get');
  const answer = await tell(`POST /v1/tasks HTTP/1.1\r\n${HOST}${head}\r\n${body}`);
  const { code } = expectProblem(answer);
  expect((await served.done('status.get')).seq).toBe(seq);
  return `${answer.status} ${code}`;
}

describe('a path', () => {
  it.each([
    '/nothing',
    '/v1',
    '/v1/',
    '/v2/tasks',
    '//v1/tasks',
    '/v1/tasks/t/unknown',
    '/V1/tasks',
    '/errors/NO_SUCH_CODE',
    '/v1/leases/n/acquire/',
  ])('that leads nowhere is 404: %s', async (path) => {
    const { code } = expectProblem(await served.send('GET', path), path);
    expect(code).toBe('ROUTE_NOT_FOUND');
  });

  it.each([
    '/v1/leases/%',
    '/v1/leases/%zz',
    '/v1/leases/%ff',
    '/v1/leases/%c3',
    '/v1/tasks/%ed%a0%80',
    '/v1/leases/%zz/acquire',
  ])('with bad percent-encoding is 400: %s', async (path) => {
    expect(expectProblem(await served.send('GET', path), path).code).toBe('INVALID_ARGUMENT');
  });

  it.each(['?prefix=%', '?prefix=%zz', '?prefix=%ff', '?%c3=1', '?limit=1&prefix=%e2%82'])(
    'with bad percent-encoding in its query is 400, and not taken for something else: %s',
    async (query) => {
      const { code, detail } = expectProblem(await served.send('GET', `/v1/leases${query}`), '/v1/leases');
      expect([code, detail]).toEqual(['INVALID_ARGUMENT', 'The query is not well formed.']);
    },
  );

  it.each([
    '?unknown=1',
    '?limit=1&limit=2',
    '?limit=',
    '?limit=01',
    '?limit=1.0',
    '?limit=0',
    '?limit=1001',
    '?cursor=x',
    '?__proto__=1',
    '?prefix=%00',
  ])('with a query that is not understood is 400: %s', async (query) => {
    expect(expectProblem(await served.send('GET', `/v1/leases${query}`), '/v1/leases').code).toBe(
      'INVALID_ARGUMENT',
    );
  });

  it('of a change takes no query', async () => {
    const { detail } = expectProblem(
      await served.send('POST', '/v1/tasks?queue=mail', { body: { payload: 1 } }),
    );
    expect(detail).toBe('The query of this path takes no fields.');
  });

  it('may be given in absolute form', async () => {
    expect((await tell(`GET http://localhost/v1/queues HTTP/1.1\r\n${HOST}\r\n`)).status).toBe(200);
  });

  it('in bytes that no URL has is 400', async () => {
    for (const bytes of ['\xc3\xa9', '\x01', 'a b', '\x7f\xff']) {
      const { code } = expectProblem(await tell(`GET /v1/leases/${bytes} HTTP/1.1\r\n${HOST}\r\n`));
      expect(code).toBe('INVALID_ARGUMENT');
    }
  });
});

describe('a method', () => {
  it.each([
    ['DELETE', '/v1/tasks', 'POST, GET, HEAD'],
    ['PATCH', '/v1/objects/o', 'PUT, GET, HEAD, DELETE'],
    ['GET', '/v1/leases/n/acquire', 'POST'],
    ['PUT', '/v1/leases/acquire', 'POST, GET, HEAD'],
    ['POST', '/v1/status', 'GET, HEAD'],
    ['POST', '/v1/log', 'GET, HEAD'],
    ['GET', '/v1/batch', 'POST'],
    ['OPTIONS', '/v1/batch', 'POST'],
    ['POST', '/healthz', 'GET, HEAD'],
    ['DELETE', '/', 'GET, HEAD'],
    ['TRACE', '/metrics', 'GET, HEAD'],
    ['PROPFIND', '/openapi.json', 'GET, HEAD'],
  ])('that a path does not take is 405 with those it takes: %s %s', async (method, path, allow) => {
    const answer = await served.send(method, path);
    const { code } = expectProblem(answer, path);
    expect([answer.status, code]).toEqual([405, 'METHOD_NOT_ALLOWED']);
    expect(answer.headers.allow!.split(', ').sort()).toEqual(allow.split(', ').sort());
  });

  it('that HTTP does not know is 400', async () => {
    expect(expectProblem(await tell(`FROB / HTTP/1.1\r\n${HOST}\r\n`)).code).toBe('INVALID_ARGUMENT');
  });

  it('to go through us to somewhere else is 405', async () => {
    const answer = await tell(`CONNECT example.org:443 HTTP/1.1\r\n${HOST}X-Request-Id: proxy-me\r\n\r\n`);
    expect(expectProblem(answer)).toMatchObject({ code: 'METHOD_NOT_ALLOWED', requestId: 'proxy-me' });
  });

  it('to go through us does no harm when its client resets the connection before the answer', async () => {
    for (let round = 0; round < 20; round++) {
      const socket = connect(served.port, '127.0.0.1');
      await once(socket, 'connect');
      socket.write(`CONNECT example.org:443 HTTP/1.1\r\n${HOST}\r\n`, () => socket.resetAndDestroy());
      await once(socket, 'close');
    }
    expect((await served.send('GET', '/healthz')).status).toBe(200);
  });
});

describe('a body', () => {
  it.each([
    'text/plain',
    'application/jsonx',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'garbage',
    '/',
    'application/problem+json',
    'text/json',
  ])('of another type than JSON is 415: %s', async (type) => {
    const head = `Content-Type: ${type}\r\nContent-Length: 13\r\n`;
    expect(await refusedCreate(head)).toBe('415 UNSUPPORTED_MEDIA_TYPE');
  });

  it.each(['gzip', 'br', 'deflate, gzip'])('that says it is coded is 415: %s', async (coding) => {
    const head = `Content-Type: application/json\r\nContent-Encoding: ${coding}\r\nContent-Length: 13\r\n`;
    expect(await refusedCreate(head)).toBe('415 UNSUPPORTED_MEDIA_TYPE');
  });

  it('of no type is 415', async () => {
    expect(await refusedCreate('Content-Length: 13\r\n')).toBe('415 UNSUPPORTED_MEDIA_TYPE');
  });

  it.each(['application/json', 'application/json; charset=utf-8', 'Application/JSON;charset=UTF-8'])(
    'of the type %s is read',
    async (type) => {
      const headers = { 'content-type': type };
      expect((await served.send('POST', '/v1/tasks', { body: '{"payload":1}', headers })).status).toBe(201);
    },
  );

  it('that is missing asks for nothing, which is enough for some', async () => {
    expect((await tell(`POST /v1/queues/q/pause HTTP/1.1\r\n${HOST}\r\n`)).status).toBe(200);
    const { detail } = expectProblem(await tell(`POST /v1/tasks HTTP/1.1\r\n${HOST}\r\n`));
    expect(detail).toContain('payload');
  });

  it.each([
    ['malformed', '{"payload":1'],
    ['a list', '[{"payload":1}]'],
    ['a word', 'payload'],
    ['followed by more', '{"payload":1} {"payload":2}'],
    ['with a key twice', '{"payload":1,"queue":"a","queue":"b"}'],
    ['with an unknown field', '{"payload":1,"colour":"red"}'],
    ['with __proto__ in it', '{"payload":1,"__proto__":{"queue":"x"}}'],
    ['with a path field in it', '{"payload":1,"task_id":7}'],
    ['too deep', `{"payload":${'['.repeat(2_000)}${']'.repeat(2_000)}}`],
    ['a lone surrogate for a name', '{"payload":1,"queue":"\\ud800"}'],
    ['with a NUL in a name', '{"payload":1,"queue":"\\u0000"}'],
    ['with a fraction for a number', '{"payload":1,"priority":0.5}'],
    ['with a number beyond its range', '{"payload":1,"priority":1e3}'],
  ])('that is %s is 400', async (_, body) => {
    const head = `${JSON_BODY}Content-Length: ${Buffer.byteLength(body)}\r\n`;
    expect(await refusedCreate(head, body)).toBe('400 INVALID_ARGUMENT');
  });

  it('that is not UTF-8 is 400', async () => {
    expect(await refusedCreate(`${JSON_BODY}Content-Length: 15\r\n`, '{"payload":"\xff"}')).toBe(
      '400 INVALID_ARGUMENT',
    );
  });

  it('may have a mebibyte', async () => {
    const results = [1, 2, 3].map((n) => ({ object_id: `o${n}`, value: 'x'.repeat(LIMITS.opaqueBytes - 2) }));
    const body = JSON.stringify({ lease_id: 'l', writes: results });
    const filled = body + ' '.repeat(LIMITS.bodyBytes - body.length);
    const answer = await served.send('POST', '/v1/tasks/nothing/complete', { body: filled });
    expect(expectProblem(answer).code).toBe('TASK_NOT_FOUND');
  });

  it.each([1, 1_000_000, 20_000_000])('with %i bytes more than that is 413', async (more) => {
    const { seq } = await served.done('status.get');
    const body = `{"payload":1}${' '.repeat(LIMITS.bodyBytes - 13 + more)}`;
    const answer = await served.send('POST', '/v1/tasks', { body });
    expect(expectProblem(answer, '/v1/tasks').code).toBe('PAYLOAD_TOO_LARGE');
    expect((await served.done('status.get')).seq).toBe(seq);
  });

  it('in chunks that come to more than that is 413', async () => {
    const chunk = `10000\r\n${' '.repeat(65_536)}\r\n`;
    const head = `${JSON_BODY}Transfer-Encoding: chunked\r\n`;
    expect(await refusedCreate(head, chunk.repeat(17))).toBe('413 PAYLOAD_TOO_LARGE');
  });

  it.each(['payload', 'result', 'value', 'metadata'])(
    'may have 256 KiB of %s and not one byte more',
    async (field) => {
      const text = (bytes: number) => `"${'x'.repeat(bytes - 2)}"`;
      const paths: Record<string, [string, string, string]> = {
        payload: ['POST', '/v1/tasks', ''],
        result: ['POST', '/v1/tasks/t/complete', '"lease_id":"l",'],
        value: ['PUT', '/v1/objects/o', ''],
        metadata: ['POST', '/v1/leases/n/acquire', '"holder":"h","ttl_ms":1000,'],
      };
      const [method, path, rest] = paths[field]!;
      const send = (bytes: number) =>
        served.send(method, path, { body: `{${rest}"${field}":${text(bytes)}}` });
      expect((await send(LIMITS.opaqueBytes)).status).not.toBe(413);
      expect(expectProblem(await send(LIMITS.opaqueBytes + 1), path).code).toBe('PAYLOAD_TOO_LARGE');
    },
  );

  it('may come in chunks', async () => {
    const chunks = '5\r\n{"pay\r\n8\r\nload":1}\r\n0\r\n\r\n';
    const answer = await tell(
      `POST /v1/tasks HTTP/1.1\r\n${HOST}${JSON_BODY}Transfer-Encoding: chunked\r\n\r\n${chunks}`,
    );
    expect(answer.status).toBe(201);
  });

  it('may be announced', async () => {
    const connection = await served.connect();
    connection.write(
      `POST /v1/tasks HTTP/1.1\r\n${HOST}${JSON_BODY}Expect: 100-continue\r\nContent-Length: 13\r\n\r\n`,
    );
    expect((await connection.head()).status).toBe(100);
    connection.write('{"payload":1}');
    expect((await connection.answer()).status).toBe(201);
  });

  it.each([
    [
      'a length and chunks',
      `${JSON_BODY}Content-Length: 13\r\nTransfer-Encoding: chunked\r\n`,
      '{"payload":1}',
    ],
    ['two lengths', `${JSON_BODY}Content-Length: 13\r\nContent-Length: 12\r\n`, '{"payload":1}'],
    ['a length that is no number', `${JSON_BODY}Content-Length: 13x\r\n`, '{"payload":1}'],
    ['a negative length', `${JSON_BODY}Content-Length: -13\r\n`, '{"payload":1}'],
    ['an enormous length', `${JSON_BODY}Content-Length: 99999999999999999999\r\n`, '{"payload":1}'],
    [
      'a chunk that is none',
      `${JSON_BODY}Transfer-Encoding: chunked\r\n`,
      'zz\r\n{"payload":1}\r\n0\r\n\r\n',
    ],
    ['an unknown transfer encoding', `${JSON_BODY}Transfer-Encoding: gzip\r\n`, '{"payload":1}'],
    ['an unknown expectation', `${JSON_BODY}Expect: tea\r\nContent-Length: 13\r\n`, '{"payload":1}'],
    ['a header that is none', `${JSON_BODY}: x\r\nContent-Length: 13\r\n`, '{"payload":1}'],
    ['a header with a NUL', `${JSON_BODY}X: \0\r\nContent-Length: 13\r\n`, '{"payload":1}'],
  ])('with %s is 400', async (_, head, body) => {
    expect(await refusedCreate(head, body)).toBe('400 INVALID_ARGUMENT');
  });

  it('with an unknown expectation is refused at its own path', async () => {
    const answer = await tell(`GET /v1/status?limit=1 HTTP/1.1\r\n${HOST}Expect: tea\r\n\r\n`);
    expect(expectProblem(answer).instance).toBe('/v1/status');
  });

  it('that is shorter than its length is 400 once the other side has ended', async () => {
    const connection = await served.connect({ allowHalfOpen: true });
    connection.write(`POST /v1/tasks HTTP/1.1\r\n${HOST}${JSON_BODY}Content-Length: 50\r\n\r\n{"payload":1}`);
    connection.socket.end();
    expect(expectProblem(await connection.answer()).code).toBe('INVALID_ARGUMENT');
  });
});

describe('refusals before an operation is reached', () => {
  it('are counted like all others', async () => {
    const refusals = async () =>
      family(parseMetrics((await served.send('GET', '/metrics')).text), 'leasehold_http_refusals_total');
    const before = await refusals();
    await served.send('GET', '/nothing');
    await served.send('PUT', '/v1/tasks');
    await served.send('POST', '/v1/tasks', { body: ' '.repeat(LIMITS.bodyBytes + 1) });
    await refusedCreate('Content-Type: text/plain\r\nContent-Length: 13\r\n');
    await refusedCreate(`${JSON_BODY}Expect: tea\r\nContent-Length: 13\r\n`);
    const after = await refusals();
    for (const code of [
      'ROUTE_NOT_FOUND',
      'METHOD_NOT_ALLOWED',
      'PAYLOAD_TOO_LARGE',
      'UNSUPPORTED_MEDIA_TYPE',
      'INVALID_ARGUMENT',
    ]) {
      const key = `{code="${code}"}`;
      expect([code, after[key]! - (before[key] ?? 0)]).toEqual([code, 1]);
    }
  });
});

describe('the headers', () => {
  it('that are too large are 431', async () => {
    for (const head of [
      `X: ${'x'.repeat(20_000)}\r\n`,
      `${'x'.repeat(20_000)}: x\r\n`,
      'X-Header: value\r\n'.repeat(2_000),
    ]) {
      const answer = await tell(`GET /v1/status HTTP/1.1\r\n${HOST}${head}\r\n`);
      expect([answer.status, expectProblem(answer).code]).toEqual([431, 'HEADERS_TOO_LARGE']);
    }
  });

  it('with a path that is too large are 431', async () => {
    const answer = await tell(`GET /${'x'.repeat(20_000)} HTTP/1.1\r\n${HOST}\r\n`);
    expect([answer.status, expectProblem(answer).code]).toEqual([431, 'HEADERS_TOO_LARGE']);
  });

  it('without a Host are 400', async () => {
    const { code, detail } = expectProblem(await tell('GET /v1/status HTTP/1.1\r\n\r\n'));
    expect([code, detail]).toEqual(['INVALID_ARGUMENT', 'The Host header is missing.']);
  });

  it.each([
    ['\x16\x03\x01\x02\r\n\r\n', 'Invalid method encountered'],
    [
      `POST /v1/tasks HTTP/1.1\r\n${HOST}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`,
      "Transfer-Encoding can't be present with Content-Length",
    ],
  ])('that are not HTTP are 400, with what the parser stumbled over', async (request, reason) => {
    const { code, detail } = expectProblem(await tell(request));
    expect([code, detail]).toEqual([
      'INVALID_ARGUMENT',
      `The request is not well-formed HTTP/1.1: ${reason}.`,
    ]);
  });

  it('may ask for an upgrade, which is not given', async () => {
    for (const upgrade of ['websocket', 'h2c']) {
      const head = `Connection: Upgrade\r\nUpgrade: ${upgrade}\r\n`;
      expect((await tell(`GET /healthz HTTP/1.1\r\n${HOST}${head}\r\n`)).status).toBe(200);
    }
  });

  it('may carry an id for the request, which is kept', async () => {
    const id = 'trace-1/α'.slice(0, 7);
    const { headers } = await served.send('GET', '/v1/status', { headers: { 'x-request-id': id } });
    expect(headers['x-request-id']).toBe(id);
    const refused = await served.send('GET', '/v1/tasks/nothing', { headers: { 'x-request-id': id } });
    expect(expectProblem(refused).requestId).toBe(id);
    expect(
      expectProblem(await served.send('GET', '/nothing', { headers: { 'x-request-id': id } })).requestId,
    ).toBe(id);
  });

  it.each(['', 'two words', 'x'.repeat(129), 'a\tb', '\xff'])(
    'may carry an id that is not fit to be kept: one is made',
    async (id) => {
      const { headers } = await served.send('GET', '/v1/status', { headers: { 'x-request-id': id } });
      expect(headers['x-request-id']).toMatch(/^[\w-]+$/);
      expect(headers['x-request-id']).not.toBe(id);
    },
  );

  it('always get an id of their own', async () => {
    const ids = new Set<unknown>();
    for (let n = 0; n < 20; n++) ids.add((await served.send('GET', '/healthz')).headers['x-request-id']);
    expect(ids.size).toBe(20);
  });
});

describe('a connection', () => {
  it('may speak HTTP/1.0', async () => {
    const connection = await served.connect();
    connection.write(`GET /healthz HTTP/1.0\r\n${HOST}\r\n`);
    const { status, headers } = await connection.answer();
    expect([status, headers.connection]).toEqual([200, 'close']);
    await connection.closed;
  });

  it.each(['HTTP/9.9', 'HTTP/1', 'GOPHER/1.1', ''])('may not speak %j', async (version) => {
    const connection = await served.connect();
    connection.write(`GET /healthz ${version}\r\n${HOST}\r\n`);
    expect(expectProblem(await connection.answer()).code).toBe('INVALID_ARGUMENT');
    await connection.closed;
  });

  it.each([
    '\x16\x03\x01\x02\x00\x01\x00\x01\xfc',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    '\0\0\0\0',
    '{"payload":1}\r\n\r\n',
    '\r\n\r\n\xff',
  ])('that speaks something else is told so and closed: %j', async (bytes) => {
    const connection = await served.connect();
    connection.write(bytes);
    expect(expectProblem(await connection.answer()).code).toBe('INVALID_ARGUMENT');
    await connection.closed;
  });

  it('carries several requests one after the other', async () => {
    const connection = await served.connect();
    for (const path of ['/healthz', '/nothing', '/v1/status']) {
      connection.write(`GET ${path} HTTP/1.1\r\n${HOST}\r\n`);
      expect((await connection.answer()).status).toBe(path === '/nothing' ? 404 : 200);
    }
  });

  it('carries several requests at once, answered in their order', async () => {
    const connection = await served.connect();
    const ids = Array.from({ length: 50 }, (_, n) => `pipe-${n}`);
    connection.write(
      ids
        .map(
          (id, n) => `GET /${n % 3 ? 'v1/status' : 'nothing'} HTTP/1.1\r\n${HOST}X-Request-Id: ${id}\r\n\r\n`,
        )
        .join(''),
    );
    for (const id of ids) expect((await connection.answer()).headers['x-request-id']).toBe(id);
  });

  it('on which rubbish follows a request answers the request first, and then the rubbish', async () => {
    const connection = await served.connect();
    connection.write(
      `POST /v1/tasks HTTP/1.1\r\n${HOST}${JSON_BODY}Content-Length: 13\r\n\r\n{"payload":1}rubbish\r\n\r\n`,
    );
    expect((await connection.answer()).status).toBe(201);
    expect(expectProblem(await connection.answer()).code).toBe('INVALID_ARGUMENT');
    await connection.closed;
  });

  it('on which rubbish follows a stream is cut, and nothing is put into the stream', async () => {
    const stream = await served.stream('/v1/log?from=1&follow=1');
    expect((await stream.line()).seq).toBe(1);
    stream.write('rubbish\r\n\r\n');
    let last: unknown = stream;
    while (last !== null) last = await stream.line();
  });

  it('that is half closed is still answered, if the answer is quick', async () => {
    const connection = await served.connect({ allowHalfOpen: true });
    connection.socket.end(`GET /healthz HTTP/1.1\r\n${HOST}\r\n`);
    expect((await connection.answer()).status).toBe(200);
  });

  it('reports no fault', () => {
    expect(served.troubles).toEqual([]);
  });
});
