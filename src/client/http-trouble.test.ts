// The way over HTTP on a network that does not work: how often a call is tried again, where, for how long, and what
// its caller hears in the end.
import { beforeEach, describe, expect, it } from 'vitest';
import { type Loopback, openLoopback, problemReply, replyOf } from '../../test/support/loopback-http.ts';
import { isSettled, ManualWorld } from '../../test/support/manual-world.ts';
import type { HttpRequest } from '../seams/http.ts';

let world: ManualWorld;
let http: Loopback['http'];
let transport: Loopback['transport'];

async function open(options?: Parameters<typeof openLoopback>[1]): Promise<void> {
  world = new ManualWorld();
  ({ http, transport } = await openLoopback(world, options));
}

beforeEach(() => open());

/** A call that is looked at later. */
function later<T>(call: Promise<T>): Promise<T> {
  call.catch(() => undefined);
  return call;
}

const create = () => later(transport.call('task.create', { payload: 1 }));

/** When each request left, counted from now. */
function departures(): number[] {
  const fromMs = world.monotonicMs;
  const times: number[] = [];
  const { fate } = http;
  http.fate = (request, operations) => {
    times.push(world.monotonicMs - fromMs);
    return fate(request, operations);
  };
  return times;
}

describe('a server that is not there', () => {
  it('is tried again after 50 ms, then after twice as long each time, until five seconds have passed', async () => {
    http.fate = () => 'refused';
    const times = departures();
    const call = create();
    await world.advance(4_999);
    expect(await isSettled(call)).toBe(false);
    await world.advance(1);
    expect(times).toEqual([0, 50, 150, 350, 750, 1_550, 3_150, 5_000]);
    await expect(call).rejects.toMatchObject({
      name: 'LeaseholdError',
      code: 'UNREACHABLE',
      retryable: true,
      effect: 'none',
      message: 'No connection to http://server-0 could be made.',
    });
    expect(world.holds).toBe(0);
  });

  it('is tried as often and as long as the caller wants', async () => {
    await open({ retry: { tries: 3, maxMs: 60_000 } });
    http.fate = () => 'refused';
    const times = departures();
    const call = create();
    await world.advance(60_000);
    expect(times).toEqual([0, 50, 150]);
    await expect(call).rejects.toMatchObject({ code: 'UNREACHABLE' });
    await open({ retry: { tries: 1 } });
    http.fate = () => 'refused';
    await expect(world.finish(create())).rejects.toMatchObject({ code: 'UNREACHABLE' });
    expect(http.sent).toHaveLength(1);
  });

  it('keeps the process alive while a caller waits for the next try', async () => {
    http.fate = () => 'refused';
    begin(create());
    await world.settle();
    expect(world.holds).toBe(1);
  });

  it('is found again by calls of all kinds', async () => {
    const fromMs = world.monotonicMs;
    http.fate = () => (world.monotonicMs === fromMs ? 'refused' : 'answered');
    const calls = [create(), create(), later(transport.call('status.get', {}))];
    await world.advance(50);
    expect(await world.finish(Promise.all<object>(calls))).toMatchObject([
      { ok: true },
      { ok: true },
      { ok: true },
    ]);
    const tried = [['task.create'], ['task.create'], ['status.get']];
    expect(http.operations).toEqual([...tried, ...tried]);
  });

  it('lets a caller go that does not want to wait any longer', async () => {
    http.fate = () => 'refused';
    const abort = new AbortController();
    const call = later(transport.call('task.create', { payload: 1 }, { signal: abort.signal }));
    await world.advance(200);
    const tried = http.sent.length;
    abort.abort('enough');
    await expect(call).rejects.toBe('enough');
    await world.advance(10_000);
    expect(http.sent).toHaveLength(tried);
  });

  it('is given up when the client is closed', async () => {
    http.fate = () => 'refused';
    const call = create();
    await world.settle();
    const closed = transport.close();
    await expect(call).rejects.toMatchObject({ code: 'UNAVAILABLE', effect: 'none' });
    await world.finish(closed);
    expect(world.holds).toBe(0);
  });
});

describe('a connection that breaks', () => {
  it('leaves the effect of a change unknown in the end, and that of a look none', async () => {
    http.fate = () => 'request lost';
    const change = create();
    const look = later(transport.call('status.get', {}));
    await world.advance(5_000);
    await expect(change).rejects.toMatchObject({
      code: 'UNREACHABLE',
      effect: 'unknown',
      message: expect.stringMatching(/broke before the answer came\. The call may have been carried out\.$/),
    });
    await expect(look).rejects.toMatchObject({ code: 'UNREACHABLE', effect: 'none' });
  });

  it('leaves it unknown although the last try did not even leave', async () => {
    http.fate = () => (http.sent.length === 1 ? 'request lost' : 'refused');
    const call = create();
    await world.advance(5_000);
    await expect(call).rejects.toMatchObject({ code: 'UNREACHABLE', effect: 'unknown' });
  });
});

describe('a server that does not answer', () => {
  it.each([
    ['a change', () => create(), 30_000],
    ['a look', () => later(transport.call('status.get', {})), 30_000],
    ['a renewal', () => later(transport.call('worker.heartbeat', { worker_id: 'w' })), 10_000],
  ] as const)('is given up after a while: %s', async (_, make, limitMs) => {
    http.isHolding = true;
    const call = make();
    await world.advance(limitMs - 1);
    expect(http.sent).toHaveLength(1);
    expect(http.sent[0]!.request.signal.aborted).toBe(false);
    await world.advance(1);
    expect(http.sent[0]!.request.signal.aborted).toBe(true);
    http.isHolding = false;
    http.letGo();
    await world.advance(50);
    expect(await world.finish<unknown>(call)).toMatchObject({ ok: true });
    expect(http.sent).toHaveLength(2);
  });

  it('is tried once more for as long as the retry limit allows, and not for another such time', async () => {
    http.isHolding = true;
    const call = create();
    await world.advance(34_999);
    expect(http.sent).toHaveLength(2);
    expect(await isSettled(call)).toBe(false);
    await world.advance(1);
    await expect(call).rejects.toMatchObject({ code: 'UNREACHABLE', effect: 'unknown' });
    expect(http.sent).toHaveLength(2);
  });

  it('has all the time again when it was only not there, or said not now, before', async () => {
    http.fate = () => (http.sent.length === 1 ? 'refused' : 'answered');
    const call = create();
    await world.settle();
    http.isHolding = true;
    await world.advance(30_049);
    expect(http.sent).toHaveLength(2);
    expect(http.sent[1]!.request.signal.aborted).toBe(false);
    http.letGo();
    expect(await world.finish(call)).toMatchObject({ ok: true });
  });

  it('may take the time that a call itself wants to wait besides', async () => {
    await world.finish(transport.call('lease.acquire', { name: 'n', holder: 'a', ttl_ms: 3_600_000 }));
    http.isHolding = true;
    begin(transport.call('lease.acquire', { name: 'n', holder: 'b', ttl_ms: 1_000, wait_ms: 600_000 }));
    await world.advance(629_999);
    expect(http.sent[1]!.request.signal.aborted).toBe(false);
    await world.advance(1);
    expect(http.sent[1]!.request.signal.aborted).toBe(true);
  });
});

describe('a call that waits and is interrupted', () => {
  it('goes on waiting for what is left of its time, however often the server goes away', async () => {
    await world.finish(transport.call('lease.acquire', { name: 'n', holder: 'a', ttl_ms: 3_600_000 }));
    const breaks: ((fault: Error) => void)[] = [];
    const waits: number[] = [];
    const { send } = http;
    http.send = (request: HttpRequest) => {
      waits.push(JSON.parse(request.body!).wait_ms);
      const broken = new Promise<never>((_, reject) => breaks.push(reject));
      return Promise.race([send.call(http, request), broken]);
    };
    const request = { name: 'n', holder: 'b', ttl_ms: 1_000, wait_ms: 100_000 };
    const call = later(transport.call('lease.acquire', request));
    for (let round = 0; round < 9; round++) {
      await world.advance(9_950);
      breaks[round]!(Object.assign(new Error('broken'), { name: 'HttpFault', effect: 'unknown' }));
      await world.advance(50);
    }
    expect(waits).toEqual([100_000, 90_000, 80_000, 70_000, 60_000, 50_000, 40_000, 30_000, 20_000, 10_000]);
    await world.advance(10_000);
    expect(await world.finish(call)).toMatchObject({ ok: false, code: 'LEASE_HELD' });
  });

  it('is given up like any other when the server does not come back', async () => {
    http.fate = () => 'refused';
    const call = later(transport.call('task.lease', { worker_id: 'w', wait_ms: 600_000 }));
    await world.advance(5_000);
    await expect(call).rejects.toMatchObject({ code: 'UNREACHABLE' });
  });
});

describe('a server that says not now', () => {
  const overloaded = problemReply(503, 'OVERLOADED', { 'retry-after': '2' });

  it('is asked again when it wants to be', async () => {
    http.fate = () => (http.sent.length === 1 ? overloaded : 'answered');
    const times = departures();
    const calls = [create(), create()];
    await world.advance(2_000);
    expect(await world.finish(Promise.all(calls))).toMatchObject([{ ok: true }, { ok: true }]);
    expect(times).toEqual([0, 0, 2_000]);
  });

  it('is heard in the end: its code, and that nothing was changed', async () => {
    http.fate = () => overloaded;
    const call = create();
    const alone = later(transport.call('queue.pause', { queue: 'q' }));
    await world.advance(5_000);
    for (const each of [call, alone]) {
      await expect(each).rejects.toMatchObject({
        name: 'LeaseholdError',
        code: 'OVERLOADED',
        message: 'It is OVERLOADED.',
        retryable: true,
        effect: 'none',
        problem: { ok: false, status: 503 },
      });
    }
  });

  it('is not waited for when it wants more time than there is', async () => {
    http.fate = () => problemReply(503, 'OVERLOADED', { 'retry-after': '60' });
    await expect(world.finish(create())).rejects.toMatchObject({ code: 'OVERLOADED' });
  });

  it('may have carried the call out when its authority died, unless it says that it did not', async () => {
    await world.finish(transport.call('lease.acquire', { name: 'n', holder: 'h', ttl_ms: 60_000 }));
    const write = () =>
      later(transport.call('object.write', { object_id: 'n', value: 1, lease: { lease_seq: 2 } }));
    http.fate = () => problemReply(503, 'UNAVAILABLE', { 'retry-after': '1' });
    await expect(world.finish(write())).rejects.toMatchObject({ code: 'UNAVAILABLE', effect: 'unknown' });
    const text = JSON.stringify({ code: 'UNAVAILABLE', status: 503, title: '', detail: '', effect: 'none' });
    let isFirst = true;
    http.fate = () => {
      const fate = isFirst ? replyOf(503, text) : 'answered';
      isFirst = false;
      return fate;
    };
    const written = write();
    await world.advance(50);
    expect(await world.finish(written)).toMatchObject({ ok: true, version: 1 });
  });

  it('may be a gateway before it', async () => {
    const page = replyOf(502, '<html>', { 'content-type': 'text/html' });
    http.fate = () => (http.sent.length === 1 ? page : 'answered');
    const call = create();
    await world.advance(50);
    expect(await world.finish(call)).toMatchObject({ ok: true });
    http.fate = () => page;
    const lost = create();
    await world.advance(5_000);
    await expect(lost).rejects.toMatchObject({
      code: 'UNREACHABLE',
      effect: 'unknown',
      message: 'A gateway before http://server-0 answered 502. The call may have been carried out.',
    });
  });
});

describe('a server that made a mistake', () => {
  it('is not asked again, and may have carried the call out', async () => {
    http.fate = () => problemReply(500, 'INTERNAL');
    await expect(world.finish(create())).rejects.toMatchObject({
      code: 'INTERNAL',
      retryable: false,
      effect: 'unknown',
    });
    expect(http.sent).toHaveLength(1);
  });

  it('has a full disk: that is a refusal, and nothing was changed', async () => {
    http.fate = () => replyOf(507, '{"code":"DISK_FULL","status":507}');
    expect(await world.finish(create())).toMatchObject({ ok: false, code: 'DISK_FULL' });
  });
});

describe('a server that is no leasehold', () => {
  it.each<[string, () => Promise<unknown>, string]>([
    ['for a task', () => create(), '{}'],
    [
      'for a call that waits',
      () => later(transport.call('task.lease', { worker_id: 'w', wait_ms: 9 })),
      '{}',
    ],
    [
      'for a lease',
      () => later(transport.call('lease.acquire', { name: 'n', holder: 'h', ttl_ms: 9_000 })),
      '{}',
    ],
  ])('is not believed when it says yes to everything: %s', async (_, make, text) => {
    http.fate = () => replyOf(200, text);
    await expect(world.finish(make())).rejects.toMatchObject({ code: 'PROTOCOL', effect: 'unknown' });
  });
});

describe('several servers', () => {
  const originsOf = () => http.sent.map(({ request }) => request.origin.at(-1));

  it('stay with the one that works', async () => {
    await open({ servers: 3 });
    http.fate = ({ origin }) => (origin === 'http://server-0' ? 'refused' : 'answered');
    expect(await world.finish(create())).toMatchObject({ ok: true });
    expect(await world.finish(create())).toMatchObject({ ok: true });
    expect(await world.finish(transport.call('status.get', {}))).toMatchObject({ ok: true });
    expect(originsOf()).toEqual(['0', '1', '1', '1']);
  });

  it('are asked one after the other, at once, for the one that leads', async () => {
    await open({ servers: 3 });
    http.fate = ({ origin }) =>
      origin === 'http://server-2' ? 'answered' : problemReply(503, 'NOT_LEADER', { 'retry-after': '1' });
    expect(await world.finish(create())).toMatchObject({ ok: true });
    expect(await world.finish(transport.call('queue.list', {}))).toMatchObject({ ok: true });
    expect(originsOf()).toEqual(['0', '1', '2', '2']);
  });

  it.each([
    ['a change', () => create(), 10_000],
    ['a look', () => later(transport.call('status.get', {})), 10_000],
    ['a renewal', () => later(transport.call('worker.heartbeat', { worker_id: 'w' })), 10_000],
    [
      'a wait',
      () => later(transport.call('task.lease', { worker_id: 'w', queues: ['none'], wait_ms: 5_000 })),
      15_000,
    ],
  ] as const)('do not wait long for one that is paused: %s', async (_, make, limitMs) => {
    await open({ servers: 2 });
    http.isHolding = true;
    const call = make();
    await world.advance(limitMs - 1);
    expect(http.sent[0]!.request.signal.aborted).toBe(false);
    await world.advance(1);
    expect(http.sent[0]!.request.signal.aborted).toBe(true);
    http.isHolding = false;
    http.letGo();
    expect(await world.finish<unknown>(call)).toMatchObject({ ok: true });
    expect(originsOf()).toEqual(['0', '1']);
  });

  it('wait as long as for a single one for the answer to what cannot be sent again', async () => {
    await open({ servers: 2 });
    http.isHolding = true;
    const unsafe = { object_id: 'o', lease_id: 'name:n', lease_seq: 1, value: 1 };
    const write = later(transport.call('object.write', unsafe));
    await world.advance(29_999);
    expect(http.sent[0]!.request.signal.aborted).toBe(false);
    await world.advance(1);
    expect(http.sent[0]!.request.signal.aborted).toBe(true);
    http.isHolding = false;
    http.letGo();
    await expect(world.finish(write)).rejects.toMatchObject({ code: 'UNREACHABLE', effect: 'unknown' });
    expect(originsOf()).toEqual(['0']);
  });

  it('are all tried before any call waits, and then all again', async () => {
    await open({ servers: 2 });
    http.fate = () => 'refused';
    const times = departures();
    const call = create();
    await world.advance(30_000);
    await expect(call).rejects.toMatchObject({ code: 'UNREACHABLE' });
    expect(times.slice(0, 6)).toEqual([0, 0, 50, 50, 150, 150]);
    expect(originsOf().slice(0, 6)).toEqual(['0', '1', '0', '1', '0', '1']);
  });

  it('are asked steadily for as long as one of them may need to take over', async () => {
    await open({ servers: 2 });
    http.fate = () => (world.monotonicMs < 20_000 ? problemReply(503, 'NOT_LEADER') : 'answered');
    const times = departures();
    const call = create();
    await world.advance(20_400);
    expect(await world.finish(call)).toMatchObject({ ok: true });
    const pauses = times.slice(1).map((ms, index) => ms - times[index]!);
    expect(Math.max(...pauses)).toBe(400);
  });

  it('go to the leader at once when a standby names it, and stay there', async () => {
    await open({ servers: 4 });
    const leader = 'http://server-3';
    http.fate = ({ origin }) =>
      origin === leader ? 'answered' : problemReply(503, 'NOT_LEADER', { 'leasehold-leader': leader });
    expect(await world.finish(create())).toMatchObject({ ok: true });
    expect(await world.finish(create())).toMatchObject({ ok: true });
    expect(originsOf()).toEqual(['0', '3', '3']);
  });

  it('are the only ones that see the token, even if another server is named as the leader', async () => {
    await open({ servers: 2 });
    http.fate = ({ origin }) =>
      origin === 'http://server-1'
        ? 'answered'
        : problemReply(503, 'NOT_LEADER', { 'leasehold-leader': 'http://stranger' });
    expect(await world.finish(create())).toMatchObject({ ok: true });
    expect(originsOf()).toEqual(['0', '1']);
  });

  it('are left at once when they go away, without the pause that one alone would be given', async () => {
    await open({ servers: 2 });
    http.fate = ({ origin }) =>
      origin === 'http://server-1' ? 'answered' : problemReply(503, 'UNAVAILABLE', { 'retry-after': '1' });
    const times = departures();
    expect(await world.finish(create())).toMatchObject({ ok: true });
    expect([originsOf(), times]).toEqual([
      ['0', '1'],
      [0, 0],
    ]);
  });

  it('do not move on twice because two calls failed at the same one', async () => {
    await open({ servers: 2 });
    http.fate = ({ origin }) => (origin === 'http://server-0' ? 'refused' : 'answered');
    const calls = [
      create(),
      later(transport.call('status.get', {})),
      later(transport.call('queue.list', {})),
    ];
    expect(await world.finish(Promise.all<object>(calls))).toMatchObject([
      { ok: true },
      { ok: true },
      { ok: true },
    ]);
    expect(originsOf()).toEqual(['0', '0', '0', '1', '1', '1']);
  });

  it('are not left because a call from long ago fails at another', async () => {
    await open({ servers: 3 });
    const { send } = http;
    let fail = (_: Error): void => undefined;
    http.send = (request: HttpRequest) => {
      if (http.sent.length > 0) return send.call(http, request);
      http.sent.push({ request, operations: ['status.get'] });
      return new Promise((_, reject) => {
        fail = reject;
      });
    };
    const slow = later(transport.call('status.get', {}));
    http.fate = ({ origin }) => (origin === 'http://server-2' ? 'answered' : 'refused');
    expect(await world.finish(create())).toMatchObject({ ok: true });
    fail(Object.assign(new Error('broken'), { name: 'HttpFault', effect: 'unknown' }));
    expect(await world.finish(slow)).toMatchObject({ ok: true });
    expect(originsOf()).toEqual(['0', '0', '1', '2', '2']);
  });

  it('may carry out what another has lost the reply of, once', async () => {
    await open({ servers: 2 });
    http.fate = ({ origin }) => (origin === 'http://server-0' ? 'reply lost' : 'answered');
    const reply = await world.finish(create());
    expect(reply).toMatchObject({ ok: true });
    expect(reply).not.toHaveProperty('duplicate');
    const page = await world.finish(http.authority.log({ limit: 100 }));
    expect(page.ok && page.entries.filter(({ type }) => type === 'TaskCreated')).toHaveLength(1);
  });
});

/** A call whose outcome no test reads. */
function begin(call: Promise<unknown>): void {
  call.catch(() => undefined);
}
