// The commands that act on all tasks that match: dry run, question, progress, interruption, refusals.
import { PassThrough } from 'node:stream';
import { beforeEach, describe, expect, it } from 'vitest';
import { type CommandRun, ndjson, TestShell } from '../../test/support/test-shell.ts';

let test: TestShell;

beforeEach(async () => {
  test = await TestShell.open();
});

const numbered = (count: number): string[] => Array.from({ length: count }, (_, index) => `t${index}`);
const create = (ids: readonly string[], queue = 'mail'): Promise<unknown> =>
  test.world.finish(
    Promise.all(ids.map((task_id) => test.lh.call('task.create', { task_id, payload: 1, queue }))),
  );
const kill = (task_id: string): Promise<unknown> =>
  test.world.finish(test.lh.call('task.kill', { task_id, reason: 'broken' }));
const inState = async (state: 'WAITING' | 'DEAD'): Promise<number> =>
  ndjson(await test.run('task', 'ls', '--state', state, '--json')).length;

const MAIL = ['--queue', 'mail', '--reason', 'for a test'];

describe('task cancel, requeue, kill, change and purge by filter', () => {
  it('do nothing without --yes where no person can be asked, and say what matches', async () => {
    await create(['a', 'b']);
    expect(await test.run('task', 'cancel', ...MAIL)).toEqual({
      code: 2,
      out: '',
      err: 'leasehold: 2 tasks match: 2 would be cancelled. Nothing was done; add --yes to do it without being asked.\n',
    });
    expect(await test.run('task', 'cancel', ...MAIL, '--dry-run')).toMatchObject({
      code: 0,
      out: '2 tasks would be cancelled, 0 refused.\n',
    });
    expect(await inState('WAITING')).toBe(2);
    expect(await test.run('task', 'cancel', ...MAIL, '--yes')).toEqual({
      code: 0,
      out: '2 tasks were cancelled, 0 refused.\n',
      err: '',
    });
  });

  it('need an option that chooses, and a reason', async () => {
    expect(await test.run('task', 'requeue', '--reason', 'r')).toMatchObject({ code: 2 });
    expect(await test.run('task', 'purge', '--queue', 'q')).toMatchObject({ code: 2 });
    expect(await test.run('task', 'kill', 't', '--queue', 'q', '--reason', 'r')).toMatchObject({ code: 2 });
    expect(await test.run('task', 'change', ...MAIL)).toMatchObject({ code: 2 });
  });

  it('tell which tasks are refused, and leave with 1', async () => {
    await create(['done', 'waiting']);
    await kill('done');
    const run = await test.run('task', 'kill', ...MAIL, '--yes');
    expect(run).toEqual({
      code: 1,
      out: '1 task was killed, 1 refused.\n',
      err: 'leasehold: TASK_TERMINAL: done\nleasehold: 1 task could not be killed.\n',
    });
    const { code, out } = await test.run('task', 'kill', ...MAIL, '--yes', '--json');
    expect([code, JSON.parse(out)]).toMatchObject([1, { matched: 2, changed: 0, refused: [{}, {}] }]);
  });

  it('tell many refusals with one line for each code, and all of them as JSON', async () => {
    await create(numbered(1_200));
    const change = ['task', 'change', ...MAIL, '--priority', '1', '--yes'];
    await test.run('task', 'cancel', ...MAIL, '--yes');
    expect((await test.run(...change)).err).toBe(
      'leasehold: TASK_NOT_WAITING: 1200 tasks, for example t0, t1, t2, t3, t4\nleasehold: 1200 tasks could not be changed.\n',
    );
    expect(JSON.parse((await test.run(...change, '--json')).out).refused).toHaveLength(1_200);
  });

  it('say what would match in another state when none does in that one', async () => {
    await create(['a', 'b', 'c']);
    await kill('c');
    const cancel = ['task', 'cancel', ...MAIL, '--state', 'LEASED'];
    expect(await test.run(...cancel)).toEqual({
      code: 0,
      out: '0 tasks were cancelled, 0 refused.\n',
      err: 'leasehold: No task in state LEASED matches, but there are 2 in state WAITING.\n',
    });
    const none = ['task', 'requeue', ...MAIL, '--state', 'FAILED', '--key', 'k'];
    expect(await test.run(...none)).toMatchObject({ code: 0, err: '' });
  });

  it('change, requeue and purge what is chosen by state, reason and time', async () => {
    await create(['a', 'b']);
    const change = ['--to-queue', 'slow', '--priority', '-5', '--delay', '10s'];
    await test.run('task', 'change', ...MAIL, '--since', '1h', ...change, '--yes');
    expect(await test.world.finish(test.lh.tasks.get('a'))).toMatchObject({ queue: 'slow', priority: -5 });
    await kill('a');
    const dead = ['--state', 'dead', '--reason-is', 'broken', '--reason', 'mended'];
    expect(await test.run('task', 'requeue', ...dead, '--to-queue', 'again', '--yes')).toMatchObject({
      out: '1 task was requeued, 0 refused.\n',
    });
    expect(ndjson(await test.run('task', 'ls', '--queue', 'again', '--json'))).toMatchObject([
      { requeued_from: 'a' },
    ]);
    expect(await test.run('task', 'purge', ...dead, '--ended-since', '1h', '--yes')).toMatchObject({
      code: 0,
    });
    expect(await inState('DEAD')).toBe(0);
  });
});

/** Creates tasks and ends each of them in the state. */
async function end(ids: readonly string[], state: 'COMPLETED' | 'FAILED' | 'DEAD'): Promise<void> {
  await create(ids);
  if (state === 'DEAD') {
    for (const id of ids) await kill(id);
    return;
  }
  const lease = { worker_id: 'w', ttl_ms: 60_000, max: ids.length, queues: ['mail'] };
  const leased = await test.world.finish(test.lh.call('task.lease', lease));
  if (!leased.ok) throw new Error(leased.detail);
  for (const { task_id, lease_id } of leased.leases) {
    const verdict =
      state === 'COMPLETED'
        ? test.lh.call('task.complete', { task_id, lease_id })
        : test.lh.call('task.fail', { task_id, lease_id, reason: 'no answer', retry: false });
    expect(await test.world.finish(verdict)).toMatchObject({ ok: true });
  }
}

const originsOf = async (...args: string[]): Promise<unknown[]> =>
  ndjson(await test.run('task', 'ls', '--state', 'WAITING', '--json', ...args)).map(
    ({ requeued_from }) => requeued_from,
  );

describe('task requeue without --state', () => {
  beforeEach(async () => {
    await end(['sent1', 'sent2'], 'COMPLETED');
    await end(['killed'], 'DEAD');
    await end(['bad1', 'bad2'], 'FAILED');
  });

  it('requeues failed and dead tasks, never completed ones, and says how many there are of each', async () => {
    const requeue = ['task', 'requeue', ...MAIL];
    expect((await test.run(...requeue)).err).toMatch(
      /^leasehold: 3 tasks match \(2 FAILED, 1 DEAD\): 3 would be requeued\. /,
    );
    expect((await test.run(...requeue, '--dry-run')).out).toBe(
      '3 tasks would be requeued (2 FAILED, 1 DEAD), 0 refused.\n',
    );
    expect(JSON.parse((await test.run(...requeue, '--dry-run', '--json')).out)).toEqual({
      matched: 3,
      matched_by_state: { FAILED: 2, DEAD: 1 },
      changed: 0,
      refused: [],
    });
    expect(await test.run(...requeue, '--yes')).toEqual({
      code: 0,
      out: '3 tasks were requeued, 0 refused.\n',
      err: '',
    });
    expect(await originsOf()).toEqual(['bad1', 'bad2', 'killed']);
    expect((await test.run(...requeue)).err).toBe(
      'leasehold: No task in state FAILED or DEAD is left to requeue, but there are 2 in state COMPLETED.\n',
    );
  });

  it('requeues completed ones when their state is named', async () => {
    await test.run('task', 'requeue', ...MAIL, '--state', 'COMPLETED', '--yes');
    expect(await originsOf()).toEqual(['sent1', 'sent2']);
  });

  it('needs the state that a cursor belongs to', async () => {
    const run = await test.run('task', 'requeue', ...MAIL, '--cursor', '0-9', '--yes');
    expect([run.code, run.err]).toEqual([2, expect.stringContaining('give its --state too')]);
    expect(await originsOf()).toEqual([]);
  });
});

describe('task purge without --state', () => {
  it('forgets ended tasks, and those that have not ended are no refusals', async () => {
    await end(['sent'], 'COMPLETED');
    await end(['killed'], 'DEAD');
    await create(['waiting']);
    expect(await test.run('task', 'purge', ...MAIL, '--yes')).toEqual({
      code: 0,
      out: '2 tasks were purged, 0 refused.\n',
      err: '',
    });
    expect(ndjson(await test.run('task', 'ls', '--json')).map(({ task_id }) => task_id)).toEqual(['waiting']);
  });
});

describe('on a terminal', () => {
  beforeEach(() => {
    test.err.isTerminal = true;
  });

  /** Starts a command up to its question. */
  async function asked(): Promise<{ readonly running: Promise<CommandRun> }> {
    test.typed = new PassThrough();
    const running = test.start('task', 'cancel', ...MAIL);
    await test.world.settle();
    expect(test.err.text).toMatch(/ would be cancelled\. Go on\? \[y\/N\] $/);
    return { running };
  }

  it('a person is asked, and sees a bar', async () => {
    await create(numbered(1_200));
    const { running } = await asked();
    // What comes after the count is not touched.
    await create(['later']);
    test.typed!.write('y\n');
    const run = await test.world.finish(running);
    expect(run).toMatchObject({ code: 0, out: '1200 tasks were cancelled, 0 refused.\n' });
    expect(run.err).toContain('1200 tasks match: 1200 would be cancelled. Go on? [y/N] ');
    expect(run.err).toContain('█ 1200 of 1200');
    expect(test.typed!.isPaused()).toBe(true);
    expect(await inState('WAITING')).toBe(1);
  });

  it.each(['y\n', 'Y\n', 'yes\n', 'YES\r\n', ' y \n'])('goes on after the line %j', async (line) => {
    await create(['a']);
    const { running } = await asked();
    test.typed!.write(line);
    expect(await test.world.finish(running)).toMatchObject({ code: 0 });
    expect(await inState('WAITING')).toBe(0);
  });

  it.each(['\n', 'n\n', 'no\n', 'yy\n', 'yesterday\n'])('stops after the line %j', async (line) => {
    await create(['a']);
    const { running } = await asked();
    test.typed!.write(line);
    const run = await test.world.finish(running);
    expect([run.code, run.err]).toEqual([1, expect.stringMatching(/leasehold: Nothing was done\.\n$/)]);
    expect(await inState('WAITING')).toBe(1);
  });

  it('stops at the end of the input and on a signal', async () => {
    await create(['a']);
    const ended = await asked();
    test.typed!.end();
    expect(await test.world.finish(ended.running)).toMatchObject({ code: 1 });
    const signalled = await asked();
    test.signal('SIGINT');
    const run = await test.world.finish(signalled.running);
    expect([run.code, run.err]).toEqual([130, expect.stringContaining('Stopped before anything was done.')]);
    expect(await inState('WAITING')).toBe(1);
  });
});

describe('a signal', () => {
  it('stops after the call under way, and what is printed continues', async () => {
    await create(numbered(2_500));
    const running = test.start('task', 'kill', '--queue', 'mail', '--reason', "it's over", '--yes');
    // Time stands still, so the command comes as far as its first call.
    const unheard = test.signal;
    for (let turn = 0; turn < 1_000 && test.signal === unheard; turn++) await new Promise(setImmediate);
    test.signal('SIGINT');
    const { code, err } = await test.world.finish(running);
    expect(code).toBe(130);
    expect(err).toMatch(
      /^leasehold: Stopped: 1000 tasks were killed, 0 refused\. Continue with:\n {2}leasehold task kill --queue mail --reason 'it'\\''s over' --cursor \d+-\d+ --yes\n$/,
    );
    const cursor = /--cursor (\S+)/.exec(err)![1]!;
    await create(['later']);
    const rest = await test.run('task', 'kill', ...MAIL, '--cursor', cursor, '--yes');
    expect(rest.out).toBe('1500 tasks were killed, 0 refused.\n');
    expect(await inState('WAITING')).toBe(1);
  });

  it('in the first of several states prints a command for each, which leave new tasks alone', async () => {
    const failed = numbered(1_001);
    await end(failed.slice(0, 600), 'FAILED');
    await end(failed.slice(600), 'FAILED');
    await end(['killed'], 'DEAD');
    const running = test.start('task', 'requeue', ...MAIL, '--yes');
    const unheard = test.signal;
    for (let turn = 0; turn < 1_000 && test.signal === unheard; turn++) await new Promise(setImmediate);
    test.signal('SIGINT');
    const { code, err } = await test.world.finish(running);
    const commands = [...err.matchAll(/^ {2}leasehold (.* --state (\w+) .* --cursor (\S+) --yes)$/gm)];
    expect([code, commands.map(([, , state]) => state)]).toEqual([130, ['FAILED', 'DEAD']]);
    // What was requeued and is dead before the rest is done is not requeued again.
    const [again] = ndjson(await test.run('task', 'ls', '--state', 'WAITING', '--limit', '1', '--json'));
    await kill(String(again!.task_id));
    for (const [, words] of commands) {
      const run = await test.run(...words!.replace("'for a test'", 'test').split(' '));
      expect(run).toMatchObject({ code: 0, out: '1 task was requeued, 0 refused.\n' });
    }
    expect(new Set(await originsOf()).size).toBe(1_001);
  });
});
