// Where the `postgres` commands look for their database. No server listens at these addresses: the error names the one that was tried.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { TestShell } from '../../test/support/test-shell.ts';

const IN_ENVIRONMENT = 'postgres://me:secret@127.0.0.1:1/mine';
const ON_COMMAND_LINE = 'postgres://me:secret@127.0.0.1:2/mine';

let test: TestShell;

beforeEach(async () => {
  test = await TestShell.open();
});

describe.each([
  ['migrate', 'DATABASE_URL', 'LEASEHOLD_ENGINE'],
  ['rollback', 'DATABASE_URL', 'LEASEHOLD_ENGINE'],
  ['probe', 'DATABASE_URL', 'LEASEHOLD_ENGINE'],
  ['outbox', 'DATABASE_URL', 'LEASEHOLD_ENGINE'],
  ['restored', 'LEASEHOLD_ENGINE', 'DATABASE_URL'],
])('leasehold postgres %s', (verb, variable, other) => {
  it(`takes its database from ${variable}, where no password is seen in a list of processes`, async () => {
    test.env[variable] = IN_ENVIRONMENT;
    const { code, err } = await test.run('postgres', verb);
    expect(code).toBe(1);
    expect(err).toMatch(/^leasehold: No connection to 127\.0\.0\.1:1: .*\n$/);
    expect(err).not.toContain('secret');
  });

  it('asks the one that --url names, whatever the environment says', async () => {
    test.env[variable] = IN_ENVIRONMENT;
    const { code, err } = await test.run('postgres', verb, '--url', ON_COMMAND_LINE);
    expect(code).toBe(1);
    expect(err).toMatch(/^leasehold: No connection to 127\.0\.0\.1:2: /);
  });

  it(`leaves with 2 when none is named, and does not take the one of ${other}, which is for something else`, async () => {
    test.env[other] = IN_ENVIRONMENT;
    test.env[variable] = '';
    const { code, err } = await test.run('postgres', verb);
    expect(code).toBe(2);
    expect(err).toMatch(/^leasehold: .*--url.*\n$/);
    expect(err).toContain(variable);
  });

  it('leaves with 2 when the environment names something else, and does not repeat it', async () => {
    test.env[variable] = 'mysql://me:secret@127.0.0.1:1/mine';
    const { code, err } = await test.run('postgres', verb);
    expect(code).toBe(2);
    expect(err).toMatch(new RegExp(`^leasehold: ${variable} is not the URL of a Postgres database; .*\\n$`));
    expect(err).not.toContain('secret');
  });
});

describe('a database that takes connections and says nothing', () => {
  let silent: Server;
  let sockets: Socket[];
  let url: string;
  let host: string;

  beforeEach(async () => {
    sockets = [];
    silent = createServer((socket) => void sockets.push(socket.on('error', () => undefined)));
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    host = `127.0.0.1:${(silent.address() as AddressInfo).port}`;
    url = `postgres://me:secret@${host}/mine`;
  });

  afterEach(() => {
    vi.useRealTimers();
    for (const socket of sockets) socket.destroy();
    silent.close();
  });

  it.each(['migrate', 'rollback', 'probe'])('is named by %s, which then ends with 1', async (verb) => {
    const running = test.start('postgres', verb, '--url', url);
    await once(silent, 'connection');
    await test.world.advance(30_000);
    const { code, err } = await running;
    expect([code, err]).toEqual([1, `leasehold: No connection to ${host}: no answer for 30 s.\n`]);
  });

  it('is named by restored as well', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const running = test.start('postgres', 'restored', '--url', url);
    await once(silent, 'connection');
    vi.advanceTimersByTime(10_000);
    const { code, err } = await running;
    expect([code, err]).toEqual([1, `leasehold: No connection to ${host}: timeout expired.\n`]);
  });
});
