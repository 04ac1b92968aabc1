// `leasehold schedule`, against an authority in memory whose time the test moves.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ndjson, TestShell } from '../../test/support/test-shell.ts';

const HOUR_MS = 3_600_000;
const { TZ: zoneBefore } = process.env;

let test: TestShell;

// Local time is that of the machine: two hours ahead of UTC in July, one in January.
beforeAll(() => {
  process.env.TZ = 'Europe/Berlin';
});
afterAll(() => {
  if (zoneBefore === undefined) delete process.env.TZ;
  else process.env.TZ = zoneBefore;
});

beforeEach(async () => {
  test = await TestShell.open();
});

const nightly = (...args: string[]) =>
  test.run('schedule', 'set', 'nightly', '{"full":true}', '--cron', '0 3 * * *', ...args);

const tasks = async () => ndjson(await test.run('task', 'ls', '--json'));

describe('schedule set', () => {
  it('sets a schedule and says when it is due next, in local time and UTC', async () => {
    expect(await nightly()).toEqual({
      code: 0,
      out: 'nightly is set, durable at seq 2; next due at 2026-01-01 04:00:00 (2026-01-01T03:00:00.000Z).\n',
      err: '',
    });
    expect((await nightly('--zone', 'Europe/Berlin')).out).toBe(
      'nightly is replaced, durable at seq 3; next due at 2026-01-01 03:00:00 (2026-01-01T02:00:00.000Z).\n',
    );
    expect((await nightly('--zone', 'America/New_York')).out).toBe(
      'nightly is replaced, durable at seq 4; next due at 2026-01-01 09:00:00 (2026-01-01T08:00:00.000Z; 2026-01-01 03:00:00 America/New_York).\n',
    );
  });

  it('passes on everything it is told', async () => {
    const args = [
      '--every',
      '90s',
      '--queue',
      'probes',
      '--priority',
      '-3',
      '--key',
      'acme',
      '--jitter',
      '2s',
    ];
    const more = ['--max-failures', '2', '--max-attempts', '7', '--overlap', 'allow', '--catch-up', 'all'];
    const times = ['--starts', '2026-02-01T00:00:00Z', '--ends', '2026-03-01T00:00:00Z'];
    expect((await test.run('schedule', 'set', 'probe', 'null', ...args, ...more, ...times)).code).toBe(0);
    const [probe] = ndjson(await test.run('schedule', 'show', 'probe', '--json'));
    expect(probe).toMatchObject({
      every_ms: 90_000,
      queue: 'probes',
      priority: -3,
      key: 'acme',
      jitter_ms: 2_000,
      retry: { max_failures: 2 },
      max_attempts: 7,
      overlap: 'allow',
      catch_up: 'all',
      starts_at: '2026-02-01T00:00:00.000Z',
      ends_at: '2026-03-01T00:00:00.000Z',
      paused: false,
    });
  });

  it('keeps the payload byte for byte, from standard input too', async () => {
    test.input = '{"b":1.0, "a":12345678901234567890}\n';
    await test.run('schedule', 'set', 'exact', '-', '--every', '1h');
    expect((await test.run('schedule', 'show', 'exact', '--json')).out).toContain(
      '"payload":{"b":1.0, "a":12345678901234567890},',
    );
  });

  it('sets one that is paused, and is not due', async () => {
    expect((await nightly('--paused')).out).toBe('nightly is set, durable at seq 2; it is paused.\n');
  });

  it('is wrong usage without a pattern or an interval, and with both', async () => {
    for (const args of [[], ['--cron', '@daily', '--every', '1h']]) {
      const { code, err } = await test.run('schedule', 'set', 'x', '1', ...args);
      expect([code, err]).toEqual([2, expect.stringContaining('A schedule needs either --cron or --every.')]);
    }
  });

  it.each([
    [['--cron', '61 * * * *'], /INVALID_ARGUMENT.*cron/],
    [['--cron', '@daily', '--zone', 'Europe/Nowhere'], /INVALID_ARGUMENT.*Europe\/Nowhere/],
    [['--cron', '@daily', '--overlap', 'never'], /INVALID_ARGUMENT.*overlap/],
  ])('says what is wrong about %s', async (args, says) => {
    const { code, err } = await test.run('schedule', 'set', 'x', '1', ...args);
    expect([code, err]).toEqual([2, expect.stringMatching(says)]);
  });
});

describe('schedule ls', () => {
  it('shows the next run in local time and UTC', async () => {
    await nightly();
    await test.run('schedule', 'set', 'probe', 'null', '--every', '30s', '--queue', 'probes', '--paused');
    const { out } = await test.run('schedule', 'ls');
    const [head, ...rows] = out.trimEnd().split('\n');
    expect(head).toMatch(/^SCHEDULE +DUE +QUEUE +NEXT \(LOCAL\) +NEXT \(UTC\) +LAST DUE \(UTC\)/);
    expect(rows).toEqual([
      expect.stringMatching(
        /^nightly +0 3 \* \* \* UTC +default +2026-01-01 04:00:00 +2026-01-01T03:00:00\.000Z +-/,
      ),
      expect.stringMatching(/^probe +every 30\.0s +probes +- +- +- +paused$/),
    ]);
  });

  it('says so when there are none, and prints an object a line with --json', async () => {
    expect((await test.run('schedule', 'ls')).out).toBe('There are no schedules.\n');
    await nightly();
    expect(ndjson(await test.run('schedule', 'ls', '--json'))).toMatchObject([
      { name: 'nightly', next_at: '2026-01-01T03:00:00.000Z' },
    ]);
  });
});

describe('schedule show', () => {
  it('shows what it is and its next five due times', async () => {
    await nightly('--queue', 'reports');
    const { out } = await test.run('schedule', 'show', 'nightly');
    for (const line of [
      /^schedule +nightly$/m,
      /^due +0 3 \* \* \* UTC$/m,
      /^queue +reports$/m,
      /^payload +\{"full":true\}$/m,
      /^set by +hand$/m,
      /^last due +-$/m,
    ])
      expect(out).toMatch(line);
    expect(out.match(/^next +2026-01-0\d 04:00:00 \(2026-01-0\dT03:00:00\.000Z\)$/gm)).toHaveLength(5);
  });

  it('shows when it was due last, and the task of that', async () => {
    await nightly();
    await test.world.advance(3 * HOUR_MS);
    const { out } = await test.run('schedule', 'show', 'nightly');
    expect(out).toMatch(/^last due +2026-01-01T03:00:00\.000Z$/m);
    expect(out).toMatch(/^last task +nightly@2026-01-01T03:00:00\.000Z$/m);
    expect(await tasks()).toMatchObject([{ task_id: 'nightly@2026-01-01T03:00:00.000Z', state: 'WAITING' }]);
  });
});

describe('schedule pause and resume', () => {
  it('make nothing due until it is resumed, and catch up nothing then', async () => {
    await nightly();
    expect((await test.run('schedule', 'pause', 'nightly')).out).toBe(
      'nightly is paused, durable at seq 3.\n',
    );
    await test.world.advance(30 * HOUR_MS);
    expect((await test.run('schedule', 'resume', 'nightly')).out).toBe(
      'nightly is resumed, durable at seq 4; next due at 2026-01-03 04:00:00 (2026-01-03T03:00:00.000Z).\n',
    );
    expect(await tasks()).toEqual([]);
  });
});

describe('schedule fire', () => {
  it('creates a task now, even of one that is paused', async () => {
    await nightly('--paused', '--queue', 'reports');
    const { code, out } = await test.run('schedule', 'fire', 'nightly');
    expect([code, out]).toEqual([0, 'nightly!3 is created, durable at seq 3.\n']);
    expect(await tasks()).toMatchObject([{ task_id: 'nightly!3', queue: 'reports' }]);
  });
});

describe('schedule rm', () => {
  it('removes it, and its tasks stay', async () => {
    await nightly();
    await test.run('schedule', 'fire', 'nightly');
    expect((await test.run('schedule', 'rm', 'nightly')).out).toBe('nightly is removed, durable at seq 4.\n');
    expect((await test.run('schedule', 'ls')).out).toBe('There are no schedules.\n');
    expect(await tasks()).toHaveLength(1);
  });
});

describe('a schedule that is not there', () => {
  it.each(['show', 'rm', 'pause', 'resume', 'fire'])('is told of by schedule %s', async (verb) => {
    const { code, err } = await test.run('schedule', verb, 'none');
    expect([code, err]).toEqual([1, expect.stringMatching(/^leasehold: SCHEDULE_NOT_FOUND: /)]);
  });
});
