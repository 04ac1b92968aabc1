// What an exchange does to its connection: a long answer that is not read ends it, and nothing of that stays behind.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RawConnection } from '../../test/support/served.ts';
import { Exchange, type ExchangeContext } from './exchange.ts';
import { LongReads } from './long-reads.ts';
import { LOCAL_CALLER } from './scopes.ts';

const STALL_MS = 50_000;
const KEEP_ALIVE_MS = 75_000;
const LONG = JSON.stringify('x'.repeat(100_000));
const CONTEXT: ExchangeContext = {
  isStopping: false,
  counts: { refused: () => undefined },
  longReads: new LongReads({ soon: (call) => void setImmediate(call) }, STALL_MS),
};

let server: Server;
let connection: RawConnection;
let arrived: Exchange[];
let whenArrived: () => void;

beforeEach(async () => {
  arrived = [];
  whenArrived = () => undefined;
  server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    arrived.push(new Exchange(request, response, `r${arrived.length}`, LOCAL_CALLER, CONTEXT));
    whenArrived();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  connection = await RawConnection.to((server.address() as AddressInfo).port);
});

afterEach(async () => {
  connection.destroy();
  await new Promise((resolve) => server.close(resolve));
});

/** Sends so many requests in one packet, and waits until they are there. */
async function pipelined(count: number): Promise<Exchange[]> {
  connection.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(count));
  while (arrived.length < count) {
    await new Promise<void>((resolve) => {
      whenArrived = resolve;
    });
  }
  return arrived;
}

const limitOf = ({ request }: Exchange): number => request.socket.timeout ?? 0;

/** Resolves when all of it has left, with the limit that there was until then. */
function sent(exchange: Exchange): Promise<number> {
  return new Promise((resolve) => {
    // Before everything that listens for it.
    exchange.response.prependListener('finish', () => resolve(limitOf(exchange)));
  });
}

describe('a long answer', () => {
  it('limits how long its connection may stand still, until it is sent', async () => {
    const [long, waiting] = await pipelined(2);
    long!.json(200, LONG);
    expect(await sent(long!)).toBe(STALL_MS);
    expect((await connection.answer()).text).toBe(LONG);
    // The one behind it may have nothing to say for ten minutes.
    expect(limitOf(waiting!)).toBe(0);
    waiting!.json(200, '{}');
    expect((await connection.answer()).text).toBe('{}');
  });

  it('is limited although it was ready while another was being sent', async () => {
    const [first, second, third] = await pipelined(3);
    second!.json(200, LONG);
    expect(limitOf(first!)).toBe(0);
    first!.json(200, LONG);
    expect(await sent(second!)).toBe(STALL_MS);
    expect(limitOf(third!)).toBe(0);
  });

  it('leaves the limit to Node where nothing else has been asked for', async () => {
    const [long] = await pipelined(1);
    long!.json(200, LONG);
    await sent(long!);
    // Node gives a second more than it promises.
    expect(limitOf(long!)).toBeGreaterThanOrEqual(KEEP_ALIVE_MS);
  });
});
