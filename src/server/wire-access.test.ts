// Who gets in, over real sockets: tokens and scopes for every operation and page, networks, Host and Origin.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, type Served, startServed, stopAllServed } from '../../test/support/served.ts';
import { TestDisk } from '../../test/support/test-disk.ts';
import { expectProblem } from '../../test/support/wire-contract.ts';
import { fileEngine } from '../engines/file/file-engine.ts';
import type { ScopeNeeded } from '../operations/operation.ts';
import { PAGES, type Page } from '../operations/pages.ts';
import { type AnyOperation, OPERATIONS } from '../operations/table.ts';

const TOKENS = ['v1:read', 'v1:write', 'v1:admin', 'v3:read', 'v3:write', 'v3:admin', '*'].map((scope) => ({
  token: `token-with-the-scope-${scope}`,
  scopes: [scope],
  name: `the ${scope} one`,
}));
const tokenOf = (scope: string): string => `token-with-the-scope-${scope}`;
/** Which tokens are enough for what. */
const ENOUGH: Record<ScopeNeeded, readonly string[]> = {
  any: TOKENS.map(({ scopes }) => scopes[0]!),
  'v1:read': ['v1:read', 'v1:write', 'v1:admin', '*'],
  'v1:write': ['v1:write', 'v1:admin', '*'],
  'v1:admin': ['v1:admin', '*'],
  'v3:read': ['v3:read', 'v3:write', 'v3:admin', '*'],
  'v3:write': ['v3:write', 'v3:admin', '*'],
  'v3:admin': ['v3:admin', '*'],
};

let guarded: Served;
let open: Served;

beforeAll(async () => {
  guarded = await startServed({ tokens: TOKENS });
  open = await startServed();
});
afterAll(stopAllServed);

interface Place {
  readonly method: string;
  readonly path: string;
  readonly scope: ScopeNeeded | null;
}

const placeOf = ({ method, path, scope }: Pick<AnyOperation | Page, 'method' | 'path' | 'scope'>): Place => ({
  method,
  path: path.replaceAll(/\{\w+\}/g, 'x'),
  scope,
});
const PLACES = [...Object.entries({ ...OPERATIONS, ...PAGES })].map(
  ([name, line]) => [name, placeOf(line)] as const,
);

/** The head of the answer is enough: some of them never end. */
async function knock(
  served: Served,
  { method, path }: Place,
  headers: Record<string, string>,
): Promise<Answer> {
  const connection = await served.connect();
  const lines = Object.entries({ host: `127.0.0.1:${served.port}`, 'content-length': '0', ...headers });
  connection.write(
    `${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`,
  );
  const answer = await connection.head();
  const length = Number(answer.headers['content-length'] ?? 0);
  const text = (await connection.takeLength(length)).toString();
  connection.destroy();
  return { ...answer, text };
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

describe('with tokens', () => {
  it.each(PLACES)('%s is open to callers with its scope, and to no others', async (_, place) => {
    const { scope } = place;
    const { seq } = await guarded.done('status.get', {}, { token: tokenOf('*') });
    for (const headers of [
      {},
      bearer('no-such-token-anywhere'),
      { authorization: `Basic ${tokenOf('*')}` },
    ]) {
      const answer = await knock(guarded, place, headers as Record<string, string>);
      if (scope === null) expect(answer.status).not.toBe(401);
      else expect(expectProblem(answer, place.path).code).toBe('UNAUTHENTICATED');
    }
    for (const { token, scopes, name } of TOKENS) {
      const answer = await knock(guarded, place, bearer(token));
      const isEnough = scope === null || ENOUGH[scope].includes(scopes[0]!);
      expect(answer.status === 403, `${name} at ${place.path}`).toBe(!isEnough);
      expect(answer.status).not.toBe(401);
      if (isEnough) continue;
      const { code, detail } = expectProblem(answer, place.path);
      expect(code).toBe('FORBIDDEN');
      expect(detail).toBe(`This needs the scope ${scope}, which ${name} does not have.`);
    }
    const after = await guarded.done('status.get', {}, { token: tokenOf('*') });
    // Only switching a queue needs nothing but its path.
    expect(after.seq - seq).toBe(/queues.*(pause|resume)/.test(place.path) ? 1 : 0);
    expect(guarded.troubles).toEqual([]);
  });

  it('each token is told its own name and scopes, as they were given to it', async () => {
    for (const { token, scopes, name } of TOKENS) {
      expect(await guarded.done('whoami.get', {}, { token })).toEqual({ name, scopes });
    }
    const unnamed = await startServed({
      tokens: [{ token: 'a-token-without-a-name', scopes: ['v1:write', 'v3:read'] }],
    });
    expect(await unnamed.done('whoami.get', {}, { token: 'a-token-without-a-name' })).toEqual({
      name: 'token 1',
      scopes: ['v1:write', 'v3:read'],
    });
  });

  it('a path that leads nowhere needs none, and says no more than that', async () => {
    expect(expectProblem(await guarded.send('GET', '/nothing')).code).toBe('ROUTE_NOT_FOUND');
  });

  it('who may not come in is told before sending a body', async () => {
    const connection = await guarded.connect();
    connection.write(
      'POST /v1/tasks HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n',
    );
    expect(expectProblem(await connection.answer()).code).toBe('UNAUTHENTICATED');
  });

  it('any Host and Origin is served', async () => {
    const headers = { host: 'leases.example.org', origin: 'https://console.example.org' };
    expect((await guarded.send('GET', '/v1/status', { headers, token: tokenOf('v1:read') })).status).toBe(
      200,
    );
  });

  it('those who were turned away are in the log of the server, without their tokens', async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const headers = { traceparent };
    await guarded.send('GET', '/v1/status', { token: 'a-token-that-is-wrong', headers });
    // The next answer on the same connection leaves after the first has been written down.
    await guarded.send('GET', '/healthz');
    const warned = guarded.said.filter(({ level }) => level === 'warn');
    expect(warned.slice(-1)).toMatchObject([
      {
        fields: {
          operation: 'status.get',
          status: 401,
          path: '/v1/status',
          trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
        },
      },
    ]);
    expect(JSON.stringify(guarded.said)).not.toContain('a-token-that-is-wrong');
  });
});

describe('a line about a request that was turned away', () => {
  it('names its token, and its client where a trusted proxy tells', async () => {
    const served = await startServed({
      tokens: [{ token: 'only-reads-0123456789', scopes: ['v1:read'], name: 'grafana' }],
      trustedProxies: ['127.0.0.0/8'],
    });
    const fields = async (path: string, more: object): Promise<object> => {
      await served.send('POST', path, { body: {}, ...more });
      await served.send('GET', '/healthz');
      return served.said.filter(({ level }) => level === 'warn').at(-1)!.fields;
    };
    const token = 'only-reads-0123456789';
    const headers = { 'x-forwarded-for': '192.0.2.9' };
    expect(await fields('/v1/queues/mail/pause', { token, headers })).toMatchObject({
      status: 403,
      token: 'grafana',
      client: '192.0.2.9',
      peer: '127.0.0.1',
    });
    const unknown = await fields('/v1/queues/mail/pause', { token: 'another-0123456789' });
    expect(unknown).toMatchObject({ status: 401 });
    expect(unknown).not.toHaveProperty('token');
    expect(unknown).not.toHaveProperty('client');
  });
});

describe('a queue that begins with system:', () => {
  const create = { payload: 1, queue: 'system:start' };
  const lease = { worker_id: 'w', queues: ['mail', 'system:start'] };

  it.each(['v1:write', 'v1:admin'])('is closed to %s, by itself and inside a batch', async (scope) => {
    const token = tokenOf(scope);
    for (const answer of [
      await guarded.call('task.create', create, { token }),
      await guarded.call('task.lease', lease, { token }),
    ]) {
      expect(answer.body).toMatchObject({
        code: 'FORBIDDEN',
        detail: 'Queues that begin with system: need the scope *.',
      });
    }
    const ops = [
      { op: 'task.create', ...create },
      { op: 'task.lease', ...lease },
      { op: 'task.create', payload: 1 },
    ];
    const { results } = JSON.parse((await guarded.send('POST', '/v1/batch', { body: { ops }, token })).text);
    expect(
      results.map(({ status, body }: { status: number; body: { code?: string } }) => [status, body.code]),
    ).toEqual([
      [403, 'FORBIDDEN'],
      [403, 'FORBIDDEN'],
      [201, undefined],
    ]);
    const { queues } = await guarded.done('queue.list', {}, { token });
    expect(queues).not.toContainEqual(expect.objectContaining({ queue: 'system:start' }));
  });

  it('is open to * and, without tokens, to this machine', async () => {
    for (const [served, token] of [
      [guarded, tokenOf('*')],
      [open, 'none-is-needed-here'],
    ] as const) {
      await served.done('task.create', create, { token });
      expect((await served.done('task.lease', lease, { token })).leases).toHaveLength(1);
    }
  });

  it('is only what begins so', async () => {
    const token = tokenOf('v1:write');
    for (const queue of ['system', 'System:x', 'my system:x'])
      await guarded.done('task.create', { payload: 1, queue }, { token });
  });
});

describe('without tokens', () => {
  it('everything is open to this machine', async () => {
    for (const host of ['localhost', `127.0.0.1:${open.port}`, '[::1]:1']) {
      expect((await open.send('GET', '/v1/status', { headers: { host } })).status).toBe(200);
    }
    const headers = { host: 'localhost:7420', origin: 'http://localhost:7420' };
    expect((await open.send('POST', '/v1/tasks', { body: { payload: 1 }, headers })).status).toBe(201);
  });

  it.each(PLACES)('%s refuses a foreign Host or Origin', async (_, place) => {
    const { seq } = await open.done('status.get');
    for (const headers of [{ host: 'example.org' }, { origin: 'http://example.org' }, { origin: 'null' }]) {
      expect(
        expectProblem(await knock(open, place, headers as Record<string, string>), place.path).code,
      ).toBe('FORBIDDEN');
    }
    expect((await open.done('status.get')).seq).toBe(seq);
  });

  it('so does a path that leads nowhere', async () => {
    expect(expectProblem(await open.send('GET', '/nothing', { headers: { host: 'example.org' } })).code).toBe(
      'FORBIDDEN',
    );
  });

  it.each(['0.0.0.0', '::', '192.0.2.1'])('the server will not listen on %s', async (host) => {
    await expect(startServed({ host })).rejects.toThrow(
      `Without tokens the server listens on this machine only, and ${host} is not a loopback address. Set LEASEHOLD_TOKENS or --tokens FILE.`,
    );
  });

  it('a server that could not start lets go of its data', async () => {
    const disk = new TestDisk();
    const engine = fileEngine({ dir: '/data', files: disk, segmentBytes: 64 * 1024 });
    await expect(startServed({ engine, allowNets: ['everywhere'] })).rejects.toThrow(
      'everywhere is not a network',
    );
    await expect(startServed({ engine, host: '0.0.0.0' })).rejects.toThrow('Without tokens');
    expect((await (await startServed({ engine })).send('GET', '/readyz')).status).toBe(200);
  });
});

describe('with allowed networks', () => {
  const everywhere = { tokens: TOKENS, host: '127.0.0.1' };
  const reach = async (served: Served, forwardedFor?: string): Promise<number> => {
    const headers = forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor };
    return (await served.send('GET', '/v1/status', { headers, token: tokenOf('v1:read') })).status;
  };

  it('others are refused before anything is said, pages without a token included', async () => {
    const served = await startServed({ ...everywhere, allowNets: ['10.0.0.0/8'] });
    for (const path of ['/v1/status', '/healthz', '/', '/nothing']) {
      const { code, detail } = expectProblem(await served.send('GET', path, { token: tokenOf('*') }), path);
      const says = 'Requests from 127.0.0.1 are not served: no --allow-net has this address.';
      expect([code, detail]).toEqual(['FORBIDDEN', says]);
    }
  });

  it('those in them are served', async () => {
    expect(await reach(await startServed({ ...everywhere, allowNets: ['10.0.0.0/8', '127.0.0.0/8'] }))).toBe(
      200,
    );
  });

  it('a forwarded address counts only from a trusted proxy', async () => {
    const direct = await startServed({ ...everywhere, allowNets: ['10.0.0.0/8'] });
    expect(await reach(direct, '10.0.0.7')).toBe(403);
    const proxied = await startServed({
      ...everywhere,
      allowNets: ['10.0.0.0/8'],
      trustedProxies: ['127.0.0.1'],
    });
    expect(await reach(proxied, '10.0.0.7')).toBe(200);
    expect(await reach(proxied, '10.0.0.7, 203.0.113.5')).toBe(403);
    expect(await reach(proxied)).toBe(403);
  });

  describe('in which the trusted proxy is, too,', () => {
    const start = () =>
      startServed({
        ...everywhere,
        allowNets: ['127.0.0.0/8', '10.0.0.0/8', 'fd00::/8'],
        trustedProxies: ['127.0.0.1'],
      });

    it.each([
      '8.8.8.8:4444',
      '[2001:db8::1]:443',
      '[2001:db8::1]',
      '::ffff:8.8.8.8',
      'unknown',
      '',
      '8.8.8.8, unknown',
      '10.0.0.7, unknown',
      '10.0.0.7,',
    ])('a client that is forwarded as %j is refused', async (forwardedFor) => {
      expect(await reach(await start(), forwardedFor)).toBe(403);
    });

    it.each(['10.0.0.7', '10.0.0.7:4444', '[fd00::7]:443', 'fd00::7', 'unknown, 10.0.0.7:1, 127.0.0.1:2'])(
      'a client that is forwarded as %j is served',
      async (forwardedFor) => {
        expect(await reach(await start(), forwardedFor)).toBe(200);
      },
    );

    it('several headers are one list, the last of them nearest', async () => {
      const served = await start();
      const reachBy = async (...entries: string[]): Promise<number> => {
        const connection = await served.connect();
        const lines = entries.map((entry) => `X-Forwarded-For: ${entry}\r\n`).join('');
        connection.write(`GET /healthz HTTP/1.1\r\nHost: x\r\n${lines}\r\n`);
        const { status } = await connection.head();
        connection.destroy();
        return status;
      };
      expect(await reachBy('8.8.8.8', '10.0.0.7')).toBe(200);
      expect(await reachBy('unknown', '10.0.0.7')).toBe(200);
      expect(await reachBy('10.0.0.7', '8.8.8.8')).toBe(403);
      expect(await reachBy('10.0.0.7', 'unknown')).toBe(403);
      expect(await reachBy('10.0.0.7', '127.0.0.1', 'unknown')).toBe(403);
      expect(await reachBy('10.0.0.7', '127.0.0.1')).toBe(200);
    });
  });
});
