// `leasehold serve` that cannot serve: what it leaves with, what it says, and that it has touched no data.
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CliBench, type Process } from '../support/cli-processes.ts';
import { RawConnection } from '../support/served.ts';
import { TEST_CERTIFICATE, TEST_KEY } from '../support/test-certificate.ts';

let bench: CliBench;
let taken: string;

beforeAll(async () => {
  bench = new CliBench();
  await bench.serve();
  taken = new URL(bench.url).host;
});

afterAll(() => bench.close());

const serve = (data: string, ...more: string[]) =>
  bench.run(['serve', '--data', join(bench.dir, data), '--listen', '127.0.0.1:0', ...more]);

describe('a second server on the same data directory', () => {
  it('leaves with 3 and says who has it', async () => {
    const run = await serve('data');
    expect(run).toMatchObject({ status: 3, stderr: expect.stringMatching(/in use by process \d+ on /) });
  });

  it('says so as one JSON object with --json', async () => {
    const { status, stdout, stderr } = await serve('data', '--json');
    expect([status, stdout]).toEqual([3, '']);
    expect(JSON.parse(stderr)).toEqual({
      code: 'IN_USE',
      message: expect.stringMatching(/in use by process \d+ on /),
      exit_code: 3,
    });
  });

  it('leaves with 3 as well when it is told to listen where the first one does', async () => {
    const run = await serve('data', '--listen', taken);
    expect(run).toMatchObject({ status: 3, stderr: expect.stringMatching(/in use by process \d+ on /) });
  });
});

describe('a server that finds no log', () => {
  it('says that it began one, and the next one on it does not', async () => {
    const data = join(bench.dir, 'new');
    for (const times of [1, 0]) {
      const server = bench.start(['serve', '--data', data, '--listen', '127.0.0.1:0', '--json']);
      await server.says(/"pid"/);
      server.kill('SIGTERM');
      const { status, stderr } = await server.ended;
      expect(status).toBe(0);
      const said = stderr.split('\n').filter((line) => line.includes('a new log was begun'));
      expect(said).toHaveLength(times);
      for (const line of said) expect(JSON.parse(line)).toMatchObject({ level: 30, data });
    }
  });
});

describe('a server that cannot listen', () => {
  it('on a port that is taken leaves with 1, says so, and makes no data directory', async () => {
    const run = await serve('never', '--listen', taken);
    expect(run).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/^leasehold: Port \d+ .* is taken/),
    });
    expect(existsSync(join(bench.dir, 'never'))).toBe(false);
  });

  it.each([
    ['everywhere without tokens', ['--listen', '0.0.0.0:0'], /without tokens/i],
    ['for a network that is none', ['--allow-net', '1.2.3'], /1\.2\.3 is not a network/],
    ['behind a proxy that is none', ['--trusted-proxy', 'x'], /x is not a network/],
    ['with tokens that are not there', ['--tokens', 'nope.json'], /nope\.json \(--tokens\) .*no such file/],
    ['with half of TLS', ['--tls-cert', 'cert.pem'], /--tls-key/],
  ])('%s leaves with 2 and makes no data directory', async (_, flags, says) => {
    const run = await serve('never', ...flags);
    expect(run).toMatchObject({ status: 2, stderr: expect.stringMatching(says) });
    expect(existsSync(join(bench.dir, 'never'))).toBe(false);
  });

  it('because a file is where its data should be leaves with 1 and says so', async () => {
    writeFileSync(join(bench.dir, 'a-file'), 'mine');
    const run = await serve('a-file');
    expect(run).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/a-file cannot be a data directory: a file is in the way\.\n$/),
    });
  });

  it('with a phase flag that is neither on nor off leaves with 2 and makes no data directory', async () => {
    const flags = ['--data', join(bench.dir, 'never'), '--listen', '127.0.0.1:0'];
    const run = await bench.run(['serve', ...flags], { env: { XG2G_V3_API_LEASES: 'yes' } });
    expect(run).toMatchObject({ status: 2, stderr: expect.stringMatching(/XG2G_V3_API_LEASES is "yes"/) });
    expect(existsSync(join(bench.dir, 'never'))).toBe(false);
  });

  const { privateKey: OTHER_KEY } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const RUBBISH = 'no certificate at all\n';

  it.each<[string, string | null, string | null, RegExp]>([
    ['a certificate file that is not there', null, TEST_KEY, /there is no file \S+cert\.pem \(--tls-cert\)/],
    ['a key file that is not there', TEST_CERTIFICATE, null, /there is no file \S+key\.pem \(--tls-key\)/],
    ['a certificate that is none', RUBBISH, TEST_KEY, /cert\.pem \(--tls-cert\) holds no certificate in PEM/],
    ['a key that is none', TEST_CERTIFICATE, RUBBISH, /key\.pem \(--tls-key\) holds no private key in PEM/],
    [
      'the key of another certificate',
      TEST_CERTIFICATE,
      OTHER_KEY,
      /key in \S+key\.pem \(--tls-key\) does not belong to .*certificate in \S+cert\.pem \(--tls-cert\)/,
    ],
  ])('with %s leaves with 2, names file, option and address, and makes no data directory', async (...row) => {
    const [, certificate, key, says] = row;
    const dir = mkdtempSync(join(bench.dir, 'tls-'));
    const paths = { cert: join(dir, 'cert.pem'), key: join(dir, 'key.pem') };
    if (certificate !== null) writeFileSync(paths.cert, certificate);
    if (key !== null) writeFileSync(paths.key, key);
    const { status, stderr } = await serve('never', '--tls-cert', paths.cert, '--tls-key', paths.key);
    expect(stderr).toMatch(/^leasehold: The server cannot serve HTTPS on 127\.0\.0\.1:0: .*\.\n$/);
    expect(stderr).toMatch(says);
    expect(status).toBe(2);
    expect(existsSync(join(bench.dir, 'never'))).toBe(false);
  });
});

describe('a server that is asked to end', () => {
  async function withHalfARequest(): Promise<{ server: Process; connection: RawConnection; rest: string }> {
    const data = join(bench.dir, `asked-${randomUUID()}`);
    const server = bench.start(['serve', '--data', data, '--listen', '127.0.0.1:0', '--json']);
    const [, port] = await server.says(/"url":"http:\/\/127\.0\.0\.1:(\d+)"/);
    const connection = await RawConnection.to(Number(port));
    const body = '{"payload":1}';
    const head = `POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`;
    connection.write(head);
    // It has begun with the request.
    expect((await connection.head()).status).toBe(100);
    connection.write(body.slice(0, 5));
    return { server, connection, rest: body.slice(5) };
  }

  it('by one Ctrl-C under npm finishes what is in flight, although SIGINT comes twice', async () => {
    const { server, connection, rest } = await withHalfARequest();
    server.kill('SIGINT');
    await server.says(/"says":"stopping"/);
    server.kill('SIGINT');
    connection.write(rest);
    expect((await connection.answer()).status).toBe(201);
    expect(await server.ended).toMatchObject({ status: 0, signal: null });
  });

  it('by SIGTERM and SIGINT ends at once, and with --json says so as an object', async () => {
    const { server } = await withHalfARequest();
    server.kill('SIGTERM');
    await server.says(/"says":"stopping"/);
    server.kill('SIGINT');
    const { status, stderr } = await server.ended;
    expect(status).toBe(130);
    expect(stderr.trim().split('\n').at(-1)).toBe(
      '{"code":"INTERRUPTED","message":"Ended at once.","exit_code":130}',
    );
  });
});

describe('a server with tokens', () => {
  it('says in its lines to try where the token goes', async () => {
    const tokens = JSON.stringify([{ token: 'all-of-it-0123456789', scopes: ['*'] }]);
    const server = bench.start(['serve', '--data', join(bench.dir, 'guarded'), '--listen', '127.0.0.1:0'], {
      env: { LEASEHOLD_TOKENS: tokens },
    });
    await server.says(/Ctrl-C stops it/);
    expect(server.stdout).toContain("-H 'authorization: Bearer TOKEN'");
    expect(server.stdout).not.toContain('all-of-it');
    server.kill('SIGTERM');
    expect(await server.ended).toMatchObject({ status: 0 });
  });
});

describe('the secret of intents', () => {
  const LIVE = { type: 'live', serviceRef: '1:0:1', profileID: 'demo' };

  async function ask(env: Record<string, string>): Promise<{ session_id: string; stderr: string }> {
    const server = bench.start(['serve', '--data', join(bench.dir, 'intents'), '--listen', '127.0.0.1:0'], {
      env,
    });
    const [url] = await server.says(/http:\/\/127\.0\.0\.1:\d+/);
    const reply = await fetch(`${url}/api/v3/intents`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(LIVE),
    });
    expect(reply.status).toBe(202);
    const { session_id } = (await reply.json()) as { session_id: string };
    server.kill('SIGTERM');
    const { stderr } = await server.ended;
    return { session_id, stderr };
  }

  function warnings({ stderr }: { readonly stderr: string }): object[] {
    const lines = stderr.split('\n').filter((line) => line.includes('IDEM_SECRET'));
    return lines.map((line) => JSON.parse(line));
  }

  it('makes an intent known again after a restart, and while it is being replaced; a missing one is warned of once', async () => {
    const secret = 'sixteen bytes...';
    const first = await ask({ LEASEHOLD_IDEM_SECRET: secret });
    expect(warnings(first)).toEqual([]);
    const second = await ask({
      LEASEHOLD_IDEM_SECRET: 'another secret...',
      // The name of older installations.
      XG2G_IDEM_SECRET_PREVIOUS: secret,
    });
    expect(second.session_id).toBe(first.session_id);
    const without = await ask({});
    expect(without.session_id).not.toBe(first.session_id);
    expect(warnings(without)).toMatchObject([{ level: 40 }]);
  });

  it('is warned of when it is short', async () => {
    const says = 'LEASEHOLD_IDEM_SECRET has less than 16 bytes and could be guessed';
    expect(warnings(await ask({ LEASEHOLD_IDEM_SECRET: 'fifteen bytes..' }))).toMatchObject([
      { level: 40, says },
    ]);
  });
});
