// Stopping a server over real sockets: what is in flight is finished, what waits is told to come back, no caller is left
// hanging, and the stop itself ends.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { timersWithout } from '../../test/support/held-timers.ts';
import { isSettled, ManualWorld } from '../../test/support/manual-world.ts';
import { type RawConnection, type Served, startServed, stopAllServed } from '../../test/support/served.ts';
import { expectProblem } from '../../test/support/wire-contract.ts';
import type { Engine, Log, Replay } from '../engines/log.ts';
import { MemoryDisk } from '../engines/memory/memory-disk.ts';
import { memoryEngine } from '../engines/memory/memory-engine.ts';
import { systemTimers } from '../world/system-clock.ts';

let served: Served;
let disk: MemoryDisk;

beforeEach(async () => {
  disk = new MemoryDisk();
  served = await startServed({ engine: memoryEngine(disk), timers: timersWithout(ANSWER_MS).timers });
});
afterEach(stopAllServed);

const TOKEN = 'a-token-of-16-bytes';
/** As the server has it: how long it waits for what is in flight once bodies are refused. Here it would wait for ever. */
const ANSWER_MS = 9_000;

/** Appends wait until they are let go; the first of them is under way. */
async function holdAppends(): Promise<() => void> {
  let go = (): void => undefined;
  let isHeld = false;
  const released = new Promise<void>((resolve) => {
    go = resolve;
  });
  disk.sync = () => {
    isHeld = true;
    return released;
  };
  const first = served.call('queue.pause', { queue: 'first' });
  await served.until(() => isHeld);
  first.catch(() => undefined);
  return go;
}

/** A log that can be written, but reading it never ends once it is stuck. */
class StuckEngine implements Engine {
  isStuck = false;
  /** How many reads hang. */
  reads = 0;
  private readonly engine: Engine;

  constructor(engine: Engine) {
    this.engine = engine;
  }

  async open(replay: Replay): Promise<Log> {
    const log = await this.engine.open(replay);
    const entries = log.entries.bind(log);
    const isHanging = (): boolean => this.isStuck;
    const hang = async (): Promise<void> => {
      this.reads += 1;
      await new Promise<void>(() => undefined);
    };
    log.entries = async function* (...range) {
      if (isHanging()) await hang();
      yield* entries(...range);
    };
    return log;
  }
}

describe('a server that stops', () => {
  it('finishes what is in flight, and says that the connection ends', async () => {
    const go = await holdAppends();
    const creates = Array.from({ length: 20 }, (_, n) =>
      served.call('task.create', { task_id: `t${n}`, payload: n }),
    );
    await served.until(() => served.authority.waiting === creates.length);
    const stopped = served.stop();
    go();
    for (const { status, headers } of await Promise.all(creates)) {
      expect([status, headers.connection]).toEqual([201, 'close']);
    }
    await stopped;
    const again = await startServed({ engine: memoryEngine(disk) });
    expect((await again.done('status.get')).counts.tasks.WAITING).toBe(20);
  });

  it('answers those who wait with UNAVAILABLE and when to come back', async () => {
    const { task_id } = await served.done('task.create', { payload: 1, queue: 'other' });
    await served.done('lease.acquire', { name: 'n', holder: 'h', ttl_ms: 600_000, token: TOKEN });
    const wait = { wait_ms: 600_000 };
    const polls = [
      served.call('task.lease', { worker_id: 'w', ...wait }),
      served.call('lease.acquire', { name: 'n', holder: 'x', ttl_ms: 1_000, ...wait }),
      served.call('lease.acquire_all', { names: ['n', 'm'], holder: 'x', ttl_ms: 1_000, ...wait }),
      served.call('task.get', { task_id, ...wait }),
    ];
    await served.until(async () =>
      / 4$/m.test(/^leasehold_http_waits.*/m.exec((await served.send('GET', '/metrics')).text)![0]),
    );
    await served.stop();
    for (const { status, headers, body } of await Promise.all(polls)) {
      expect([status, body.code, body.detail]).toEqual([503, 'UNAVAILABLE', 'The server is stopping.']);
      expect(headers['retry-after']).toBe('1');
      expect(headers.connection).toBe('close');
    }
  });

  it('ends streams as a whole', async () => {
    const lines = await served.stream('/v1/log?from=1&follow=1');
    const events = await served.stream('/v1/events?from=1');
    expect((await lines.line()).type).toBe('EpochStarted');
    expect((await events.event())?.event).toBe('EpochStarted');
    await served.stop();
    expect(await lines.line()).toBeNull();
    expect(await events.event()).toBeNull();
  });

  it('does not wait for ever for a log that cannot be read for those who follow it', async () => {
    const time = new ManualWorld();
    const engine = new StuckEngine(memoryEngine());
    const stuck = await startServed({ engine, timers: { ...systemTimers, after: time.timers.after } });
    const lines = await stuck.stream('/v1/log?from=1&follow=1');
    expect((await lines.line()).type).toBe('EpochStarted');
    engine.isStuck = true;
    await stuck.done('queue.pause', { queue: 'q' });
    await stuck.until(() => engine.reads > 0);
    const stopped = stuck.stop();
    await time.advance(1_999);
    expect(await isSettled(stopped)).toBe(false);
    await time.advance(1);
    expect(await lines.line()).toBeNull();
    while (!(await isSettled(stopped))) await time.advance(100);
  });

  it('refuses what comes meanwhile on connections that are open, and takes no new ones', async () => {
    const go = await holdAppends();
    const inFlight = served.call('task.create', { payload: 1 });
    await served.until(() => served.authority.waiting === 1);
    const silent = await served.connect();
    await served.send('GET', '/healthz');
    const stopped = served.stop();
    silent.write('GET /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n');
    const answer = await silent.answer();
    expect(expectProblem(answer).detail).toBe('The server is stopping.');
    expect(answer.headers.connection).toBe('close');
    await expect(served.connect()).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    go();
    expect((await inFlight).status).toBe(201);
    await stopped;
  });

  it('stays a moment for who is sending the next request on a connection it has', async () => {
    const time = new ManualWorld();
    const late = await startServed({ timers: { ...systemTimers, after: time.timers.after } });
    const open = await late.connect();
    open.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
    expect((await open.answer()).status).toBe(200);
    const stopped = late.stop();
    await time.advance(99);
    open.write('GET /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n');
    expect(expectProblem(await open.answer()).detail).toBe('The server is stopping.');
    // There is no other call to wait for.
    await stopped;
  });

  it.each([
    ['nothing', ''],
    ['half a head', 'GET /v1/status HTTP/1.1\r\nHost: loc'],
    ['a whole request, which was answered', 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'],
  ])('does not wait for a connection on which there was %s', async (_, text) => {
    const connection = await served.connect();
    connection.write(text);
    if (text.endsWith('\r\n\r\n')) await connection.answer();
    else await served.send('GET', '/healthz');
    await served.stop();
    await connection.closed;
  });

  describe('with half a body', () => {
    const BODY = '{"payload":1}';
    const HEAD = `POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n`;

    async function stopping() {
      const time = new ManualWorld();
      served = await startServed({ timers: { ...systemTimers, after: time.timers.after } });
      const half = await served.connect();
      half.write(HEAD + BODY.slice(0, 5));
      // Besides the one that asks.
      await served.until(async () => {
        const { text } = await served.send('GET', '/metrics');
        return text.includes('leasehold_http_requests_in_flight 2');
      });
      return { time, half, stopped: served.stop() };
    }

    it('takes the rest for a second', async () => {
      const { time, half, stopped } = await stopping();
      await time.advance(999);
      half.write(BODY.slice(5));
      expect((await half.answer()).status).toBe(201);
      while (!(await isSettled(stopped))) await time.advance(100);
    });

    it('then answers that it is stopping', async () => {
      const { time, half, stopped } = await stopping();
      await time.advance(999);
      expect(await isSettled(half.closed)).toBe(false);
      await time.advance(1);
      const answer = await half.answer();
      expect(expectProblem(answer).detail).toBe('The server is stopping.');
      expect([answer.status, answer.headers.connection]).toEqual([503, 'close']);
      while (!(await isSettled(stopped))) await time.advance(100);
    });
  });

  it('lets go after ten seconds of those who cannot be answered', async () => {
    const time = new ManualWorld();
    const engine = memoryEngine(disk);
    served = await startServed({ engine, timers: { ...systemTimers, after: time.timers.after } });
    const go = await holdAppends();
    const open = await served.connect();
    const body = '{"payload":1}';
    open.write(
      `POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await served.until(() => served.authority.waiting === 1);
    const stopped = served.stop();
    await time.advance(9_999);
    expect(await isSettled(open.closed)).toBe(false);
    await time.advance(101);
    await open.closed;
    go();
    while (!(await isSettled(stopped))) await time.advance(100);
  });

  it('does not wait for those who have gone, nor for what they had sent behind a wait', async () => {
    const gone: RawConnection = await served.connect();
    const body = '{"worker_id":"w","wait_ms":600000}';
    const poll = `POST /v1/tasks/lease HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    gone.write(poll.repeat(3));
    await served.until(async () => (await served.done('status.get')).counts.waiters === 1);
    gone.destroy();
    await served.until(async () => (await served.done('status.get')).counts.waiters === 0);
    await served.stop();
  });

  it('stops once, however often it is told to', async () => {
    await Promise.all([served.stop(), served.stop()]);
    await served.stop();
  });

  it('leaves a log that the next one opens', async () => {
    await served.done('lease.acquire', { name: 'n', holder: 'h', ttl_ms: 600_000, token: TOKEN });
    await served.stop();
    const next = await startServed({ engine: memoryEngine(disk) });
    expect((await next.done('lease.get', { name: 'n' })).holder).toBe('h');
    expect((await next.done('status.get')).epoch).toBe(2);
  });
});
