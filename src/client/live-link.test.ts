// A live connection as the client uses it, over a socket that the test holds: what leaves when, what overtakes, how silence
// and refusals end, and what becomes of the calls.
import { beforeEach, describe, expect, it } from 'vitest';
import { type LoopbackHttp, openLoopback } from '../../test/support/loopback-http.ts';
import { isSettled, ManualWorld } from '../../test/support/manual-world.ts';
import type { LiveSocket, SocketEvents, SocketRequest, Sockets } from '../seams/sockets.ts';
import { HttpTransport } from './http-transport.ts';

type Item = [id: number, operation: string, request: Record<string, unknown>];

class TestSocket implements LiveSocket {
  readonly sent: unknown[][] = [];
  isDropped = false;
  isHeld = true;
  readonly request: SocketRequest;
  readonly events: SocketEvents;

  constructor(request: SocketRequest, events: SocketEvents) {
    this.request = request;
    this.events = events;
  }

  send(text: string): void {
    this.sent.push(JSON.parse(text));
  }

  drop(): void {
    this.isDropped = true;
  }

  hold(isNeeded: boolean): void {
    this.isHeld = isNeeded;
  }

  hello(): void {
    this.events.opened();
    this.say();
  }

  say(...items: unknown[]): void {
    this.events.message(JSON.stringify([world.clock.wallMs(), 1, ...items]));
  }

  /** Operations that were sent, in order. */
  get items(): Item[] {
    return this.sent.flat().filter((item) => typeof (item as Item)[0] === 'number') as Item[];
  }

  /** Answers everything that was sent and not answered yet. */
  answerAll(body: object = { seq: 1 }): void {
    this.say(...this.items.slice(this.#answered).map(([id]) => [id, 200, body]));
    this.#answered = this.items.length;
  }
  #answered = 0;
}

let world: ManualWorld;
let http: LoopbackHttp;
let opened: TestSocket[];
let transport: HttpTransport;

const sockets: Sockets = {
  showsToken: true,
  open(request, events) {
    const socket = new TestSocket(request, events);
    opened.push(socket);
    return socket;
  },
};

function connect(servers = 1, more: Partial<Sockets> = {}, token: string | null = null): HttpTransport {
  const addresses = Array.from({ length: servers }, (_, index) => ({
    origin: `http://server-${index}`,
    prefix: '',
  }));
  return new HttpTransport(http, world, {
    servers: addresses,
    token,
    retry: {},
    sockets: { ...sockets, ...more },
  });
}

beforeEach(async () => {
  world = new ManualWorld();
  ({ http } = await openLoopback(world));
  opened = [];
  transport = connect();
});

const create = (payload: unknown = 1) => transport.call('task.create', { payload });
const lease = { name: 'n', holder: 'h', token: 'x'.repeat(22), ttl_ms: 60_000 };
const renew = () => transport.call('lease.renew', lease);

function later<T>(call: Promise<T>): Promise<T> {
  call.catch(() => undefined);
  return call;
}

/** The socket that was opened last, after its hello. */
async function live(): Promise<TestSocket> {
  const socket = opened.at(-1)!;
  socket.hello();
  await world.settle();
  return socket;
}

describe('a live connection', () => {
  it('is opened with the first call, below the path of the server, and carries what was called meanwhile in one frame', async () => {
    expect([opened.length, transport.connection.current.state]).toEqual([0, 'idle']);
    const calls = [create(), create({ a: 1 })];
    await world.settle();
    expect(opened[0]!.request).toMatchObject({
      url: 'ws://server-0/v1/live',
      protocol: 'leasehold.1',
    });
    const socket = await live();
    expect(transport.connection.current).toEqual({ state: 'live', url: 'http://server-0' });
    expect(socket.sent).toHaveLength(1);
    expect(socket.items.map(([, operation, { payload }]) => [operation, payload])).toEqual([
      ['task.create', '1'],
      ['task.create', '{"a":1}'],
    ]);
    socket.answerAll({ task_id: 't', seq: 1 });
    expect(await world.finish(Promise.all(calls))).toMatchObject([{ ok: true }, { ok: true }]);
    expect(http.sent).toEqual([]);
  });

  it('shows the token in the first message where a header is not possible', async () => {
    transport = connect(1, { showsToken: false }, 'secret');
    const call = create();
    await world.settle();
    const socket = await live();
    expect(socket.sent[0]).toEqual([['token', 'secret']]);
    socket.answerAll();
    await world.finish(call);
  });

  it('keeps the process alive only while a caller waits', async () => {
    const call = create();
    await world.settle();
    const socket = await live();
    expect(socket.isHeld).toBe(true);
    socket.answerAll();
    await world.finish(call);
    expect(socket.isHeld).toBe(false);
  });

  it('lets renewals leave first, and has at most 256 KiB of the rest unanswered', async () => {
    const large = 'x'.repeat(100 * 1024);
    const calls = Array.from({ length: 6 }, () => later(create(large)));
    calls.push(later(renew() as never));
    await world.settle();
    const socket = await live();
    const names = () => socket.items.map(([, operation]) => operation);
    expect(names()).toEqual(['lease.renew', 'task.create', 'task.create', 'task.create']);
    calls.push(later(renew() as never));
    await world.settle();
    expect(names().slice(4)).toEqual(['lease.renew']);
    socket.answerAll();
    await world.settle();
    expect(names().slice(5)).toEqual(['task.create', 'task.create', 'task.create']);
    socket.answerAll();
    await world.finish(Promise.all(calls));
  });

  it('ends a wait that its caller gives up, and gives back a grant that was on its way', async () => {
    const leaving = new AbortController();
    const { ttl_ms, ...held } = lease;
    const waiting = later(
      transport.call(
        'lease.acquire',
        { name: 'n', holder: 'b', ttl_ms, wait_ms: 5_000 },
        { signal: leaving.signal },
      ),
    );
    await world.settle();
    const socket = await live();
    const [[id, , request]] = socket.items as [Item];
    leaving.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    expect(socket.sent.at(-1)).toEqual([['end', id]]);
    socket.say([id, 200, { ...held, holder: 'b', token: request.token, lease_seq: 7, seq: 7 }]);
    await world.settle();
    expect(socket.items.at(-1)).toMatchObject([2, 'lease.release', { holder: 'b', token: request.token }]);
  });

  it('that breaks is opened again: calls with the same ids, as after a lost reply', async () => {
    const call = create();
    await world.settle();
    const first = await live();
    const [[, , { task_id }]] = first.items as [Item];
    first.events.ended({ why: 'closed', says: 'It broke.', code: 1006 });
    expect(transport.connection.current.state).toBe('away');
    await world.advance(50);
    const second = await live();
    expect(second.items).toMatchObject([[1, 'task.create', { task_id }]]);
    second.say([1, 200, { task_id, duplicate: true, seq: 3 }]);
    expect(await world.finish(call)).toEqual({ ok: true, task_id, seq: 3 });
  });

  it('that breaks fails what is not safe to send again, with its effect unknown', async () => {
    const call = later(transport.call('lease.break', { name: 'n', reason: 'r' }));
    await world.settle();
    const socket = await live();
    socket.events.ended({ why: 'closed', says: 'It broke.', code: 1006 });
    await expect(world.finish(call)).rejects.toMatchObject({ code: 'UNREACHABLE', effect: 'unknown' });
  });

  it('that says nothing although it is asked is broken after ten seconds', async () => {
    const waiting = later(
      transport.call('lease.acquire', { name: 'n', holder: 'b', ttl_ms: 60_000, wait_ms: 60_000 }),
    );
    await world.settle();
    const socket = await live();
    await world.advance(5_000);
    expect(socket.sent.at(-1)).toEqual([['ping', 0]]);
    socket.say(['pong', 0]);
    await world.advance(5_000);
    expect(socket.isDropped).toBe(false);
    await world.advance(12_000);
    expect(socket.isDropped).toBe(true);
    expect(opened).toHaveLength(2);
    expect(await isSettled(waiting)).toBe(false);
  });

  it.each([
    ['null', null],
    ['a number', 7],
    ['an answer without a body', [1, 200]],
    ['a notice of nothing', ['lost']],
  ])('on which an item is %s is broken, and its calls are sent again', async (_, item) => {
    const call = create();
    await world.settle();
    const socket = await live();
    socket.say(item);
    await world.advance(50);
    expect([socket.isDropped, opened.length]).toEqual([true, 2]);
    (await live()).answerAll({ task_id: 't', seq: 1 });
    expect(await world.finish(call)).toMatchObject({ ok: true });
  });

  it('is left for the leader that a standby names, once what it owes is answered', async () => {
    transport = connect(3);
    const calls = [create(), create()];
    await world.settle();
    const standby = await live();
    const [[a], [b]] = standby.items as [Item, Item];
    const refusal = { code: 'NOT_LEADER', status: 503, leader_url: 'http://server-2' };
    standby.say([a, 503, refusal]);
    await world.settle();
    expect([standby.isDropped, opened.length]).toEqual([false, 2]);
    standby.say([b, 503, { ...refusal }]);
    expect(standby.isDropped).toBe(true);
    const leader = await live();
    expect(leader.request.server).toBe('http://server-2');
    leader.answerAll();
    expect(await world.finish(Promise.all(calls))).toMatchObject([{ ok: true }, { ok: true }]);
  });

  it('ends waits when the handle is closed, and lets the rest finish', async () => {
    const waiting = later(transport.call('task.lease', { worker_id: 'w', wait_ms: 9_000 }));
    const call = create();
    await world.settle();
    const socket = await live();
    const closed = transport.close();
    await expect(waiting).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(socket.isDropped).toBe(false);
    socket.answerAll();
    expect(await world.finish(call)).toMatchObject({ ok: true });
    await world.finish(closed);
    expect(socket.isDropped).toBe(true);
  });

  it('rejects what the server leaves unanswered when the handle is closed, also on a connection that was retired', async () => {
    transport = connect(2);
    const unanswered = later(create());
    const looked = later(create());
    const waiting = later(transport.call('task.lease', { worker_id: 'w', wait_ms: 9_000 }));
    await world.settle();
    const standby = await live();
    const [, [second]] = standby.items as [Item, Item];
    standby.say([second, 503, { code: 'NOT_LEADER', status: 503 }]);
    await world.settle();
    await live();
    const closed = transport.close();
    await expect(waiting).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await world.advance(5_000);
    await world.finish(closed);
    await expect(unanswered).rejects.toMatchObject({ code: 'UNREACHABLE', effect: 'unknown' });
    await expect(looked).rejects.toMatchObject({ code: 'UNREACHABLE' });
    expect(opened.map(({ isDropped }) => isDropped)).toEqual([true, true]);
  });

  it('refuses what has no JSON form, and what no frame can hold, without sending it', async () => {
    const calls = [create(1n), create('x'.repeat(3 * 1024 * 1024))];
    expect(await world.finish(Promise.all(calls))).toMatchObject([
      { ok: false, code: 'INVALID_ARGUMENT' },
      { ok: false, code: 'PAYLOAD_TOO_LARGE' },
    ]);
  });
});

describe('where an upgrade is refused', () => {
  const refused = {
    why: 'refused',
    says: 'http://server-0 does not upgrade (status 501).',
    code: 1006,
  } as const;

  it('calls go by HTTP at once, and the state says so', async () => {
    const call = create();
    await world.settle();
    opened[0]!.events.ended(refused);
    expect(await world.finish(call)).toMatchObject({ ok: true });
    expect(transport.connection.current).toEqual({ state: 'polling', url: 'http://server-0' });
    expect(await world.finish(create())).toMatchObject({ ok: true });
    expect([opened.length, http.sent.length]).toEqual([1, 2]);
  });

  it('or made by a proxy that passes nothing on, calls go by HTTP after seven seconds', async () => {
    const call = create();
    await world.settle();
    opened[0]!.events.opened();
    await world.advance(6_999);
    expect(await isSettled(call)).toBe(false);
    await world.advance(1);
    expect(await world.finish(call)).toMatchObject({ ok: true });
    expect([opened[0]!.isDropped, transport.connection.current.state]).toEqual([true, 'polling']);
  });

  it('it is tried again with later calls, less and less often', async () => {
    for (const [pauseMs, tries] of [
      [0, 1],
      [999, 1],
      [1, 2],
      [1_999, 2],
      [1, 3],
    ] as const) {
      await world.advance(pauseMs);
      const call = create();
      await world.settle();
      if (opened.length > tries - 1 && !opened.at(-1)!.isDropped) opened.at(-1)!.events.ended(refused);
      await world.finish(call);
      expect(opened).toHaveLength(tries);
    }
  });

  it('or never answered, only calls of the first attempt wait for it: a renewal would come too late', async () => {
    const first = create();
    await world.settle();
    opened[0]!.events.ended({ why: 'unreachable', says: 'The handshake has timed out.', code: 1006 });
    await world.finish(first);
    await world.advance(5_000);
    expect(await world.finish(create())).toMatchObject({ ok: true });
    expect([opened.length, opened[1]!.isDropped, http.sent.length]).toEqual([2, false, 2]);
    const socket = await live();
    expect([transport.connection.current.state, socket.isHeld]).toEqual(['live', false]);
    const next = create();
    await world.settle();
    socket.answerAll();
    await world.finish(next);
    expect(http.sent).toHaveLength(2);
  });

  it('and no server is reached, calls are retried and the state is away', async () => {
    http.fate = () => 'refused';
    const call = later(create());
    await world.settle();
    opened[0]!.events.ended({ why: 'unreachable', says: 'No connection.', code: 1006 });
    await world.settle();
    expect(transport.connection.current.state).toBe('away');
    http.fate = () => 'answered';
    await world.advance(50);
    expect(await world.finish(call)).toMatchObject({ ok: true });
    expect(transport.connection.current.state).toBe('polling');
  });
});

describe('listeners of the connection', () => {
  it('are told of every change until they are disposed of', async () => {
    const states: string[] = [];
    const listening = transport.connection.on(({ state }) => states.push(state));
    const call = create();
    await world.settle();
    const socket = await live();
    socket.answerAll();
    await world.finish(call);
    socket.events.ended({ why: 'closed', says: 'It broke.', code: 1001 });
    listening[Symbol.dispose]();
    const again = create();
    await world.settle();
    (await live()).answerAll();
    await world.finish(again);
    expect(states).toEqual(['live', 'away']);
  });

  it('may throw: that is told to onFault and costs no call', async () => {
    const faults: unknown[] = [];
    const thrown = new Error('a bug of the listener');
    Object.assign(world, { onFault: (fault: unknown) => faults.push(fault) });
    transport = connect();
    transport.connection.on(() => {
      throw thrown;
    });
    const states: string[] = [];
    transport.connection.on(({ state }) => states.push(state));
    const call = create();
    await world.settle();
    opened[0]!.events.ended({ why: 'refused', says: 'No upgrade.', code: 1006 });
    expect(await world.finish(call)).toMatchObject({ ok: true });
    expect([states, faults]).toEqual([['polling'], [thrown]]);
  });
});
