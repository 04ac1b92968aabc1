// A database that wants a password that was not given: the caller gets an error, and nothing keeps the process alive
// until the database times out.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pgConnections } from '../../src/world/pg-connections.ts';
import { TestShell } from '../support/test-shell.ts';

let server: Server;
let address: string;
/** The first connection, and when it has ended. */
let arrived: Promise<Socket>;

/** What Postgres says about who you are, of one kind or another. */
function authentication(kind: number, text: string): Buffer {
  const head = Buffer.alloc(9);
  head.write('R');
  head.writeInt32BE(8 + text.length, 1);
  head.writeInt32BE(kind, 5);
  return Buffer.concat([head, Buffer.from(text)]);
}

/** Requests SCRAM-SHA-256, as Postgres does, and waits for the proof of the password. */
function askForPassword(socket: Socket): void {
  socket.once('data', () => {
    socket.write(authentication(10, 'SCRAM-SHA-256\0\0'));
    socket.once('data', (bytes) => {
      const nonce = /r=(.*)$/.exec(bytes.toString('latin1'))![1]!;
      socket.write(authentication(11, `r=${nonce}server,s=c2FsdA==,i=4096`));
    });
  });
}

beforeEach(async () => {
  server = createServer(askForPassword);
  arrived = once(server, 'connection').then(([socket]) => socket as Socket);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  address = `postgres://somebody@127.0.0.1:${(server.address() as AddressInfo).port}/postgres`;
});
afterEach(() => server.close());

async function ended(): Promise<void> {
  const socket = await arrived;
  if (!socket.destroyed) await once(socket, 'close');
}

describe('a password that is missing', () => {
  it('fails a connection, and hangs up', async () => {
    await expect(pgConnections(address).connect()).rejects.toThrow('password');
    await ended();
  });

  it('fails a command in one sentence, and hangs up', async () => {
    const shell = await TestShell.open();
    const { code, err } = await shell.run('postgres', 'migrate', '--url', address);
    expect(code).toBe(1);
    expect(err).toMatch(/^leasehold: No connection to 127\.0\.0\.1:\d+: .*password.*\n$/);
    await ended();
  });
});
