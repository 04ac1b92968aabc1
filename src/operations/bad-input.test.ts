// Bad input gets a clear answer and costs nothing: a code, a sentence, and not one entry in the log.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { heardBy } from '../../test/support/heard-by.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { transportOf } from '../client/client.ts';
import type { Leasehold } from '../client/leasehold.ts';
import { memoryEngine } from '../engines/memory/memory-engine.ts';
import { openWith } from '../open.ts';
import { Json } from '../protocol/json.ts';

let world: ManualWorld;
let lh: Leasehold;

beforeAll(async () => {
  world = new ManualWorld();
  lh = await world.finish(openWith(memoryEngine(), world));
});

afterAll(async () => {
  await world.finish(lh.close());
});

const TOKEN = 'x'.repeat(22);
const LEASE = { task_id: 't', lease_id: 'l' };
const NAMED = { name: 'n', holder: 'h', ttl_ms: 1_000 };

/** Anything at all, as a caller without types would send it. */
type Anything = Parameters<Leasehold['task']['create']>[0] & Record<string, unknown>;

const OPERATIONS: Record<string, (request: Anything) => Promise<unknown>> = {
  'task.create': (request) => lh.call('task.create', request),
  'task.lease': (request) => lh.call('task.lease', request as never),
  'task.extend': (request) => lh.call('task.extend', request as never),
  'task.complete': (request) => lh.call('task.complete', request as never),
  'task.fail': (request) => lh.call('task.fail', request as never),
  'task.release': (request) => lh.call('task.release', request as never),
  'task.kill': (request) => lh.call('task.kill', request as never),
  'task.get': (request) => lh.call('task.get', request as never),
  'task.list': (request) => lh.call('task.list', request as never),
  'task.why': (request) => lh.call('task.why', request as never),
  'task.history': (request) => lh.call('task.history', request as never),
  'worker.heartbeat': (request) => lh.heartbeat(request as never),
  'lease.acquire': (request) => lh.call('lease.acquire', request as never),
  'lease.acquire_all': (request) => lh.call('lease.acquire_all', request as never),
  'lease.renew': (request) => lh.call('lease.renew', request as never),
  'lease.release': (request) => lh.call('lease.release', request as never),
  'lease.break': (request) => lh.call('lease.break', request as never),
  'lease.wipe': (request) => lh.call('lease.wipe', request as never),
  'lease.get': (request) => lh.call('lease.get', request as never),
  'lease.list': (request) => lh.call('lease.list', request as never),
  'lease.history': (request) => lh.call('lease.history', request as never),
  'object.write': (request) => lh.call('object.write', request as never),
  'object.delete': (request) => lh.call('object.delete', request as never),
  'object.get': (request) => lh.call('object.get', request as never),
  'receipt.list': (request) => lh.call('receipt.list', request as never),
  'log.read': (request) => transportOf(lh).log(request as never),
  'queue.limit': (request) => lh.call('queue.limit', request as never),
  'queue.pause': (request) => lh.pause(request as never),
  'schedule.list': (request) => lh.call('schedule.list', request as never),
  'status.get': (request) => lh.call('status.get', request as never),
  'queue.resume': (request) => lh.resume(request as never),
};

const BAD: readonly (readonly [operation: string, what: string, request: unknown])[] = [
  ...Object.keys(OPERATIONS).flatMap((operation) =>
    [null, 7, 'text', [], true].map(
      (request) => [operation, `the whole request is ${JSON.stringify(request)}`, request] as const,
    ),
  ),
  ...Object.keys(OPERATIONS).map(
    (operation) => [operation, 'an unknown field', { ...LEASE, ...NAMED, surprise: 1 }] as const,
  ),
  ...[
    { max_leased: 0 },
    { max_leased: 1.5 },
    { max_leased_per_key: -1 },
    { rate: { count: 10_001, per_ms: 1_000 } },
    { rate: { count: 0, per_ms: 1_000 } },
    { rate: { count: 1 } },
    { rate: { count: 1, per_ms: 0 } },
    { rate: { count: 1, per_ms: 1, per_key: 'yes' } },
  ].map((limits) => ['queue.limit', JSON.stringify(limits), { queue: 'q', ...limits }] as const),
  ['task.create', 'no payload', {}],
  ['task.create', 'a priority above 127', { payload: 1, priority: 128 }],
  ['task.create', 'a priority below -128', { payload: 1, priority: -129 }],
  ['task.create', 'a fraction of a priority', { payload: 1, priority: 0.5 }],
  ['task.create', 'a number as text', { payload: 1, delay_ms: '5' }],
  ['task.create', 'a delay that is not a number', { payload: 1, delay_ms: Number.NaN }],
  ['task.create', 'a delay without end', { payload: 1, delay_ms: Number.POSITIVE_INFINITY }],
  ['task.create', 'a delay of 2^53', { payload: 1, delay_ms: 2 ** 53 }],
  ['task.create', 'a negative delay', { payload: 1, delay_ms: -1 }],
  ['task.create', 'an empty task_id', { payload: 1, task_id: '' }],
  ['task.create', 'a task_id with a slash', { payload: 1, task_id: 'a/b' }],
  ['task.create', 'a task_id of 257 bytes', { payload: 1, task_id: 'x'.repeat(257) }],
  ['task.create', 'a task_id of 86 characters and 258 bytes', { payload: 1, task_id: '€'.repeat(86) }],
  ['task.create', 'a task_id with a line break', { payload: 1, task_id: 'a\nb' }],
  ['task.create', 'a task_id with a NUL', { payload: 1, task_id: 'a\0b' }],
  ['task.create', 'half a surrogate pair', { payload: 1, task_id: 'a\ud800' }],
  ['task.create', 'a name that is not in NFC', { payload: 1, queue: 'e\u0301' }],
  ['task.create', 'an id of our own making from the future', { payload: 1, task_id: 't0000000vvvv' }],
  ['task.create', 'an unknown field inside retry', { payload: 1, retry: { tries: 3 } }],
  ['task.create', 'max_failures of zero', { payload: 1, retry: { max_failures: 0 } }],
  ['task.create', 'a payload without JSON form', { payload: () => 1 }],
  ['task.create', 'a payload that refers to itself', { payload: selfReferring() }],
  ['task.create', 'a big integer', { payload: 1n }],
  ['task.lease', 'no worker_id', {}],
  ['task.lease', 'no queue at all', { worker_id: 'w', queues: [] }],
  ['task.lease', 'max of 1 001', { worker_id: 'w', max: 1_001 }],
  ['task.lease', 'a ttl of 9 ms', { worker_id: 'w', ttl_ms: 9 }],
  ['task.lease', 'a ttl above 30 days', { worker_id: 'w', ttl_ms: 30 * 86_400_000 + 1 }],
  ['task.lease', 'a wait above ten minutes', { worker_id: 'w', wait_ms: 600_001 }],
  ['task.fail', 'no reason', LEASE],
  ['task.fail', 'an empty reason', { ...LEASE, reason: '' }],
  ['task.fail', 'a reason of 4 097 bytes', { ...LEASE, reason: 'x'.repeat(4_097) }],
  ['task.complete', 'writes that are no list', { ...LEASE, writes: {} }],
  [
    'task.complete',
    'a write with an unknown field',
    { ...LEASE, writes: [{ object_id: 'o', value: 1, x: 1 }] },
  ],
  ['lease.acquire', 'a token of 15 characters', { ...NAMED, token: 'x'.repeat(15) }],
  ['lease.acquire', 'a token with a space', { ...NAMED, token: `${TOKEN} ` }],
  ['lease.acquire', 'an empty holder', { ...NAMED, holder: '' }],
  ['lease.acquire_all', 'no names', { names: [], holder: 'h', ttl_ms: 1_000 }],
  ['lease.acquire_all', 'the same name twice', { names: ['a', 'a'], holder: 'h', ttl_ms: 1_000 }],
  ['lease.break', 'a negative lease_seq', { name: 'n', reason: 'r', lease_seq: -1 }],
  ['object.write', 'a lease_seq of 2^53', { object_id: 'o', value: 1, lease: { lease_seq: 2 ** 53 } }],
  ['object.write', 'a lease that is a number', { object_id: 'o', value: 1, lease: 5 }],
  ['task.list', 'a state that does not exist', { state: 'NOPE' }],
  ['task.list', 'a limit of zero', { limit: 0 }],
  ['task.list', 'a cursor that is not one of ours', { cursor: 'abc' }],
  ['schedule.list', 'a cursor that stands for no name', { cursor: '____' }],
  ['schedule.list', 'a cursor that stands for a name in another spelling', { cursor: 'YWJjZB' }],
  ['status.get', 'a day that does not exist', { at: '2026-02-30T12:00:00Z' }],
  ['log.read', 'half a position', { from: 1.5 }],
];

function selfReferring(): unknown {
  const value: Record<string, unknown> = {};
  value.self = value;
  return value;
}

describe('bad input', () => {
  it.each(BAD)(
    '%s with %s is INVALID_ARGUMENT, in a sentence, and costs nothing',
    async (operation, _, request) => {
      const before = await world.finish(lh.status());
      const reply = await world.finish(OPERATIONS[operation]!(request as Anything));
      expect(reply).toMatchObject({ ok: false, code: 'INVALID_ARGUMENT', status: 400 });
      expect((reply as { detail: string }).detail).toMatch(/^The .+\.$/);
      expect((await world.finish(lh.status())).seq).toBe(before.seq);
    },
  );

  it('tries every operation there is', () => {
    const tried = new Set(BAD.map(([operation]) => operation));
    expect([...tried].sort()).toEqual(Object.keys(OPERATIONS).sort());
  });
});

describe('input that is too large', () => {
  const big = Json.of('x'.repeat(256 * 1024));

  it('a payload, a result or a value above 256 KiB is PAYLOAD_TOO_LARGE', async () => {
    const replies = await world.finish(
      Promise.all([
        lh.call('task.create', { payload: big }),
        lh.call('task.complete', { ...LEASE, result: big }),
        lh.call('task.complete', { ...LEASE, writes: [{ object_id: 'o', value: big }] }),
        lh.call('object.write', { object_id: 'o', value: big }),
        lh.call('lease.acquire', { ...NAMED, metadata: big }),
      ]),
    );
    for (const reply of replies) expect(reply).toMatchObject({ code: 'PAYLOAD_TOO_LARGE', status: 413 });
  });

  it('a payload of exactly 256 KiB is taken', async () => {
    const payload = Json.of('x'.repeat(256 * 1024 - 2));
    expect(await world.finish(lh.call('task.create', { payload }))).toMatchObject({ ok: true });
  });

  it('writes that are together above 1 MiB are PAYLOAD_TOO_LARGE', async () => {
    const value = Json.of('x'.repeat(250 * 1024));
    const writes = Array.from({ length: 5 }, (_, index) => ({ object_id: `o${index}`, value }));
    const reply = await world.finish(lh.call('task.complete', { ...LEASE, writes }));
    expect(reply).toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
  });
});

describe('hostile but valid input', () => {
  it.each(['__proto__', 'constructor', 'toString', '日本語', '🙂'.repeat(64), 'a b', '..', '%2e%2e'])(
    'the name %j is a name like any other',
    async (name) => {
      const reply = await world.finish(lh.call('lease.acquire', { name, holder: name, ttl_ms: 60_000 }));
      expect(reply).toMatchObject({ ok: true, name, holder: name });
      expect(await world.finish(lh.call('lease.get', { name }))).toMatchObject({ ok: true, name });
      await world.finish(lh.call('task.create', { payload: 1, queue: name, task_id: name }));
      expect(await world.finish(lh.call('task.get', { task_id: name }))).toMatchObject({
        ok: true,
        queue: name,
      });
    },
  );

  it('gives opaque text back byte for byte', async () => {
    const text = '{"b":1.0,  "a":12345678901234567890, "__proto__":{"x":1}, "b":2, "e":"\\u00e9"}';
    await world.finish(lh.call('task.create', { payload: Json.text(text), queue: 'bytes' }));
    const reply = await world.finish(lh.call('task.lease', { worker_id: 'w', queues: ['bytes'] }));
    if (!reply.ok) throw new Error(reply.detail);
    expect(reply.leases[0]!.payload.text()).toBe(text);
  });
});

describe('input that changes after it was checked', () => {
  it('is taken as it was when the call was made', async () => {
    const names = ['kept-a', 'kept-b'];
    const call = lh.call('lease.acquire_all', { names, holder: 'h', ttl_ms: 60_000 });
    names.length = 0;
    expect(await world.finish(call)).toMatchObject({ leases: [{ name: 'kept-a' }, { name: 'kept-b' }] });
    const queues = ['kept'];
    await world.finish(lh.call('task.create', { payload: 1, queue: 'kept' }));
    const leased = lh.call('task.lease', { worker_id: 'w', queues });
    queues[0] = 'other';
    expect(await world.finish(leased)).toMatchObject({ leases: [{ queue: 'kept' }] });
  });

  it('is kept as it was, also when it came as bytes that are used again', async () => {
    const bytes = Buffer.from('{"n":1}');
    const call = lh.call('task.create', { payload: new Json(bytes), queue: 'bytes' });
    bytes.fill('z');
    await world.finish(call);
    const leased = await world.finish(lh.call('task.lease', { worker_id: 'w', queues: ['bytes'] }));
    expect(leased.ok && leased.leases.map(({ payload }) => payload.text())).toEqual(['{"n":1}']);
  });
});

describe('what is no request', () => {
  it('a Json that is made of neither text nor bytes is refused before it exists', () => {
    for (const wrong of [[1, 2], 5, null]) expect(() => new Json(wrong as never)).toThrow(TypeError);
  });

  it('a signal that is none is refused, and nothing happens', async () => {
    const call = lh.call('lease.acquire', { ...NAMED, name: 'unsignalled' }, { signal: 'x' as never });
    await expect(world.finish(call)).rejects.toThrow('The option signal must be an AbortSignal.');
    expect(await world.finish(lh.call('lease.get', { name: 'unsignalled' }))).toMatchObject({
      code: 'LEASE_NOT_FOUND',
    });
  });

  it.each([
    ['an unknown option', { surprise: 1 }],
    ['a negative retention', { retention: { endedTasksMax: -1 } }],
    ['a retention that is not a number', { retention: { endedTasksMs: Number.NaN } }],
    ['an onDeath that is no function', { onDeath: 5 }],
    ['an onCompactionFault that is no function', { onCompactionFault: 'x' }],
    ['an onTornTail that is no function', { onTornTail: 'x' }],
  ])('open with %s is refused in a sentence', async (_, options) => {
    await expect(openWith(memoryEngine(), world, options as never)).rejects.toThrow(/^The .+\.$/);
  });
});

describe('an option that is there and undefined', () => {
  it('is the default', async () => {
    const options = { retention: { endedTasksMs: undefined } };
    const other = await world.finish(openWith(memoryEngine(), world, options as never));
    await world.finish(other.call('task.create', { payload: 1, task_id: 'kept' }));
    await world.finish(other.call('task.kill', { task_id: 'kept', reason: 'enough' }));
    await world.advance(1_000);
    expect(await world.finish(other.call('task.get', { task_id: 'kept' }))).toMatchObject({ state: 'DEAD' });
    await world.finish(other.close());
  });
});

describe('following', () => {
  it('ends the moment it is ended', async () => {
    const stop = new AbortController();
    const heard = heardBy(lh, { signal: stop.signal });
    const calls = Promise.all(Array.from({ length: 20 }, () => lh.call('task.create', { payload: 1 })));
    stop.abort();
    await world.finish(calls);
    await world.settle();
    expect(heard).toEqual([]);
  });
});
