// The way over HTTP on a network that works: which way each call takes, what it says, and what its caller gets.
import { inspect } from 'node:util';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Loopback, openLoopback, replyOf } from '../../test/support/loopback-http.ts';
import { isSettled, ManualWorld } from '../../test/support/manual-world.ts';
import { Json } from '../protocol/json.ts';
import { LIMITS } from '../protocol/limits.ts';
import { HttpTransport } from './http-transport.ts';

let world: ManualWorld;
let http: Loopback['http'];
let transport: Loopback['transport'];

beforeEach(async () => {
  world = new ManualWorld();
  ({ http, transport } = await openLoopback(world));
});

const acquire = (name: string, more: object = {}) =>
  transport.call('lease.acquire', { name, holder: 'h', ttl_ms: 60_000, ...more });

/** A call whose outcome no test reads. */
function begin(call: Promise<unknown>): void {
  call.catch(() => undefined);
}

/** A call that is looked at later. */
function later<T>(call: Promise<T>): Promise<T> {
  call.catch(() => undefined);
  return call;
}

describe('calls', () => {
  it('are one request each, with their own answers', async () => {
    const calls = [
      transport.call('task.create', { payload: 1, task_id: 'one' }),
      acquire('n'),
      transport.call('task.create', { payload: 2, task_id: 'two' }),
      transport.call('task.complete', { task_id: 'none', lease_id: 'l00000000001' }),
    ];
    const replies = await world.finish(Promise.all<object>(calls));
    expect(http.operations).toEqual([['task.create'], ['lease.acquire'], ['task.create'], ['task.complete']]);
    expect(replies).toMatchObject([
      { ok: true, task_id: 'one', state: 'WAITING' },
      { ok: true, name: 'n', holder: 'h' },
      { ok: true, task_id: 'two' },
      { ok: false, code: 'TASK_NOT_FOUND', status: 404, outcome: 'REJECTED' },
    ]);
  });

  it('get ids that count up and can stand on a command line: none begins like an option', async () => {
    Object.assign(world, { newToken: () => '-0123456789012345678901' });
    ({ transport } = await openLoopback(world));
    for (const count of [0, 1]) {
      const reply = await world.finish(transport.call('task.create', { payload: 1 }));
      expect(reply).toMatchObject({ ok: true, task_id: `t-012345678901234-${count}` });
    }
  });

  it('get tokens that are a new secret each time', async () => {
    const made = ['a', 'b'].map((letter) => letter.repeat(24));
    Object.assign(world, { newToken: () => made.shift()! });
    for (const letter of ['a', 'b']) {
      expect(await world.finish(acquire(letter))).toMatchObject({ ok: true, token: letter.repeat(24) });
    }
  });

  it('get an id, and leave fields out, when a field is there and undefined', async () => {
    const create = { payload: 1, task_id: undefined, queue: undefined } as never;
    const complete = { task_id: 't', lease_id: 'l', writes: undefined } as never;
    expect(await world.finish(transport.call('task.create', create))).toMatchObject({ ok: true });
    await world.finish(transport.call('task.complete', complete));
    const [created, completed] = http.sent.map(({ request }) => JSON.parse(request.body!));
    expect(created).toEqual({ task_id: expect.stringMatching(/^t/), payload: 1 });
    expect(completed).toEqual({ lease_id: 'l' });
  });

  it('carry the request id of their caller', async () => {
    const request = { payload: 1 };
    await world.finish(transport.call('task.create', request, { requestId: 'r-1' }));
    const [{ request: sent }] = http.sent as [(typeof http.sent)[0]];
    expect(sent).toMatchObject({ method: 'POST', path: '/v1/tasks', headers: { 'x-request-id': 'r-1' } });
  });

  it('are refused when no request could hold them', async () => {
    const large = transport.call('task.create', { payload: 'x'.repeat(LIMITS.bodyBytes - 60) });
    const over = transport.call('task.create', { payload: 'x'.repeat(LIMITS.bodyBytes) });
    expect(await world.finish(over)).toMatchObject({ ok: false, code: 'PAYLOAD_TOO_LARGE', status: 413 });
    expect(await world.finish(large)).toMatchObject({ ok: false, code: 'PAYLOAD_TOO_LARGE' });
    expect(http.sent).toHaveLength(1);
  });

  it('say what they said when they were made', async () => {
    const request = { payload: 'a', task_id: 'a' };
    const calls = [transport.call('task.create', request)];
    Object.assign(request, { payload: 'b', task_id: 'b' });
    calls.push(transport.call('task.create', request));
    Object.assign(request, { payload: 'c', task_id: 'c' });
    expect(await world.finish(Promise.all(calls))).toMatchObject([{ task_id: 'a' }, { task_id: 'b' }]);
    for (const task_id of ['a', 'b']) {
      const task = await world.finish(transport.call('task.get', { task_id }));
      expect((task as { payload: Json }).payload.parse()).toBe(task_id);
    }
  });
});

describe('renewals', () => {
  it('travel on a lane of their own, beside other calls', async () => {
    const token = 'x'.repeat(22);
    const calls = [
      transport.call('lease.renew', { name: 'n', holder: 'h', token, ttl_ms: 60_000 }),
      transport.call('task.create', { payload: 1 }),
      transport.call('worker.heartbeat', { worker_id: 'w' }),
      transport.call('task.extend', { task_id: 't', lease_id: 'l', ttl_ms: 60_000 }, { isRenewal: true }),
      transport.call('task.extend', { task_id: 't', lease_id: 'l', ttl_ms: 60_000 }),
    ];
    await world.finish(Promise.all<object>(calls));
    expect(http.sent.map(({ request: { lane }, operations }) => [lane, ...operations])).toEqual([
      ['renewals', 'lease.renew'],
      ['calls', 'task.create'],
      ['renewals', 'worker.heartbeat'],
      ['renewals', 'task.extend'],
      ['calls', 'task.extend'],
    ]);
  });
});

describe('requests', () => {
  it('put fields into the path, percent-encoded, and the others into the query or the body', async () => {
    await world.finish(transport.call('lease.get', { name: 'a/b?c#d %é' }));
    await world.finish(transport.call('lease.list', { prefix: 'a b+c&d', limit: 5 }));
    await world.finish(transport.call('lease.break', { name: 'ü', reason: 'because' }));
    await world.finish(transport.call('queue.pause', { queue: 'q' }));
    expect(http.sent.map(({ request: { method, path, body } }) => [method, path, body])).toEqual([
      ['GET', '/v1/leases/a%2Fb%3Fc%23d%20%25%C3%A9', null],
      ['GET', '/v1/leases?prefix=a%20b%2Bc%26d&limit=5', null],
      ['POST', '/v1/leases/%C3%BC/break', '{"reason":"because"}'],
      ['POST', '/v1/queues/q/pause', '{}'],
    ]);
    expect(http.sent.map(({ request }) => request.headers['content-type'])).toEqual([
      undefined,
      undefined,
      'application/json',
      'application/json',
    ]);
  });

  it('are refused as the authority would refuse them when their path cannot be written', async () => {
    for (const name of ['', undefined, 7, 'half \ud800']) {
      const reply = await world.finish(transport.call('lease.get', { name } as never));
      expect(reply).toMatchObject({ ok: false, code: 'INVALID_ARGUMENT', status: 400 });
    }
    expect(http.sent).toEqual([]);
  });

  it('go on the lane of waiting calls when they wait', async () => {
    await world.finish(acquire('n'));
    const waiting = later(
      transport.call('lease.acquire', { name: 'n', holder: 'b', ttl_ms: 1_000, wait_ms: 5_000 }),
    );
    await world.settle();
    expect(http.sent[1]!.request).toMatchObject({ lane: 'waits', path: '/v1/leases/n/acquire' });
    expect(JSON.parse(http.sent[1]!.request.body!)).toMatchObject({
      wait_ms: 5_000,
      token: expect.any(String),
    });
    await world.advance(5_000);
    expect(await world.finish(waiting)).toMatchObject({ ok: false, code: 'LEASE_HELD', holder: 'h' });
  });
});

describe('opaque values', () => {
  const text = '{ "b": 1.0, "a": 123456789012345678901234567890, "__proto__": "\\u0041" }';

  it('come out byte for byte as they went in', async () => {
    await world.finish(transport.call('task.create', { task_id: 'a', payload: new Json(text) }));
    const alone = { requestId: 'r' };
    await world.finish(transport.call('task.create', { task_id: 'b', payload: new Json(text) }, alone));
    const leased = await world.finish(transport.call('task.lease', { worker_id: 'w', max: 2 }));
    const payloads = leased.ok ? leased.leases.map(({ payload }) => payload.text()) : [];
    expect(payloads).toEqual([text, text]);
    const task = await world.finish(transport.call('task.get', { task_id: 'a' }));
    expect(task.ok && task.payload?.text()).toBe(text);
  });

  it('may stand in every opaque field', async () => {
    const json = new Json(text);
    const grant = await world.finish(acquire('n', { metadata: json }));
    if (!grant.ok) throw new Error(grant.detail);
    const lease = { lease_seq: grant.lease_seq };
    await world.finish(transport.call('object.write', { object_id: 'n', value: json, lease }));
    const object = await world.finish(transport.call('object.get', { object_id: 'n' }));
    expect(object.ok && object.value?.text()).toBe(text);
    await world.finish(transport.call('task.create', { task_id: 't', payload: 1 }));
    const leased = await world.finish(transport.call('task.lease', { worker_id: 'w' }));
    const lease_id = leased.ok ? leased.leases[0]!.lease_id : '';
    const writes = [{ object_id: 'n', value: new Json('2.0'), lease }];
    await world.finish(transport.call('task.complete', { task_id: 't', lease_id, result: json, writes }));
    const task = await world.finish(transport.call('task.get', { task_id: 't' }));
    expect(task.ok && task.result?.text()).toBe(text);
    const written = await world.finish(transport.call('object.get', { object_id: 'n' }));
    expect(written.ok && written.value?.text()).toBe('2.0');
  });

  it('that have no JSON form are refused and not sent', async () => {
    const cycle: unknown[] = [];
    cycle.push(cycle);
    for (const payload of [cycle, 1n]) {
      const reply = await world.finish(transport.call('task.create', { payload }));
      expect(reply).toMatchObject({ ok: false, code: 'INVALID_ARGUMENT' });
      const alone = await world.finish(transport.call('task.create', { payload }, { requestId: 'r' }));
      expect(alone).toMatchObject({ ok: false, code: 'INVALID_ARGUMENT' });
    }
    expect(http.sent).toEqual([]);
  });

  it('that throw when they are looked at are no answer but a rejection, like any other fault', async () => {
    const request = {
      get payload(): never {
        throw new RangeError('out of reach');
      },
    };
    await expect(transport.call('task.create', request)).rejects.toThrow('out of reach');
    expect(http.sent).toEqual([]);
  });
});

describe('a request that is none', () => {
  it('is refused; options that are none are a bug of the caller', async () => {
    for (const request of [null, undefined, 7, 'x', []]) {
      expect(await transport.call('task.create', request as never)).toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
    }
    await expect(transport.call('status.get', {}, { signal: {} as never })).rejects.toThrow(TypeError);
    await expect(transport.call('status.get', {}, { requestId: 'two words' })).rejects.toThrow(TypeError);
    expect(http.sent).toEqual([]);
  });

  it('may be changed by its caller once the call is made, also when it is sent again', async () => {
    const request = { task_id: 'before', payload: 1 };
    const grant = { name: 'before', holder: 'h', ttl_ms: 60_000, wait_ms: 5_000 };
    const look = { name: 'before' };
    const fromMs = world.monotonicMs;
    http.fate = () => (world.monotonicMs === fromMs ? 'refused' : 'answered');
    const calls = [
      transport.call('task.create', request),
      transport.call('lease.acquire', grant),
      transport.call('lease.history', look),
    ];
    request.task_id = 'after';
    grant.name = 'after';
    look.name = 'after';
    await world.advance(50);
    const [created, granted] = await world.finish(Promise.all<object>(calls));
    expect(created).toMatchObject({ task_id: 'before' });
    expect(granted).toMatchObject({ name: 'before' });
    expect(http.sent.filter(({ request: { path } }) => path.includes('after'))).toEqual([]);
  });
});

describe('a call whose signal aborts', () => {
  it('is not made at all when that has happened before', async () => {
    const call = transport.call('task.create', { payload: 1 }, { signal: AbortSignal.abort('why') });
    await expect(call).rejects.toBe('why');
    expect(http.sent).toEqual([]);
  });

  it('rejects at once when it is on its way, and what it was granted is given back', async () => {
    http.isHolding = true;
    await world.finish(http.authority.call('task.create', { payload: 1, task_id: 't' }));
    const abort = new AbortController();
    const { signal } = abort;
    const named = later(
      transport.call('lease.acquire', { name: 'n', holder: 'h', ttl_ms: 60_000 }, { signal }),
    );
    const leased = later(transport.call('task.lease', { worker_id: 'w' }, { signal }));
    await world.settle();
    abort.abort('why');
    await expect(named).rejects.toBe('why');
    await expect(leased).rejects.toBe('why');
    http.isHolding = false;
    http.letGo();
    await world.settle();
    expect(await world.finish(http.authority.call('lease.get', { name: 'n' }))).toMatchObject({
      code: 'LEASE_NOT_FOUND',
    });
    expect(await world.finish(http.authority.call('task.get', { task_id: 't' }))).toMatchObject({
      state: 'WAITING',
    });
  });

  it('does not give back what its caller chose the token of, who may be asking again by now', async () => {
    http.isHolding = true;
    const abort = new AbortController();
    const { signal } = abort;
    const request = { name: 'n', holder: 'h', ttl_ms: 60_000, token: 'x'.repeat(22) };
    begin(transport.call('lease.acquire', request, { signal }));
    await world.settle();
    abort.abort('why');
    http.isHolding = false;
    http.letGo();
    await world.settle();
    expect(await world.finish(transport.call('lease.acquire', request))).toMatchObject({ duplicate: true });
    expect(http.operations.flat()).not.toContain('lease.release');
  });

  it('gives back what comes too late under a token that was generated for the call alone', async () => {
    http.isHolding = true;
    const abort = new AbortController();
    const request = { name: 'n', holder: 'h', ttl_ms: 60_000, token: 'x'.repeat(22) };
    begin(transport.call('lease.acquire', request, { signal: abort.signal, isTokenOwn: true }));
    await world.settle();
    abort.abort('why');
    http.isHolding = false;
    http.letGo();
    await world.settle();
    expect(http.operations.flat()).toContain('lease.release');
    expect(await world.finish(http.authority.call('lease.get', { name: 'n' }))).toMatchObject({
      code: 'LEASE_NOT_FOUND',
    });
  });

  it('ends the connection of a call that waits', async () => {
    await world.finish(acquire('n'));
    const abort = new AbortController();
    const request = { name: 'n', holder: 'b', ttl_ms: 60_000, wait_ms: 60_000 };
    const call = later(transport.call('lease.acquire', request, { signal: abort.signal }));
    await world.settle();
    expect(await isSettled(call)).toBe(false);
    abort.abort('why');
    expect(http.sent[1]!.request.signal.aborted).toBe(true);
    await expect(call).rejects.toBe('why');
    await world.settle();
    const status = await world.finish(http.authority.call('status.get', {}));
    expect(status).toMatchObject({ counts: { waiters: 0 } });
  });

  it('shares one listener with all calls of the signal, and leaves none behind', async () => {
    const { signal } = new AbortController();
    let listeners = 0;
    let most = 0;
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (type: string, call: never, options: never) => {
      listeners += 1;
      most = Math.max(most, listeners);
      addEventListener.call(signal, type, call, options);
    };
    signal.removeEventListener = (type: string, call: never) => {
      listeners -= 1;
      removeEventListener.call(signal, type, call);
    };
    for (let round = 0; round < 3; round++) {
      const calls = Array.from({ length: 50 }, () =>
        transport.call('task.create', { payload: 1 }, { signal }),
      );
      await world.finish(Promise.all<object>([...calls, transport.call('status.get', {}, { signal })]));
      expect([listeners, most]).toEqual([0, 1]);
    }
  });

  it('rejects every call that hangs on it', async () => {
    const abort = new AbortController();
    http.isHolding = true;
    const calls = Array.from({ length: 50 }, () =>
      later(transport.call('task.create', { payload: 1 }, { signal: abort.signal })),
    );
    await world.settle();
    abort.abort('why');
    for (const call of calls) await expect(call).rejects.toBe('why');
  });
});

describe('an answer that does not come from a leasehold server', () => {
  const html = '<html><body>Welcome to nginx, secret=1</body></html>';
  const page = replyOf(200, html, { 'content-type': 'text/html; charset=utf-8' });

  it.each([
    ['a web page', page, '(status 200, text/html)'],
    ['a web page that is not found', { ...page, status: 404 }, '(status 404, text/html)'],
    ['JSON that is no object', replyOf(200, '[]'), '(status 200, application/json)'],
    ['JSON with a status that is no problem', replyOf(418, '{}'), '(status 418, application/problem+json)'],
    ['an answer without a position', replyOf(200, '{"task_id":"t"}'), '(status 200, application/json)'],
  ])('is told in a sentence: %s', async (_, reply, says) => {
    http.fate = () => reply;
    const call = later(transport.call('task.create', { payload: 1 }));
    await expect(world.finish(call)).rejects.toMatchObject({
      code: 'PROTOCOL',
      retryable: false,
      effect: 'unknown',
      message: `http://server-0 did not answer like a leasehold server ${says}.`,
    });
  });

  it('has had no effect when the call was a look', async () => {
    http.fate = () => page;
    await expect(world.finish(later(transport.call('status.get', {})))).rejects.toMatchObject({
      effect: 'none',
    });
    await expect(world.finish(later(transport.log({})))).rejects.toMatchObject({
      code: 'PROTOCOL',
      effect: 'none',
    });
  });
});

describe('the token', () => {
  it('is shown with every request, and nowhere else', async () => {
    const secret = new HttpTransport(http, world, {
      servers: [{ origin: 'http://server-0', prefix: '/below' }],
      token: 'very-secret-token',
      retry: {},
    });
    http.fate = () => replyOf(200, '{"released":true,"seq":1}');
    await world.finish(secret.call('lease.release', { name: 'n', holder: 'h', token: 'x'.repeat(22) }));
    expect(http.sent[0]!.request).toMatchObject({
      path: '/below/v1/leases/n/release',
      headers: { authorization: 'Bearer very-secret-token' },
    });
    expect(inspect(secret, { depth: 9, showHidden: true }) + JSON.stringify(secret)).not.toContain(
      'secret-token',
    );
  });
});

describe('closing', () => {
  it('lets what is about to be answered finish, ends what waits, and takes nothing new', async () => {
    await world.finish(acquire('n'));
    http.isHolding = true;
    const answered = later(transport.call('task.create', { payload: 1 }));
    const waiting = later(
      transport.call('lease.acquire', { name: 'n', holder: 'b', ttl_ms: 1_000, wait_ms: 9_000 }),
    );
    await world.settle();
    const closed = transport.close();
    await expect(waiting).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: 'The handle has been closed.',
    });
    await expect(acquire('m')).rejects.toMatchObject({ code: 'UNAVAILABLE', effect: 'none' });
    await world.settle();
    expect(http.isClosed).toBe(false);
    http.isHolding = false;
    http.letGo();
    expect(await world.finish(answered)).toMatchObject({ ok: true });
    await world.finish(closed);
    expect(http.isClosed).toBe(true);
    await world.finish(transport.close());
  });

  it('tries nothing again that is lost from then on, and says at once that it may have been done', async () => {
    http.isHolding = true;
    http.fate = () => 'reply lost';
    const call = later(transport.call('task.create', { payload: 1 }));
    await world.settle();
    const closed = transport.close();
    http.isHolding = false;
    http.letGo();
    await world.finish(closed);
    await expect(call).rejects.toMatchObject({ code: 'UNREACHABLE', effect: 'unknown' });
    await world.advance(10_000);
    expect(http.sent).toHaveLength(1);
    expect(world.holds).toBe(0);
  });

  it('does not wait for ever for an answer that does not come', async () => {
    http.isHolding = true;
    begin(acquire('n'));
    await world.settle();
    const closed = transport.close();
    await world.advance(4_999);
    expect(await isSettled(closed)).toBe(false);
    await world.advance(1);
    await world.finish(closed);
    expect(http.isClosed).toBe(true);
  });
});
