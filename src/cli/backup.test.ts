// `leasehold backup` against a server on a real port: what it says, and that it leaves a whole backup or nothing.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Chronicle } from '../../test/support/chronicle.ts';
import { TestDisk } from '../../test/support/test-disk.ts';
import { fileEngine } from '../engines/file/file-engine.ts';
import type { SignalName } from '../seams/processes.ts';
import { backupStream } from '../server/backup.ts';
import { undiciDownload } from '../world/download.ts';
import { backupCommand } from './backup.ts';
import { type Failure, refused } from './failure.ts';
import { realShell } from './real-shell.ts';
import type { Shell } from './shell.ts';

const CLOCK = { wallMs: () => Date.UTC(2026, 0, 1) };
const DIR = '/backups/monday';

let source: TestDisk;
let chronicle: Chronicle;
let server: Server;
let url: string;
let seen: IncomingMessage[];
let answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>;

beforeEach(async () => {
  source = new TestDisk();
  chronicle = await Chronicle.open(fileEngine({ dir: '/data', files: source, segmentBytes: 64 * 1024 }));
  await chronicle.start();
  for (let i = 0; i < 100; i++) await chronicle.live();
  seen = [];
  answer = async (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/x-tar' });
    for await (const piece of backupStream(chronicle, CLOCK)) response.write(piece);
    response.end();
  };
  server = createServer((request, response) => {
    seen.push(request);
    answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** Runs the command and gives what it said, what it made, and how it failed. */
async function backup(args: readonly string[], more: { isTerminal?: boolean; env?: Shell['env'] } = {}) {
  const disk = new TestDisk();
  const said = { out: '', err: '' };
  let interrupt = (_signal: SignalName): void => {};
  const real = realShell();
  const screen = (name: 'out' | 'err') => ({
    write(text: string) {
      said[name] += text;
    },
    isTerminal: more.isTerminal ?? false,
    columns: 80,
    rows: 24,
  });
  const shell: Shell = {
    ...real,
    env: more.env ?? {},
    out: screen('out'),
    err: screen('err'),
    processes: {
      ...real.processes,
      onSignals(_signals, call) {
        interrupt = call;
        return () => {};
      },
    },
  };
  const command = backupCommand(shell, { files: disk, download: undiciDownload }).exitOverride();
  const run = command.parseAsync([...args], { from: 'user' }).then(
    () => null,
    (fault: unknown) => fault,
  );
  return { disk, said, run, interrupt: (signal: SignalName) => interrupt(signal) };
}

describe('leasehold backup', () => {
  it('makes a verified copy and says what is in it', async () => {
    const { disk, said, run } = await backup([DIR, '--server', `${url}/`, '--token', 'secret']);
    expect(await run).toBe(null);
    const { lastSeq } = chronicle.log.position;
    expect(said.err).toBe('');
    expect(said.out).toMatch(
      new RegExp(
        `^${DIR}: backed up to seq ${lastSeq}, epoch 1, and verified: ${lastSeq} entries, .* KiB in 2 files.\n`,
      ),
    );
    expect(said.out).toContain(`leasehold wal restore ${DIR} NEW-DIR`);
    expect(disk.paths()).toContain(`${DIR}/backup.json`);
    expect(seen.map(({ url: path, headers }) => [path, headers.authorization])).toEqual([
      ['/v1/backup', 'Bearer secret'],
    ]);
  });

  it('asks one server after the other for the leader, and fails with what a standby says if there is none', async () => {
    const copy = answer;
    let isLeading = true;
    answer = async (request, response) => {
      if (isLeading && request.url === '/leader/v1/backup') return copy(request, response);
      response.writeHead(503, { 'content-type': 'application/problem+json' });
      response.end(JSON.stringify({ code: 'NOT_LEADER', detail: `${url}/leader leads.` }));
    };
    const servers = ['http://127.0.0.1:1', url, `${url}/leader`].join(',');
    const { run } = await backup([DIR, '--server', servers]);
    expect(await run).toBe(null);
    expect(seen.map((request) => request.url)).toEqual(['/v1/backup', '/leader/v1/backup']);
    isLeading = false;
    const none = await backup([DIR, '--server', servers]);
    expect(await none.run).toMatchObject({ message: `NOT_LEADER: ${url}/leader leads.` });
    expect(none.disk.paths()).toEqual([]);
  });

  it('prints one JSON object when asked to, and takes the server from the environment', async () => {
    const { said, run, disk } = await backup([DIR, '--json'], {
      env: { LEASEHOLD_URL: url, LEASEHOLD_TOKEN: 'from-the-environment' },
    });
    expect(await run).toBe(null);
    const { lastSeq } = chronicle.log.position;
    const bytes = disk
      .paths()
      .filter((path) => path.endsWith('.seg'))
      .reduce((sum, path) => sum + disk.contentOf(path).length, 0);
    expect(JSON.parse(said.out)).toEqual({
      dir: DIR,
      seq: lastSeq,
      epoch: 1,
      at: '2026-01-01T00:00:00.000Z',
      entries: lastSeq,
      checkpoint_seq: null,
      bytes,
      files: 2,
      damaged_payloads: 0,
    });
    expect(seen[0]!.headers.authorization).toBe('Bearer from-the-environment');
  });

  it('shows on a terminal how much has arrived, and cleans that up', async () => {
    for (let i = 0; i < 20; i++) await chronicle.live(20_000);
    const { said, run } = await backup([DIR, '--server', url], { isTerminal: true });
    expect(await run).toBe(null);
    expect(said.err).toContain('MiB received');
    expect(said.err.endsWith('\r\u001b[K')).toBe(true);
  });

  it('says that a payload is damaged, and keeps the backup', async () => {
    const [path] = source.paths().filter((name) => name.endsWith('.seg'));
    source.tamper(path!, (content) =>
      content.fill('X', content.indexOf('payload 1000001'), content.indexOf('payload 1000001') + 3),
    );
    const { said, run, disk } = await backup([DIR, '--server', url]);
    expect(await run).toBe(null);
    expect(said.err).toMatch(/^leasehold: the server's log has 1 damaged payload\(s\), .*\.\n$/);
    expect(disk.paths()).toContain(`${DIR}/backup.json`);
  });

  it('passes on a refusal by its code, and makes nothing', async () => {
    answer = async (_request, response) => {
      response.writeHead(403, { 'content-type': 'application/problem+json; charset=utf-8' });
      response.end('{"code":"FORBIDDEN","detail":"This needs the scope v1:admin.","status":403}');
    };
    const { disk, run } = await backup([DIR, '--server', url]);
    expect(await run).toEqual(refused('FORBIDDEN', 'This needs the scope v1:admin.'));
    expect(await disk.list('/backups')).toBe(null);
  });

  it.each([
    [404, 'text/html', '<p>'],
    [500, 'application/problem+json', 'not JSON'],
    [502, 'application/problem+json', 'null'],
    [200, 'text/plain', 'hello'],
  ])('knows that %i with %s is no answer of ours', async (status, type, text) => {
    answer = async (_request, response) => {
      response.writeHead(status, { 'content-type': type });
      response.end(text);
    };
    const { disk, run } = await backup([DIR, '--server', url]);
    expect(((await run) as Failure).message).toBe(
      `${url} answered ${status} and is not a leasehold server that makes backups.`,
    );
    expect(await disk.list('/backups')).toBe(null);
  });

  it('says that no server answers, and creates nothing', async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    const { disk, run } = await backup([DIR, '--server', url]);
    expect(((await run) as Failure).message).toMatch(/^No leasehold server answers at http:.*\.$/);
    expect(await disk.list('/backups')).toBe(null);
  });

  it('leaves nothing when the connection is lost on the way', async () => {
    answer = async (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/x-tar' });
      for await (const piece of backupStream(chronicle, CLOCK)) {
        await new Promise((resolve) => response.write(piece, resolve));
        if (piece.length > 512) break;
      }
      response.destroy();
    };
    const { disk, run } = await backup([DIR, '--server', url]);
    expect(((await run) as Error).message).toMatch(
      /^The connection was lost before the backup was complete \(.*\)\.$/,
    );
    expect(await disk.list('/backups')).toBe(null);
  });

  it('leaves nothing when the server ends an archive too early in good order', async () => {
    answer = async (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/x-tar' });
      const first = await backupStream(chronicle, CLOCK).next();
      response.end(first.value);
    };
    const { disk, run } = await backup([DIR, '--server', url]);
    expect(((await run) as Error).message).toMatch(/^The archive ends in the middle of .*\.seg\.$/);
    expect(await disk.list('/backups')).toBe(null);
  });

  it('leaves nothing when it is interrupted', async () => {
    let begun = () => {};
    const beginning = new Promise<void>((resolve) => (begun = resolve));
    answer = async (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/x-tar' });
      const first = await backupStream(chronicle, CLOCK).next();
      response.write(first.value, begun);
    };
    const { disk, run, interrupt } = await backup([DIR, '--server', url]);
    await beginning;
    interrupt('SIGINT');
    expect(await run).toMatchObject({
      message: 'The backup was interrupted; nothing is left of it.',
      exitCode: 130,
    });
    expect(await disk.list('/backups')).toBe(null);
  });
});
