// One request of a connection at a time: what is sent behind it waits, in bounded memory, and no other connection waits with it.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RawConnection } from '../../test/support/served.ts';
import { Pipelines } from './pipelines.ts';

const HELD_MAX = 4_000;

let server: Server;
let pipelines: Pipelines;
let connections: RawConnection[];
/** Those that have begun and not been answered. */
let begun: { readonly path: string; readonly response: ServerResponse }[];
let whenBegun: () => void;

beforeEach(async () => {
  [begun, connections, whenBegun] = [[], [], () => undefined];
  const timers = { soon: (call: () => void) => void setImmediate(call) };
  const begin = (request: IncomingMessage, response: ServerResponse): void => {
    begun.push({ path: request.url!, response });
    whenBegun();
  };
  pipelines = new Pipelines(timers, begin, HELD_MAX);
  server = createServer({}, pipelines.take);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});

afterEach(async () => {
  for (const connection of connections) connection.destroy();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

async function connect(): Promise<RawConnection> {
  const connection = await RawConnection.to((server.address() as AddressInfo).port);
  connections.push(connection);
  return connection;
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
const getAll = (count: number): string => Array.from({ length: count }, (_, n) => get(`/${n}`)).join('');

/** Waits for the next request that begins. */
async function next(): Promise<{ readonly path: string; readonly response: ServerResponse }> {
  while (begun.length === 0) {
    await new Promise<void>((resolve) => {
      whenBegun = resolve;
    });
  }
  return begun.shift()!;
}

/** A request on another connection has come and gone: what came before it has been parsed. */
async function roundTrip(): Promise<void> {
  const other = await connect();
  other.write(get('/other'));
  const { path, response } = await next();
  expect(path).toBe('/other');
  response.end('other');
  await other.answer();
}

describe('requests sent in one packet', () => {
  it('begin one after the other, each when the reply before it has been sent', async () => {
    const connection = await connect();
    connection.write(getAll(2_500));
    for (let n = 0; n < 2_500; n++) {
      const { path, response } = await next();
      expect([path, begun.length]).toEqual([`/${n}`, 0]);
      response.end(String(n));
      expect((await connection.answer()).text).toBe(String(n));
    }
  });

  it('do not begin while the client takes nothing of the reply before them', async () => {
    const connection = await connect();
    connection.socket.pause();
    connection.write(getAll(3));
    const { response } = await next();
    const bytes = Buffer.alloc(16 * 1024 * 1024);
    response.end(bytes);
    for (let times = 0; times < 3; times++) await roundTrip();
    expect(begun).toEqual([]);
    expect(response.writableFinished).toBe(false);
    // It need not be kept.
    connection.socket.removeAllListeners('data').resume();
    expect((await next()).path).toBe('/1');
  });

  it('are read ahead only so far: the others stay with their client', async () => {
    const connection = await connect();
    // Far more than the buffers of the kernel hold.
    const text = `${get('/')}${`GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(8_000)}\r\n\r\n`.repeat(2_000)}`;
    connection.write(text);
    const { socket } = (await next()).response.req;
    for (let times = 0; times < 20; times++) await roundTrip();
    expect(socket.bytesRead).toBeLessThan(1024 * 1024);
    expect(pipelines.isFull(socket)).toBe(true);
  });

  it('are cut off with their connection when too many of all connections are held', async () => {
    const crowd = await Promise.all(Array.from({ length: 8 }, () => connect()));
    for (const connection of crowd) connection.write(get('/').repeat(1_000));
    let closed = 0;
    for (const connection of crowd) void connection.closed.then(() => (closed += 1));
    while (begun.length < 8 || closed < 3) await new Promise((resolve) => setImmediate(resolve));
    // What was held for them is forgotten, so others have room again.
    const late = await connect();
    begun = [];
    late.write(getAll(2));
    (await next()).response.end();
    expect((await next()).path).toBe('/1');
  });

  it('are forgotten with their connection', async () => {
    const connection = await connect();
    connection.write(getAll(20));
    const { response } = await next();
    connection.destroy();
    await new Promise((resolve) => response.once('close', resolve));
    await roundTrip();
    expect(begun).toEqual([]);
  });
});
