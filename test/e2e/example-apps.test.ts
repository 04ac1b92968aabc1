// The example apps as their readers have them: installed by `npm ci` into a copy beside a clone, started as a process, asked by HTTP,
// and told to end by SIGTERM while they work.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Body, CliBench, until } from '../support/cli-processes.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const APPS = ['express', 'nestjs'] as const;
type App = (typeof APPS)[number];

let clone: string;

beforeAll(async () => {
  clone = mkdtempSync(join(tmpdir(), 'leasehold-apps-'));
  for (const name of ['package.json', 'dist', 'node_modules'])
    symlinkSync(join(ROOT, name), join(clone, name));
  await Promise.all(APPS.map(install));
});

afterAll(() => rmSync(clone, { recursive: true, force: true }));

/** Copies an app, without what a reader may have installed or built there, and prepares it as its package.json says. */
async function install(app: App): Promise<void> {
  const isMade = (path: string) => /\/(node_modules|dist|leasehold-data)$/.test(path);
  cpSync(join(ROOT, 'examples', app), folderOf(app), { recursive: true, filter: (path) => !isMade(path) });
  const ci = await npm(
    app,
    'ci',
    '--engine-strict',
    '--prefer-offline',
    '--fetch-retries=1',
    '--fetch-timeout=20000',
  );
  expect(ci).toMatchObject({ code: 0 });
  expect(await npm(app, 'run', 'prestart', '--if-present')).toMatchObject({ code: 0 });
}

const folderOf = (app: App): string => join(clone, 'examples', app);

async function npm(app: App, ...args: string[]): Promise<{ code: number; output: string }> {
  const child = spawn('npm', args, { cwd: folderOf(app), stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const [code] = (await once(child, 'close')) as [number];
  return { code, output };
}

const running: ChildProcess[] = [];

afterEach(() => {
  for (const child of running.splice(0)) child.kill('SIGKILL');
});

/** One running app; `stop` gives its exit code, or the signal that ended it. */
class RunningApp {
  readonly url: string;
  private readonly child: ChildProcess;

  private constructor(url: string, child: ChildProcess) {
    this.url = url;
    this.child = child;
  }

  /** Without the URL of a server it keeps its log in `data`. */
  static async start(app: App, leaseholdUrl: string, data: string): Promise<RunningApp> {
    const { scripts } = JSON.parse(readFileSync(join(folderOf(app), 'package.json'), 'utf8'));
    const [, file = ''] = /^node (\S+)$/.exec(scripts.start) ?? [];
    const child = spawn(process.execPath, [join(folderOf(app), file)], {
      cwd: data,
      env: { ...process.env, PORT: '0', LEASEHOLD_URL: leaseholdUrl },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    running.push(child);
    const [line] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string];
    return new RunningApp(line.replace('listening on ', ''), child);
  }

  async get(path: string): Promise<{ status: number; body: Body }> {
    const reply = await fetch(this.url + path);
    return { status: reply.status, body: await reply.json() };
  }

  async post(path: string, body: object, headers: Record<string, string> = {}) {
    const reply = await fetch(this.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    const { status } = reply;
    return { status, location: reply.headers.get('location'), body: (await reply.json()) as Body };
  }

  async stop(): Promise<number | string> {
    this.child.kill('SIGTERM');
    const [code, signal] = (await once(this.child, 'exit')) as [number | null, string | null];
    return code ?? signal!;
  }
}

let bench: CliBench;

beforeEach(() => {
  bench = new CliBench();
});

afterEach(() => bench?.close());

const taskOf = (taskId: string): Promise<Body> => bench.get(`/v1/tasks/${taskId}`);

/** The states of the tasks, and how often each was leased. */
async function statesOf(taskIds: readonly string[]): Promise<string[]> {
  const tasks = await Promise.all(taskIds.map(taskOf));
  return tasks.map(({ state, attempt }) => `${state} ${attempt}`);
}

describe('examples/express', () => {
  const order = async (app: RunningApp, lines: number) =>
    (await app.post('/invoices', { customer: 'ada', lines })).body.taskId as string;

  it('answers with a receipt, takes a repeated request for the same, and says what is wrong with others', async () => {
    await bench.serve();
    const app = await RunningApp.start('express', bench.url, bench.dir);
    const key = { 'idempotency-key': 'order-7' };
    const [first, again, other] = [
      await app.post('/invoices', { customer: 'ada', lines: 1 }, key),
      await app.post('/invoices', { customer: 'ada', lines: 1 }, key),
      await app.post('/invoices', { customer: 'ada', lines: 2 }, key),
    ];
    expect(first).toEqual({
      status: 202,
      location: '/invoices/order-7',
      body: { taskId: 'order-7', duplicate: false },
    });
    expect(again).toEqual({ ...first, body: { taskId: 'order-7', duplicate: true } });
    expect([other.status, other.body.code]).toEqual([409, 'TASK_ID_CONFLICT']);
    const wrong = await app.post('/invoices', { customer: 'ada', lines: 'many' });
    expect([wrong.status, wrong.body.code]).toEqual([400, 'INVALID_TASK']);
    expect((await app.get('/invoices/none')).status).toBe(404);
    await until('the invoice', async () => (await app.get(first.location!)).body.state === 'COMPLETED');
    expect((await app.get(first.location!)).body.output).toEqual({ file: 'ada.pdf', lines: 1 });
    expect(await app.stop()).toBe(0);
  });

  it('finishes what runs when SIGTERM comes, and leaves the rest to the next process', async () => {
    await bench.serve();
    const app = await RunningApp.start('express', bench.url, bench.dir);
    const orders = [await order(app, 10), await order(app, 1)];
    await until('an invoice at work', async () => (await taskOf(orders[0]!)).state === 'LEASED');
    expect(await app.stop()).toBe(0);
    expect(await statesOf(orders)).toEqual(['COMPLETED 1', 'WAITING 0']);
    const next = await RunningApp.start('express', bench.url, bench.dir);
    await until('the second invoice', async () => (await taskOf(orders[1]!)).state === 'COMPLETED');
    expect((await next.get(`/invoices/${orders[0]}`)).body).toMatchObject({ output: { lines: 10 } });
    expect(await next.stop()).toBe(0);
  });

  it('needs no server: its own log has what waits', async () => {
    const app = await RunningApp.start('express', '', bench.dir);
    const orders = [await order(app, 5), await order(app, 1)];
    expect(await app.stop()).toBe(0);
    const next = await RunningApp.start('express', '', bench.dir);
    for (const taskId of orders) {
      await until(
        'the invoice',
        async () => (await next.get(`/invoices/${taskId}`)).body.state === 'COMPLETED',
      );
    }
    expect(await next.stop()).toBe(0);
  });
});

describe('examples/nestjs', () => {
  const order = async (app: RunningApp, pages: number) =>
    (await app.post('/reports/ada', { pages })).body.taskId as string;

  it('drains its worker when SIGTERM comes, publishes one report at a time, and loses no order', async () => {
    await bench.serve();
    const app = await RunningApp.start('nestjs', bench.url, bench.dir);
    expect((await app.get('/reports/ada')).status).toBe(404);
    expect((await app.get('/reports/orders/none')).status).toBe(404);
    expect((await app.post('/reports/ada', { pages: 'many' })).status).toBe(400);
    // Four run at once: one builds, three wait for the lease, and the fifth waits for a worker.
    const orders: string[] = [];
    for (const pages of [5, 4, 3, 2, 1]) orders.push(await order(app, pages));
    await until('four orders at work', async () =>
      (await statesOf(orders.slice(0, 4))).every((state) => state === 'LEASED 1'),
    );
    // Nest ends the process by the same signal, after its hooks.
    expect(await app.stop()).toBe('SIGTERM');
    expect(await statesOf(orders)).toEqual([...Array(4).fill('COMPLETED 1'), 'WAITING 0']);
    const next = await RunningApp.start('nestjs', bench.url, bench.dir);
    await until('the fifth', async () => (await taskOf(orders[4]!)).state === 'COMPLETED');
    const reply = await next.get(`/reports/orders/${orders[4]}`);
    expect(reply).toEqual({ status: 200, body: { state: 'COMPLETED', output: { version: 5 } } });
    expect((await next.get('/reports/ada')).body).toEqual({
      version: 5,
      report: { customer: 'ada', pages: 1 },
    });
    expect(await next.stop()).toBe('SIGTERM');
  });

  it('builds a report again when its lease was broken meanwhile, under a new number', async () => {
    await bench.serve();
    const app = await RunningApp.start('nestjs', bench.url, bench.dir);
    const taskId = await order(app, 5);
    let first: Body;
    await until('the lease', async () => {
      first = await bench.get('/v1/leases/report%2Fada');
      return first.lease_seq !== undefined;
    });
    await bench.post('/v1/leases/report%2Fada/break', { reason: 'a test' });
    await until('the report', async () => (await taskOf(taskId)).state === 'COMPLETED');
    expect(await taskOf(taskId)).toMatchObject({ attempt: 2, result: { version: 1 } });
    const published = await bench.get('/v1/objects/report%2Fada');
    expect(published.lease_seq).toBeGreaterThan(first.lease_seq);
    expect(await app.stop()).toBe('SIGTERM');
  });

  it('needs no server: its own log has what was ordered', async () => {
    const app = await RunningApp.start('nestjs', '', bench.dir);
    const taskId = await order(app, 1);
    expect(await app.stop()).toBe('SIGTERM');
    const next = await RunningApp.start('nestjs', '', bench.dir);
    const became = async () => (await next.get(`/reports/orders/${taskId}`)).body.state as string;
    await until('the report', async () => (await became()) === 'COMPLETED');
    expect(await next.stop()).toBe('SIGTERM');
  });
});
