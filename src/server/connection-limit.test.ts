// Connections are not all a server needs files for: beyond their limit they are turned away, and the log can continue.
import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Served, startServed, stopAllServed } from '../../test/support/served.ts';
import { connectionLimit } from './connection-limit.ts';

let served: Served;
let sockets: Socket[];

beforeEach(async () => {
  sockets = [];
  served = await startServed({ connectionsMax: 3 });
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await stopAllServed();
});

/** Whether the server keeps the connection: it answers on it, or it closes it. */
async function isTaken(): Promise<boolean> {
  const socket = createConnection({ host: '127.0.0.1', port: Number(new URL(served.url).port) });
  sockets.push(socket);
  socket.on('error', () => undefined);
  const isAnswered = once(socket, 'data').then(() => true);
  const isClosed = once(socket, 'close').then(() => false);
  socket.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
  return Promise.race([isAnswered, isClosed]);
}

describe('more connections than there may be', () => {
  it('are closed, said once, and taken again when others have gone', async () => {
    expect([await isTaken(), await isTaken(), await isTaken()]).toEqual([true, true, true]);
    expect([await isTaken(), await isTaken()]).toEqual([false, false]);
    expect(served.said.filter(({ says }) => says.includes('no more connections'))).toHaveLength(1);
    sockets[0]!.destroy();
    for (let tries = 0; !(await isTaken()); tries++) expect(tries).toBeLessThan(1_000);
  });
});

describe('the limit', () => {
  it.each([
    [null, {}],
    [1_024, { connectionsMax: 768 }],
    [256, { connectionsMax: 128 }],
    [20_000, { connectionsMax: 19_744 }],
  ])('leaves files for the log where a process may open %j', (filesMax, limit) => {
    expect(connectionLimit(filesMax)).toEqual(limit);
  });
});
