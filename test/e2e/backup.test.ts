// Backups of a real server by real processes: while it is being written to, through the system's own tar, and when one
// side or the other is killed in the middle.
import { type ChildProcess, spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  watch,
  writeFileSync,
} from 'node:fs';
import type { AddressInfo } from 'node:net';
import { connect as connectSocket, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { leasehold, leaseholdWith, lines, type Run } from '../support/cli.ts';
import { smallDisk } from '../support/small-disk.ts';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

let dir: string;
let backup: string;
let ending: (() => void)[];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'leasehold-backup-'));
  backup = join(dir, 'backups', 'monday');
  ending = [];
});

afterEach(() => {
  for (const end of ending.reverse()) end();
  rmSync(dir, { recursive: true, force: true });
});

interface Served {
  readonly url: string;
  readonly child: ChildProcess;
}

async function serve(data: string, env: Record<string, string> = {}): Promise<Served> {
  const args = [
    MAIN,
    'serve',
    '--data',
    join(dir, data),
    '--listen',
    '127.0.0.1:0',
    '--json',
    '--log-level',
    'error',
  ];
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  ending.push(() => child.kill('SIGKILL'));
  const reader = createInterface({ input: child.stdout });
  const line = await new Promise<string>((resolve, reject) => {
    reader.once('line', resolve);
    child.once('exit', (code) => reject(new Error(`The server ended with code ${code}.`)));
  });
  return { url: (JSON.parse(line) as { url: string }).url, child };
}

const ended = (child: ChildProcess): Promise<number | null> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) resolve(child.exitCode);
    else child.once('close', (code) => resolve(code));
  });

/** The command line beside the test, which goes on meanwhile. */
function start(...args: string[]): { readonly child: ChildProcess; readonly run: Promise<Run> } {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  ending.push(() => child.kill('SIGKILL'));
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (bytes) => {
    stdout += bytes;
  });
  child.stderr.on('data', (bytes) => {
    stderr += bytes;
  });
  return { child, run: ended(child).then((status) => ({ status, stdout, stderr })) };
}

async function create(url: string, id: string, payload: unknown = { id }): Promise<number> {
  const response = await fetch(`${url}/v1/tasks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ task_id: id, payload }),
  });
  expect(response.status).toBe(201);
  return ((await response.json()) as { seq: number }).seq;
}

/** Enough that no socket swallows it whole. */
async function fill(url: string): Promise<void> {
  const pad = 'x'.repeat(250_000);
  for (let i = 0; i < 120; i++) await create(url, `large-${i}`, { i, pad });
}

/** Passes bytes on between the command line and the server, until `bytesMax` of the answer have passed. */
async function proxyTo(url: string, bytesMax: number, then: (server: Socket) => void): Promise<string> {
  const { hostname, port } = new URL(url);
  const sockets: Socket[] = [];
  const proxy = createServer((client) => {
    const server = connectSocket(Number(port), hostname);
    sockets.push(client, server);
    client.on('error', () => server.destroy());
    server.on('error', () => client.destroy());
    client.pipe(server);
    let passed = 0;
    server.on('data', (bytes) => {
      if (passed >= bytesMax) return;
      passed += bytes.length;
      client.write(bytes);
      if (passed >= bytesMax) then(server);
    });
    server.on('close', () => client.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  ending.push(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}

/** Resolves once `isSo`, which is asked again whenever something changes in the directory. */
function changed(path: string, isSo: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (!isSo()) return;
      watcher.close();
      resolve();
    };
    const watcher = watch(path, look);
    ending.push(() => watcher.close());
    look();
  });
}

/** Resolves once there is a file in the directory, which need not be there yet. */
async function firstFile(path: string): Promise<void> {
  await changed(dirname(path), () => existsSync(path));
  await changed(path, () => readdirSync(path).length > 0);
}

const seqsIn = (data: string): unknown[] => lines(leasehold('wal', 'cat', data)).map(({ seq }) => seq);

describe('leasehold backup', () => {
  it('copies a server that is being written to, and what was acknowledged before is in it', async () => {
    const { url } = await serve('data');
    const before: string[] = [];
    for (let i = 0; i < 50; i++) {
      before.push(`before-${i}`);
      await create(url, `before-${i}`);
    }
    let isDone = false;
    let during = 0;
    const writing = (async () => {
      for (; !isDone; during++) await create(url, `during-${during}`, { pad: 'y'.repeat(2_000) });
    })();
    const result = await start('backup', backup, '--server', url, '--json').run;
    isDone = true;
    await writing;
    expect(result).toMatchObject({ status: 0, stderr: '' });
    expect(during).toBeGreaterThan(0);
    const [body] = lines(result);
    const seq = body!.seq as number;
    expect(seq).toBeGreaterThanOrEqual(51);
    expect(seqsIn(backup)).toEqual(Array.from({ length: seq }, (_, i) => i + 1));
    const verified = leasehold('wal', 'verify', backup);
    expect(verified).toMatchObject({ status: 0, stderr: '' });
    expect(verified.stdout).toContain(`seq 1 to ${seq}`);

    expect(leasehold('wal', 'restore', backup, join(dir, 'restored'))).toMatchObject({ status: 0 });
    const restored = await serve('restored');
    for (const id of before) {
      const response = await fetch(`${restored.url}/v1/tasks/${id}`);
      expect(await response.json()).toMatchObject({ task_id: id, state: 'WAITING', payload: { id } });
    }
    const late = await create(restored.url, 'late');
    expect(late).toBeGreaterThan(seq + 2 ** 40);
  });

  it('is not served as it is, because its fencing numbers would be granted twice', async () => {
    const { url } = await serve('data');
    expect(leasehold('backup', backup, '--server', url)).toMatchObject({ status: 0 });
    const run = leasehold('serve', '--data', backup, '--listen', '127.0.0.1:0');
    expect(run.status).toBe(1);
    expect(run.stderr).toMatch(/is a backup .*wal restore/);
  });

  it('says in a sentence why there is none: no server, no right, no room', async () => {
    const { url, child } = await serve('data', {
      LEASEHOLD_TOKENS: JSON.stringify([
        { token: 'token-of-a-reader', scopes: ['v1:read'] },
        { token: 'token-of-an-admin', scopes: ['v1:admin'] },
      ]),
    });
    const refused = leasehold('backup', backup, '--server', url, '--token', 'token-of-a-reader');
    expect(refused).toMatchObject({ status: 1, stdout: '' });
    expect(refused.stderr).toMatch(/^leasehold: FORBIDDEN: .*\n$/);
    expect(leasehold('backup', backup, '--server', url).stderr).toMatch(/^leasehold: UNAUTHENTICATED: .*\n$/);
    expect(existsSync(join(dir, 'backups'))).toBe(false);
    mkdirSync(join(dir, 'full'));
    writeFileSync(join(dir, 'full', 'mine'), 'keep me');
    const full = leasehold('backup', join(dir, 'full'), '--server', url, '--token', 'token-of-an-admin');
    expect(full).toMatchObject({ status: 1, stdout: '' });
    expect(full.stderr).toMatch(/^leasehold: .* is not empty; .*\n$/);
    expect(readdirSync(join(dir, 'full'))).toEqual(['mine']);
    expect(leasehold('backup', backup, '--server', url, '--token', 'token-of-an-admin')).toMatchObject({
      status: 0,
    });
    child.kill('SIGKILL');
    await ended(child);
    const gone = leasehold('backup', join(dir, 'other'), '--server', url);
    expect(gone.status).toBe(1);
    expect(gone.stderr).toMatch(/^leasehold: No leasehold server answers at .*\n$/);
    expect(existsSync(join(dir, 'other'))).toBe(false);
  });

  it('onto a full disk says that the disk is full, and leaves nothing', async () => {
    const { url } = await serve('data');
    await fill(url);
    const disk = smallDisk(join(dir, 'small'), 400_000);
    ending.push(() => disk.dispose());
    const run = leaseholdWith(disk.env, 'backup', join(dir, 'small', 'monday'), '--server', url);
    expect(run).toMatchObject({ status: 1, stdout: '' });
    expect(run.stderr).toMatch(/^leasehold: The disk is full: .*monday.*\(ENOSPC\).*\n$/);
    expect(readdirSync(join(dir, 'small'))).toEqual([]);
    await create(url, 'afterwards');
  });

  it('leaves nothing when the server is killed in the middle, and the server is none the worse', async () => {
    const { url, child } = await serve('data');
    await fill(url);
    const proxy = await proxyTo(url, 3_000_000, () => child.kill('SIGKILL'));
    const result = await start('backup', backup, '--server', proxy).run;
    expect(result).toMatchObject({ status: 1, stdout: '' });
    expect(result.stderr).toMatch(
      /^leasehold: The connection was lost before the backup was complete \(.*\)\.\n$/,
    );
    expect(existsSync(join(dir, 'backups'))).toBe(false);
    await ended(child);
    const again = await serve('data');
    expect((await fetch(`${again.url}/v1/tasks/large-119`)).status).toBe(200);
  });

  it('that is killed in the middle is no log, and that is interrupted is not there', async () => {
    const { url } = await serve('data');
    await fill(url);
    let stalled = () => {};
    const reached = () =>
      new Promise<void>((resolve) => {
        stalled = resolve;
      });
    const proxy = await proxyTo(url, 3_000_000, () => stalled());
    for (const [signal, code] of [
      ['SIGKILL', null],
      ['SIGINT', 130],
      ['SIGTERM', 143],
    ] as const) {
      const target = join(dir, signal);
      const stalling = reached();
      const there = firstFile(target);
      const { child, run } = start('backup', target, '--server', proxy);
      await stalling;
      // It is ended while it writes its first file, not between making the directory and that.
      await there;
      child.kill(signal);
      expect((await run).status).toBe(code);
      if (signal === 'SIGKILL') {
        expect(readdirSync(target).every((name) => name.endsWith('.part'))).toBe(true);
        expect(leasehold('wal', 'verify', target).stderr).toMatch(
          /^leasehold: The log is damaged: .*\.part at offset 0: a backup into this directory was interrupted; .*\n$/,
        );
        expect(leasehold('wal', 'restore', target, join(dir, 'restored')).status).toBe(5);
      } else {
        expect(existsSync(target)).toBe(false);
      }
    }
    // Three readers have gone away in the middle; the fourth gets all of it.
    expect(leasehold('backup', backup, '--server', url)).toMatchObject({ status: 0 });
    await create(url, 'afterwards');
  });
});

describe('GET /v1/backup', () => {
  it('is a tar archive that the system can unpack, for its owner only', async () => {
    const { url } = await serve('data');
    for (let i = 0; i < 20; i++) await create(url, `task-${i}`);
    const response = await fetch(`${url}/v1/backup`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('application/x-tar');
    mkdirSync(backup, { recursive: true });
    const tar = spawn('tar', ['x', '-C', backup], { stdio: ['pipe', 'inherit', 'pipe'] });
    let complaints = '';
    tar.stderr.on('data', (bytes) => {
      complaints += bytes;
    });
    await pipeline(Readable.fromWeb(response.body as never), tar.stdin);
    expect(await ended(tar)).toBe(0);
    expect(complaints).toBe('');
    const names = readdirSync(backup);
    expect(names).toContain('backup.json');
    for (const name of names) expect(statSync(join(backup, name)).mode & 0o777).toBe(0o600);
    const manifest = JSON.parse(readFileSync(join(backup, 'backup.json'), 'utf8'));
    expect(manifest.files.map(({ name }: { name: string }) => name).sort()).toEqual(
      names.filter((name) => name !== 'backup.json').sort(),
    );
    expect(leasehold('wal', 'verify', backup)).toMatchObject({ status: 0, stderr: '' });
    expect(seqsIn(backup)).toHaveLength(manifest.seq);
  });
});
