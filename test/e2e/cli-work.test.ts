// `leasehold work` with real programs: payloads and results byte for byte, exit codes as verdicts, draining, and
// programs that lose their lease or their worker.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Body, CliBench, isAlive, type Process, until } from '../support/cli-processes.ts';

let bench: CliBench;
/** A queue of this test's own, and a file for its programs to write to. */
let queue: string;
let mark: string;
let queues = 0;

beforeAll(async () => {
  bench = new CliBench();
  await bench.serve();
});

afterAll(() => bench.close());

beforeEach(() => {
  queues += 1;
  queue = `queue-${queues}`;
  mark = join(bench.dir, `mark-${queues}`);
});

async function add(payload: unknown, more: object = {}): Promise<string> {
  return (await bench.post('/v1/tasks', { payload, queue, ...more })).task_id;
}

function work(script: string, ...options: string[]): Process {
  return bench.start(['work', queue, ...options, '--', 'bash', '-c', script, 'bash', mark]);
}

/** The task once it is in one of these states. */
async function reaches(id: string, ...states: string[]): Promise<Body> {
  let task: Body;
  await until(`${id} in ${states}`, async () => {
    task = await bench.get(`/v1/tasks/${id}`);
    return states.includes(task.state);
  });
  return task;
}

async function drained(worker: Process): Promise<void> {
  worker.kill('SIGTERM');
  expect(await worker.ended).toMatchObject({ status: 0 });
}

/** What the server has, without a parser in between. */
async function textOf(id: string): Promise<string> {
  return (await fetch(`${bench.url}/v1/tasks/${id}`)).text();
}

describe('a program that takes longer than --timeout', () => {
  it('is ended with all it has started, and its task has failed', async () => {
    const id = await add(1, { retry: { max_failures: 1 } });
    const worker = work('echo $$ > "$1"; sleep 600', '--timeout', '2s');
    expect(await reaches(id, 'FAILED')).toMatchObject({
      reason: 'The program took longer than --timeout allows (2.0s), and was ended.',
    });
    expect(isAlive(Number(readFileSync(mark, 'utf8')))).toBe(false);
    await drained(worker);
  });
});

describe('the payload and the result', () => {
  it('pass through byte for byte', async () => {
    const payload = '{"b":1.0, "a":12345678901234567890,"__proto__":"\\u00fc"}';
    const added = await bench.run(['task', 'add', payload, '--queue', queue, '--id', `${queue}-bytes`]);
    expect(added.status).toBe(0);
    const worker = work('tee "$1"');
    await reaches(`${queue}-bytes`, 'COMPLETED');
    expect(readFileSync(mark, 'utf8')).toBe(payload);
    const text = await textOf(`${queue}-bytes`);
    expect(text).toContain(`"payload":${payload}`);
    expect(text).toContain(`"result":${payload}`);
    await drained(worker);
  });

  it('are a string for text, and nothing for nothing', async () => {
    const [text, number, none] = [await add('text'), await add('number'), await add('none')];
    const worker = work(`case "$(cat)" in *text*) echo hello world;; *number*) echo ' 42 ';; esac`);
    expect((await reaches(text, 'COMPLETED')).result).toBe('hello world');
    expect((await reaches(number, 'COMPLETED')).result).toBe(42);
    expect(await reaches(none, 'COMPLETED')).not.toHaveProperty('result');
    await drained(worker);
  });

  it('need not be read', async () => {
    const id = await add('x'.repeat(200_000));
    const worker = work('exit 0');
    await reaches(id, 'COMPLETED');
    await drained(worker);
  });

  it('fail the task when the result is too large', async () => {
    const id = await add(1, { retry: { max_failures: 1 } });
    const worker = work('head -c 1000000 /dev/zero | tr "\\0" x');
    expect((await reaches(id, 'FAILED')).reason).toContain('1000000 bytes');
    await drained(worker);
  });
});

describe('the program', () => {
  it('finds the task in its environment, and no lease that is not its own', async () => {
    const id = await add(1);
    const worker = bench.start(
      ['work', queue, '--', 'bash', '-c', 'env | grep ^LEASEHOLD_ | sort > "$0.new"; mv "$0.new" "$0"', mark],
      { env: { LEASEHOLD_LEASE_NAME: 'outer', LEASEHOLD_HOLDER: 'outer', LEASEHOLD_TOKEN_FILE: '/outer' } },
    );
    const task = await reaches(id, 'COMPLETED');
    expect(readFileSync(mark, 'utf8').trim().split('\n')).toEqual([
      'LEASEHOLD_ATTEMPT=1',
      expect.stringMatching(/^LEASEHOLD_CHECKPOINT_FILE=\//),
      `LEASEHOLD_LEASE_SEQ=${task.leases[0].lease_seq}`,
      `LEASEHOLD_QUEUE=${queue}`,
      `LEASEHOLD_TASK_ID=${id}`,
      `LEASEHOLD_URL=${bench.url}`,
    ]);
    await drained(worker);
  });

  it('hands the task back with 75, which is no failure', async () => {
    const id = await add(1);
    const worker = work('[ "$LEASEHOLD_ATTEMPT" = 1 ] && exit 75; exit 0');
    const task = await reaches(id, 'COMPLETED');
    expect(task).toMatchObject({ attempt: 2, failures: 0 });
    expect(task.leases.map(({ end }: Body) => end)).toContain('release');
    await drained(worker);
  });

  it('fails the task with anything else, and what it said last is the reason', async () => {
    const retry = { max_failures: 1 };
    const [code, signal, quiet] = [
      await add('code', { retry }),
      await add('signal', { retry }),
      await add('', { retry }),
    ];
    const worker = work(
      `case "$(cat)" in *code*) printf 'one\\n\\033[31mtwo\\033[0m\\n' >&2; exit 3;; *signal*) kill -9 $$;; esac; exit 4`,
    );
    expect((await reaches(code, 'FAILED')).reason).toBe('one\ntwo');
    expect((await reaches(signal, 'FAILED')).reason).toBe('The program was ended by SIGKILL.');
    expect((await reaches(quiet, 'FAILED')).reason).toBe('The program left with code 4.');
    expect(worker.stderr).toContain('two');
    await drained(worker);
    expect(worker.stderr).toContain(`${code} failed for good (1 of 1), exit code 3: two\n`);
    expect(worker.stderr).toContain(`${quiet} failed for good (1 of 1): The program left with code 4.\n`);
  });

  it('tells a failure that is tried again from one that is final', async () => {
    const id = await add(1, { retry: { max_failures: 2, backoff_ms: 60_000 } });
    const worker = work('echo no >&2; exit 9');
    await worker.says(/failed \(1 of 2\), tried again in \d+\.\ds, exit code 9: no\n/);
    await bench.run(['task', 'change', id, '--delay', '0']);
    await worker.says(/failed for good \(2 of 2\), exit code 9: no\n/);
    await drained(worker);
  });

  it('that does not exist is told before any task is taken', async () => {
    const id = await add(1);
    const run = await bench.run(['work', queue, '--quiet', '--', 'no-such-program']);
    expect(run).toMatchObject({ status: 127, stderr: 'leasehold: no-such-program was not found.\n' });
    expect(await bench.get(`/v1/tasks/${id}`)).toMatchObject({ state: 'WAITING', attempt: 0 });
    expect((await bench.run(['work', queue, '--', '/etc/passwd'])).status).toBe(126);
  });

  it('runs beside others up to the concurrency', async () => {
    const [first, second] = [await add('a'), await add('b')];
    // Each waits for the other to be there.
    const script = `name=$(tr -d '"'); touch "$1-$name"; until [ -e "$1-a" ] && [ -e "$1-b" ]; do sleep 0.02; done`;
    const worker = work(script, '--concurrency', '2', '--json');
    await Promise.all([reaches(first, 'COMPLETED'), reaches(second, 'COMPLETED')]);
    await drained(worker);
    const verdicts = worker.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(verdicts.map(({ task_id }) => task_id).sort()).toEqual([first, second].sort());
    expect(verdicts[0]).toMatchObject({ queue, verb: 'complete', outcome: 'COMMITTED', attempt: 1 });
  });
});

/** Says who it is, and goes on for ever, whatever it is asked. */
const STUBBORN = `trap '' TERM INT; echo $$ > "$1.new"; mv "$1.new" "$1"; while :; do sleep 0.05; done`;

/** Who runs with this file among their arguments, the worker itself included. */
function programsOf(file: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => isAlive(pid) && commandLineOf(pid).split('\0').includes(file));
}

function commandLineOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    // It ended while we looked.
    return '';
  }
}

async function startStubborn(...options: string[]): Promise<{ worker: Process; id: string; pid: number }> {
  const id = await add(1);
  const worker = work(STUBBORN, ...options);
  await until('the program', () => existsSync(mark));
  return { worker, id, pid: Number(readFileSync(mark, 'utf8')) };
}

describe('a program', () => {
  it('is ended when its lease is lost', async () => {
    const { worker, id, pid } = await startStubborn('--ttl', '1500ms');
    await bench.post(`/v1/tasks/${id}/kill`, { reason: 'test' });
    await until('the end of the program', () => !isAlive(pid));
    await worker.says(/came too late/);
    expect((await reaches(id, 'DEAD')).reason).toBe('test');
    await drained(worker);
  });

  it('is ended when the worker is killed', async () => {
    const { worker, id, pid } = await startStubborn('--ttl', '2s');
    worker.kill('SIGKILL');
    await until('the end of the program', () => !isAlive(pid));
    // What it had just begun gets the same signal, and need not be dead in the same moment.
    await until('the end of all programs', () => programsOf(mark).length === 0);
    await reaches(id, 'WAITING');
  });

  it('is ended when the worker is stopped past its lease', async () => {
    const { worker, id, pid } = await startStubborn('--ttl', '2s');
    worker.kill('SIGSTOP');
    await until('the end of the program', () => !isAlive(pid));
    worker.kill('SIGCONT');
    await worker.says(/came too late|handed back/);
    expect(await bench.get(`/v1/tasks/${id}`)).toMatchObject({ failures: 0 });
    // It may be just about to start the next program: that one must not be left behind either.
    worker.kill('SIGKILL');
    await until('the end of all programs', () => programsOf(mark).length === 0);
  });
});

describe('SIGTERM', () => {
  it('lets a running program finish, takes no other task, and leaves with 0', async () => {
    const first = await add(1);
    const worker = work('touch "$1"; until [ -e "$1.go" ]; do sleep 0.02; done; echo done');
    await until('the program', () => existsSync(mark));
    const second = await add(2);
    worker.kill('SIGTERM');
    writeFileSync(`${mark}.go`, '');
    expect(await worker.ended).toMatchObject({ status: 0 });
    expect((await reaches(first, 'COMPLETED')).result).toBe('done');
    expect((await bench.get(`/v1/tasks/${second}`)).state).toBe('WAITING');
  });

  it('ends and hands back what does not finish within the grace', async () => {
    const { worker, id, pid } = await startStubborn('--grace', '100ms');
    worker.kill('SIGTERM');
    expect(await worker.ended).toMatchObject({ status: 0 });
    expect(isAlive(pid)).toBe(false);
    const task = await bench.get(`/v1/tasks/${id}`);
    expect(task).toMatchObject({ state: 'WAITING', failures: 0 });
    expect(task.leases[0].end).toBe('release');
  });

  it('sent twice waits for nothing', async () => {
    const { worker, id, pid } = await startStubborn('--grace', '10m');
    worker.kill('SIGTERM');
    worker.kill('SIGINT');
    expect(await worker.ended).toMatchObject({ status: 0 });
    expect(isAlive(pid)).toBe(false);
    expect(await bench.get(`/v1/tasks/${id}`)).toMatchObject({ state: 'WAITING', failures: 0 });
  });
});

describe('--exit-when-empty', () => {
  it('leaves with 0 when all its tasks are done', async () => {
    const ids = [await add(1), await add(2), await add(3)];
    const worker = work('sleep 0.2; echo done', '--exit-when-empty', '--concurrency', '2');
    expect(await worker.ended).toMatchObject({ status: 0 });
    for (const id of ids) expect(await bench.get(`/v1/tasks/${id}`)).toMatchObject({ state: 'COMPLETED' });
  });

  it('leaves at once when there is nothing', async () => {
    expect(await work('true', '--exit-when-empty').ended).toMatchObject({ status: 0 });
  });
});

describe('a program whose task is cancelled', () => {
  it('gets SIGTERM, and its task is dead unless it leaves with 0', async () => {
    const id = await add(1);
    const worker = work(
      `trap 'echo bye >> "$1"; exit 3' TERM; touch "$1"; while :; do sleep 0.02; done`,
      '--ttl',
      '3s',
    );
    await until('the program', () => existsSync(mark));
    await bench.post(`/v1/tasks/${id}/cancel`, { reason: 'enough' });
    const task = await reaches(id, 'DEAD');
    expect(task).toMatchObject({ reason: 'CANCELLED', reason_detail: 'enough', attempt: 1 });
    expect(readFileSync(mark, 'utf8')).toBe('bye\n');
    await worker.says(/was cancelled/);
  });

  it('is killed when it does not heed that within the grace', async () => {
    const id = await add(1);
    work(`trap '' TERM; touch "$1"; while :; do sleep 0.02; done`, '--ttl', '3s', '--grace', '300ms');
    await until('the program', () => existsSync(mark));
    await bench.post(`/v1/tasks/${id}/cancel`, { reason: 'enough' });
    expect(await reaches(id, 'DEAD')).toMatchObject({ reason: 'CANCELLED' });
  });
});

describe('LEASEHOLD_CHECKPOINT_FILE', () => {
  it('has what the attempt before saved, by a rename or in place', async () => {
    const id = await add(1);
    work(
      `f="$LEASEHOLD_CHECKPOINT_FILE"; echo "[$(cat "$f")]" >> "$1"
       save() { echo "$1" > "$f.new"; mv "$f.new" "$f"; }
       case "$LEASEHOLD_ATTEMPT" in
         1) echo '"in place"' > "$f"; exit 75;;
         2) save 1; save '{"done":2,"total":3}'; save 7; exit 75;;
         3) echo 8 > "$f"; exit 4;;
       esac`,
    );
    await reaches(id, 'COMPLETED');
    expect(readFileSync(mark, 'utf8')).toBe('[]\n["in place"]\n[7]\n[8]\n');
  });

  it('is reported when what was written in place is not JSON', async () => {
    await add(1, { retry: { max_failures: 1 } });
    const worker = work('printf "{" > "$LEASEHOLD_CHECKPOINT_FILE"; exit 4');
    await worker.says(/The checkpoint of .* was not saved: it is not JSON[\s\S]*failed for good/);
  });

  it('is looked at while the program runs, and gone afterwards', async () => {
    const id = await add(1);
    const worker = work(
      `f="$LEASEHOLD_CHECKPOINT_FILE"; echo "$f" > "$1"; echo nothing > "$f.new"; mv "$f.new" "$f"
       until [ -e "$1.go" ]; do sleep 0.02; done; echo '{"done":1}' > "$f.new"; mv "$f.new" "$f"
       until [ -e "$1.end" ]; do sleep 0.02; done`,
    );
    await worker.says(/The checkpoint of .* was not saved: it is not JSON/);
    writeFileSync(`${mark}.go`, '');
    await until('the checkpoint', async () => (await bench.get(`/v1/tasks/${id}`)).checkpoint?.done === 1);
    writeFileSync(`${mark}.end`, '');
    await reaches(id, 'COMPLETED');
    expect(existsSync(dirname(readFileSync(mark, 'utf8').trim()))).toBe(false);
  });
});

describe('a second Ctrl-C', () => {
  it('ends the program at once, and hands its task back', async () => {
    const id = await add(1);
    const worker = work('touch "$1"; exec sleep 600', '--grace', '10m');
    await until('the program', () => existsSync(mark));
    await worker.interruptAgainAndAgain();
    expect(await worker.ended).toMatchObject({ status: 0 });
    expect(await bench.get(`/v1/tasks/${id}`)).toMatchObject({ state: 'WAITING' });
  });
});

describe('one Ctrl-C under npm', () => {
  it('drains, although SIGINT comes twice', async () => {
    const id = await add(1);
    const worker = work('touch "$1"; until [ -e "$1.go" ]; do sleep 0.02; done; echo done', '--json');
    await until('the program', () => existsSync(mark));
    await worker.interruptAsNpmDoes();
    writeFileSync(`${mark}.go`, '');
    expect(await worker.ended).toMatchObject({ status: 0, signal: null });
    expect(JSON.parse(worker.stdout)).toMatchObject({ task_id: id, verb: 'complete', outcome: 'COMMITTED' });
    expect(await bench.get(`/v1/tasks/${id}`)).toMatchObject({
      state: 'COMPLETED',
      result: 'done',
      attempt: 1,
    });
  });
});

describe('the server', () => {
  it('may go and come back while a worker waits', async () => {
    const worker = work('echo back');
    await worker.says(/works on/);
    await bench.stopServer('SIGTERM');
    await bench.serve();
    const id = await add(1);
    expect((await reaches(id, 'COMPLETED')).result).toBe('back');
    await drained(worker);
  });
});
