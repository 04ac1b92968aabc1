// The client and the server together, over real sockets in one process.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connect as connectByFetch } from '../../src/browser.ts';
import type { Client } from '../../src/client/client.ts';
import { transportOf } from '../../src/client/client.ts';
import type { Leasehold } from '../../src/client/leasehold.ts';
import { connect, type NodeConnectOptions } from '../../src/client-node.ts';
import { MemoryDisk } from '../../src/engines/memory/memory-disk.ts';
import { memoryEngine } from '../../src/engines/memory/memory-engine.ts';
import { Json } from '../../src/protocol/json.ts';
import { type Served, startServed, stopAllServed } from '../support/served.ts';
import { TEST_CERTIFICATE, TEST_KEY } from '../support/test-certificate.ts';

let served: Served;
const handles = new Set<Client>();

function open(url: string | string[], options?: NodeConnectOptions): Leasehold {
  const lh = connect(url, options);
  handles.add(lh);
  return lh;
}

beforeEach(async () => {
  served = await startServed();
});

afterEach(async () => {
  await Promise.all([...handles].map((lh) => lh.close()));
  handles.clear();
  await stopAllServed();
});

/** The body of a call that must not be refused. */
async function done<T extends { readonly ok: boolean }>(call: Promise<T>): Promise<Extract<T, { ok: true }>> {
  const reply = await call;
  if (!reply.ok) throw new Error(JSON.stringify(reply));
  return reply as Extract<T, { ok: true }>;
}

describe.each([
  ['undici', () => open(served.url)],
  ['fetch', () => connectByFetch(served.url)],
] as const)('a client by %s', (_, make) => {
  let lh: Client;

  beforeEach(() => {
    lh = make();
    handles.add(lh);
  });

  it('follows only the entries it asks for, and the life of a session', async () => {
    const asked = await served.done('intent.accept', {
      type: 'live',
      serviceRef: 'data: {x',
      profileID: 'p',
    });
    const { session_id } = asked;
    const some = lh.follow({ from: 1, types: ['SessionChanged'] })[Symbol.asyncIterator]();
    const session = { id: session_id, path: `/api/v3/sessions/${session_id}/events` };
    const life = transportOf(lh)
      .follow(null, new AbortController().signal, { session })
      [Symbol.asyncIterator]();
    expect((await life.next()).value).toMatchObject({
      type: 'IntentAccepted',
      session_id,
      intent: { serviceRef: 'data: {x' },
    });
    await done(lh.call('task.create', { payload: 1 }));
    await served.done('session.stop', { session_id });
    expect((await life.next()).value).toMatchObject({ type: 'SessionChanged', state: 'CANCELLED' });
    await expect(life.next()).rejects.toMatchObject({ code: 'SESSION_TERMINAL' });
    expect((await some.next()).value).toMatchObject({ sessionId: session_id, state: 'CANCELLED' });
    await some.return?.();
    const page = await lh.entries({ from: 1, types: ['TaskCreated', 'IntentAccepted'] });
    expect(page.items.map(({ type }) => type)).toEqual(['IntentAccepted', 'TaskCreated']);
  });

  it('takes a task from its creation to its completion, with fenced writes, byte for byte', async () => {
    const text = '{ "n": 1.0, "big": 123456789012345678901234567890, "ü": "😀" }';
    const { task_id } = await done(lh.call('task.create', { payload: new Json(text) }));
    const { leases } = await done(lh.call('task.lease', { worker_id: 'w' }));
    expect(leases[0]).toMatchObject({ task_id, attempt: 1 });
    expect(leases[0]!.payload.text()).toBe(text);
    const { lease_seq } = await done(
      lh.call('lease.acquire', { name: 'o/1 é', holder: 'h', ttl_ms: 60_000 }),
    );
    const writes = [{ object_id: 'o/1 é', value: new Json('2.0'), lease: { lease_seq } }];
    const { lease_id } = leases[0]!;
    expect(await lh.call('task.complete', { task_id, lease_id, result: [1], writes })).toMatchObject({
      ok: true,
      outcome: 'COMMITTED',
    });
    const object = await done(lh.call('object.get', { object_id: 'o/1 é' }));
    expect(object.value?.text()).toBe('2.0');
    expect(await lh.call('task.get', { task_id })).toMatchObject({ ok: true, state: 'COMPLETED' });
    expect(await lh.call('task.list', { state: 'COMPLETED', limit: 5 })).toMatchObject({
      tasks: [{ task_id }],
    });
    expect(await lh.call('task.why', { task_id: 'none' })).toMatchObject({
      ok: false,
      code: 'TASK_NOT_FOUND',
    });
  });

  it('waits, and lets the next one have it when it gives up', async () => {
    const first = await done(lh.call('lease.acquire', { name: 'n', holder: 'a', ttl_ms: 60_000 }));
    const abort = new AbortController();
    const wait = { name: 'n', ttl_ms: 60_000, wait_ms: 60_000 };
    const gone = lh.call('lease.acquire', { ...wait, holder: 'b' }, { signal: abort.signal });
    const stays = lh.call('lease.acquire', { ...wait, holder: 'c' });
    await waitersAre(2);
    abort.abort(new Error('enough'));
    await expect(gone).rejects.toThrow('enough');
    await waitersAre(1);
    await done(lh.call('lease.release', { name: 'n', holder: 'a', token: first.token }));
    expect(await stays).toMatchObject({ ok: true, holder: 'c' });
  });

  it('reads the log and follows it', async () => {
    const entries = lh.follow({ from: 2 })[Symbol.asyncIterator]();
    await done(lh.call('task.create', { payload: { a: 1 } }));
    await done(lh.call('task.create', { payload: 2 }));
    const heard = [(await entries.next()).value, (await entries.next()).value];
    expect(heard).toMatchObject([
      { seq: 2, type: 'TaskCreated' },
      { seq: 3, type: 'TaskCreated' },
    ]);
    await entries.return!();
    const page = await lh.entries({ from: 2, limit: 1, types: ['TaskCreated'] });
    expect(page).toMatchObject({ items: [{ seq: 2, type: 'TaskCreated' }], cursor: '3' });
    expect(page.items[0]!.payload?.text()).toBe('{"a":1}');
    const all: number[] = [];
    for await (const { seq } of lh.entries({ limit: 1 })) all.push(seq);
    expect(all).toEqual([1, 2, 3]);
  });

  async function waitersAre(count: number): Promise<void> {
    for (;;) {
      const { counts } = await lh.status();
      if (counts.waiters === count) return;
    }
  }
});

describe('many calls at once', () => {
  it('all get their own answer', async () => {
    const lh = open(served.url);
    const ids = Array.from({ length: 3_000 }, (_, index) => `task-${index}`);
    const replies = await Promise.all(
      ids.map((task_id) => lh.call('task.create', { task_id, payload: task_id })),
    );
    expect(replies.map((reply) => reply.ok && reply.task_id)).toEqual(ids);
    const leased = await Promise.all(ids.map(() => lh.call('task.lease', { worker_id: 'w' })));
    const leases = leased.flatMap((reply) => (reply.ok ? reply.leases : []));
    expect(new Set(leases.map(({ task_id }) => task_id)).size).toBe(3_000);
    expect(leases.every(({ task_id, payload }) => payload.parse() === task_id)).toBe(true);
  });

  it('are not refused for being large together', async () => {
    const lh = open(served.url);
    const payload = 'x'.repeat(200_000);
    const replies = await Promise.all(Array.from({ length: 30 }, () => lh.call('task.create', { payload })));
    expect(replies.every(({ ok }) => ok)).toBe(true);
  });
});

describe('a server that goes away and comes back', () => {
  it('is found again, and what was called meanwhile is carried out once', async () => {
    const disk = new MemoryDisk();
    const first = await startServed({ engine: memoryEngine(disk) });
    const lh = open(first.url);
    await done(lh.call('task.create', { payload: 0 }));
    const entries = lh.follow({ from: 1 })[Symbol.asyncIterator]();
    expect((await entries.next()).value).toMatchObject({ seq: 1 });
    const waiting = lh.call('task.lease', { worker_id: 'w', queues: ['later'], wait_ms: 30_000 });
    const { port } = first;
    await first.stop();
    const meanwhile = Array.from({ length: 20 }, (_, payload) =>
      lh.call('task.create', { payload, queue: 'later' }),
    );
    await startServed({ engine: memoryEngine(disk), port });
    const created = await Promise.all(meanwhile.map((call) => done(call)));
    expect(new Set(created.map(({ task_id }) => task_id)).size).toBe(20);
    expect((await done(waiting)).leases).toHaveLength(1);
    const queues = await lh.queues.list();
    const later = queues.find(({ queue }) => queue === 'later');
    expect(later).toMatchObject({ waiting: 19, leased: 1 });
    const heard: number[] = [];
    while (heard.length < 20) {
      const { seq, type } = (await entries.next()).value!;
      if (type === 'TaskCreated') heard.push(seq);
    }
    expect(heard).toEqual([...heard].sort((a, b) => a - b));
  });

  it('is replaced by another one of the list', async () => {
    const lh = open(['http://127.0.0.1:1', served.url]);
    expect(await lh.call('task.create', { payload: 1 })).toMatchObject({ ok: true });
    expect(await lh.status()).toMatchObject({ role: 'leader' });
  });
});

describe('tokens and TLS', () => {
  it('are shown and trusted as told', async () => {
    const token = 'a-token-of-some-length';
    const secure = await startServed({
      tokens: [{ token, scopes: ['v1:read', 'v1:write'] }],
      tls: { cert: TEST_CERTIFICATE, key: TEST_KEY },
    });
    const lh = open(secure.url, { token, ca: TEST_CERTIFICATE });
    expect(await lh.call('task.create', { payload: 1 })).toMatchObject({ ok: true });
    expect(await lh.call('task.kill', { task_id: 'x', reason: 'no' })).toMatchObject({
      ok: false,
      code: 'FORBIDDEN',
    });
    const stranger = open(secure.url, { ca: TEST_CERTIFICATE });
    expect(await stranger.call('task.create', { payload: 1 })).toMatchObject({
      ok: false,
      code: 'UNAUTHENTICATED',
      status: 401,
      requestId: expect.any(String),
    });
    await expect(stranger.status()).rejects.toMatchObject({ code: 'UNAUTHENTICATED', effect: 'none' });
    const doubter = open(secure.url, { retry: { tries: 1 } });
    await expect(doubter.status()).rejects.toMatchObject({ code: 'UNREACHABLE', effect: 'none' });
  });
});

describe('a request id', () => {
  it('comes back in problems and stays in receipts', async () => {
    const lh = open(served.url);
    const write = { object_id: 'n', value: 1 };
    expect(await lh.call('object.write', write, { requestId: 'mine-1' })).toMatchObject({
      code: 'WRITE_UNFENCED',
      requestId: 'mine-1',
    });
    expect(await lh.call('receipt.list', {})).toMatchObject({ receipts: [{ requestId: 'mine-1' }] });
  });
});
