// Commands that read the state as of an earlier position: what they print is what they printed then.
import { beforeEach, describe, expect, it } from 'vitest';
import { inlineThreads } from '../../test/support/inline-threads.ts';
import { TestDisk } from '../../test/support/test-disk.ts';
import { type CommandRun, ndjson, TestShell } from '../../test/support/test-shell.ts';
import { fileEngine } from '../engines/file/file-engine.ts';
import { makeProgram } from './program.ts';

const KIB = 1024;

const READS = [
  ['task', 'ls'],
  ['task', 'show', 't1'],
  ['task', 'why', 't1'],
  ['lease', 'ls'],
  ['lease', 'show', 'door'],
  ['object', 'get', 'door'],
  ['queue', 'ls'],
  ['schedule', 'ls'],
  ['schedule', 'show', 'nightly'],
  ['session', 'ls'],
  ['session', 'show', 's00000000007'],
  ['status'],
] as const;

let test: TestShell;

beforeEach(async () => {
  const disk = new TestDisk();
  const threads = inlineThreads(disk);
  const sizes = { segmentBytes: 32 * KIB, compactionBytesMin: 64 * KIB };
  test = await TestShell.open(fileEngine({ dir: '/data', files: disk, threads, ...sizes }), {
    servingThreads: threads,
  });
});

async function done(...args: string[]): Promise<string> {
  const { code, out, err } = await test.run(...args);
  expect([code, err], args.join(' ')).toEqual([0, '']);
  return out;
}

const status = async () =>
  ndjson(await test.run('status', '--json'))[0] as { seq: number; first_seq: number };

/** Without what is that of now, and so not shown of an earlier moment, and how long ago things were; columns are as wide as their words. */
const settled = (text: string): string =>
  text
    .replace(/^(log|unwatched for|disk|time|in line) .*\n/gm, '')
    .replace(/^(server .*), leader$/m, '$1')
    .replace(/^(last commit .*) \(.*\)$/m, '$1')
    .replace(/ +/g, ' ');

describe('a read with --at-seq or --at', () => {
  it('shows nothing of now as the status of then', async () => {
    await done('task', 'add', '1', '--id', 't1');
    const { out } = await test.run('status', '--at-seq', '2');
    expect(out.split('\n').map((line) => line.split('  ', 1)[0])).toEqual([
      ...['server', 'log', 'last commit', 'guard', 'tasks', 'leases', 'sessions', ''],
    ]);
  });

  it('prints what it printed then, however much has happened since', async () => {
    await done('task', 'add', '{"n":1}', '--id', 't1', '--queue', 'mail');
    await done('queue', 'pause', 'mail');
    await done('lease', 'acquire', 'door', '--holder', 'anna', '--ttl', '10m', '--token-file', './token');
    await done('object', 'put', 'door', '{"open":false}', '--lease-seq', '4');
    await done('schedule', 'set', 'nightly', '{}', '--cron', '0 3 * * *');
    await done('session', 'start', 'live', 'one', '--profile', 'low');
    const { seq } = await status();
    const then = new Map<string, string>();
    for (const read of READS) then.set(read.join(' '), settled(await done(...read)));
    const at = new Date(test.world.clock.wallMs()).toISOString();

    await test.world.advance(3_600_000);
    await done('task', 'kill', 't1', '--reason', 'no', '--yes');
    await done('queue', 'resume', 'mail');
    await done('schedule', 'rm', 'nightly');
    await done('session', 'stop', 's00000000007');
    await done('lease', 'acquire', 'door', '--holder', 'bert', '--ttl', '10m', '--token-file', './token');
    for (const read of READS) {
      for (const moment of [
        ['--at-seq', String(seq)],
        ['--at', at],
        ['--at', '60m'],
      ]) {
        const { code, out, err } = await test.run(...read, ...moment);
        const says = [...read, ...moment].join(' ');
        expect([code, err], says).toEqual([0, `As of seq ${seq}, ${at}:\n`]);
        expect(settled(out), says).toBe(then.get(read.join(' ')));
      }
    }
    const run = await test.run('task', 'show', 't1', '--json', '--at-seq', String(seq));
    expect([ndjson(run)[0], run.err]).toMatchObject([{ task_id: 't1', state: 'WAITING' }, '']);
  });

  it('says so before the log begins', async () => {
    const { code, out, err } = await test.run('status', '--at', '2001-01-01T00:00:00Z');
    expect([code, err]).toEqual([0, 'Before the log begins:\n']);
    expect(out).toMatch(/^log +not begun: it has no entry at that time\n/m);
    expect(out).not.toMatch(/1970|seq 0/);
  });

  it('is offered by every command that reads the state, and by no other', async () => {
    const program = await makeProgram(test.shell(), null);
    const commands = program.commands.flatMap((command) => [command, ...command.commands]);
    const offering = commands.filter(({ options }) => options.some(({ long }) => long === '--at-seq'));
    const named = offering.map((command) =>
      [command.parent === program ? '' : command.parent!.name(), command.name()].filter(Boolean).join(' '),
    );
    expect(named.toSorted()).toEqual(
      READS.map(([one, two]) => [one, two].filter(Boolean).join(' ')).toSorted(),
    );
  });

  it('is wrong usage beyond the end of the log, with both options, and for what is no moment', async () => {
    const beyond = await test.run('status', '--at-seq', '999');
    expect([beyond.code, beyond.out]).toEqual([2, '']);
    expect(beyond.err).toMatch(
      /^leasehold: INVALID_ARGUMENT: The log ends at \d+; 999 is beyond its end\.\n$/,
    );
    for (const args of [
      ['--at-seq', '1', '--at', '1h'],
      ['--at-seq', 'x'],
      ['--at', 'yesterday'],
    ])
      expect((await test.run('task', 'ls', ...args)).code, args.join(' ')).toBe(2);
    test = await TestShell.open();
    expect(await test.run('status', '--at-seq', '1')).toMatchObject({
      code: 2,
      err: expect.stringContaining('shows no earlier moments'),
    });
  });

  it('says from where on the log is kept when it no longer reaches back that far', async () => {
    for (let first = 1; first === 1; { first_seq: first } = await status())
      await done('task', 'add', JSON.stringify('x'.repeat(8 * KIB)));
    // A compaction that is still running may move the beginning between two looks at it.
    let first_seq: number;
    let gone: CommandRun;
    do {
      ({ first_seq } = await status());
      gone = await test.run('task', 'ls', '--at-seq', '1');
    } while ((await status()).first_seq !== first_seq);
    expect([gone.code, gone.out]).toEqual([1, '']);
    expect(gone.err).toBe(
      `leasehold: LOG_COMPACTED: The log no longer reaches back that far. It begins at ${first_seq}.\n`,
    );
  });
});
