// History for the time machine on real servers with real compactions: what is kept can be read at every position, also
// after kill -9 in the middle of trimming it; what is gone says 410 and from where on the log is kept.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { open } from '../../dist/index.js';
import { leasehold, leaseholdWith, lines } from '../support/cli.ts';
import type { Body } from '../support/cli-processes.ts';

const CHILD = fileURLToPath(new URL('./history-child.mjs', import.meta.url));
const MIB = 1024 * 1024;

let dir: string;
let data: string;
let child: ChildProcess | null;
let url: string;
let ended: Promise<NodeJS.Signals | null>;
/** Which version of the object an acknowledged write gave, by its position. */
let versions: Map<number, number>;
let leaseSeq: number;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'leasehold-history-'));
  data = join(dir, 'data');
  child = null;
  versions = new Map();
});

afterEach(async () => {
  child?.kill('SIGKILL');
  await ended;
  rmSync(dir, { recursive: true, force: true });
});

/** Resolves with false when it dies before it serves. */
async function start(env: Record<string, string> = {}): Promise<boolean> {
  child = spawn(process.execPath, [CHILD, data], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const { stdout } = child;
  ended = new Promise((resolve) => {
    child!.once('close', (_code, signal) => resolve(signal));
  });
  const line = new Promise<string>((resolve) => {
    stdout!.once('data', (bytes: Buffer) => resolve(bytes.toString('utf8').trim()));
  });
  const first = await Promise.race([line, ended]);
  if (first === null || first.startsWith('SIG')) return false;
  url = first;
  return true;
}

async function stop(): Promise<void> {
  child!.kill('SIGTERM');
  await ended;
}

async function ask(method: string, path: string, body?: object): Promise<Body> {
  const headers = { 'content-type': 'application/json' };
  const request = body === undefined ? { method } : { method, headers, body: JSON.stringify(body) };
  return (await fetch(url + path, request)).json();
}

const status = (): Promise<Body> => ask('GET', '/v1/status');

async function acquire(): Promise<void> {
  const lease = await ask('POST', '/v1/leases/o/acquire', { holder: 'h', ttl_ms: 3_600_000 });
  leaseSeq = lease.lease_seq;
  expect(leaseSeq, JSON.stringify(lease)).toBeGreaterThan(0);
}

/** One object over and over: the state stays small while the log grows. */
async function write(): Promise<void> {
  const value = { number: versions.size + 1, pad: 'x'.repeat(16_000) };
  const reply = await ask('PUT', '/v1/objects/o', { value, lease: { lease_seq: leaseSeq } });
  expect(reply.version, JSON.stringify(reply)).toBeGreaterThan(0);
  versions.set(reply.seq, reply.version);
}

/** Writes until the server dies; the write that it did not answer may have been made. */
async function writeUntilKilled(): Promise<void> {
  for (;;) {
    try {
      await write();
    } catch (fault) {
      // What `fetch` throws when the connection breaks.
      expect(fault).toMatchObject({ name: 'TypeError', message: 'fetch failed' });
      return;
    }
  }
}

/**
 * Every acknowledged position answers as it was, or says 410 and from where on the log is kept; the first of these. The log may
 * be compacted meanwhile.
 */
async function expectHistory(): Promise<number> {
  const newest = Math.max(...versions.values());
  expect((await ask('GET', '/v1/objects/o')).version).toBeGreaterThanOrEqual(newest);
  let [gone, kept] = [0, 0];
  for (const [seq, version] of versions) {
    const then = await ask('GET', `/v1/objects/o?at_seq=${seq}`);
    if (then.code === 'LOG_COMPACTED') {
      expect(then.status).toBe(410);
      expect(then.first_seq).toBeGreaterThan(seq);
      gone = seq;
    } else {
      expect(then, `at ${seq}`).toMatchObject({ version, value: { pad: expect.any(String) } });
      kept += 1;
    }
  }
  const { first_seq, counts } = await status();
  expect(counts.leases).toBe(1);
  expect(kept).toBeGreaterThan(0);
  expect(first_seq).toBeGreaterThan(gone);
  if (first_seq > 2) expect(await ask('GET', '/v1/status?at_seq=1')).toMatchObject({ status: 410 });
  return first_seq;
}

const compactions = async (): Promise<number> => {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(/^leasehold_compactions_total(?:\{[^}]*\})? (\d+)/m.exec(text)?.[1]);
};

describe('history on a real server', () => {
  it('reaches back over compactions and restarts as long as it is asked for', async () => {
    const keeping = { HISTORY_BYTES: String(1024 * MIB) };
    expect(await start(keeping)).toBe(true);
    await acquire();
    while ((await compactions()) < 4) await write();
    expect(await expectHistory()).toBe(1);
    await stop();
    expect(await start(keeping)).toBe(true);
    expect(await expectHistory()).toBe(1);

    const [seq, version] = [...versions][0]!;
    const { stdout, stderr } = leaseholdWith(
      { LEASEHOLD_URL: url },
      'object',
      'get',
      'o',
      '--at-seq',
      String(seq),
    );
    expect(JSON.parse(stdout).number).toBe(version);
    expect(stderr).toMatch(new RegExp(`^As of seq ${seq}, `));
    const stat = leasehold('wal', 'stat', data);
    expect(stat.stdout).toMatch(
      /^History for the time machine: from seq 1 at \S+Z on, [\d.]+ MiB on disk\.$/m,
    );
    await stop();

    const lh = await open(data, { history: { for: '1h' } });
    expect(await lh.call('object.get', { object_id: 'o', at_seq: seq })).toMatchObject({ ok: true, version });
    await lh.close();
    const [{ history } = {}] = lines(leasehold('wal', 'stat', data, '--json'));
    expect(history).toMatchObject({ first_seq: 1, bytes: expect.any(Number) });

    expect(await start()).toBe(true);
    expect(await expectHistory()).toBeGreaterThan(seq);
    await stop();
    expect(lines(leasehold('wal', 'stat', data, '--json'))).toMatchObject([{ history: null }]);
  });
});

describe('kill -9 while history is trimmed', () => {
  it('loses nothing acknowledged, and every position that is still kept can be read', async () => {
    const trimming = { HISTORY_BYTES: String(2 * MIB) };
    // With more room nothing is trimmed, so that a half removed stretch would be noticed.
    const keeping = { HISTORY_BYTES: String(1024 * MIB) };
    expect(await start(keeping)).toBe(true);
    await acquire();
    let first = 1;
    for (const removal of [1, 2, 3, 5]) {
      await stop();
      // It may be killed at its start, which trims too.
      if (await start({ ...trimming, KILL_AT_REMOVAL: String(removal) })) await writeUntilKilled();
      expect(await ended).toBe('SIGKILL');
      expect(leasehold('wal', 'verify', data)).toMatchObject({ status: 0 });
      expect(await start(keeping)).toBe(true);
      const reached = await expectHistory();
      expect(reached).toBeGreaterThanOrEqual(first);
      first = reached;
    }
    expect(first).toBeGreaterThan(1);
  });
});
