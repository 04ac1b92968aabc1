// The commands that talk to a server, against an authority in memory: what they ask, what they print, how they leave.
import { beforeEach, describe, expect, it } from 'vitest';
import { isSettled } from '../../test/support/manual-world.ts';
import { ndjson, TestShell } from '../../test/support/test-shell.ts';
import { Json } from '../protocol/json.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';

let test: TestShell;

beforeEach(async () => {
  test = await TestShell.open();
});

/** A lease that another client holds for ten minutes. */
async function held(name: string, holder = 'anna'): Promise<number> {
  const grant = await test.world.finish(test.lh.call('lease.acquire', { name, holder, ttl_ms: 600_000 }));
  if (!grant.ok) throw new Error(grant.detail);
  return grant.lease_seq;
}

describe('a command that fails', () => {
  it('says why in one sentence, or with --json in one object', async () => {
    expect(await test.run('task', 'show', 'none')).toEqual({
      code: 1,
      out: '',
      err: 'leasehold: TASK_NOT_FOUND: There is no such task.\n',
    });
    const { code, out, err } = await test.run('task', 'show', 'none', '--json');
    expect([code, out]).toEqual([1, '']);
    expect(JSON.parse(err)).toEqual({
      code: 'TASK_NOT_FOUND',
      message: 'There is no such task.',
      exit_code: 1,
    });
  });

  it('says with --json in one object what is wrong about the command line, too', async () => {
    for (const args of [['--no-such-option'], ['--limit', 'many'], ['--server', 'ftp://x']]) {
      const { code, out, err } = await test.run('--json', 'task', 'ls', ...args);
      expect([code, out]).toEqual([2, '']);
      expect(JSON.parse(err)).toMatchObject({ code: 'WRONG_USAGE', exit_code: 2 });
    }
  });

  it('does not take the --json of another program for its own', async () => {
    const { err } = await test.run('work', 'q', '--server', 'ftp://x', '--', 'program', '--json');
    expect(err).toMatch(/^leasehold: ftp:/);
  });
});

describe('task add', () => {
  it('makes a task and says where it waits', async () => {
    const run = await test.run('task', 'add', '{"a":1}', '--queue', 'mail', '--id', 'mine');
    expect(run).toEqual({ code: 0, out: 'mine waits in queue mail, durable at seq 2.\n', err: '' });
    expect(await test.run('task', 'add', '{"a":1}', '--queue', 'mail', '--id', 'mine')).toMatchObject({
      code: 0,
      out: 'mine is there already in queue mail, durable at seq 2.\n',
    });
  });

  it('passes on everything it is told', async () => {
    const args = ['--queue', 'q', '--id', 't', '--priority', '-5', '--delay', '2m', '--dedup', 'key'];
    await test.run('task', 'add', 'null', ...args);
    const [task] = ndjson(await test.run('task', 'show', 't', '--json'));
    expect(task).toMatchObject({ queue: 'q', priority: -5, dedup_key: 'key', state: 'WAITING' });
    expect(Date.parse(String(task!.due_at)) - Date.parse(String(task!.created_at))).toBe(120_000);
  });

  it('does not cut a long --backoff, unless --max-backoff says so', async () => {
    const retryOf = async (id: string, ...args: string[]) => {
      await test.run('task', 'add', '1', '--id', id, ...args);
      return ndjson(await test.run('task', 'show', id, '--json'))[0]!.retry;
    };
    expect(await retryOf('long', '--backoff', '1h')).toMatchObject({
      backoff_ms: 3_600_000,
      max_backoff_ms: 3_600_000,
    });
    expect(await retryOf('short', '--backoff', '4m')).toMatchObject({
      backoff_ms: 240_000,
      max_backoff_ms: 300_000,
    });
    expect(await retryOf('told', '--backoff', '1h', '--max-backoff', '2h')).toMatchObject({
      max_backoff_ms: 7_200_000,
    });
  });

  it('keeps the payload byte for byte, from the command line and from standard input', async () => {
    const payload = '{"b":1.0, "a":12345678901234567890,"__proto__":null}';
    await test.run('task', 'add', payload, '--id', 'one');
    test.input = `${payload}\n`;
    await test.run('task', 'add', '-', '--id', 'two');
    for (const id of ['one', 'two']) {
      expect((await test.run('task', 'show', id, '--json')).out).toContain(`"payload":${payload},`);
    }
  });

  it('prints the reply as one object with --json, as it travels', async () => {
    const [reply] = ndjson(await test.run('task', 'add', '1', '--json'));
    expect(reply).toMatchObject({ state: 'WAITING', attempt: 0, seq: 2, queue: 'default' });
    expect(reply).not.toHaveProperty('ok');
  });

  it('exits with 2 when the payload is not JSON, and calls no server', async () => {
    const run = await test.run('task', 'add', 'hello');
    expect(run.code).toBe(2);
    expect(run.err).toMatch(/^leasehold: The payload is not JSON .*\n$/);
    expect((await test.world.finish(test.lh.status())).seq).toBe(1);
  });

  it('leaves with 1 and the code of the refusal when it is refused', async () => {
    await test.run('task', 'add', '1', '--id', 'mine');
    const run = await test.run('task', 'add', '2', '--id', 'mine');
    expect(run).toEqual({
      code: 1,
      out: '',
      err: expect.stringMatching(/^leasehold: TASK_ID_CONFLICT: .+\n$/),
    });
  });
});

describe('task ls', () => {
  it('follows the cursor to the end, and stops at the limit', async () => {
    for (let count = 0; count < 450; count++) {
      await test.world.finish(test.lh.call('task.create', { payload: count }));
    }
    expect(ndjson(await test.run('task', 'ls', '--json'))).toHaveLength(450);
    expect(ndjson(await test.run('task', 'ls', '--json', '--limit', '201'))).toHaveLength(201);
  });

  it('prints one object a line with --json, whatever line breaks a payload has between its tokens', async () => {
    test.input = '{\r\n  "a": "x\\n"\n}';
    await test.run('task', 'add', '-', '--id', 'one');
    await test.run('task', 'add', '-', '--id', 'two');
    const lists = [
      ['task', 'ls'],
      ['task', 'history', 'one'],
      ['log', 'tail', '--from', '1'],
    ];
    for (const list of lists) {
      const payloads = ndjson(await test.run(...list, '--json')).map(({ payload }) => payload);
      expect(payloads, list.join(' ')).toContainEqual({ a: 'x\n' });
    }
    expect((await test.run('task', 'show', 'one', '--json')).out).toContain(`"payload":${test.input},`);
  });

  it('shows a table, and takes states in small letters', async () => {
    await test.run('task', 'add', '{"a":1}', '--queue', 'mail', '--id', 'mine');
    await test.run('task', 'kill', 'mine', '--reason', 'wrong\u001b[31m address');
    await test.run('task', 'add', '2', '--id', 'other');
    const run = await test.run('task', 'ls', '--state', 'dead');
    expect(run.out.split('\n')).toEqual([
      'ID    QUEUE  STATE  ATTEMPT  CREATED  WHAT',
      'mine  mail   DEAD   0        now      wrong\\x1b[31m address',
      '',
    ]);
  });

  it('says so when there is nothing, and prints nothing at all with --json', async () => {
    expect((await test.run('task', 'ls')).out).toBe('There are no such tasks.\n');
    expect((await test.run('task', 'ls', '--json')).out).toBe('');
  });

  it('leaves with 2 for a state that is none', async () => {
    expect(await test.run('task', 'ls', '--state', 'nowhere')).toMatchObject({ code: 2, out: '' });
  });
});

describe('task show, why, history and kill', () => {
  it('tell everything about one task', async () => {
    await test.run('task', 'add', '{"a":1}', '--id', 'mine');
    expect((await test.run('task', 'why', 'mine')).out).toMatch(/^WAITING_FOR_WORKER: /);
    await test.world.finish(test.lh.call('task.lease', { worker_id: 'w' }));
    expect((await test.run('task', 'show', 'mine')).out).toMatch(/^task +mine\nstate +LEASED\n/);
    expect((await test.run('task', 'kill', 'mine', '--reason', 'no')).out).toMatch(/^mine is DEAD/);
    const types = ndjson(await test.run('task', 'history', 'mine', '--json')).map(({ type }) => type);
    expect(types).toEqual(['TaskCreated', 'LeaseGranted', 'TaskDead']);
  });

  it('call the reason of an earlier failure that, and not the reason of how the task stands', async () => {
    await test.run('task', 'add', '{"n":1}', '--id', 'mine', '--backoff', '0');
    const { lh, world } = test;
    const lease = async (): Promise<string> => {
      const reply = await world.finish(lh.call('task.lease', { worker_id: 'w' }));
      return reply.ok ? reply.leases[0]!.lease_id : '';
    };
    const failed = { task_id: 'mine', lease_id: await lease(), reason: 'the first try' };
    await world.finish(lh.call('task.fail', failed));
    const shown = async () => (await test.run('task', 'show', 'mine')).out;
    expect(await shown()).toMatch(/^last failure +the first try$/m);
    await world.finish(lh.call('task.complete', { task_id: 'mine', lease_id: await lease() }));
    expect(await shown()).toMatch(/^state +COMPLETED\n(?:.+\n)*last failure +the first try$/m);
    expect((await test.run('task', 'ls')).out).toContain('{"n":1}');
    await test.run('task', 'add', '2', '--id', 'killed');
    await test.run('task', 'kill', 'killed', '--reason', 'not wanted');
    expect((await test.run('task', 'show', 'killed')).out).toMatch(/^reason +not wanted$/m);
  });

  it('exit with 1 for an unknown task', async () => {
    for (const verb of ['show', 'why', 'history']) {
      expect(await test.run('task', verb, 'nobody')).toMatchObject({
        code: 1,
        err: expect.stringMatching(/^leasehold: TASK_NOT_FOUND: /),
      });
    }
  });

  it('say of the history of a purged task where it is still shown', async () => {
    await test.run('task', 'kill', 'mine', '--reason', 'wrong');
    await test.run('task', 'purge', '--state', 'DEAD', '--reason', 'personal data', '--yes');
    expect((await test.run('task', 'history', 'mine')).err).toBe(
      'leasehold: TASK_NOT_FOUND: There is no such task. One that was purged or forgotten is shown as it was by `leasehold task show mine --at 2h`, as far as the log reaches.\n',
    );
  });

  it('want a reason to kill', async () => {
    expect(await test.run('task', 'kill', 'mine')).toMatchObject({ code: 2, out: '' });
  });
});

describe('lease', () => {
  it('acquires, prints the grant with its token, and releases by it', async () => {
    const [grant] = ndjson(
      await test.run('lease', 'acquire', 'door', '--holder', 'anna', '--ttl', '15s', '--json'),
    );
    expect(grant).toMatchObject({ name: 'door', holder: 'anna', lease_seq: 2, remaining_ms: 15_000 });
    test.files.set('/token', `${grant!.token}\n`);
    const release = await test.run('lease', 'release', 'door', '--holder', 'anna', '--token-file', '/token');
    expect(release).toMatchObject({ code: 0, out: expect.stringContaining('door is free') });
    const again = await test.run(
      'lease',
      'release',
      'door',
      '--holder',
      'anna',
      '--token-file',
      '/token',
      '--json',
    );
    expect(ndjson(again)[0]).toMatchObject({ released: false });
  });

  it('puts the token into a file, and then shows it nowhere', async () => {
    const args = ['lease', 'acquire', 'door', '--holder', 'anna', '--ttl', '15s', '--token-file', '/token'];
    const run = await test.run(...args, '--json');
    const token = test.files.get('/token')!.trim();
    expect(token.length).toBeGreaterThan(15);
    expect(run.out).not.toContain(token);
    test.input = token;
    const renew = ['lease', 'renew', 'door', '--holder', 'anna', '--ttl', '1m', '--token-file', '-'];
    expect((await test.run(...renew)).out).toBe('door is yours for another 1m 00s, lease_seq 2.\n');
  });

  it('leaves with 2 for a token file that is not there', async () => {
    const { shell } = test;
    const read = (path: string) =>
      Promise.reject(Object.assign(new Error(`ENOENT: ${path}`), { code: 'ENOENT' }));
    test.shell = () => ({ ...shell.call(test), files: { ...shell.call(test).files, read } });
    for (const words of [['release'], ['renew', '--ttl', '1m']]) {
      expect(await test.run('lease', ...words, 'door', '--holder', 'anna', '--token-file', '/nope')).toEqual({
        code: 2,
        out: '',
        err: 'leasehold: /nope (--token-file) cannot be used: there is no such file.\n',
      });
    }
  });

  it('exits with 73 when another holder has it, and touches no file', async () => {
    await held('door');
    const run = await test.run(
      'lease',
      'acquire',
      'door',
      '--holder',
      'b',
      '--ttl',
      '1s',
      '--token-file',
      '/t',
    );
    expect(run).toMatchObject({ code: 73, out: '', err: expect.stringMatching(/^leasehold: LEASE_HELD: /) });
    expect(test.files.size).toBe(0);
  });

  it('waits in line as long as it is told', async () => {
    await test.world.finish(test.lh.call('lease.acquire', { name: 'door', holder: 'anna', ttl_ms: 60_000 }));
    const args = ['lease', 'acquire', 'door', '--holder', 'boris', '--ttl', '1s'];
    expect(await test.run(...args)).toMatchObject({
      code: 73,
      err: 'leasehold: LEASE_HELD: door is held by anna for another 1m 00s unless it is renewed. --wait 1m waits in line for it.\n',
    });
    const impatient = test.start(...args, '--wait', '59s');
    await test.world.advance(59_000);
    expect(await test.world.finish(impatient)).toMatchObject({
      code: 73,
      err: expect.not.stringContaining('--wait'),
    });
    const patient = test.start(...args, '--wait', '2s');
    await test.world.advance(999);
    expect(await isSettled(patient)).toBe(false);
    await test.world.advance(1);
    expect(await test.world.finish(patient)).toMatchObject({ code: 0 });
  });

  it('lists, shows, breaks and tells the history', async () => {
    const seq = await held('door');
    await held('window');
    expect((await test.run('lease', 'ls', '--prefix', 'do')).out).toMatch(/\ndoor +anna +2 +10m 00s\n$/);
    expect(ndjson(await test.run('lease', 'ls', '--json'))).toHaveLength(2);
    expect((await test.run('lease', 'show', 'door')).out).toMatch(/^lease +door\nholder +anna\n/);
    const wrong = await test.run('lease', 'break', 'door', '--reason', 'x', '--lease-seq', String(seq + 1));
    expect(wrong.code).toBe(1);
    expect((await test.run('lease', 'break', 'door', '--reason', 'x')).out).toMatch(/^anna has lost door/);
    expect(await test.run('lease', 'show', 'door')).toMatchObject({ code: 1 });
    const types = ndjson(await test.run('lease', 'history', 'door', '--json')).map(({ type }) => type);
    expect(types).toEqual(['NameLeased', 'NameBroken']);
  });

  it('shows the first ten who wait for one, and for a free one where to look', async () => {
    await held('door');
    const line = (count: number) =>
      Array.from({ length: count }, (_, at) => {
        const names = at === 1 ? ['door', 'window'] : ['door'];
        const want = { names, holder: `host-${at}`, ttl_ms: 1_000, wait_ms: 30_000 };
        return test.lh.call('lease.acquire_all', want);
      });
    const waiting = line(12);
    await test.world.advance(2_000);
    const { out } = await test.run('lease', 'show', 'door');
    const shown = out.split('\n').slice(6, -1);
    expect(shown.slice(0, 3)).toEqual([
      'waiting    host-0, joined 2.0s ago, waits another 28.0s',
      '           host-1, joined 2.0s ago, waits another 28.0s, together with window',
      '           host-2, joined 2.0s ago, waits another 28.0s',
    ]);
    expect([shown.length, shown.at(-1)]).toEqual([11, '           and 2 more']);
    await test.world.advance(30_000);
    await Promise.all(waiting);
    expect((await test.run('lease', 'show', 'window')).err).toBe(
      'leasehold: LEASE_NOT_FOUND: The lease is not held. `leasehold lease history window` shows who held it.\n',
    );
  });

  it('says that none are held, and with which prefix', async () => {
    expect((await test.run('lease', 'ls')).out).toBe('No leases are held.\n');
    await held('door');
    expect((await test.run('lease', 'ls', '--prefix', 'win')).out).toBe(
      'No leases with the prefix win are held.\n',
    );
  });
});

describe('object', () => {
  it('writes under a lease, and gives back byte for byte what was written', async () => {
    const seq = await held('door');
    const value = '{"b":1.0, "a":12345678901234567890}';
    const put = await test.run('object', 'put', 'door', value, '--lease-seq', String(seq));
    expect(put.out).toMatch(/^door has version 1/);
    expect((await test.run('object', 'get', 'door')).out).toBe(`${value}\n`);
    const whole = await test.run('object', 'get', 'door', '--json');
    expect(whole.out).toContain(`"value":${value}`);
    expect(ndjson(whole)[0]).toMatchObject({ object_id: 'door', version: 1, lease_seq: seq });
    const stale = ['object', 'delete', 'door', '--lease-seq', String(seq), '--if-version', '7'];
    expect((await test.run(...stale)).err).toMatch(/^leasehold: VERSION_MISMATCH: /);
    expect(await test.run('object', 'delete', 'door', '--lease-seq', String(seq))).toMatchObject({ code: 0 });
    expect((await test.run('object', 'get', 'door')).err).toMatch(/^leasehold: OBJECT_NOT_FOUND: /);
  });

  it('takes the lease from the environment under `run`, name and holder included', async () => {
    const seq = await held('door');
    Object.assign(test.env, {
      LEASEHOLD_LEASE_NAME: 'door',
      LEASEHOLD_LEASE_SEQ: String(seq),
      LEASEHOLD_HOLDER: 'anna',
    });
    expect(await test.run('object', 'put', 'door', '1')).toMatchObject({ code: 0 });
    expect((await test.run('object', 'put', 'window', '1')).err).toMatch(/LEASE_OBJECT_MISMATCH/);
    test.env.LEASEHOLD_HOLDER = 'boris';
    expect((await test.run('object', 'put', 'door', '1')).err).toMatch(/LEASE_HOLDER_MISMATCH/);
  });

  it('does not take the lease of a task for one of a name', async () => {
    await held('door');
    test.env.LEASEHOLD_LEASE_SEQ = '2';
    expect((await test.run('object', 'put', 'door', '1')).err).toBe(
      'leasehold: WRITE_UNFENCED: The write carries no lease. Give its number with --lease-seq, or write under `leasehold run door`.\n',
    );
  });
});

describe('receipts', () => {
  it('are one JSON document in the shape of fencing_rejection_receipts.json', async () => {
    const seq = await held('door');
    await test.run('object', 'put', 'door', '1', '--lease-seq', String(seq - 1));
    await test.run('object', 'put', 'door', '1');
    const whole = await test.run('receipts', '--json', '--output', '/receipts.json');
    const { receipts } = JSON.parse(whole.out) as { receipts: Record<string, unknown>[] };
    expect(receipts.map(({ code }) => code)).toEqual(['WRITE_UNFENCED', 'WRITE_STALE_FENCE']);
    expect(receipts[1]).toMatchObject({
      object_id: 'door',
      presented_lease_seq: seq - 1,
      current_fence: seq,
      holder_id: null,
    });
    expect(JSON.parse(test.files.get('/receipts.json')!)).toEqual({ receipts });
    const filtered = await test.run('receipts', '--code', 'WRITE_UNFENCED', '--object', 'door');
    expect(filtered.out.trimEnd().split('\n')).toHaveLength(2);
  });

  it('that there are none of says whether any were asked for', async () => {
    expect((await test.run('receipts')).out).toBe('No write has been refused.\n');
    await test.run('object', 'put', 'door', '1');
    const other = await test.run('receipts', '--code', 'LEASE_EXPIRED');
    expect(other.out).toBe('No such write has been refused.\n');
    expect(await test.run('receipts', '--code', 'NOPE')).toMatchObject({ code: 2, out: '' });
  });

  it('go to standard output for -, as JSON and into no file', async () => {
    await test.run('object', 'put', 'door', '1');
    const shown = await test.run('receipts', '--out', '-');
    expect(JSON.parse(shown.out)).toMatchObject({ receipts: [{ code: 'WRITE_UNFENCED' }] });
    const [line, ...more] = ndjson(await test.run('receipts', '--out', '-', '--json'));
    expect([line, more]).toEqual([JSON.parse(shown.out), []]);
    expect([...test.files.keys()]).toEqual([]);
  });

  it('are none before anything was refused', async () => {
    expect((await test.run('receipts')).out).toBe('No write has been refused.\n');
    expect((await test.run('receipts', '--json')).out).toBe('{"receipts":[]}\n');
    expect([...test.files.keys()]).not.toContain('fencing_rejection_receipts.json');
    const written = await test.run('receipts', '--output');
    expect(written.out).toBe('0 receipts are in fencing_rejection_receipts.json.\n');
    expect(JSON.parse(test.files.get('fencing_rejection_receipts.json')!)).toEqual({ receipts: [] });
  });
});

describe('queue, status and workers', () => {
  it('sets the limits of a queue, and shows them', async () => {
    const limit = (...args: string[]) => test.run('queue', 'limit', 'mail', ...args);
    expect((await limit('--max-leased', '5', '--rate', '10/1s', '--per-key')).out).toBe(
      'The limits of mail: 5 leased, 10/1s a key; durable at seq 2.\n',
    );
    expect((await limit('--max-leased-per-key', '1')).out).toMatch('mail: 5 leased, 1 a key, 10/1s a key;');
    expect((await limit()).out).toBe('The limits of mail: 5 leased, 1 a key, 10/1s a key.\n');
    expect((await test.run('queue', 'ls')).out).toMatch(/mail .* 5 leased, 1 a key, 10\/1s a key/);
    expect((await limit('--none', '--rate', '3/500ms')).out).toMatch('mail: 3/500ms;');
    expect((await limit('--none')).out).toMatch('mail: none;');
    for (const wrong of [
      ['--rate', '10'],
      ['--rate', '0/1s'],
      ['--rate', '1/0s'],
      ['--rate', '1/1'],
      ['--per-key'],
    ])
      expect((await limit(...wrong)).code).toBe(2);
  });

  it('show what each worker polls and holds, and which one is silent', async () => {
    await test.run('task', 'add', '1', '--queue', 'mail');
    await test.world.finish(
      test.lh.call('task.lease', { worker_id: 'w', queues: ['mail'], ttl_ms: 600_000 }),
    );
    await test.world.advance(61_000);
    await test.world.finish(test.lh.call('worker.heartbeat', { worker_id: 'late' }));
    const { out } = await test.run('workers');
    expect(out).toMatch(/\nlate +- +0 +- +now\nw +mail +1 +t\w+ +silent for 1m 01s\n$/);
  });

  it('show what is there, and pause and resume', async () => {
    await test.run('task', 'add', '1', '--queue', 'mail');
    expect((await test.run('queue', 'pause', 'mail')).out).toBe('mail is paused, durable at seq 3.\n');
    expect((await test.run('queue', 'ls')).out).toMatch(/\nmail +1 +0 +0 +0 +0 +paused\n$/);
    expect((await test.run('queue', 'resume', 'mail')).out).toMatch(/^mail is resumed/);
    expect(ndjson(await test.run('queue', 'ls', '--json'))).toMatchObject([{ queue: 'mail', paused: false }]);
    await test.world.finish(test.lh.call('worker.heartbeat', { worker_id: 'w' }));
    expect((await test.run('workers')).out).toMatch(/\nw +- +0 +- +now\n$/);
    expect(ndjson(await test.run('status', '--json'))[0]).toMatchObject({ role: 'leader', seq: 4 });
    expect((await test.run('status')).out).toMatch(/^server +http:\/\/127\.0\.0\.1:7420, leader\n/);
    const worker = new AbortController();
    const waiting = test.lh.call(
      'task.lease',
      { worker_id: 'w', wait_ms: 60_000 },
      { signal: worker.signal },
    );
    expect((await test.run('status')).out).toMatch(/^in line +1 waiting for a lease or a task$/m);
    worker.abort();
    await expect(test.world.finish(waiting)).rejects.toThrow();
  });

  it('shows how far the time of the server is off the wall clock', async () => {
    expect((await test.run('status')).out).toMatch(/^time +agrees with the wall clock$/m);
    test.world.setWall(test.world.wallMs + 7_200_000);
    expect((await test.run('status')).out).toMatch(/^time +2h 00m behind the wall clock$/m);
    expect(ndjson(await test.run('status', '--json'))[0]).toMatchObject({ clock_off_ms: -7_200_000 });
  });
});

describe('log tail', () => {
  it('prints the newest entries, or all from a position on', async () => {
    for (const id of ['a', 'b', 'c']) await test.run('task', 'add', '1', '--id', id);
    const seqs = async (...args: string[]) =>
      ndjson(await test.run('log', 'tail', '--json', ...args)).map(({ seq }) => seq);
    expect(await seqs('-n', '2')).toEqual([3, 4]);
    expect(await seqs('--from', '1')).toEqual([1, 2, 3, 4]);
    expect(await seqs('--from', '9')).toEqual([]);
    expect(await seqs('--from', '2', '-n', '2')).toEqual([2, 3]);
    expect(await seqs('--from', '2', '-n', '9')).toEqual([2, 3, 4]);
    expect(await test.run('log', 'tail', '--from', '2', '-n', '2', '-f')).toMatchObject({ code: 2 });
    expect((await test.run('log', 'tail', '-n', '1')).out).toContain('TaskCreated  task_id=c');
  });

  it('prints the newest of some types, and goes on with those', async () => {
    for (const id of ['a', 'b', 'c']) await test.run('task', 'add', '1', '--id', id);
    await test.run('queue', 'pause', 'q');
    const ids = async (...args: string[]) =>
      ndjson(await test.run('log', 'tail', '--json', '--type', 'TaskCreated', ...args)).map(
        ({ task_id }) => task_id,
      );
    expect(await ids('-n', '2')).toEqual(['b', 'c']);
    expect(await ids('--from', '3')).toEqual(['b', 'c']);
    expect(await ids('--from', '1', '-n', '2')).toEqual(['a', 'b']);
    expect((await test.run('log', 'tail', '--type', 'Nothing')).code).toBe(2);
    const tail = test.start(
      'log',
      'tail',
      '-f',
      '--json',
      '-n',
      '1',
      '--type',
      'TaskCreated',
      'QueueResumed',
    );
    await test.world.settle();
    await test.world.finish(test.lh.call('queue.pause', { queue: 'another' }));
    await test.world.finish(test.lh.call('queue.resume', { queue: 'q' }));
    await test.world.settle();
    test.signal('SIGINT');
    expect(ndjson(await test.world.finish(tail)).map(({ type }) => type)).toEqual([
      'TaskCreated',
      'QueueResumed',
    ]);
  });

  it('follows until a signal comes, and then leaves with 0', async () => {
    const tail = test.start('log', 'tail', '-f', '--json', '--from', '1');
    await test.world.settle();
    await test.world.finish(test.lh.call('task.create', { payload: Json.text('[\n1]'), task_id: 'late' }));
    await test.world.settle();
    test.signal('SIGINT');
    const run = await test.world.finish(tail);
    expect(run.code).toBe(0);
    expect(ndjson(run).map(({ type }) => type)).toEqual(['EpochStarted', 'TaskCreated']);
  });
});

describe('top', () => {
  it('prints one screen without a terminal', async () => {
    await test.run('task', 'add', '1', '--queue', 'mail');
    await held('door');
    const { out } = await test.run('top');
    expect(out).toContain('tasks 1 waiting, 0 leased');
    expect(out).toMatch(/\nmail +1 +0/);
    expect(out).toMatch(/\ndoor +anna/);
    expect(out).not.toContain('\u001b');
    expect(ndjson(await test.run('top', '--json'))[0]).toMatchObject({
      status: { seq: 3 },
      queues: [{ queue: 'mail' }],
      leases: [{ name: 'door' }],
      workers: [],
    });
  });

  it('draws every second on a terminal, with rates, until q is pressed', async () => {
    test.out.isTerminal = true;
    const top = test.start('top');
    await test.world.settle();
    expect(test.out.take()).toContain('\u001b[?1049h');
    await test.world.finish(test.lh.call('task.create', { payload: 1 }));
    await test.world.advance(1_000);
    const screen = test.out.take();
    expect(screen).toContain('(+1.0 entries/s)');
    test.press('q');
    expect((await test.world.finish(top)).out).toContain('\u001b[?1049l');
    expect(test.world.holds).toBe(0);
  });
});

describe('explain', () => {
  it('knows the codes that only the client says', async () => {
    const run = await test.run('explain', 'LEASE_LOST');
    expect(run.out).toMatch(/^LEASE_LOST \(reported by the client\)\n/);
    expect(run.out).toContain('What to do');
  });

  it('explains a code, however it is written', async () => {
    const run = await test.run('explain', 'write-stale-fence');
    expect(run.out).toMatch(/^WRITE_STALE_FENCE \(status 412\)\n/);
    expect(run.out).toContain('What to do');
    expect(ndjson(await test.run('explain', 'LEASE_HELD', '--json'))[0]).toMatchObject({
      code: 'LEASE_HELD',
      status: 409,
      retry: 'later',
      when: expect.any(String),
      todo: expect.any(String),
    });
  });

  it('explains why a task ended, and the details of reasons', async () => {
    const { code, out } = await test.run('explain', 'ATTEMPTS_EXHAUSTED');
    expect([code, out]).toEqual([0, expect.stringMatching(/a task ended DEAD[\s\S]*max_attempts/)]);
    expect((await test.run('explain', 'REJECTED_NO_TUNER')).out).toMatch(/^R_NO_TUNER \(/);
  });

  it('explains why a session ended', async () => {
    const { code, out } = await test.run('explain', 'r-no-tuner');
    expect(code).toBe(0);
    expect(out).toMatch(/^R_NO_TUNER \(a session ended FAILED\)\nNo slot was free\.\n/);
    expect(out).toContain('What to do');
    expect(ndjson(await test.run('explain', 'R_SHUTDOWN', '--json'))[0]).toMatchObject({
      code: 'R_SHUTDOWN',
      state: 'STOPPED',
      when: expect.any(String),
      todo: expect.any(String),
    });
  });

  it('lists them all', async () => {
    const listed = ndjson(await test.run('explain', '--json'));
    expect(listed).toContainEqual(
      expect.objectContaining({ code: 'LEASE_HELD', status: 409, retry: 'later' }),
    );
    expect(listed).toContainEqual({ code: 'UNREACHABLE', says: 'No server answered.' });
    expect(listed).toContainEqual({ code: 'R_NO_TUNER', state: 'FAILED', says: 'No slot was free.' });
    expect((await test.run('explain')).out).toMatch(/^R_NO_TUNER +- +- +No slot was free\.$/m);
  });

  it.each([
    ['STALE_FENCE', 'Did you mean WRITE_STALE_FENCE?'],
    ['LEASE_HELT', 'Did you mean LEASE_HELD?'],
    ['R_NO_TUNNER', 'Did you mean R_NO_TUNER?'],
    ['IDLE_TIMEOUT', 'Did you mean R_IDLE_TIMEOUT?'],
    ['lease-losst', 'Did you mean LEASE_LOST?'],
    ['NONSENSE', '`leasehold explain` lists them all.'],
    ['', '`leasehold explain` lists them all.'],
  ])('asks of %j which was meant', async (word, says) => {
    expect(await test.run('explain', word)).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining(says),
    });
  });
});

describe('work', () => {
  it.each([
    ['a lease that is too short', ['q', '--ttl', '1ms'], /between 10ms and 30d 0h/],
    ['a lease that is too long', ['q', '--ttl', '31d'], /between 10ms and 30d 0h/],
    ['a queue without a name', [''], /The queue has no name/],
  ])('exits with 2 for %s, and sends no request', async (_, words, says) => {
    const run = await test.run('work', ...words, '--', 'true');
    expect(run).toEqual({ code: 2, out: '', err: expect.stringMatching(says) });
    expect(test.servers).toEqual([]);
  });
});

describe('a directory', () => {
  it.each([
    ['serve', '--data', ''],
    ['up', '--log-dir', ''],
    ['doctor', '--data', ''],
    ['backup', ''],
    ['wal', 'verify', ''],
    ['wal', 'restore', '', 'there'],
    ['bench', '--dir', ''],
  ])('without a name is wrong usage, and not where one happens to be: %s %s', async (...words) => {
    const run = await test.run(...words);
    expect(run).toEqual({ code: 2, out: '', err: expect.stringContaining('It must name a directory.') });
    expect(test.servers).toEqual([]);
  });
});

describe('the server of a command', () => {
  it('is the one it is told, then the one of the environment, then the usual one', async () => {
    await test.run('status');
    Object.assign(test.env, { LEASEHOLD_URL: 'http://env:1', LEASEHOLD_TOKEN: 'secret' });
    await test.run('status');
    await test.run('status', '--server', 'http://here:2', '--token', 'mine');
    await test.run('--server', 'http://above:3', 'status');
    await test.run('--server', 'http://above:3', 'task', 'ls', '--server', 'http://here:4');
    expect(test.servers).toEqual([
      { url: 'http://127.0.0.1:7420', token: null },
      { url: 'http://env:1', token: 'secret' },
      { url: 'http://here:2', token: 'mine' },
      { url: 'http://above:3', token: 'secret' },
      { url: 'http://here:4', token: 'secret' },
    ]);
  });

  it('is wrong usage when it is no URL, or has in it what does not belong there', async () => {
    for (const url of ['localhost:7420', 'ftp://x', 'http://', '', 'http://x/?a', 'http://x/#a']) {
      expect(await test.run('status', '--server', url)).toMatchObject({ code: 2, out: '' });
    }
    const { code, err } = await test.run('status', '--server', 'http://me:secret@x');
    expect([code, err]).toEqual([2, expect.not.stringContaining('secret')]);
  });

  it('is shown no token that is none: that is wrong usage too', async () => {
    for (const token of ['a\nb', 'a b', 'ä', '']) {
      const says = 'leasehold: The token must be visible ASCII characters without spaces.\n';
      expect(await test.run('status', '--token', token)).toEqual({ code: 2, out: '', err: says });
    }
  });

  it('is reported missing in one sentence when no server answers', async () => {
    const { shell } = test;
    test.shell = () => ({
      ...shell.call(test),
      connect: async () => {
        throw new LeaseholdError('UNREACHABLE', 'connect ECONNREFUSED');
      },
    });
    expect(await test.run('status')).toEqual({
      code: 1,
      out: '',
      err: 'leasehold: No leasehold server answers at http://127.0.0.1:7420. Start one with `leasehold up`, or name another with --server or LEASEHOLD_URL. A data directory that a program has opened with open() has no server.\n',
    });
  });

  it('that knows no such token is told with where tokens are given', async () => {
    const { shell } = test;
    test.shell = () => ({
      ...shell.call(test),
      connect: async () => {
        throw new LeaseholdError('UNAUTHENTICATED', 'No known token.');
      },
    });
    expect((await test.run('status')).err).toBe(
      'leasehold: UNAUTHENTICATED: No known token. No token was sent: give one with --token or LEASEHOLD_TOKEN.\n',
    );
    expect((await test.run('status', '--token', 'other')).err).toBe(
      'leasehold: UNAUTHENTICATED: No known token. The server does not know the token of --token or LEASEHOLD_TOKEN.\n',
    );
  });

  it('keeps no command that is done, when it does not answer what is still under way', async () => {
    const { shell } = test;
    const lh = Object.assign(test.lh, { close: () => new Promise(() => undefined) });
    test.shell = () => ({ ...shell.call(test), connect: async () => lh });
    const status = test.start('status');
    await test.world.advance(999);
    expect(await isSettled(status)).toBe(false);
    await test.world.advance(1);
    expect(await test.world.finish(status)).toMatchObject({ code: 0 });
    expect(test.endsWhenDone).toBe(true);
  });

  it('may speak TLS, when it cuts a connection without', async () => {
    const { shell } = test;
    const cut = Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' });
    test.shell = () => ({
      ...shell.call(test),
      connect: async () => {
        throw new LeaseholdError('UNREACHABLE', 'The connection was closed.', { cause: cut });
      },
    });
    expect((await test.run('status')).err).toContain(
      'if the server speaks TLS, its URL begins with https://',
    );
    expect((await test.run('status', '--server', 'https://127.0.0.1:7420')).err).not.toContain('TLS');
  });

  it('is told from one whose certificate is not trusted', async () => {
    const { shell } = test;
    const tls = Object.assign(new Error('self-signed certificate'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
    const says = 'No connection to https://x could be made: self-signed certificate.';
    test.shell = () => ({
      ...shell.call(test),
      connect: async () => {
        throw new LeaseholdError('UNREACHABLE', says, { cause: new Error(says, { cause: tls }) });
      },
    });
    const { code, err } = await test.run('status');
    expect([code, err]).toEqual([
      1,
      `leasehold: The server at http://127.0.0.1:7420 cannot be reached: ${says} (DEPTH_ZERO_SELF_SIGNED_CERT); set NODE_EXTRA_CA_CERTS=FILE to a file (PEM) with the authority that signed its certificate\n`,
    ]);
  });
});

describe('task add --stdin-lines', () => {
  it('counts on a terminal, and nowhere else', async () => {
    test.input = Array.from({ length: 2_500 }, (_, at) => `${at}`).join('\n');
    test.err.isTerminal = true;
    expect(await test.run('task', 'add', '--stdin-lines')).toEqual({
      code: 0,
      out: '2500 tasks were added.\n',
      err: '\r\u001b[K1000 added\r\u001b[K2000 added\r\u001b[K',
    });
    test.err.isTerminal = false;
    expect(await test.run('task', 'add', '--stdin-lines', '--queue', 'quiet')).toMatchObject({ err: '' });
  });

  it('tells the first refusals of a kind and counts the others, and with --json tells each', async () => {
    test.input = `1\n${'no\n'.repeat(7)}${'2\n'.repeat(6)}`;
    for (let line = 9; line < 15; line++) await test.run('task', 'add', '0', '--id', `same-${line}`);
    const add = ['task', 'add', '--stdin-lines', '--id', 'same'];
    const { code, err } = await test.run(...add);
    const lines = err.split('\n');
    expect([code, lines.filter((line) => /: Line \d+ is not JSON/.test(line)).length]).toEqual([1, 5]);
    expect(lines.filter((line) => /: Line \d+: TASK_ID_CONFLICT: /.test(line))).toHaveLength(5);
    expect(lines.slice(10)).toEqual([
      'leasehold: 2 more lines: not JSON. --json tells each.',
      'leasehold: 1 more line: TASK_ID_CONFLICT. --json tells each.',
      'leasehold: 1 task was added.',
      'leasehold: 13 lines were not added.',
      '',
    ]);
    expect((await test.run(...add, '--json')).err.match(/: Line \d+/g)).toHaveLength(13);
  });
});

describe('operating one task', () => {
  async function run(...args: string[]): Promise<string> {
    const { code, out, err } = await test.run('task', ...args);
    return code === 0 ? out : `${code}: ${err}`;
  }

  it('cancels one that waits, and runs it again as a new one, once', async () => {
    await run('add', '1', '--id', 'first', '--queue', 'mail', '--key', 'anna');
    expect(await run('requeue', 'first')).toContain('1: leasehold: TASK_NOT_ENDED');
    expect(await run('cancel', 'first')).toMatch(/^2: .*--reason/);
    expect(await run('cancel', 'first', '--reason', 'wrong')).toBe('first is cancelled, durable at seq 3.\n');
    expect(await run('cancel', 'first', '--reason', 'wrong')).toBe(
      'first was cancelled before; it is DEAD.\n',
    );
    expect(await run('add', '1', '--id', 'first')).toContain(
      'has ended: DEAD (CANCELLED). No task was created; `leasehold',
    );
    expect(await run('requeue', 'first', '--id', 'second', '--reason', 'right')).toBe(
      'second runs first again in queue mail, durable at seq 4.\n',
    );
    expect(await run('requeue', 'first')).toBe(
      'first was requeued before, as second, which is WAITING. No task was created.\n',
    );
    const shown = await run('show', 'first');
    expect(shown).toMatch(/requeued +this one → second \(WAITING\)/);
    expect(shown).toMatch(/reason +CANCELLED: wrong/);
    expect(await run('show', 'second')).toMatch(/requeued +first \(DEAD\) → this one/);
  });

  it('shows the progress of one that runs, and that it is to end', async () => {
    await run('add', '1', '--id', 'long');
    const lease = await test.world.finish(test.lh.call('task.lease', { worker_id: 'w', ttl_ms: 60_000 }));
    if (!lease.ok) throw new Error(lease.detail);
    const { lease_id } = lease.leases[0]!;
    const save = (value: unknown) =>
      test.world.finish(
        test.lh.call('task.checkpoint', { task_id: 'long', lease_id, value: Json.of(value) }),
      );
    await save({ done: 2, total: 3 });
    expect(await run('show', 'long')).toMatch(/progress +2 of 3 \(66 %\)/);
    await save([7]);
    expect(await run('cancel', 'long', '--reason', 'enough')).toContain(
      'its worker is told with the next renewal',
    );
    expect(await run('show', 'long')).toMatch(
      /cancelled +requested; the task ends with its lease[\s\S]*checkpoint +\[7\]/,
    );
    await test.world.advance(60_000);
    const dead = await run('show', 'long');
    expect(dead).toMatch(/reason +CANCELLED: enough/);
    expect(dead).not.toContain('requested; the task ends');
  });

  it('changes the place of one that waits', async () => {
    await run('add', '1', '--id', 'late', '--delay', '1h');
    expect(await run('change', 'late')).toMatch(/^2: .*--priority, --to-queue or --delay/);
    expect(await run('change', 'late', '--delay', '0', '--priority', '5', '--queue', 'fast')).toMatch(
      /^late waits in queue fast, priority 5, due \d{4}-/,
    );
  });

  it('finds tasks by key, worker and time, oldest or newest first', async () => {
    const ids = async (...args: string[]): Promise<unknown[]> =>
      ndjson(await test.run('task', 'ls', '--json', ...args)).map(({ task_id }) => task_id);
    for (const id of ['a', 'b', 'c']) {
      await run('add', '1', '--id', id, '--key', id === 'b' ? 'bob' : 'ada');
      await test.world.advance(60_000);
    }
    expect(await ids('--key', 'ada')).toEqual(['a', 'c']);
    expect(await ids('--order', 'newest', '--limit', '2')).toEqual(['c', 'b']);
    expect(await ids('--since', '90s')).toEqual(['c']);
    expect(await ids('--until', new Date(test.world.wallMs - 150_000).toISOString())).toEqual(['a']);
    await test.world.finish(test.lh.call('task.lease', { worker_id: 'w', ttl_ms: 60_000 }));
    expect(await ids('--worker', 'w')).toEqual(['a']);
    expect((await test.run('task', 'ls', '--since', 'yesterday')).code).toBe(2);
  });
});
