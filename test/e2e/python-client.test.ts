// clients/python against a real server: leases, workers and what becomes of them when processes are paused or killed.
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CliBench, until } from '../support/cli-processes.ts';
import { debianProgram } from '../support/debian-program.ts';
import { blocksOf } from '../support/page-blocks.ts';
import { WireProxy } from '../support/wire-proxy.ts';

const PACKAGE = fileURLToPath(new URL('../../clients/python', import.meta.url));

let python3: string;
let bench: CliBench;
let programs: Program[];

beforeAll(() => {
  python3 = debianProgram('python3', ['python3']);
});

beforeEach(async () => {
  bench = new CliBench();
  programs = [];
  await bench.serve();
});

afterEach(async () => {
  for (const program of programs) program.kill('SIGKILL');
  await Promise.all(programs.map(({ ended }) => ended));
  await bench.close();
});

/** One running Python program with the client; it is told to go on by a line on its standard input. */
class Program {
  output = '';
  readonly ended: Promise<number | null>;
  private readonly child: ChildProcessWithoutNullStreams;

  constructor(text: string, url: string) {
    const whole = `import sys, threading, time\nfrom leasehold import *\nclient = Client()\n${text}`;
    const env = { ...process.env, PYTHONPATH: join(PACKAGE, 'src'), PYTHONDONTWRITEBYTECODE: '1' };
    this.child = spawn(python3, ['-u', '-c', whole], { env: { ...env, LEASEHOLD_URL: url } });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        this.output += chunk;
      });
    }
    this.child.stdin.on('error', () => undefined);
    this.ended = new Promise((resolve) => this.child.once('close', resolve));
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  goOn(): void {
    this.child.stdin.write('go\n');
  }

  async says(line: string): Promise<void> {
    await until(`${line} in the output of python3`, () => {
      if (!this.output.includes(line) && this.child.exitCode !== null) {
        throw new Error(`It ended with ${this.child.exitCode}: ${this.output}`);
      }
      return this.output.includes(line);
    });
  }
}

function start(text: string, url = bench.url): Program {
  const program = new Program(text, url);
  programs.push(program);
  return program;
}

/** Runs a program to its good end and gives the lines it printed. */
async function linesOf(text: string, url?: string): Promise<string[]> {
  const program = start(text, url);
  const code = await program.ended;
  expect({ code, output: program.output }).toEqual({ code: 0, output: program.output });
  return program.output.trimEnd().split('\n');
}

describe('the Python package', () => {
  it('has programs in its README that work', async () => {
    const found = blocksOf('clients/python/README.md').filter(({ language }) => language === 'python');
    const lines = [];
    for (const { text } of found) lines.push(...(await linesOf(text)));
    expect(lines).toEqual(['written, version 1', "{'sent': 'grace@example.org'}", 'DEAD']);
  });

  it('is typed throughout', () => {
    const mypy = debianProgram('mypy', ['mypy']);
    const run = spawnSync(mypy, ['--strict', '--cache-dir', bench.dir, '-p', 'leasehold'], {
      cwd: join(PACKAGE, 'src'),
      encoding: 'utf8',
    });
    expect(run.stdout + run.stderr).toMatch(/^Success: no issues found in \d+ source files\n$/);
  });

  it('takes durations as seconds and as text, and refuses anything else by name', async () => {
    expect(
      await linesOf(`
with client.lease("h1", ttl="15s", wait="1m") as lease:
    print(10 < lease.remaining() <= 15, lease.lease_seq > 0)
for wrong in ("15 seconds", -1, float("nan"), None):
    try:
        client.lease("h1", ttl=wrong)
    except ValueError as error:
        print(str(error).split(":")[0])
client.enqueue(1, task_id="one", delay="1h", max_attempts=7)
print(client.task("one")["max_attempts"])
`),
    ).toEqual([
      'True True',
      "The ttl '15 seconds' is not a duration",
      'The ttl -1 is not a duration',
      'The ttl nan is not a duration',
      'The ttl None is not a duration',
      '7',
    ]);
  });

  it('sends JSON as short as it is, in UTF-8, byte for byte what other clients send', async () => {
    expect(
      await linesOf(`
for task_id, payload in (("short", {"n": [1, "Käse 🧀"]}), ("half", "\\udc80")):
    client.enqueue(payload, task_id=task_id)
    print(client.task(task_id)["payload"] == payload)
with client.lease("h1") as lease:
    lease.write({"n": [1, "ü"]})
`),
    ).toEqual(['True', 'True']);
    const same = { task_id: 'short', payload: { n: [1, 'Käse 🧀'] } };
    expect(await bench.post('/v1/tasks', same)).toMatchObject({ duplicate: true });
    expect(await (await fetch(`${bench.url}/v1/tasks/half`)).text()).toContain(
      String.raw`"payload":"\udc80"`,
    );
    expect(await (await fetch(`${bench.url}/v1/objects/h1`)).text()).toContain('"value":{"n":[1,"ü"]}');
  });

  it('refuses what has no JSON form before anything is sent', async () => {
    expect(
      await linesOf(`
loop = []
loop.append(loop)
for value in (float("nan"), float("-inf"), {1}, loop):
    try:
        client.enqueue(value, task_id="never")
    except (ValueError, TypeError) as error:
        print(type(error).__name__, error)
try:
    client.task("never")
except LeaseholdError as error:
    print(error.code)
`),
    ).toEqual([
      expect.stringMatching(/^ValueError The request has no JSON form: .*\(NaN or an infinity\)$/),
      expect.stringMatching(/^ValueError The request has no JSON form: .*\(NaN or an infinity\)$/),
      'TypeError The request has no JSON form: Object of type set is not JSON serializable',
      'ValueError The request has no JSON form: Circular reference detected',
      'TASK_NOT_FOUND',
    ]);
  });

  it('names the code of what went wrong', async () => {
    await bench.post('/v1/leases/taken/acquire', { holder: 'another', ttl_ms: 60_000 });
    expect(
      await linesOf(`
try:
    with client.lease("taken"):
        pass
except LeaseholdError as error:
    print(error.code, error.status, error.effect, error.problem["holder"])
try:
    Client("http://127.0.0.1:1", retry=0).enqueue(1)
except LeaseholdError as error:
    print(error.code, error.effect)
`),
    ).toEqual(['LEASE_HELD 409 none another', 'UNREACHABLE none']);
  });
});

describe('a gateway that finds no server', () => {
  it('counts as a lost reply: retried where that is safe, else of unknown effect', async () => {
    const proxy = await WireProxy.open(() => bench.url);
    const seen: string[] = [];
    proxy.fate = ({ line }) => {
      if (seen.at(-1) === line) return 'passes';
      seen.push(line);
      return 'finds no server';
    };
    const lines = await linesOf(
      `
with client.lease("report", ttl=30) as lease:
    try:
        lease.write("written")
    except LeaseholdError as error:
        print(error.code, error.status, error.effect)
`,
      proxy.url,
    );
    await proxy.close();
    expect(lines).toEqual(['UNREACHABLE 502 unknown']);
    expect(seen).toEqual([
      'POST /v1/leases/report/acquire',
      'PUT /v1/objects/report',
      'POST /v1/leases/report/release',
    ]);
  });
});

describe('a lease in Python', () => {
  it('excludes: of several processes one at a time is in the block', async () => {
    const counter = join(bench.dir, 'counter');
    writeFileSync(counter, '0');
    const text = `
for _ in range(4):
    with client.lease("counter", ttl=30, wait=60):
        with open(${JSON.stringify(counter)}) as file:
            count = int(file.read())
        time.sleep(0.02)
        with open(${JSON.stringify(counter)}, "w") as file:
            file.write(str(count + 1))
`;
    await Promise.all([linesOf(text), linesOf(text), linesOf(text)]);
    expect(readFileSync(counter, 'utf8')).toBe('12');
  });

  it('that waited longer than it lasts is held when the block begins', async () => {
    const { token } = await bench.post('/v1/leases/report/acquire', { holder: 'another', ttl_ms: 60_000 });
    const waiting = start(`
with client.lease("report", ttl=2, wait=60) as lease:
    lease.assert_held()
    print("held")
`);
    await until('the waiter', async () => {
      const { waiters } = await bench.get('/v1/leases/report/waiters');
      return waiters.length > 0;
    });
    // Longer than the lease of the waiter will last.
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    await bench.post('/v1/leases/report/release', { holder: 'another', token });
    expect(await waiting.ended).toBe(0);
    expect(waiting.output).toBe('held\n');
  });

  it('that is broken sets its event with the cause, and the block raises at its end', async () => {
    const holder = start(`
try:
    with client.lease("report", ttl=1.5) as lease:
        print("held")
        lease.lost.wait(30)
        print(lease.lost.cause)
except LeaseLost as error:
    print(error.code, error.loss)
`);
    await holder.says('held');
    await bench.post('/v1/leases/report/break', { reason: 'a test' });
    expect(await holder.ended).toBe(0);
    expect(holder.output).toBe('held\nbroken\nLEASE_LOST broken\n');
  });

  it('is for one with statement: outside, and in a second one, it says so', async () => {
    expect(
      await linesOf(`
lease = client.lease("report")
def enter():
    with lease:
        pass

for use in (lease.assert_held, lease.remaining, lambda: lease.write(1), lambda: lease.lost, enter, enter):
    try:
        use()
        print("fine")
    except RuntimeError as error:
        print(error)
print(lease.lost.cause)
`),
    ).toEqual([
      ...Array(4).fill('The lease on "report" has not been acquired: use it once, in a with statement.'),
      'fine',
      'The lease on "report" was used before: use it once, in a with statement.',
      'released',
    ]);
  });

  it('that was lost is the error of a block that raises, with the cause; exits and its own loss pass', async () => {
    const holder = start(`
def lose(name, act):
    try:
        with client.lease(name, ttl=1.5) as lease:
            print("held", name)
            lease.lost.wait(30)
            act(lease)
    except BaseException as error:
        print(type(error).__name__, repr(error.__cause__))

lose("one", lambda lease: {}["half done"])
lose("two", lambda lease: sys.exit(3))
lose("three", lambda lease: lease.assert_held())
`);
    for (const name of ['one', 'two', 'three']) {
      await holder.says(`held ${name}`);
      await bench.post(`/v1/leases/${name}/break`, { reason: 'a test' });
    }
    expect(await holder.ended).toBe(0);
    expect(holder.output.split('\n').filter((line) => !line.startsWith('held'))).toEqual([
      "LeaseLost KeyError('half done')",
      'SystemExit None',
      'LeaseLost None',
      '',
    ]);
  });

  it('that cannot be renewed is lost with the last failure as the cause', async () => {
    const holder = start(`
try:
    with client.lease("report", ttl=1) as lease:
        print("held")
        lease.lost.wait(30)
except LeaseLost as error:
    print(error.loss, error.__cause__.code)
`);
    await holder.says('held');
    await bench.stopServer('SIGKILL');
    expect(await holder.ended).toBe(0);
    expect(holder.output).toBe('held\nunreachable UNREACHABLE\n');
  });

  it('of a process that was paused for longer than it lasts is not held, and its write is refused', async () => {
    const holder = start(`
try:
    with client.lease("report", ttl=2) as lease:
        lease.write("first")
        print("held")
        sys.stdin.readline()
        try:
            lease.assert_held()
        except LeaseLost as error:
            print(error.code)
        try:
            lease.write("late")
        except LeaseholdError as error:
            print(error.code)
except LeaseLost as error:
    print(error.loss)
`);
    await holder.says('held');
    holder.kill('SIGSTOP');
    const next = { holder: 'the next', ttl_ms: 60_000, wait_ms: 30_000 };
    expect(await bench.post('/v1/leases/report/acquire', next)).toMatchObject({ holder: 'the next' });
    holder.goOn();
    holder.kill('SIGCONT');
    expect(await holder.ended).toBe(0);
    expect(holder.output).toMatch(/^held\nLEASE_LOST\nWRITE_STALE_FENCE\n(expired|broken)\n$/);
    expect(await bench.get('/v1/objects/report')).toMatchObject({ value: 'first', version: 1 });
  });

  it('outlives the server it was granted by', async () => {
    const holder = start(`
with client.lease("report", ttl=30) as lease:
    print("held")
    sys.stdin.readline()
    print(lease.write("written"), client.enqueue("created", task_id="one"))
`);
    await holder.says('held');
    await bench.stopServer('SIGKILL');
    holder.goOn();
    await bench.serve();
    expect(await holder.ended).toBe(0);
    expect(holder.output).toBe('held\n1 one\n');
    expect(await bench.get('/v1/leases/report')).toMatchObject({ code: 'LEASE_NOT_FOUND' });
  });

  it('is acquired once when the reply is lost: the retry finds its own grant', async () => {
    const proxy = await WireProxy.open(() => bench.url);
    let acquires = 0;
    proxy.fate = ({ line }) => {
      acquires += line.includes('/acquire') ? 1 : 0;
      return line.includes('/acquire') && acquires === 1 ? 'loses its reply' : 'passes';
    };
    const lines = await linesOf(
      `
with client.lease("report", ttl=30) as lease:
    print(lease.write("written"))
`,
      proxy.url,
    );
    await proxy.close();
    expect(lines).toEqual(['1']);
    expect(acquires).toBe(2);
    const { entries } = await bench.get('/v1/leases/report/history');
    expect(entries.map(({ type }: { type: string }) => type)).toEqual([
      'NameLeased',
      'ObjectWritten',
      'NameReleased',
    ]);
  });
});

describe('a worker in Python', () => {
  it('sends the verdict that its handler chose', async () => {
    await linesOf(`
def handle(task):
    if len(seen) < 2 and task.payload == "later":
        seen.append(task)
        raise RetryLater("busy", delay=0.01) if len(seen) == 1 else HandBack(delay=0.01)
    if task.payload == "never":
        raise NoRetry("no use")
    if task.payload == "wrong":
        raise ValueError("a bug")
    if task.payload == "saved" and task.checkpoint is None:
        task.save({"done": 1})
        raise RetryLater("again", delay=0)
    if task.payload == "last":
        worker.stop()
    return [task.payload, task.attempt, task.checkpoint]

seen = []
once = {"max_failures": 1}
for payload in ("fine", "later", "never", "wrong", "saved"):
    client.enqueue(payload, queue="q", task_id=payload, retry=once if payload == "wrong" else None)
worker = client.worker("q", handle, concurrency=2)
running = threading.Thread(target=worker.run)
running.start()
for payload in ("fine", "later", "never", "wrong", "saved"):
    client.task(payload, wait=30)
client.enqueue("last", queue="q", task_id="last")
running.join()
`);
    const ends = [];
    for (const id of ['fine', 'later', 'never', 'wrong', 'saved', 'last']) {
      const { state, result, reason, failures } = await bench.get(`/v1/tasks/${id}`);
      ends.push([id, state, state === 'COMPLETED' ? result : reason, failures]);
    }
    expect(ends).toEqual([
      ['fine', 'COMPLETED', ['fine', 1, null], 0],
      ['later', 'COMPLETED', ['later', 3, null], 1],
      ['never', 'FAILED', 'no use', 1],
      ['wrong', 'FAILED', 'a bug', 1],
      ['saved', 'COMPLETED', ['saved', 2, { done: 1 }], 1],
      ['last', 'COMPLETED', ['last', 1, null], 0],
    ]);
  });

  it('fails a task whose verdict cannot be sent, whatever ended its handler, and counts it', async () => {
    const lines = await linesOf(`
class Quits(BaseException):
    pass

def handle(task):
    if task.payload == "exit":
        sys.exit(3)
    if task.payload == "base":
        raise Quits("gone")
    if task.payload == "refused":
        raise RetryLater("busy", delay="1000000d")
    return {
        "set": {1}, "nan": float("nan"), "large": "x" * 300_000, "wide": "ü" * 131_072, "huge": "x" * 5_000_000,
    }[task.payload]

payloads = ("set", "nan", "large", "wide", "huge", "exit", "base", "refused")
for payload in payloads:
    client.enqueue(payload, queue="q", task_id=payload, retry={"max_failures": 2, "backoff_ms": 1})
worker = client.worker("q", handle, concurrency=3, ttl="60s")
running = threading.Thread(target=worker.run)
running.start()
for payload in payloads:
    client.task(payload, wait="20s")
worker.stop()
running.join()
for payload in payloads:
    task = client.task(payload)
    print(payload, task["state"], task["attempt"], task["reason"][:48])
`);
    const ends = lines.filter((line) => /^\w+ (FAILED|WAITING|LEASED|COMPLETED) /.test(line));
    expect(ends).toEqual([
      'set FAILED 2 The result has no JSON form: Object of type set ',
      'nan FAILED 2 The result has no JSON form: Out of range float ',
      'large FAILED 2 The result has 300002 bytes of JSON; at most 262',
      'wide FAILED 2 The result has 262146 bytes of JSON; at most 262',
      'huge FAILED 2 The result has 5000002 bytes of JSON; at most 26',
      'exit FAILED 2 The handler called sys.exit(3).',
      'base FAILED 2 gone',
      expect.stringMatching(/^refused FAILED 2 The verdict was refused: INVALID_ARGUMENT/),
    ]);
    expect(lines.join('\n')).not.toContain('Exception in thread');
  });

  it('fails a task whose handler lost another lease', async () => {
    const retry = { max_failures: 1 };
    await bench.post('/v1/tasks', { task_id: 'one', queue: 'q', payload: 1, retry });
    await linesOf(`
def handle(task):
    worker.stop()
    with client.lease("other", ttl=1) as lease:
        client.call("POST", "/v1/leases/other/break", {"reason": "a test"})
        lease.lost.wait(30)
worker = client.worker("q", handle)
worker.run()
`);
    expect(await bench.get('/v1/tasks/one')).toMatchObject({
      state: 'FAILED',
      reason: 'LEASE_LOST: The lease on "other" was lost: broken.',
    });
  });

  it('waits for a server that is away for longer than calls are retried', async () => {
    const worker = start(`
import leasehold.worker
leasehold.worker.POLL_S = 0.1
def handle(task):
    worker.stop()
    return task.attempt
worker = Client(retry=0.1).worker("q", handle)
worker.run()
`);
    await until('its first poll', async () => (await bench.get('/v1/workers')).workers.length > 0);
    await bench.stopServer('SIGKILL');
    await worker.says('no task could be leased: UNREACHABLE');
    await bench.serve();
    await bench.post('/v1/tasks', { task_id: 'one', queue: 'q', payload: 1 });
    expect(await worker.ended).toBe(0);
    expect(await bench.get('/v1/tasks/one')).toMatchObject({ state: 'COMPLETED', result: 1 });
  });

  it('hands back what a KeyboardInterrupt ended, and stops', async () => {
    await bench.post('/v1/tasks', { task_id: 'one', queue: 'q', payload: 1 });
    await linesOf(`
def handle(task):
    raise KeyboardInterrupt
client.worker("q", handle).run()
`);
    expect(await bench.get('/v1/tasks/one')).toMatchObject({ state: 'WAITING', failures: 0 });
  });

  it('keeps a task for longer than its lease lasts, and drains on SIGTERM', async () => {
    await bench.post('/v1/tasks', { task_id: 'long', queue: 'q', payload: 1 });
    const worker = start(`
def handle(task):
    print("working")
    sys.stdin.readline()
    return task.attempt
client.worker("q", handle, ttl=1).run()
print("drained")
`);
    await worker.says('working');
    await bench.post('/v1/tasks', { task_id: 'next', queue: 'q', payload: 2 });
    const { seq } = await bench.get('/v1/status');
    await until('four extensions', async () => (await bench.get('/v1/status')).seq >= seq + 4);
    worker.kill('SIGTERM');
    worker.goOn();
    expect(await worker.ended).toBe(0);
    expect(worker.output).toBe('working\ndrained\n');
    expect(await bench.get('/v1/tasks/long')).toMatchObject({ state: 'COMPLETED', result: 1 });
    expect(await bench.get('/v1/tasks/next')).toMatchObject({ state: 'WAITING', attempt: 0 });
  });

  it('tells a handler that its task is cancelled, and hands back what does not end within the grace', async () => {
    for (const id of ['cancelled', 'stubborn']) {
      await bench.post('/v1/tasks', { task_id: id, queue: 'q', payload: id });
    }
    const worker = start(`
def handle(task):
    print(f"working on {task.task_id}")
    task.stop.wait(60)
    print(f"{task.task_id} {task.stop.cause}")
    if task.task_id == "stubborn":
        threading.Event().wait()
    raise RuntimeError("ended early")
client.worker("q", handle, ttl=1.5, concurrency=2, grace=0.1).run()
`);
    await worker.says('working on cancelled');
    await worker.says('working on stubborn');
    await bench.post('/v1/tasks/cancelled/cancel', { reason: 'a test' });
    await worker.says('cancelled cancelled');
    await until('its end', async () => (await bench.get('/v1/tasks/cancelled')).state === 'DEAD');
    worker.kill('SIGTERM');
    expect(await worker.ended).toBe(0);
    expect(worker.output).toContain('stubborn stopping');
    expect(await bench.get('/v1/tasks/stubborn')).toMatchObject({ state: 'WAITING', failures: 0 });
  });

  it('that dies loses nothing: another one is given its task', async () => {
    await bench.post('/v1/tasks', { task_id: 'one', queue: 'q', payload: 1 });
    const dies = start(`
client.worker("q", lambda task: print("leased") or time.sleep(60), ttl=1).run()
`);
    await dies.says('leased');
    dies.kill('SIGKILL');
    await linesOf(`
def handle(task):
    worker.stop()
    return task.attempt
worker = client.worker("q", handle)
worker.run()
`);
    expect(await bench.get('/v1/tasks/one')).toMatchObject({ state: 'COMPLETED', result: 2 });
  });
});
