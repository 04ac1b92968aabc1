// `leasehold wal` as a person uses it: on the directory of a program that has ended, was killed, or still runs.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type EntryRecord, Json, type Leasehold, open } from '../../dist/index.js';
import { leasehold, leaseholdWith, lines } from '../support/cli.ts';
import { DISK_HOOK, smallDisk } from '../support/small-disk.ts';

let dir: string;
let data: string;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'leasehold-wal-'));
  data = join(dir, 'data');
  const lh = await open(data);
  await lh.call('task.create', { payload: { a: 1.5 }, task_id: 'mine' });
  await lh.call('lease.acquire', { name: 'printer', holder: 'anna', ttl_ms: 600_000 });
  await lh.call('object.write', { object_id: 'printer', value: [1, 2], lease: { lease_seq: 3 } });
  await lh.close();
});

afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

type Body = Record<string, unknown>;

function granted<T extends { readonly ok: boolean }>(reply: T): Extract<T, { ok: true }> {
  if (!reply.ok) throw new Error(JSON.stringify(reply));
  return reply as Extract<T, { ok: true }>;
}

/** Flips one bit of the newest occurrence of a text in the first segment. */
function damage(text: string): void {
  const file = join(data, readdirSync(data).find((name) => name.endsWith('.seg'))!);
  const bytes = readFileSync(file);
  const at = bytes.lastIndexOf(text);
  expect(at).toBeGreaterThan(0);
  bytes[at]! ^= 1;
  writeFileSync(file, bytes);
}

/** Every file below a directory, by name, with its bytes. */
function contentOf(root: string): Record<string, string> {
  const found = readdirSync(root, { recursive: true, withFileTypes: true });
  return Object.fromEntries(
    found.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      const bytes = entry.isFile() ? readFileSync(path) : Buffer.alloc(0);
      return [path, createHash('sha256').update(bytes).digest('hex')];
    }),
  );
}

/** A process of its own opens the data directory and is killed there; its number. */
function killedWriter(): number {
  const index = new URL('../../dist/index.js', import.meta.url).href;
  const script = `
    import { open } from ${JSON.stringify(index)};
    await open(${JSON.stringify(data)});
    process.kill(process.pid, 'SIGKILL');
  `;
  const { pid, signal } = spawnSync(process.execPath, ['--input-type=module', '-e', script]);
  expect(signal).toBe('SIGKILL');
  return pid;
}

describe('wal verify', () => {
  it('says that a log is whole, and up to where', () => {
    const run = leasehold('wal', 'verify', data);
    expect(run).toMatchObject({ status: 0, stderr: '' });
    expect(run.stdout).toContain('whole');
    expect(run.stdout).toContain('seq 1 to 4');
  });

  it('exits 5 for a damaged log and says damaged, the file and the offset', () => {
    damage('anna');
    const run = leasehold('wal', 'verify', data);
    expect(run.status).toBe(5);
    expect(run.stderr).toMatch(/^leasehold: The log is damaged: .*\.seg at offset \d+: .*\.\n$/);
  });

  it('refuses a log that was cut within a frame, which no crash leaves', () => {
    const file = join(data, readdirSync(data).find((name) => name.endsWith('.seg'))!);
    writeFileSync(file, readFileSync(file).subarray(0, 300));
    const run = leasehold('wal', 'verify', data);
    expect(run.status).toBe(5);
    expect(run.stderr).toContain('the file ends within a frame, at 300 bytes; it was cut');
    expect(leasehold('serve', '--data', data, '--listen', '127.0.0.1:0').status).toBe(5);
  });

  it('does not call a log whole that was cut to nothing', () => {
    const file = join(data, readdirSync(data).find((name) => name.endsWith('.seg'))!);
    writeFileSync(file, '');
    const run = leasehold('wal', 'verify', data);
    expect(run).toMatchObject({ status: 0, stderr: '' });
    expect(run.stdout).toMatch(
      /no damage found. The log is empty. .* looks unfinished at offset 0: .* or the file was cut/,
    );
  });

  it('finds a payload whose bytes have changed, which a start does not look for', () => {
    damage('{"a":1.5}');
    const run = leasehold('wal', 'verify', data);
    expect(run.status).toBe(5);
    expect(run.stderr).toContain('damaged');
    expect(leasehold('wal', 'stat', data).status).toBe(0);
  });
});

describe('wal stat', () => {
  it('shows positions and files, and as JSON one object', () => {
    expect(leasehold('wal', 'stat', data).stdout).toContain('seq 1 to 4, epoch 1');
    const [body] = lines(leasehold('wal', 'stat', data, '--json'));
    expect(body).toMatchObject({
      first_seq: 1,
      last_seq: 4,
      epoch: 1,
      entries: 4,
      in_use_by: null,
      in_use: false,
    });
  });

  it('names the process that has the directory, and says that it is in use', async () => {
    const lh = await open(data);
    const run = leasehold('wal', 'stat', data);
    const [body] = lines(leasehold('wal', 'stat', data, '--json'));
    await lh.close();
    expect(run).toMatchObject({ status: 0, stderr: '' });
    expect(run.stdout).toMatch(new RegExp(`^In use by process ${process.pid} on .*\\.$`, 'm'));
    expect(body).toMatchObject({
      in_use_by: expect.stringContaining(`process ${process.pid} `),
      in_use: true,
    });
  });

  it('names a process that was killed, and says that it is no longer running', () => {
    const pid = killedWriter();
    const { stdout } = leasehold('wal', 'stat', data);
    expect(stdout).toMatch(new RegExp(`process ${pid} on .*, which is no longer running`));
    const [body] = lines(leasehold('wal', 'stat', data, '--json'));
    expect(body).toMatchObject({ in_use_by: expect.stringContaining(`process ${pid} `), in_use: false });
    // Looking has changed nothing.
    expect(readFileSync(join(data, 'LOCK'), 'utf8')).toContain(`process ${pid} `);
  });
});

describe('wal cat', () => {
  it('prints every entry in the words of the seeds, opaque bytes as they came', () => {
    const run = leasehold('wal', 'cat', data);
    const entries = lines(run);
    expect(entries.map(({ seq, type }) => [seq, type])).toEqual([
      [1, 'EpochStarted'],
      [2, 'TaskCreated'],
      [3, 'NameLeased'],
      [4, 'ObjectWritten'],
    ]);
    expect(entries[1]).toMatchObject({ task_id: 'mine', payload: { a: 1.5 }, queue: 'default' });
    expect(entries[2]).toMatchObject({ name: 'printer', holder: 'anna', lease_seq: 3 });
    expect(entries[3]).toMatchObject({ object_id: 'printer', value: [1, 2], version: 1, lease_seq: 3 });
  });

  it('prints an entry on one line, whatever line breaks its payload has between its tokens', async () => {
    const lh = await open(data);
    await lh.call('task.create', { payload: Json.text('{\n  "b": 2\r\n}'), task_id: 'written' });
    await lh.close();
    const [entry] = lines(leasehold('wal', 'cat', data, '--from', '6'));
    expect(entry).toMatchObject({ task_id: 'written', payload: { b: 2 } });
  });

  it('never shows a token, only its SHA-256', () => {
    expect(leasehold('wal', 'cat', data).stdout).toMatch(/"token_sha256":"[0-9a-f]{64}"/);
    expect(leasehold('wal', 'cat', data).stdout).not.toContain('"token"');
  });

  it('begins and ends where it is told', () => {
    const entries = lines(leasehold('wal', 'cat', data, '--from', '2', '--limit', '2'));
    expect(entries.map(({ seq }) => seq)).toEqual([2, 3]);
  });
});

describe('wal restore', () => {
  it('starts a new epoch at least 2^40 higher, with every lease ended and everything else there', async () => {
    const backup = join(dir, 'backup');
    cpSync(data, backup, { recursive: true });
    const restored = join(dir, 'restored');
    const [body] = lines(leasehold('wal', 'restore', backup, restored, '--json'));
    expect(body!.epoch).toBeGreaterThan(1);
    expect(body!.seq).toBeGreaterThanOrEqual(4 + 2 ** 40);
    const lh = await open(restored);
    expect(await lh.call('lease.get', { name: 'printer' })).toMatchObject({ code: 'LEASE_NOT_FOUND' });
    expect(await lh.call('task.get', { task_id: 'mine' })).toMatchObject({ ok: true, state: 'WAITING' });
    const grant = await lh.call('lease.acquire', { name: 'printer', holder: 'boris', ttl_ms: 60_000 });
    expect(grant).toMatchObject({ ok: true });
    if (grant.ok) expect(grant.lease_seq).toBeGreaterThan(2 ** 40);
    const late = await lh.call('object.write', { object_id: 'printer', value: 0, lease: { lease_seq: 3 } });
    expect(late).toMatchObject({ code: 'WRITE_STALE_FENCE' });
    await lh.close();
    expect(leasehold('wal', 'verify', restored)).toMatchObject({ status: 0 });
  });

  it('keeps the histories of tasks, with the restore where it ended a lease, and forgets tasks as before', async () => {
    const historyOf = async (lh: Leasehold, task_id: string, limit = 1_000): Promise<EntryRecord[]> => {
      const found: EntryRecord[] = [];
      for (let cursor: string | undefined, pages = 0; pages < 10; pages++) {
        const page = granted(
          await lh.call('task.history', { task_id, limit, ...(cursor === undefined ? {} : { cursor }) }),
        );
        found.push(...page.entries);
        cursor = page.next_cursor;
        if (cursor === undefined) break;
      }
      return found;
    };
    const lease = async (lh: Leasehold): Promise<{ task_id: string; lease_id: string }> => {
      const { leases } = granted(await lh.call('task.lease', { worker_id: 'w', ttl_ms: 600_000 }));
      return { task_id: leases[0]!.task_id, lease_id: leases[0]!.lease_id };
    };
    const before = await open(data);
    await lease(before);
    granted(await before.call('task.create', { payload: 1, task_id: 'done' }));
    granted(await before.call('task.complete', { ...(await lease(before)), result: 'ok' }));
    const done = await historyOf(before, 'done');
    expect(done.map(({ type }) => type)).toEqual(['TaskCreated', 'LeaseGranted', 'TaskCompleted']);
    await before.close();
    const restored = join(dir, 'restored');
    const [{ seq: restoredSeq }] = lines(leasehold('wal', 'restore', data, restored, '--json')) as [Body];

    const after = await open(restored);
    expect(await historyOf(after, 'done')).toEqual(done);
    granted(await after.call('task.complete', await lease(after)));
    const mine = await historyOf(after, 'mine');
    const types = ['TaskCreated', 'LeaseGranted', 'EpochStarted', 'LeaseGranted', 'TaskCompleted'];
    expect(mine.map(({ type }) => type)).toEqual(types);
    expect(mine[2]).toMatchObject({ seq: restoredSeq, restored: true });
    expect(await historyOf(after, 'mine', 1)).toEqual(mine);
    await after.close();

    const forgetful = await open(restored, { retention: { endedTasksMax: 0 } });
    granted(await forgetful.call('task.create', { payload: 2, task_id: 'other' }));
    for (const task_id of ['mine', 'done'])
      expect(await forgetful.call('task.history', { task_id })).toMatchObject({ code: 'TASK_NOT_FOUND' });
    // Their entries are still in the log; a task with the same id has a history of its own.
    granted(await forgetful.call('task.create', { payload: 2, task_id: 'done' }));
    expect((await historyOf(forgetful, 'done')).map(({ type }) => type)).toEqual(['TaskCreated']);
    await forgetful.close();
  });

  it('gives out no number twice when one backup is restored again, or when the newest number is named', async () => {
    const first = join(dir, 'first');
    expect(leasehold('wal', 'restore', data, first)).toMatchObject({ status: 0, stderr: '' });
    const lh = await open(first);
    const grant = await lh.call('lease.acquire', { name: 'printer', holder: 'boris', ttl_ms: 60_000 });
    const given = grant.ok ? grant.lease_seq : Number.NaN;
    await lh.close();
    const [again] = lines(leasehold('wal', 'restore', data, join(dir, 'second'), '--json'));
    expect(again!.seq).toBeGreaterThan(given);
    const epochOf = (path: string): unknown => lines(leasehold('wal', 'stat', path, '--json'))[0]!.epoch;
    expect(again!.epoch).not.toBe(Number(epochOf(first)) - 1);
    expect(epochOf(join(dir, 'second'))).toBe(again!.epoch);
    const above = given + 2 ** 41;
    const named = leasehold('wal', 'restore', data, join(dir, 'third'), '--above', String(above), '--json');
    expect(lines(named)[0]!.seq).toBeGreaterThanOrEqual(above + 2 ** 40);
  });

  it('refuses a number that leaves none to give out, or is none, and writes nothing', () => {
    const restored = join(dir, 'restored');
    const full = leasehold('wal', 'restore', data, restored, '--above', String(Number.MAX_SAFE_INTEGER));
    expect(full.status).toBe(1);
    expect(full.stderr).toMatch(/^leasehold: .*fewer than 2\^40 numbers.*\.\n$/);
    expect(leasehold('wal', 'restore', data, restored, '--above', 'x').status).toBe(2);
    expect(existsSync(restored)).toBe(false);
  });

  describe('that is killed', () => {
    const restored = () => join(dir, 'restored');
    const killedBefore = (step: number) =>
      leaseholdWith(
        { NODE_OPTIONS: `--import=${DISK_HOOK}`, KILL_BEFORE: String(step) },
        ...['wal', 'restore', data, restored()],
      );

    it('at any step leaves no directory, one that is refused, or the restored log; and can be run again', async () => {
      const seen: string[] = [];
      for (let step = 0; ; step++) {
        rmSync(restored(), { recursive: true, force: true });
        const { status } = killedBefore(step);
        if (status === 0) break;
        expect(status).toBe(null);
        if (!existsSync(restored())) {
          seen.push('none');
          continue;
        }
        const lh = await open(restored()).catch((fault: Error) => {
          expect(fault.message).toContain(`${restored()} holds no log: a restore into it has not finished.`);
          return null;
        });
        seen.push(lh === null ? 'refused' : 'restored');
        if (lh === null) continue;
        expect((await lh.status()).seq).toBeGreaterThan(2 ** 40);
        await lh.close();
      }
      expect(seen.length).toBeGreaterThan(15);
      expect(seen.filter((state, index) => state !== seen[index - 1])).toEqual([
        'none',
        'refused',
        'restored',
      ]);
    });

    it('is refused by every command in one sentence that says what to do, and that helps', async () => {
      mkdirSync(restored());
      let step = 0;
      // In a directory that was there the marker is the first thing that is made.
      while (readdirSync(restored()).length === 0) killedBefore(step++);
      expect(readdirSync(restored())).toEqual(['RESTORING']);
      const says = new RegExp(
        `^leasehold: ${restored()} holds no log: .*Run "leasehold wal restore BACKUP ${restored()}" again.*\\.\\n$`,
      );
      for (const args of [
        ['wal', 'verify', restored()],
        ['wal', 'stat', restored()],
        ['wal', 'cat', restored()],
        ['wal', 'restore', restored(), join(dir, 'other')],
        ['serve', '--data', restored(), '--listen', '127.0.0.1:0', '--log-level', 'silent'],
      ]) {
        const run = leasehold(...args);
        expect(run, args.join(' ')).toMatchObject({ status: 5, stdout: '' });
        expect(run.stderr, args.join(' ')).toMatch(says);
      }
      expect(leasehold('wal', 'restore', data, restored())).toMatchObject({ status: 0, stderr: '' });
      expect(readdirSync(restored()).sort()).toEqual(['0000000000000001.seg', 'LOCK']);
      const lh = await open(restored());
      expect((await lh.status()).seq).toBeGreaterThan(2 ** 40);
      await lh.close();
    });
  });

  it('onto a full disk says so, gives the space back, and leaves a directory that is refused', async () => {
    const lh = await open(data);
    for (let i = 0; i < 8; i++) await lh.call('task.create', { payload: 'x'.repeat(100_000) });
    await lh.close();
    const disk = smallDisk(join(dir, 'small'), 400_000);
    try {
      const restored = join(dir, 'small', 'restored');
      const run = leaseholdWith(disk.env, 'wal', 'restore', data, restored);
      expect(run).toMatchObject({ status: 1, stdout: '' });
      expect(run.stderr).toMatch(
        /^leasehold: The restore into .* failed: the disk is full \(ENOSPC\)\. .*\n$/,
      );
      expect(readdirSync(restored).sort()).toEqual(['LOCK', 'RESTORING']);
      const served = leasehold('serve', '--data', restored, '--listen', '127.0.0.1:0');
      expect(served.status).toBe(5);
      expect(served.stderr).toContain('has not finished');
    } finally {
      disk.dispose();
    }
  });

  it('refuses a directory that already holds a log, and touches nothing', async () => {
    const other = join(dir, 'other');
    await (await open(other)).close();
    const before = contentOf(other);
    const run = leasehold('wal', 'restore', data, other);
    expect(run.status).toBe(1);
    expect(run.stderr).toMatch(/^leasehold: .* already holds a log\. .*\.\n$/);
    expect(contentOf(other)).toEqual(before);
  });

  it('refuses a data directory that a living process has, says what to do instead, and writes nothing', async () => {
    const restored = join(dir, 'restored');
    const lh = await open(data);
    const run = leasehold('wal', 'restore', data, restored);
    const told = leasehold('wal', 'restore', data, restored, '--json');
    await lh.close();
    expect(run).toMatchObject({ status: 3, stdout: '' });
    expect(run.stderr).toMatch(
      new RegExp(`^leasehold: .*data is in use by process ${process.pid} on .*leasehold backup.*\\.\\n$`),
    );
    expect(JSON.parse(told.stderr)).toMatchObject({ code: 'IN_USE', exit_code: 3 });
    expect(existsSync(restored)).toBe(false);
    expect(leasehold('wal', 'restore', data, restored)).toMatchObject({ status: 0, stderr: '' });
  });

  it('takes the data directory of a process that was killed, and a copy that still names a living one', async () => {
    killedWriter();
    expect(leasehold('wal', 'restore', data, join(dir, 'first'))).toMatchObject({ status: 0, stderr: '' });
    const lh = await open(data);
    const copy = join(dir, 'copy');
    cpSync(data, copy, { recursive: true });
    expect(leasehold('wal', 'restore', copy, join(dir, 'second'))).toMatchObject({ status: 0, stderr: '' });
    await lh.close();
  });

  describe('into', () => {
    const INSIDE: Record<string, (backup: string) => string> = {
      'the backup itself': (backup) => backup,
      'the backup itself, spelt another way': (backup) => join(backup, '..', 'data', ''),
      'a directory in the backup': (backup) => join(backup, 'deep', 'restored'),
      'a directory that the backup lies in': (backup) => join(backup, '..'),
      'a directory in the backup by a link': (backup) => {
        symlinkSync(backup, join(dir, 'link'));
        return join(dir, 'link', 'restored');
      },
    };

    it.each(Object.entries(INSIDE))('%s is refused, with nothing written', (_, targetOf) => {
      // Nothing but the backup is in the directory around it, which is no log by itself.
      const around = join(dir, 'around');
      mkdirSync(around);
      const backup = join(around, 'data');
      renameSync(data, backup);
      const target = targetOf(backup);
      const before = contentOf(around);
      const run = leasehold('wal', 'restore', backup, target);
      expect(run).toMatchObject({ status: 2, stdout: '' });
      expect(run.stderr).toMatch(
        /^leasehold: .* (is|lies in) the backup.*\.\n$|^leasehold: The backup .* lies in .*\.\n$/,
      );
      expect(contentOf(around)).toEqual(before);
    });

    it('a directory beside the backup whose name begins like it is no such thing', () => {
      expect(leasehold('wal', 'restore', data, `${data}-restored`)).toMatchObject({ status: 0, stderr: '' });
    });
  });
});

describe('the command line', () => {
  it('ends quietly when the reader of its output stops reading', () => {
    const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
    const script = `set -o pipefail; for i in 1 2 3; do "$0" "$1" wal cat "$2" | true; done`;
    const args = ['-c', script, process.execPath, main, data];
    const { status, stderr } = spawnSync('bash', args, { encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  it('exits 2 for wrong usage, with one sentence and no stack trace', () => {
    for (const args of [['wal'], ['wal', 'verify'], ['nonsense'], ['wal', 'cat', data, '--from', 'x']]) {
      const run = leasehold(...args);
      expect(run.status).toBe(2);
      expect(run.stderr).not.toContain('    at ');
      expect(run.stderr).not.toBe('');
    }
  });

  it('says in one sentence that there is no log where there is none', () => {
    const run = leasehold('wal', 'stat', join(dir, 'nowhere'));
    expect(run.status).toBe(1);
    expect(run.stderr).toMatch(/^leasehold: There is no log in .*\.\n$/);
  });

  it('has help for every command', () => {
    for (const args of [
      [],
      ['wal'],
      ['wal', 'verify'],
      ['wal', 'stat'],
      ['wal', 'cat'],
      ['wal', 'restore'],
    ]) {
      const run = leasehold(...args, '--help');
      expect(run.status).toBe(0);
      expect(run.stdout).toContain('Usage: leasehold');
    }
  });
});
