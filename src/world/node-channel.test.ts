// The channel between processes, over a pair of sockets.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openChannel } from './node-channel.ts';

let left: Socket;
let right: Socket;
let stop: () => void;

beforeEach(async () => {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  left = connect((server.address() as AddressInfo).port, '127.0.0.1');
  [right] = await accepted;
  stop = () => {
    left.destroy();
    right.destroy();
    server.close();
  };
});

afterEach(() => stop());

describe('a channel', () => {
  it('keeps messages whole, however they are cut on the way', async () => {
    const heard: unknown[] = [];
    const ended = new Promise<void>((resolve) =>
      openChannel(right, (message) => heard.push(message), resolve),
    );
    const bytes = Buffer.from('{"a":"ü\\n"}\n{"b":2}\n');
    for (const byte of bytes) {
      left.write(Buffer.of(byte));
      await new Promise((resolve) => setImmediate(resolve));
    }
    left.end();
    await ended;
    expect(heard).toEqual([{ a: 'ü\n' }, { b: 2 }]);
  });

  it('gives everything that was sent before it tells that the other side is gone', async () => {
    const sender = openChannel(
      left,
      () => undefined,
      () => undefined,
    );
    for (let count = 0; count < 100; count++) sender.send({ count });
    await new Promise<void>((resolve) => left.end(resolve));
    // Only now a listener is attached.
    const heard: unknown[] = [];
    await new Promise<void>((resolve) => openChannel(right, (message) => heard.push(message), resolve));
    expect(heard).toHaveLength(100);
  });

  it('reports the end once, and accepts messages without a receiver', async () => {
    let ends = 0;
    const channel = openChannel(
      right,
      () => undefined,
      () => {
        ends += 1;
      },
    );
    left.destroy();
    await once(right, 'close');
    channel.send({ to: 'nobody' });
    channel.close();
    expect(ends).toBe(1);
  });
});
