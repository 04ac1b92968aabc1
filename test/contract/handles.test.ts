// `open` and `connect` give the same handle: whatever a program can see of it without asking who answers is the same
// over a wire and in process. Every test here runs against each of them.
import { getEventListeners } from 'node:events';
import { existsSync, mkdtempSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connect as connectByFetch } from '../../src/browser.ts';
import type { Client } from '../../src/client/client.ts';
import { transportOf } from '../../src/client/client.ts';
import { connect } from '../../src/client-node.ts';
import { memoryEngine } from '../../src/engines/memory/memory-engine.ts';
import { open, openWith } from '../../src/open.ts';
import { Json } from '../../src/protocol/json.ts';
import { nodeWorld } from '../../src/world/node-world.ts';
import { startServed, stopAllServed } from '../support/served.ts';

const WAYS: readonly (readonly [way: string, make: () => Promise<Client>])[] = [
  ['open', () => openWith(memoryEngine(), { ...nodeWorld, hashSeed: 1 })],
  ['connect', async () => connect((await startServed()).url)],
  ['connect by fetch', async () => connectByFetch((await startServed()).url)],
];

/** What a program gets although the types forbid it. */
// biome-ignore lint/suspicious/noExplicitAny: these are the calls that the compiler would refuse.
type Anything = any;

let lh: Client;

/** The body of a call that must not be refused. */
async function done<T extends { readonly ok: boolean }>(call: Promise<T>): Promise<Extract<T, { ok: true }>> {
  const reply = await call;
  if (!reply.ok) throw new Error(JSON.stringify(reply));
  return reply as Extract<T, { ok: true }>;
}

function pull(options: Anything): Promise<unknown> {
  return lh.follow(options)[Symbol.asyncIterator]().next();
}

afterEach(stopAllServed);

describe.each(WAYS)('a handle of %s that has been closed', (_, make) => {
  const CLOSED = {
    name: 'LeaseholdError',
    code: 'UNAVAILABLE',
    message: 'The handle has been closed.',
    retryable: false,
    effect: 'none',
    problem: null,
  };
  const gone = { signal: AbortSignal.abort(new Error('gone')) };

  const CALLS: Readonly<Record<string, () => Promise<unknown>>> = {
    'a change': () => lh.call('task.create', { payload: 1 }),
    'a look': () => lh.call('task.get', { task_id: 't' }),
    'a wait': () => lh.call('task.lease', { worker_id: 'w', wait_ms: 60_000 }),
    'a lease for a program': () => lh.acquire('n'),
    'the status': () => lh.status(),
    'no request': () => lh.call('task.create', null as Anything),
    'a request with an unknown field': () => lh.call('task.create', { payload: 1, surprise: 1 } as Anything),
    'options that do not exist': () => lh.call('task.create', { payload: 1 }, { sginal: 1 } as Anything),
    'a signal that is none': () => lh.call('task.create', { payload: 1 }, { signal: 'x' } as Anything),
    'a signal that has aborted': () => lh.call('task.create', { payload: 1 }, gone),
    'a look whose signal has aborted': () => lh.call('task.get', { task_id: 't' }, gone),
    'the log': () => transportOf(lh).log({}),
    'the log from half a position': () => transportOf(lh).log({ from: 1.5 }),
    'no request for the log': () => transportOf(lh).log(null as Anything),
    'following from now on': () => pull({}),
    'following from a position on': () => pull({ from: 1 }),
    'following with a signal that has aborted': () => pull({ from: 1, ...gone }),
  };

  beforeEach(async () => {
    lh = await make();
    await lh.status();
    await lh.close();
  });

  it.each(Object.keys(CALLS))('does nothing and says so, asked for %s', async (what) => {
    await expect(CALLS[what]!()).rejects.toMatchObject(CLOSED);
  });

  it('is closed again without complaint', async () => {
    await lh.close();
  });
});

describe.each(WAYS)('closing a handle of %s', (_, make) => {
  beforeEach(async () => {
    lh = await make();
  });

  it('ends all waits in line: nothing has happened, and a retry is of no use', async () => {
    await done(lh.call('lease.acquire', { name: 'n', holder: 'a', ttl_ms: 60_000 }));
    const waiting = lh.call('lease.acquire', { name: 'n', holder: 'b', ttl_ms: 60_000, wait_ms: 60_000 });
    waiting.catch(() => undefined);
    while ((await lh.status()).counts.waiters === 0);
    await lh.close();
    await expect(waiting).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: 'The handle has been closed.',
      retryable: false,
      effect: 'none',
    });
  });

  it('ends those who follow without a fault, wherever they stand', async () => {
    const atTip = lh.follow({ from: 1 })[Symbol.asyncIterator]();
    expect(await atTip.next()).toMatchObject({ done: false });
    const [next, fromNow] = [atTip.next(), lh.follow()[Symbol.asyncIterator]()];
    await lh.close();
    expect(await next).toMatchObject({ done: true });
    expect(await fromNow.next()).toMatchObject({ done: true });
  });
});

describe.each(WAYS)('the options of a call, with a handle of %s', (_, make) => {
  const request = { payload: 1, task_id: 'mine' };

  beforeEach(async () => {
    lh = await make();
  });
  afterEach(async () => {
    expect(await lh.call('task.get', { task_id: 'mine' })).toMatchObject({ code: 'TASK_NOT_FOUND' });
    await lh.close();
  });

  it('that are unknown are INVALID_ARGUMENT, like unknown fields', async () => {
    const { signal } = new AbortController();
    for (const more of [{}, { signal }, { requestId: 'r' }]) {
      expect(await lh.call('task.create', request, { ...more, sginal: signal } as Anything)).toMatchObject({
        ok: false,
        code: 'INVALID_ARGUMENT',
        status: 400,
        detail: 'The option sginal is unknown.',
      });
    }
    expect(await lh.call('task.list', {}, { limit: 1 } as Anything)).toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });

  it('come behind an operation; one that does not exist is INVALID_ARGUMENT', async () => {
    for (const operation of ['task.make', 'constructor', undefined]) {
      expect(await lh.call(operation as Anything, {} as Anything)).toMatchObject({
        ok: false,
        code: 'INVALID_ARGUMENT',
        detail: `There is no operation ${operation}; docs/http.md lists them all.`,
      });
    }
  });

  it('may be an AbortController, which has a signal', async () => {
    const giveUp = new AbortController();
    expect(await lh.call('task.list', {}, giveUp)).toMatchObject({ ok: true });
    giveUp.abort(new Error('enough'));
    await expect(lh.call('task.create', request, giveUp)).rejects.toThrow('enough');
  });

  it.each([[null], [7], ['text'], [[]]])('that are %j are INVALID_ARGUMENT', async (options) => {
    expect(await lh.call('task.create', request, options as Anything)).toMatchObject({
      code: 'INVALID_ARGUMENT',
      detail: 'The options must be an object.',
    });
  });

  it('of the wrong kind are a TypeError', async () => {
    for (const wrong of [{ signal: 'x' }, { requestId: 'two words' }, { requestId: 7 }, { requestId: '' }]) {
      await expect(lh.call('task.create', request, wrong as Anything)).rejects.toThrow(TypeError);
    }
  });

  it('with a signal that has aborted reject with its reason, whatever is asked for', async () => {
    const reason = new Error('no longer wanted');
    const aborted = { signal: AbortSignal.abort(reason) };
    await expect(lh.call('task.create', request, aborted)).rejects.toBe(reason);
    await expect(lh.call('task.create', {} as Anything, aborted)).rejects.toBe(reason);
    await expect(lh.call('task.create', null as Anything, aborted)).rejects.toBe(reason);
    await expect(lh.call('task.get', { task_id: 'mine' }, aborted)).rejects.toBe(reason);
  });
});

const DEPTH_MAX = 1_000;

function nested(depth: number): string {
  return '[{"a":'.repeat(depth / 2) + (depth % 2 === 0 ? '"]"' : '[]') + '}]'.repeat(depth / 2);
}

/** The forms in which a program can give an opaque value. */
const FORMS: Readonly<Record<string, (text: string) => unknown>> = {
  'a value': (text) => JSON.parse(text),
  'a Json of a value': (text) => Json.of(JSON.parse(text)),
  'a Json of text': (text) => Json.text(text),
  'a Json of bytes': (text) => new Json(new TextEncoder().encode(text)),
};

describe.each(WAYS)('an opaque value, with a handle of %s', (_, make) => {
  beforeEach(async () => {
    lh = await make();
  });
  afterEach(() => lh.close());

  it.each(Object.keys(FORMS))(
    'as %s is INVALID_ARGUMENT if it is nested more than 1 000 deep',
    async (form) => {
      const deep = FORMS[form]!(nested(DEPTH_MAX + 1));
      const lease = { task_id: 't', lease_id: 'l00000000001' };
      const replies = await Promise.all([
        lh.call('task.create', { payload: deep }),
        lh.call('task.complete', { ...lease, result: deep }),
        lh.call('task.complete', { ...lease, writes: [{ object_id: 'o', value: deep }] }),
        lh.call('object.write', { object_id: 'o', value: deep }),
        lh.call('lease.acquire', { name: 'n', holder: 'h', ttl_ms: 1_000, metadata: deep }),
        lh.call('lease.acquire_all', { names: ['n', 'm'], holder: 'h', ttl_ms: 1_000, metadata: deep }),
      ]);
      for (const reply of replies) {
        expect(reply).toMatchObject({
          code: 'INVALID_ARGUMENT',
          detail: expect.stringMatching(/nested more than 1000 deep\.$/),
        });
      }
    },
  );

  it.each(Object.keys(FORMS))('as %s is given out as it came if it is exactly 1 000 deep', async (form) => {
    const text = nested(DEPTH_MAX);
    await done(lh.call('task.create', { payload: FORMS[form]!(text) }));
    const { leases } = await done(lh.call('task.lease', { worker_id: 'w' }));
    expect(leases[0]!.payload.text()).toBe(text);
  });

  it.each([
    ['brackets in a string', '['.repeat(3_000)],
    ['quotes and brackets in a string', '"[\\'.repeat(3_000)],
    ['one level after the other', Array.from({ length: 2_000 }, () => [{ a: {} }])],
  ])('is not taken for a deep one: %s', async (_what, payload) => {
    await done(lh.call('task.create', { payload }));
    const { leases } = await done(lh.call('task.lease', { worker_id: 'w' }));
    expect(leases[0]!.payload.parse()).toEqual(payload);
  });
});

describe.each(WAYS)('task.lease, with a handle of %s', (_, make) => {
  it('gives out no further task once the payloads have 4 MiB, and the rest with the next call', async () => {
    lh = await make();
    const payload = 'x'.repeat(256 * 1024 - 2);
    await Promise.all(Array.from({ length: 18 }, () => lh.call('task.create', { payload })));
    const lease = async () => (await done(lh.call('task.lease', { worker_id: 'w', max: 18 }))).leases.length;
    expect([await lease(), await lease(), await lease()]).toEqual([16, 2, 0]);
    await lh.close();
  });
});

describe.each(WAYS)('many calls of a handle of %s that hang on one signal', (_, make) => {
  it('put one listener on it, and all end with it', async () => {
    lh = await make();
    const { task_id } = await done(lh.call('task.create', { payload: 1 }));
    await done(lh.call('lease.acquire', { name: 'n', holder: 'first', ttl_ms: 60_000 }));
    const ending = new AbortController();
    const { signal } = ending;
    for (let turn = 0; turn < 20; turn++)
      await done(lh.call('task.get', { task_id, wait_ms: 1 }, { signal }));
    const waits = Array.from({ length: 20 }, (_each, index) =>
      lh.call(
        'lease.acquire',
        { name: 'n', holder: `h${index}`, ttl_ms: 60_000, wait_ms: 60_000 },
        { signal },
      ),
    );
    const ended = Promise.allSettled(waits);
    while ((await lh.status()).counts.waiters < 20);
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    ending.abort(new Error('enough'));
    for (const each of await ended) expect(each).toMatchObject({ reason: { message: 'enough' } });
    await lh.close();
  });
});

describe.each(WAYS)('what has no JSON form, with a handle of %s', (_, make) => {
  it.each<[string, () => unknown]>([
    [
      'a value whose toJSON throws',
      () => ({
        toJSON: () => {
          throw new Error('boo');
        },
      }),
    ],
    [
      'a cycle',
      () => {
        const cycle: Record<string, unknown> = {};
        cycle.self = cycle;
        return cycle;
      },
    ],
    ['a text that only claims to be JSON', () => new Json('{"bad')],
    ['bytes that only claim to be JSON', () => new Json(Buffer.from('[1'))],
    ['bytes that are no UTF-8', () => new Json(Buffer.from([0x22, 0xff, 0x22]))],
  ])('is refused and holds up nothing: %s', async (_what, payload) => {
    lh = await make();
    expect(await lh.call('task.create', { payload: payload() })).toMatchObject({
      ok: false,
      code: 'INVALID_ARGUMENT',
    });
    expect(await done(lh.call('task.list', {}))).toMatchObject({ tasks: [] });
    await lh.close();
  });
});

describe.each(WAYS)('an option that does not exist, with a handle of %s', (_, make) => {
  it('is refused by write, which would else write whatever the version is, and by follow', async () => {
    lh = await make();
    const lease = await lh.acquire('n');
    await expect(lease.write(1, { ifVerson: 7 } as Anything)).rejects.toThrow(
      'The option ifVerson of write is not known',
    );
    expect(await lh.call('object.get', { object_id: 'n' })).toMatchObject({ code: 'OBJECT_NOT_FOUND' });
    expect(() => lh.follow({ form: 1 } as Anything)).toThrow('The option form of follow is not known');
    await lh.close();
  });
});

describe.each(WAYS)('what a handle of %s cannot make sense of', (_, make) => {
  it('is refused by follow', async () => {
    lh = await make();
    for (const wrong of [{ types: ['Nothing'] }, { types: [] }, { from: -1 }, { from: 1.5 }]) {
      await expect(pull(wrong)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', retryable: false });
    }
    await lh.close();
  });

  it('is refused by acquireAll, which would else take every letter of a name', async () => {
    lh = await make();
    await expect(lh.acquireAll('abc' as Anything)).rejects.toThrow('acquireAll takes a list of names.');
    expect(await done(lh.call('lease.list', {}))).toMatchObject({ leases: [] });
    await lh.close();
  });
});

describe('open', () => {
  it('says in a sentence why a directory cannot be made', async () => {
    await expect(open('/proc/none')).rejects.toThrow(
      /^\/proc\/none cannot be used as a data directory: .*ENOENT.*\.$/,
    );
  });

  it('takes a directory, not the URL of a server', async () => {
    await expect(open('http://secret@127.0.0.1:7420')).rejects.toThrow(
      'http://… is not a data directory; `connect` takes the URL of a server.',
    );
    expect(existsSync('http:')).toBe(false);
  });

  it('tells of a tail that it cut', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'leasehold-torn-'));
    try {
      await (await open(dir)).close();
      const file = '0000000000000001.seg';
      truncateSync(join(dir, file), 0);
      const told: object[] = [];
      await (await open(dir, { onTornTail: (tail) => told.push(tail) })).close();
      expect(told).toEqual([{ file, offset: 0 }]);
    } finally {
      rmSync(dir, { recursive: true });
    }
  });
});

describe('connect', () => {
  it('refuses a certificate that is none', () => {
    expect(() => connect('https://127.0.0.1:1', { ca: 'junk' })).toThrow(
      'The option ca must hold certificates in PEM.',
    );
  });

  it.each([
    [connect, 'known are token, retry, transport, onFault, ca.'],
    [connectByFetch, 'known are token, retry, transport, onFault.'],
  ])('refuses an option it does not know, and names those it does', (make, known) => {
    expect(() => make('http://127.0.0.1:1', { tokn: 'x' } as Anything)).toThrow(
      `The option tokn of connect is not known; ${known}`,
    );
  });
});
