// One connection to a database behind a network that starts to drop everything, or behind timeouts of its own: its
// user is never blocked by it.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { pgConnections } from '../../src/world/pg-connections.ts';
import { TestDatabase } from '../support/postgres.ts';
import { until } from '../support/postgres-log.ts';

let db: TestDatabase;
let network: Server;
let address: string;
let sockets: Socket[];

beforeAll(async () => {
  db = await TestDatabase.create();
});

afterAll(() => db.drop());

beforeEach(async () => {
  sockets = [];
  const { port } = new URL(db.url);
  // A peer that ends its side gets no answer to that either.
  network = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect(Number(port), '127.0.0.1');
    near.pipe(far).pipe(near);
    for (const socket of [near, far]) socket.on('error', () => undefined);
    sockets.push(near, far);
  });
  network.listen(0, '127.0.0.1');
  await once(network, 'listening');
  const through = new URL(db.url);
  through.port = String((network.address() as AddressInfo).port);
  address = through.href;
});

afterEach(() => {
  for (const socket of sockets) socket.destroy();
  network.close();
});

/** From now on nothing passes, in either direction, and neither end is notified. */
function fallSilent(): void {
  for (const socket of sockets) socket.unpipe();
}

/** The next thing that is said gets through but for its end, which for a statement with values is the Sync. */
function fallSilentBeforeSync(): void {
  const [near, far] = sockets as [Socket, Socket];
  fallSilent();
  near.once('data', (chunk) => far.write(chunk.subarray(0, -5))).resume();
}

describe('a connection that has fallen silent', () => {
  it('is ended by its owner, though the server does not answer', async () => {
    const connection = await pgConnections(address).connect();
    fallSilent();
    await connection.close();
  });

  it('is ended while a statement runs on it, which fails', async () => {
    const connection = await pgConnections(address).connect();
    fallSilent();
    const asked = expect(connection.query('SELECT 1')).rejects.toThrow('terminated');
    // The driver has begun with it only in the next turn.
    await new Promise((resolve) => setImmediate(resolve));
    await connection.close();
    await asked;
  });
});

describe('a limit for statements', () => {
  const SETTING = `SELECT setting FROM pg_settings WHERE name = 'statement_timeout'`;

  it('is kept by us as well when the database says nothing: the statement fails, and so does the next', async () => {
    const connection = await pgConnections(address).connect({ statementMsMax: 50 });
    fallSilent();
    await expect(connection.query('SELECT 1')).rejects.toThrow('has not answered for 2050 ms');
    await expect(connection.query('SELECT 1')).rejects.toThrow();
    expect((await connection.lost).message).toContain('has not answered');
    await connection.close();
  });

  it('ends what was carried out and never finished, with the locks it has', async () => {
    await db.pool.query('CREATE TABLE one (id int PRIMARY KEY); INSERT INTO one VALUES (1)');
    const connection = await pgConnections(address).connect({ statementMsMax: 300 });
    fallSilentBeforeSync();
    const asked = connection.query('SELECT id FROM one WHERE id = $1 FOR UPDATE', [1]).catch(() => undefined);
    const isFree = 'SELECT count(*) FROM (SELECT 1 FROM one FOR UPDATE SKIP LOCKED) AS free';
    await until(async () => Number(await db.value(isFree)) === 0);
    await until(async () => Number(await db.value(isFree)) === 1);
    await asked;
    await connection.close();
  });

  it('is kept by the database', async () => {
    const connection = await pgConnections(db.url).connect({ statementMsMax: 50 });
    await expect(connection.query('SELECT pg_sleep(600)')).rejects.toMatchObject({ code: '57014' });
    await connection.close();
  });

  it('is there only if it is asked for, and does not raise a lower one', async () => {
    const name = new URL(db.url).pathname.slice(1);
    const limited = async (statementMsMax?: number): Promise<unknown> => {
      const options = statementMsMax === undefined ? {} : { statementMsMax };
      const connection = await pgConnections(db.url).connect(options);
      const [row] = await connection.query(SETTING);
      await connection.close();
      return row![0];
    };
    expect([await limited(), await limited(10_000)]).toEqual(['0', '10000']);
    await db.pool.query(`ALTER DATABASE ${name} SET statement_timeout = '5s'`);
    expect([await limited(), await limited(10_000), await limited(3_000)]).toEqual(['5000', '5000', '3000']);
  });
});

describe('any connection', () => {
  it('is one that the database finds out about within seconds when its other end is gone', async () => {
    const connection = await pgConnections(db.url).connect();
    const rows = await connection.query(
      "SELECT setting FROM pg_settings WHERE name LIKE 'tcp_keepalives_%' ORDER BY name",
    );
    // The count, the time until the first, and that between them.
    expect(rows.flat()).toEqual(['3', '5', '2']);
    await connection.close();
  });
});
