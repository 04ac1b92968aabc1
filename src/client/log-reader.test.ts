// The log over HTTP: pages, and followers that find their place again after every kind of interruption.
import { getEventListeners } from 'node:events';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Loopback, openLoopback, problemReply, replyOf } from '../../test/support/loopback-http.ts';
import { isSettled, ManualWorld } from '../../test/support/manual-world.ts';
import { Json } from '../protocol/json.ts';
import type { HttpRequest, HttpStream } from '../seams/http.ts';
import { Leasehold } from './leasehold.ts';

let world: ManualWorld;
let http: Loopback['http'];
let transport: Loopback['transport'];

beforeEach(async () => {
  world = new ManualWorld();
  ({ http, transport } = await openLoopback(world));
});

const create = (payload: unknown) => world.finish(http.authority.call('task.create', { payload }));

/** What a follower has heard so far, and how it ended. */
function heardFrom(from: number | null, signal = new AbortController().signal) {
  const seqs: number[] = [];
  const entries = transport.follow(from, signal);
  const end = (async () => {
    for await (const { seq } of entries) seqs.push(seq);
  })();
  end.catch(() => undefined);
  return { seqs, end };
}

const streams = (): HttpRequest[] =>
  http.sent.map(({ request }) => request).filter(({ path }) => path.includes('follow=1'));

describe('a page of the log', () => {
  it('is asked for by position and length, and has opaque values as their text', async () => {
    await create(new Json('{ "a": 1.0 }'));
    await create(2);
    const page = await world.finish(transport.log({ from: 2, limit: 1 }));
    expect(page).toMatchObject({ ok: true, entries: [{ seq: 2, type: 'TaskCreated' }] });
    const payload = page.ok ? (page.entries[0]!.payload as Json) : null;
    expect(payload?.text()).toBe('{ "a": 1.0 }');
    expect(http.sent[0]!.request.path).toBe('/v1/log?from=2&limit=1');
    expect(await world.finish(transport.log({ from: 99 }))).toEqual({ ok: true, entries: [] });
  });

  it.each([{}, { limit: undefined as never }])('has a hundred entries unless told: %j', async (request) => {
    for (let n = 0; n < 110; n++) await create(n);
    const page = await world.finish(transport.log(request));
    // Said by us: a server that is not told gives all there is.
    expect(http.sent.at(-1)!.request.path).toBe('/v1/log?limit=100');
    expect(page.ok && page.entries.map(({ seq }) => seq)).toEqual(
      Array.from({ length: 100 }, (_, n) => n + 1),
    );
  });

  it('may be refused', async () => {
    http.fate = () => problemReply(410, 'LOG_COMPACTED');
    expect(await world.finish(transport.log({ from: 1 }))).toMatchObject({
      ok: false,
      code: 'LOG_COMPACTED',
    });
    expect(await transport.log(null as never)).toMatchObject({ ok: false, code: 'INVALID_ARGUMENT' });
  });

  it('that is on its way when the client is closed is let finish', async () => {
    http.isHolding = true;
    const page = transport.log({});
    await world.settle();
    const closed = transport.close();
    await world.settle();
    expect(http.isClosed).toBe(false);
    http.isHolding = false;
    http.letGo();
    expect(await world.finish(page)).toMatchObject({ ok: true });
    await world.finish(closed);
  });

  it('that is lost once the client is closed is told that it was closed', async () => {
    http.isHolding = true;
    http.fate = () => 'reply lost';
    const page = transport.log({});
    page.catch(() => undefined);
    await world.settle();
    const closed = transport.close();
    http.isHolding = false;
    http.letGo();
    await world.finish(closed);
    await expect(world.finish(page)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: 'The handle has been closed.',
      retryable: false,
      effect: 'none',
    });
  });

  it('that waits for another try when the client is closed is given up at once', async () => {
    http.fate = () => 'refused';
    const page = transport.log({});
    page.catch(() => undefined);
    await world.advance(20);
    expect(await isSettled(page)).toBe(false);
    await world.finish(transport.close());
    await expect(world.finish(page)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: 'The handle has been closed.',
      retryable: false,
      effect: 'none',
    });
    expect(world.holds).toBe(0);
  });

  it('is asked for again when the server is away, and not for ever', async () => {
    http.fate = () => (http.sent.length < 3 ? 'refused' : 'answered');
    const page = transport.log({});
    await world.advance(150);
    expect(await world.finish(page)).toMatchObject({ ok: true });
    http.fate = () => problemReply(503, 'UNAVAILABLE', { 'retry-after': '1' });
    const none = transport.log({});
    none.catch(() => undefined);
    await world.advance(6_000);
    await expect(none).rejects.toMatchObject({ code: 'UNAVAILABLE', retryable: true, effect: 'none' });
  });
});

describe('a follower', () => {
  it('hears entries from a position on, as they become durable', async () => {
    await create(1);
    const { seqs } = heardFrom(2);
    await world.settle();
    expect(seqs).toEqual([2]);
    await create(2);
    await world.settle();
    expect(seqs).toEqual([2, 3]);
    expect(streams().map(({ lane, path }) => [lane, path])).toEqual([['waits', '/v1/log?from=2&follow=1']]);
  });

  it('hears from the moment it is asked for when no position is given, although it is pulled later', async () => {
    await create(1);
    const entries = transport.follow(null, new AbortController().signal)[Symbol.asyncIterator]();
    await world.settle();
    await create(2);
    const { value } = await world.finish(entries.next());
    expect(value).toMatchObject({ seq: 3, type: 'TaskCreated' });
    await world.finish(entries.return!());
  });

  it('has no effect when it is never pulled and the server is down', async () => {
    http.fate = () => 'refused';
    transport.follow(null, new AbortController().signal);
    await world.advance(10_000);
    const { end } = heardFrom(null);
    await world.advance(10_000);
    await expect(end).rejects.toMatchObject({ code: 'UNREACHABLE' });
  });

  it('ends without a fault when its signal aborts, wherever it is', async () => {
    for (const from of [1, null]) {
      const abort = new AbortController();
      const { end } = heardFrom(from, abort.signal);
      await world.settle();
      abort.abort();
      await world.finish(end);
    }
    http.fate = () => 'refused';
    const abort = new AbortController();
    const { end } = heardFrom(1, abort.signal);
    await world.advance(20);
    expect(await isSettled(end)).toBe(false);
    abort.abort();
    await world.finish(end);
    expect(world.holds).toBe(0);
  });

  it('goes on behind the last entry it gave when its connection breaks', async () => {
    await create(1);
    const breaks = breakable();
    const { seqs } = heardFrom(1);
    await world.settle();
    for (let round = 0; round < 20; round++) {
      breaks.at(-1)!();
      await create(round);
      await world.advance(50);
    }
    expect(seqs).toEqual(Array.from({ length: 22 }, (_, index) => index + 1));
    expect(streams().at(-1)!.path).toBe('/v1/log?from=22&follow=1');
  });

  it('leaves nothing behind on its signal, however often it connects again', async () => {
    await create(1);
    const breaks = breakable();
    const { signal } = new AbortController();
    heardFrom(1, signal);
    await world.settle();
    const before = getEventListeners(signal, 'abort').length;
    for (let round = 0; round < 20; round++) {
      breaks.at(-1)!();
      await create(round);
      await world.advance(50);
    }
    expect(streams()).toHaveLength(21);
    expect(getEventListeners(signal, 'abort')).toHaveLength(before);
  });

  it('connects again after a minute of silence, and loses nothing', async () => {
    const { seqs } = heardFrom(2);
    for (let minute = 1; minute <= 5; minute++) await world.advance(60_050);
    expect(streams()).toHaveLength(6);
    expect(streams()[0]!.signal.aborted).toBe(true);
    await create(1);
    await world.settle();
    expect(seqs).toEqual([2]);
  });

  it('takes empty lines as a sign of life', async () => {
    let beat = (): void => undefined;
    http.stream = async (request) => {
      http.sent.push({ request, operations: [] });
      const chunks = (async function* () {
        for (;;) {
          await new Promise<void>((resolve) => {
            beat = resolve;
          });
          yield '\n';
        }
      })();
      return { status: 200, header: () => null, chunks };
    };
    const { seqs } = heardFrom(1);
    for (let second = 0; second < 300; second += 15) {
      await world.advance(15_000);
      beat();
      await world.settle();
    }
    expect(streams()).toHaveLength(1);
    expect(streams()[0]!.signal.aborted).toBe(false);
    expect(seqs).toEqual([]);
  });

  it('is told when the log no longer reaches back', async () => {
    const body = { code: 'LOG_COMPACTED', status: 410, title: '', detail: 'Gone.', first_seq: 7 };
    http.fate = () => replyOf(410, JSON.stringify(body));
    const { end } = heardFrom(1);
    await expect(world.finish(end)).rejects.toMatchObject({
      name: 'LeaseholdError',
      code: 'LOG_COMPACTED',
      problem: { first_seq: 7 },
    });
  });

  it('is told when the server stays away', async () => {
    http.fate = () => 'refused';
    const { end } = heardFrom(1);
    await world.advance(5_000);
    await expect(end).rejects.toMatchObject({ code: 'UNREACHABLE', retryable: true, effect: 'none' });
  });

  it('waits for a server without end if it wants to, once it has begun', async () => {
    const breaks = breakable();
    const ends = new AbortController();
    const lh = new Leasehold(transport, world);
    const seqs: number[] = [];
    const end = (async () => {
      for await (const { seq } of lh.follow({ from: 1, signal: ends.signal })) seqs.push(seq);
    })();
    await world.settle();
    expect(seqs).toEqual([1]);
    http.fate = () => 'refused';
    breaks.at(-1)!();
    await world.advance(3_600_000);
    expect(await isSettled(end)).toBe(false);
    http.fate = () => 'answered';
    await create(1);
    await world.advance(5_000);
    expect(seqs).toEqual([1, 2]);
    expect(streams().length).toBeLessThan(750);
    ends.abort();
    await world.finish(end);
  });

  it('is told that no server is there when it begins', async () => {
    http.fate = () => 'refused';
    const end = new Leasehold(transport, world).follow({ from: 1 })[Symbol.asyncIterator]().next();
    end.catch(() => undefined);
    await world.advance(5_000);
    await expect(end).rejects.toMatchObject({ code: 'UNREACHABLE' });
  });

  it.each([502, 503, 504])('connects again when a gateway before the server answers %s', async (status) => {
    await create(1);
    const page = replyOf(status, '<html>', { 'content-type': 'text/html' });
    http.fate = () => (streams().length < 3 ? page : 'answered');
    const { seqs } = heardFrom(1);
    await world.advance(1_000);
    expect(seqs).toEqual([1, 2]);
  });

  it('leaves a server alone that ends every stream at once', async () => {
    http.stream = async (request) => {
      http.sent.push({ request, operations: [] });
      return { status: 200, header: () => null, chunks: (async function* () {})() };
    };
    const { end } = heardFrom(1);
    await world.advance(5_000);
    await expect(end).rejects.toMatchObject({ code: 'UNREACHABLE' });
    expect(streams().length).toBeLessThan(10);
  });

  it('does not give half a line when a stream ends in it', async () => {
    const line = '{"seq":1,"at":"2026-01-01T00:00:00.000Z","type":"TaskCreated"}';
    http.fate = () => replyOf(200, streams().length === 1 ? `${line}\n{"seq":2,` : '');
    const { seqs } = heardFrom(1);
    await world.advance(50);
    expect(seqs).toEqual([1]);
    expect(streams()[1]!.path).toBe('/v1/log?from=2&follow=1');
  });
});

describe('a follower of several servers', () => {
  beforeEach(async () => {
    ({ http, transport } = await openLoopback(world, { servers: 2 }));
  });

  it('asks the leader when the first server only stands by', async () => {
    await create(1);
    http.fate = ({ origin }) => (origin === 'http://server-1' ? 'answered' : problemReply(503, 'NOT_LEADER'));
    const { seqs } = heardFrom(1);
    await world.settle();
    expect(seqs).toEqual([1, 2]);
    expect(streams().map(({ origin }) => origin)).toEqual(['http://server-0', 'http://server-1']);
  });

  it('asks another server when only a gateway answers for the first one', async () => {
    await create(1);
    const page = replyOf(502, '<html>', { 'content-type': 'text/html' });
    http.fate = ({ origin }) => (origin === 'http://server-1' ? 'answered' : page);
    const { seqs } = heardFrom(1);
    await world.settle();
    expect(seqs).toEqual([1, 2]);
  });

  it.each([
    ['there is only a gateway', replyOf(502, '<html>', { 'content-type': 'text/html' })],
    ['one only stands by', problemReply(503, 'NOT_LEADER')],
  ])('goes on once with all the others when %s', async (_what, answer) => {
    await create(1);
    http.fate = ({ origin }) => (origin === 'http://server-1' ? 'answered' : answer);
    const followers = Array.from({ length: 4 }, () => heardFrom(1));
    await world.settle();
    expect(followers.map(({ seqs }) => seqs)).toEqual(followers.map(() => [1, 2]));
    expect(streams().filter(({ origin }) => origin === 'http://server-0')).toHaveLength(4);
  });

  it('begins where the leader is, not where a standby has come to', async () => {
    await create(1);
    const standby = replyOf(200, '{"role":"standby","seq":1}');
    http.fate = ({ origin, path }) => {
      if (origin === 'http://server-1') return 'answered';
      return path === '/v1/status' ? standby : problemReply(503, 'NOT_LEADER');
    };
    heardFrom(null);
    await world.settle();
    expect(streams().map(({ path }) => path)).toEqual(['/v1/log?from=3&follow=1']);
  });
});

/** Lets the test break every stream that is opened from now on. */
function breakable(): (() => void)[] {
  const breaks: (() => void)[] = [];
  const open = http.stream.bind(http);
  http.stream = async (request: HttpRequest): Promise<HttpStream> => {
    const stream = await open(request);
    const broken = new Promise<never>((_, reject) => {
      const fault = Object.assign(new Error('broken'), { name: 'HttpFault', effect: 'unknown' });
      breaks.push(() => reject(fault));
    });
    broken.catch(() => undefined);
    const chunks = stream.chunks[Symbol.asyncIterator]();
    const until = async function* () {
      for (;;) {
        const { done, value } = await Promise.race([chunks.next(), broken]);
        if (done) return;
        yield value;
      }
    };
    return { ...stream, chunks: until() };
  };
  return breaks;
}
