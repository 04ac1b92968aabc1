// The live connection over the wire: who may open one, what frames are, how operations are answered, and how it ends.
import type { Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { HeldEngine } from '../../test/support/held-engine.ts';
import { timersWithout } from '../../test/support/held-timers.ts';
import { LiveWire } from '../../test/support/live-wire.ts';
import { type Body, type Served, startServed, stopAllServed } from '../../test/support/served.ts';
import { TEST_CERTIFICATE, TEST_KEY } from '../../test/support/test-certificate.ts';
import { expectProblem, expectWithinLive } from '../../test/support/wire-contract.ts';
import { memoryEngine } from '../engines/memory/memory-engine.ts';
import { OPERATION_NAMES, OPERATIONS, type Operation } from '../operations/table.ts';
import { LIVE_LIMITS, LIVE_PATH } from '../protocol/live-frames.ts';

afterEach(stopAllServed);

const ALL = { token: 'all-0123456789abcdef', scopes: ['*'] };
const READ = { token: 'read-0123456789abcdef', scopes: ['v1:read'] };
const TOKEN = 'a-token-of-16-bytes';
/** As the server has it. */
const PING_MS = 20_000;

/** The answer to a handshake that is refused, as HTTP. */
async function knock(served: Served, headers: Record<string, string> = {}): Promise<Body> {
  const raw = await served.connect();
  const all = {
    host: `127.0.0.1:${served.port}`,
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    'sec-websocket-version': '13',
    'sec-websocket-protocol': 'leasehold.1',
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  raw.write(`GET ${LIVE_PATH} HTTP/1.1\r\n${lines.join('')}\r\n`);
  const answer = await raw.answer();
  return answer.status === 101 ? answer : expectProblem(answer);
}

describe('opening a live connection', () => {
  it('says hello with the time and epoch of the authority', async () => {
    const served = await startServed();
    const wire = await served.live();
    const [[atMs, epoch, ...items]] = wire.frames as [[number, number]];
    expect(Math.abs(atMs - served.authority.clock.nowMs())).toBeLessThan(5_000);
    expect([epoch, items]).toEqual([1, []]);
  });

  it.each([
    ['a foreign Host', { host: 'example.com' }, 'FORBIDDEN'],
    ['a foreign Origin', { origin: 'http://example.com' }, 'FORBIDDEN'],
    ['another subprotocol', { 'sec-websocket-protocol': 'chat' }, 'INVALID_ARGUMENT'],
    ['an unknown version of the protocol', { 'sec-websocket-version': '7' }, 'INVALID_ARGUMENT'],
    ['no key', { 'sec-websocket-key': 'x' }, 'INVALID_ARGUMENT'],
  ])('is refused with a problem for %s', async (_, headers, code) => {
    expect(await knock(await startServed(), headers)).toMatchObject({ code, instance: LIVE_PATH });
  });

  it('needs a token that is known, from outside the allowed network not even that', async () => {
    const served = await startServed({ tokens: [ALL] });
    expect(await knock(served, { authorization: 'Bearer no' })).toMatchObject({ code: 'UNAUTHENTICATED' });
    const far = await startServed({ tokens: [ALL], allowNets: ['10.0.0.0/8'] });
    expect(await knock(far, { authorization: `Bearer ${ALL.token}` })).toMatchObject({ code: 'FORBIDDEN' });
  });

  it('is told by an ordinary request how it is opened', async () => {
    const answer = await (await startServed()).send('GET', LIVE_PATH);
    expect(expectProblem(answer)).toMatchObject({ status: 426, code: 'UPGRADE_REQUIRED' });
    expect(answer.headers.upgrade).toBe('websocket');
  });

  it('works over TLS', async () => {
    const served = await startServed({ tls: { cert: TEST_CERTIFICATE, key: TEST_KEY } });
    const wire = await served.live({ scheme: 'wss', ca: TEST_CERTIFICATE });
    expect(await wire.call('status.get')).toMatchObject({ status: 200, body: { role: 'leader' } });
  });
});

describe('a request that asks for another protocol', () => {
  it('is served as if it had not, its body and what follows included', async () => {
    const served = await startServed();
    const raw = await served.connect();
    const host = `Host: 127.0.0.1:${served.port}\r\n`;
    raw.write(
      `POST /v1/tasks HTTP/1.1\r\n${host}Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAM\r\n` +
        `Content-Type: application/json\r\nContent-Length: 13\r\n\r\n{"payload":1}GET /healthz HTTP/1.1\r\n${host}\r\n`,
    );
    expect((await raw.answer()).status).toBe(201);
    expect((await raw.answer()).text).toBe('{"status":"alive"}');
  });
});

describe('a token in the first message', () => {
  it('opens the connection, and is followed by the hello', async () => {
    const served = await startServed({ tokens: [ALL] });
    const wire = LiveWire.begin(served.port);
    await new Promise((resolve) => wire.ws.once('open', resolve));
    wire.send(['token', ALL.token]);
    wire.send([1, 'whoami.get']);
    await wire.until(() => wire.frames.length > 1);
    expect(wire.frames[1]!.slice(2)).toMatchObject([[1, 200, { scopes: ['*'] }]]);
    wire.close();
  });

  it.each([
    ['an unknown token', JSON.stringify([['token', 'unknown']])],
    ['an operation', JSON.stringify([[1, 'status.get']])],
    ['no JSON', 'token'],
    [
      'more than it',
      JSON.stringify([
        ['token', ALL.token],
        [1, 'status.get'],
      ]),
    ],
  ])('that is %s closes it: 4401', async (_, text) => {
    const served = await startServed({ tokens: [ALL] });
    const wire = LiveWire.begin(served.port);
    await new Promise((resolve) => wire.ws.once('open', resolve));
    wire.ws.send(text);
    expect(await wire.closed).toMatchObject({ code: 4401 });
    expect(wire.frames).toEqual([]);
  });

  it('may have 4 KiB; who sends more is cut', async () => {
    const served = await startServed({ tokens: [ALL] });
    const wire = LiveWire.begin(served.port);
    await new Promise((resolve) => wire.ws.once('open', resolve));
    wire.ws.send('x'.repeat(100_000));
    expect([1006, 4401]).toContain((await wire.closed).code);
  });
});

describe('a token that a reload drops', () => {
  it('closes its connections with 4401, and no others', async () => {
    const served = await startServed({ tokens: [ALL, READ] });
    const [kept, dropped] = [
      await served.live({ token: ALL.token }),
      await served.live({ token: READ.token }),
    ];
    served.access.replaceTokens([ALL]);
    expect(await dropped.closed).toMatchObject({ code: 4401 });
    expect(await kept.call('status.get')).toMatchObject({ status: 200 });
  });
});

describe('operations', () => {
  it('are all there by the names of the table, and answer within the contract', async () => {
    const served = await startServed();
    const wire = await served.live();
    const seen: Operation[] = [];
    for (const operation of OPERATION_NAMES) {
      const { wait_ms: _, ...request } = OPERATIONS[operation].example.request as Body;
      const { id, status, body } = await wire.call(operation, request);
      expectWithinLive(operation, status, body, id);
      seen.push(operation);
    }
    expect(seen).toEqual(OPERATION_NAMES);
  });

  it('need their scope, each for itself', async () => {
    const served = await startServed({ tokens: [READ] });
    const wire = await served.live({ token: READ.token });
    expect(await wire.call('status.get')).toMatchObject({ status: 200 });
    expect(await wire.call('task.create', { payload: 1 })).toMatchObject({
      status: 403,
      body: { code: 'FORBIDDEN' },
    });
  });

  it('carry opaque values as texts, byte for byte', async () => {
    const served = await startServed();
    const wire = await served.live();
    const text = '{ "n": 1.0, "ü": "\\u0041" , "big": 123456789012345678901234567890 }';
    await wire.ask('task.create', {});
    wire.send([70, 'task.create', { task_id: 't', payload: text }]);
    const { body } = await wire.call('task.lease', { worker_id: 'w' });
    expect(body.leases[0].payload).toBe(text);
    const { text: http } = await served.send('GET', '/v1/tasks/t');
    expect(http).toContain(`"payload":${text}`);
  });

  it.each([
    ['that is no text', 7],
    ['that is no JSON', '{'],
    ['with half a character', '"\ud800"'],
    ['that is nested too deep', '['.repeat(1_500) + ']'.repeat(1_500)],
  ])('refuse an opaque value %s', async (_, payload) => {
    const wire = await (await startServed()).live();
    wire.send([1, 'task.create', { payload }]);
    await wire.until(() => wire.frames.length > 1);
    expect(wire.frames[1]!.slice(2)).toMatchObject([[1, 400, { code: 'INVALID_ARGUMENT' }]]);
  });

  it('are refused by name and id when they are wrong, and the others of the frame are not', async () => {
    const wire = await (await startServed()).live();
    const create = { payload: '1' };
    wire.send(
      [1, 'task.make', {}],
      [2, 'task.create', []],
      [3, 'task.create', { ...create, surprise: 1 }],
      [4, 'task.create', create],
    );
    await wire.until(() => wire.frames.flatMap((frame) => frame.slice(2)).length === 4);
    const answers = wire.frames.flatMap((frame) => frame.slice(2)) as [number, number][];
    expect(answers.map(([id, status]) => [id, status]).sort()).toEqual([
      [1, 400],
      [2, 400],
      [3, 400],
      [4, 201],
    ]);
  });

  it('show the id that the client gave them, in problems too', async () => {
    const wire = await (await startServed()).live();
    const { body } = await wire.call('object.write', { object_id: 'o', value: 1 }, 'mine-1');
    expect(body).toMatchObject({ code: 'WRITE_UNFENCED', requestId: 'mine-1' });
    const wait = { name: 'n', holder: 'b', ttl_ms: 1_000, wait_ms: 60_000 };
    await wire.call('lease.acquire', { name: 'n', holder: 'a', ttl_ms: 60_000 });
    wire.send([900, 'lease.acquire', wait], [900, 'lease.acquire', wait, 'mine-2']);
    await wire.until(() => wire.frames.length > 3);
    expect(wire.frames[3]!.slice(2)).toMatchObject([
      [900, 400, { code: 'INVALID_ARGUMENT', requestId: 'mine-2' }],
    ]);
  });

  it('have an id each when the client gave none, in problems and receipts', async () => {
    const wire = await (await startServed()).live();
    const write = () => wire.call('object.write', { object_id: 'o', value: 1 });
    const problems = [await write(), await write(), await wire.call('task.get', { task_id: 'none' })];
    const ids = problems.map(({ body }) => body.requestId);
    expect(new Set(ids).size).toBe(3);
    for (const id of ids) expect(id).toMatch(/^[^/]+\/\d+$/);
    const { body } = await wire.call('receipt.list', {});
    expect(body.receipts).toMatchObject([{ requestId: ids[1] }, { requestId: ids[0] }]);
  });

  it.each([['mine-1'], [undefined]])('that fail inside the server are logged by their id: %s', async (id) => {
    const engine = new HeldEngine(memoryEngine());
    const served = await startServed({ engine });
    const wire = await served.live();
    await wire.call('task.create', { task_id: 'a', payload: 1 });
    engine.isHoldingReads = true;
    const answering = wire.call('task.get', { task_id: 'a' }, id);
    await vi.waitFor(() => expect(engine.waiting).toBe(1));
    engine.fail(new Error('the disk does not answer'));
    const { body } = await answering;
    expect(body).toMatchObject({ code: 'INTERNAL', ...(id === undefined ? {} : { requestId: id }) });
    expect(served.troubles.map(({ fields }) => fields)).toMatchObject([{ request_id: body.requestId }]);
  });

  it('name an operation that there is', async () => {
    const wire = await (await startServed()).live();
    const { body } = await wire.call('task.explode' as 'task.get', {});
    expect(body.detail).toBe('There is no operation task.explode; GET /openapi.json lists them all.');
  });

  it('are answered when they are durable, and those of one turn in one frame', async () => {
    const engine = new HeldEngine(memoryEngine());
    const served = await startServed({ engine });
    const wire = await served.live();
    engine.holding = true;
    wire.send([1, 'task.create', { payload: '1' }], [2, 'task.create', { payload: '2' }], ['ping', 7]);
    await wire.until(() => wire.frames.length > 1);
    expect(wire.frames[1]!.slice(2)).toEqual([['pong', 7]]);
    engine.holding = false;
    engine.letGo();
    await wire.until(() => wire.frames.length > 2);
    expect(wire.frames[2]!.slice(2)).toMatchObject([
      [1, 201, { seq: 2 }],
      [2, 201, { seq: 3 }],
    ]);
  });

  it('that are urgent overtake the rest when the authority is behind', async () => {
    const engine = new HeldEngine(memoryEngine());
    const served = await startServed({ engine });
    const wire = await served.live();
    const lease = { name: 'n', holder: 'h', token: TOKEN, ttl_ms: 60_000 };
    await wire.call('lease.acquire', lease);
    engine.holding = true;
    wire.send([1_000, 'task.create', { payload: '0' }]);
    await served.until(() => engine.waiting === 1);
    wire.send(
      ...Array.from({ length: 3_000 }, (_, index) => [2_000 + index, 'task.create', { payload: '1' }]),
    );
    wire.send([9_000, 'lease.renew', lease]);
    wire.send(['ping', 1]);
    await wire.until(() => wire.told.length === 1);
    engine.holding = false;
    engine.letGo();
    await wire.until(() => wire.frames.flatMap((frame) => frame.slice(2)).length === 3_004);
    const ids = wire.frames.flatMap((frame) => frame.slice(2).map((item) => (item as unknown[])[0]));
    expect(ids.indexOf(9_000)).toBeLessThan(ids.indexOf(4_999));
  });

  it('are refused with OVERLOADED beyond 4 096 in flight', async () => {
    const engine = new HeldEngine(memoryEngine());
    const served = await startServed({ engine });
    const wire = await served.live();
    engine.holding = true;
    wire.send(
      ...Array.from({ length: LIVE_LIMITS.inFlight + 1 }, (_, id) => [
        id,
        'task.create',
        { payload: '1' },
        'mine',
      ]),
    );
    await wire.until(() => wire.frames.length > 1);
    expect(wire.frames[1]!.slice(2)).toMatchObject([
      [LIVE_LIMITS.inFlight, 503, { code: 'OVERLOADED', requestId: 'mine' }],
    ]);
    engine.holding = false;
    engine.letGo();
    await wire.until(
      () => wire.frames.flatMap((frame) => frame.slice(2)).length === LIVE_LIMITS.inFlight + 1,
    );
  });
});

describe('frames that are none', () => {
  it.each([
    ['no JSON', 'x', 4400],
    ['no array', '{}', 4400],
    ['an item that is none', '[7]', 4400],
    ['an item of an unknown kind', '[["what", 1]]', 4400],
    ['an id that is no whole number', '[[1.5,"status.get"]]', 4400],
    ['an item that is too long', '[[1,"status.get",{},"r",2]]', 4400],
    ['bytes', Buffer.from('[]'), 4400],
    ['items whose refusals have more than 16 MiB', `[${Array(260_000).fill('[1,"x"]').join()}]`, 4400],
    ['more than 2 MiB', `[${' '.repeat(LIVE_LIMITS.frameBytes)}]`, 1009],
  ])('close the connection: %s', async (_, data, code) => {
    const wire = await (await startServed()).live();
    wire.ws.send(data);
    expect(await wire.closed).toMatchObject({ code });
  });
});

describe('waiting', () => {
  const held = { name: 'n', holder: 'h', token: TOKEN };
  const lease = { ...held, ttl_ms: 60_000 };

  it('ends by a word, and then nothing is granted', async () => {
    const served = await startServed();
    const wire = await served.live();
    await wire.call('lease.acquire', lease);
    wire.send([50, 'lease.acquire', { name: 'n', holder: 'b', ttl_ms: 1_000, wait_ms: 60_000 }]);
    wire.send([51, 'task.get', { task_id: 't', wait_ms: 60_000 }]);
    await served.until(() => served.authority.waiting === 0);
    wire.send(['end', 50], ['end', 77]);
    await wire.until(() =>
      wire.frames.some((frame) => frame.some((item) => JSON.stringify(item) === '[50]')),
    );
    await wire.call('lease.release', held);
    expect(await wire.call('lease.get', { name: 'n' })).toMatchObject({ status: 404 });
  });

  it('ends with the connection: what is granted then is given back', async () => {
    const served = await startServed();
    const [wire, other] = [await served.live(), await served.live()];
    await other.call('lease.acquire', lease);
    wire.send([1, 'lease.acquire', { name: 'n', holder: 'b', ttl_ms: 60_000, wait_ms: 60_000 }]);
    await served.until(
      async () => (await other.call('lease.waiters', { name: 'n' })).body.waiters.length === 1,
    );
    wire.close();
    await served.until(
      async () => (await other.call('lease.waiters', { name: 'n' })).body.waiters.length === 0,
    );
    await other.call('lease.release', held);
    expect(await other.call('lease.get', { name: 'n' })).toMatchObject({ status: 404 });
  });

  it('that was over while its grant was on its way to the disk: the grant is given back', async () => {
    const engine = new HeldEngine(memoryEngine());
    const served = await startServed({ engine });
    const [wire, other] = [await served.live(), await served.live()];
    engine.holding = true;
    wire.send([1, 'lease.acquire', { name: 'n', holder: 'b', ttl_ms: 60_000 }]);
    await served.until(() => engine.waiting === 1);
    const before = await served.connections();
    wire.close();
    await served.until(async () => (await served.connections()) < before);
    engine.holding = false;
    engine.letGo();
    await served.until(async () => (await other.call('lease.get', { name: 'n' })).status === 404);
  });
});

describe('a server that stops', () => {
  it('ends waits, answers what is in flight, and says goodbye', async () => {
    const engine = new HeldEngine(memoryEngine());
    const served = await startServed({ engine });
    const wire = await served.live();
    await wire.call('lease.acquire', { name: 'n', holder: 'h', ttl_ms: 60_000 });
    const waiting = wire.call('lease.acquire', { name: 'n', holder: 'b', ttl_ms: 1_000, wait_ms: 60_000 });
    await wire.call('status.get');
    engine.holding = true;
    const created = wire.call('task.create', { payload: 1 });
    await served.until(() => engine.waiting === 1);
    const stopped = served.stop();
    expect(await waiting).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE' } });
    expect(await wire.call('status.get')).toMatchObject({ status: 503, body: { code: 'UNAVAILABLE' } });
    engine.holding = false;
    engine.letGo();
    expect(await created).toMatchObject({ status: 201 });
    expect(await wire.closed).toMatchObject({ code: 1001 });
    await stopped;
  });
});

describe('a peer that is gone without a word', () => {
  it('is cut when it has not answered a ping by the next one: its waits end, and others stay', async () => {
    const { timers, held: looks } = timersWithout(PING_MS);
    const served = await startServed({ timers });
    const [gone, there] = [await served.live(), await served.live()];
    const { token } = (await there.call('lease.acquire', { name: 'n', holder: 'a', ttl_ms: 60_000 })).body;
    gone.send([1, 'lease.acquire', { name: 'n', holder: 'b', ttl_ms: 60_000, wait_ms: 60_000 }]);
    const waiters = async () => (await served.json('/v1/status')).counts.waiters as number;
    await served.until(async () => (await waiters()) === 1);
    gone.ws.pause();
    looks.shift()!();
    expect(await waiters()).toBe(1);
    await there.call('status.get');
    looks.shift()!();
    await served.until(async () => (await waiters()) === 0);
    await there.call('lease.release', { name: 'n', holder: 'a', token });
    expect(await there.call('lease.get', { name: 'n' })).toMatchObject({ status: 404 });
    gone.ws.resume();
    expect(await gone.closed).toMatchObject({ code: 1006 });
  });

  it('is one that sends nothing, not one that is still sending a frame', async () => {
    const { timers, held: looks } = timersWithout(PING_MS);
    const served = await startServed({ timers });
    const [slow, there] = [await served.live(), await served.live()];
    const socket = (slow.ws as unknown as { readonly _socket: Socket })._socket;
    const frame = maskedFrame('[["ping",7]]');
    // A pong would be in the middle of it.
    slow.ws.pause();
    for (let at = 0; at < frame.length; at += 4) {
      socket.write(frame.subarray(at, at + 4));
      for (let turn = 0; turn < 3; turn++) await there.call('status.get');
      looks.shift()!();
    }
    slow.ws.resume();
    await slow.until(() => slow.frames.length > 1);
    expect(slow.frames.at(-1)!.at(-1)).toEqual(['pong', 7]);
  });
});

/** A text frame of a client, masked with nothing. */
function maskedFrame(text: string): Buffer {
  const head = Buffer.from([0x81, 0x80 + text.length, 0, 0, 0, 0]);
  return Buffer.concat([head, Buffer.from(text)]);
}
