// The doctor, with disks and servers that are as ill as the test wants them.
import { beforeEach, describe, expect, it } from 'vitest';
import { inlineThreads } from '../../test/support/inline-threads.ts';
import { TestDisk } from '../../test/support/test-disk.ts';
import { TestShell } from '../../test/support/test-shell.ts';
import { fileEngine } from '../engines/file/file-engine.ts';
import { openCore } from '../open.ts';
import { type DoctorMeans, doctorCommand } from './doctor.ts';
import { endingOf } from './ending.ts';
import { VERSION } from './version.ts';

const DIR = '/data';

let test: TestShell;
let disk: TestDisk;
let means: { -readonly [K in keyof DoctorMeans]: DoctorMeans[K] };
/** What the server answers by path. */
let answers: Record<string, { status: number; text: string }>;
let serverAheadMs: number;

beforeEach(async () => {
  test = await TestShell.open();
  disk = new TestDisk();
  answers = {
    '/readyz': { status: 200, text: '{"status":"ready"}' },
    '/v1/status': { status: 200, text: '{"clock_off_ms":0}' },
    '/openapi.json': { status: 200, text: JSON.stringify({ info: { version: VERSION } }) },
  };
  serverAheadMs = 0;
  means = {
    files: disk,
    disk: { freeBytes: async () => 2 ** 40, syncMs: async (_dir, count) => Array(count).fill(0.4) },
    http: async (url) => ({
      ...answers[new URL(url).pathname]!,
      dateMs: test.world.wallMs + serverAheadMs,
      tookMs: 3,
    }),
    nodeVersion: '22.1.0',
  };
  const engine = fileEngine({ dir: DIR, files: disk, threads: inlineThreads(disk), segmentBytes: 1 << 20 });
  const { authority } = await test.world.finish(openCore(engine, test.world));
  await test.world.finish(authority.close());
});

interface Checked {
  readonly code: number;
  readonly out: string;
  /** Level by check. */
  readonly levels: Record<string, string>;
}

async function check(...args: string[]): Promise<Checked> {
  const command = doctorCommand(test.shell(), means).exitOverride();
  let code = 0;
  try {
    await test.world.finish(command.parseAsync(['--data', DIR, ...args, '--json'], { from: 'user' }));
  } catch (fault) {
    code = endingOf(fault).exitCode;
  }
  const out = test.out.take();
  const { findings } = JSON.parse(out) as { findings: { check: string; level: string }[] };
  return { code, out, levels: Object.fromEntries(findings.map(({ check, level }) => [check, level])) };
}

describe('the doctor', () => {
  it('finds nothing wrong where nothing is', async () => {
    expect(await check()).toMatchObject({
      code: 0,
      levels: {
        versions: 'ok',
        server: 'ok',
        access: 'ok',
        'server version': 'ok',
        clock: 'ok',
        'server time': 'ok',
        'data directory': 'ok',
        'file system': 'ok',
        'free space': 'ok',
        'disk sync': 'ok',
      },
    });
  });

  it.each([
    [-7_200_000, 'note', '2h 00m behind the wall clock of its machine'],
    [61_000, 'note', '1m 01s ahead of the wall clock of its machine'],
    [-60_000, 'ok', 'follows its wall clock'],
  ])('says when the time of a server is more than a minute off (%i)', async (offMs, level, says) => {
    answers['/v1/status'] = { status: 200, text: JSON.stringify({ clock_off_ms: offMs }) };
    const { code, levels, out } = await check();
    expect([code, levels['server time']]).toEqual([0, level]);
    expect(out).toContain(says);
  });

  it('says nothing of the time of a standby, which has none', async () => {
    answers['/v1/status'] = { status: 200, text: '{"clock_off_ms":null}' };
    expect((await check()).levels).not.toHaveProperty('server time');
  });

  it('finds a server wrong whose disk is full', async () => {
    answers['/v1/status'] = { status: 200, text: '{"disk_full":true,"clock_off_ms":0}' };
    expect(await check()).toMatchObject({ code: 1, levels: { server: 'ok', 'server disk': 'wrong' } });
  });

  it.each([
    ['names the leader', { leader_url: 'http://other', log_trouble: null }, 0, 'ok', undefined],
    ['knows of no leader', { leader_url: null, log_trouble: null }, 1, 'ok', 'wrong'],
    ['cannot read the log', { leader_url: 'http://other', log_trouble: 'Away.' }, 1, 'wrong', 'wrong'],
  ])('judges a standby that %s', async (_, status, code, server, leader) => {
    answers['/readyz'] = { status: 503, text: '{"code":"NOT_LEADER"}' };
    answers['/v1/status'] = { status: 200, text: JSON.stringify({ role: 'standby', ...status }) };
    const { levels, ...found } = await check();
    expect([found.code, levels.server, levels.leader]).toEqual([code, server, leader]);
    const both = await check('--server', 'http://a:1,http://b:2');
    expect([both.code, both.levels.leader]).toEqual([code, leader]);
  });

  it('is content with a standby that knows of no leader when another server leads', async () => {
    answers['/readyz'] = { status: 503, text: '{"code":"NOT_LEADER"}' };
    answers['/v1/status'] = { status: 200, text: '{"role":"standby","leader_url":null,"log_trouble":null}' };
    const leads = { '/readyz': { status: 200, text: '{}' }, '/v1/status': { status: 200, text: '{}' } };
    const { http } = means;
    means.http = async (url, token) => {
      const { hostname, pathname } = new URL(url);
      const answer = await http(url, token);
      return hostname === 'b' ? { ...answer, ...leads[pathname as keyof typeof leads] } : answer;
    };
    expect(await check('--server', 'http://a:1,http://b:2')).toMatchObject({ code: 0 });
  });

  it('prints a line for each finding, with advice where it is of use', async () => {
    means.nodeVersion = '18.0.0';
    const command = doctorCommand(test.shell(), means).exitOverride();
    await expect(
      test.world.finish(command.parseAsync(['--data', DIR], { from: 'user' })),
    ).rejects.toMatchObject({ exitCode: 1, message: 'versions: something is wrong.' });
    expect(test.out.take()).toMatch(/^✗ versions: .*\n {4}Install Node 20\.19 or newer\.\n✓ server: /);
  });

  it('says that no server answers, and checks everything else', async () => {
    means.http = async () => {
      throw new Error('connect ECONNREFUSED');
    };
    expect(await check()).toMatchObject({ code: 1, levels: { server: 'wrong', 'disk sync': 'ok' } });
  });

  it('tells a server that may not write, a token that is not known, another version, another time', async () => {
    answers['/readyz'] = { status: 503, text: '{}' };
    answers['/v1/status'] = { status: 401, text: '{}' };
    answers['/openapi.json'] = { status: 200, text: 'no JSON' };
    serverAheadMs = 60_000;
    expect(await check()).toMatchObject({
      code: 1,
      levels: { server: 'wrong', access: 'wrong', 'server version': 'note', clock: 'note' },
    });
  });

  it('tells a disk that is full, far away, slow, or too fast to be true', async () => {
    disk.network = 'nfs';
    means.disk = { freeBytes: async () => 1_000, syncMs: async () => [300, 500, 900] };
    expect(await check()).toMatchObject({
      code: 1,
      levels: { 'file system': 'wrong', 'free space': 'wrong', 'disk sync': 'wrong' },
    });
    disk.network = null;
    means.disk = { freeBytes: async () => 500 * 1024 ** 2, syncMs: async () => [0.001] };
    expect(await check()).toMatchObject({ code: 0, levels: { 'free space': 'note', 'disk sync': 'note' } });
  });

  it('tells a check that could not be made', async () => {
    means.disk = {
      freeBytes: async () => 2 ** 40,
      syncMs: async () => {
        throw new Error('EACCES: permission denied');
      },
    };
    expect(await check()).toMatchObject({ code: 1, levels: { 'disk sync': 'wrong' } });
  });

  it('tells a data directory that cannot be read, and everything else all the same', async () => {
    means.files = Object.assign(Object.create(disk), {
      list: async () => {
        throw new Error('EACCES: permission denied, scandir');
      },
    });
    expect(await check()).toMatchObject({ code: 1, levels: { server: 'ok', 'data directory': 'wrong' } });
  });

  it('says of a log without an entry that it is empty', async () => {
    await disk.makeDir('/empty');
    // A first segment, made and never written to.
    const segment = disk.paths().find((path) => path.endsWith('.seg'))!;
    await disk.open(segment.replace(DIR, '/empty'), { create: true });
    const { code, out, levels } = await check('--data', '/empty');
    expect(code).toBe(0);
    expect(out).toContain('/empty holds an empty log, not in use, with an unfinished write at its end');
    // A log that was cut to nothing looks the same.
    expect([levels['data directory'], out]).toEqual(['note', expect.stringContaining('restore a backup')]);
  });

  it('says in one line why there is no TLS', async () => {
    means.http = async () => {
      throw Object.assign(new Error('80:error:0A:SSL routines::wrong version number:a.c:3:\n'), {
        reason: 'wrong version number',
      });
    };
    expect((await check()).out).toContain('(wrong version number)');
  });

  it('says who has the data directory, or that who had it is no longer running', async () => {
    expect((await check()).out).toContain('not in use');
    const lock = await disk.lock(`${DIR}/LOCK`, 'somebody');
    const file = await disk.open(`${DIR}/LOCK`, { create: true });
    await file.write(Buffer.from('process 12 on here\n'), 0);
    expect((await check()).out).toContain('in use by process 12 on here');
    if ('release' in lock) await lock.release();
    const { code, out } = await check();
    expect(code).toBe(0);
    expect(out).toContain('last opened by process 12 on here, which is no longer running on it');
  });

  it('finds a data directory that is missing only when it was named', async () => {
    const missing = await check('--data', '/nowhere');
    expect(missing).toMatchObject({ code: 1, levels: { 'data directory': 'wrong' } });
    const command = doctorCommand(test.shell(), means).exitOverride();
    await test.world.finish(command.parseAsync(['--json'], { from: 'user' }));
    expect(test.out.take()).toContain('"check":"data directory","level":"note"');
  });
});
