// Ten thousand idle long polls and two thousand followers on one server at once, their clients in processes of their
// own: it goes on answering others promptly, every poll gets its answer, and every follower the log.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Body, CliBench, type Process, until } from '../support/cli-processes.ts';

const CHILD = fileURLToPath(new URL('./many-connections-child.mjs', import.meta.url));
const POLLS = 8_000;
const SHORT_POLLS = 2_000;
const FOLLOWERS = 1_000;
const SHORT_WAIT_MS = 20_000;
/** Ten thousand sockets are no excuse for others to wait; this is for a machine that does other things as well. */
const PROMPT_MS = 2_000;

let bench: CliBench;
let server: Process;
let crowds: Crowd[];

beforeEach(async () => {
  crowds = [];
  bench = new CliBench();
  const listen = ['--listen', '127.0.0.1:0', '--json', '--log-level', 'error'];
  server = bench.start(['serve', '--data', join(bench.dir, 'data'), ...listen]);
  bench.url = (await server.says(/"url":"([^"]+)"/))[1]!;
});
afterEach(async () => {
  for (const crowd of crowds) crowd.end();
  await bench.close();
});

/** A process full of connections. */
class Crowd {
  private readonly child: ChildProcess;
  private readonly waiting: ((message: Body) => void)[] = [];

  constructor(kind: 'polls' | 'followers') {
    const args = [CHILD, new URL(bench.url).port, kind];
    this.child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    this.child.on('message', (message) => this.waiting.shift()?.(message));
    crowds.push(this);
  }

  ready(): Promise<Body> {
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  ask(message: object): Promise<Body> {
    this.child.send(message);
    return this.ready();
  }

  report(target = 0): Promise<Body> {
    return this.ask({ report: true, target });
  }

  end(): void {
    this.child.kill('SIGKILL');
  }
}

async function begin(kind: 'polls' | 'followers'): Promise<Crowd> {
  const crowd = new Crowd(kind);
  await crowd.ready();
  return crowd;
}

/** How long a stranger waits for a change and a look. */
async function strangerMs(): Promise<number> {
  const from = performance.now();
  await bench.post('/v1/leases/stranger/acquire', { holder: 'h', ttl_ms: 1_000 });
  await bench.get('/v1/status');
  return performance.now() - from;
}

async function create(count: number): Promise<void> {
  const ops = Array.from({ length: count }, (_, n) => ({ op: 'task.create', queue: 'polled', payload: n }));
  const { results } = await bench.post('/v1/batch', { ops });
  expect(new Set(results.map(({ status }: Body) => status))).toEqual(new Set([201]));
}

async function gauge(name: string): Promise<number> {
  const text = await (await fetch(`${bench.url}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
}

describe('ten thousand long polls and two thousand followers at once', () => {
  it('are served, and so is everybody else', async () => {
    const limit = Number(
      spawnSync('sh', ['-c', 'ulimit -Hn']).stdout.toString().trim().replace('unlimited', 'Infinity'),
    );
    expect(limit, 'a process must be allowed 13 000 open files (ulimit -Hn)').toBeGreaterThan(13_000);
    const [polls, lines, events] = await Promise.all([
      begin('polls'),
      begin('followers'),
      begin('followers'),
    ]);
    const bareBytes = await gauge('process_resident_memory_bytes');

    const poll = { worker_id: 'w', ttl_ms: 600_000 };
    await Promise.all([
      polls.ask({
        open: POLLS,
        path: '/v1/tasks/lease',
        body: JSON.stringify({ ...poll, queues: ['polled'], wait_ms: 600_000 }),
      }),
      lines.ask({ open: FOLLOWERS, path: '/v1/log?from=1&follow=1' }),
      events.ask({ open: FOLLOWERS, path: '/v1/events?from=1' }),
    ]);
    await polls.ask({
      open: SHORT_POLLS,
      path: '/v1/tasks/lease',
      body: JSON.stringify({ ...poll, queues: ['empty'], wait_ms: SHORT_WAIT_MS }),
    });
    await until(
      'all of them',
      async () => (await bench.get('/v1/status')).counts.waiters === POLLS + SHORT_POLLS,
    );
    await until('all followers', async () => (await gauge('leasehold_followers')) === 2 * FOLLOWERS);
    const fullBytes = await gauge('process_resident_memory_bytes');

    const waits: number[] = [];
    for (let tries = 0; tries < 20; tries++) waits.push(await strangerMs());
    expect(Math.max(...waits)).toBeLessThan(PROMPT_MS);

    // What comes reaches those who wait for it, and all who follow.
    await create(500);
    await until('the first answers', async () => (await polls.report()).answered >= 500);
    const { seq } = await bench.get('/v1/status');
    for (const crowd of [lines, events]) {
      await until('every follower', async () => (await crowd.report(seq)).reached === FOLLOWERS);
      expect((await crowd.report()).closed).toBe(0);
      crowd.end();
    }
    await until('the followers to have left', async () => (await gauge('leasehold_followers')) === 0);

    for (let made = 500; made < POLLS; made += 2_500) await create(2_500);
    await until('every answer', async () => (await polls.report()).answered === POLLS + SHORT_POLLS);
    const { leases, empty, others } = await polls.report();
    expect(others).toEqual([]);
    expect([leases.length, new Set(leases).size, empty]).toEqual([POLLS, POLLS, SHORT_POLLS]);
    expect((await bench.get('/v1/status')).counts).toMatchObject({
      waiters: 0,
      tasks: { WAITING: 0, LEASED: POLLS },
    });

    const megabytes = (bytes: number): number => Math.round(bytes / 1_000_000);
    console.log(
      `${megabytes(bareBytes)} MB alone, ${megabytes(fullBytes)} MB with 12 000 connections, ` +
        `${megabytes(await gauge('process_resident_memory_bytes'))} MB afterwards; ` +
        `a stranger waited ${Math.round(Math.max(...waits))} ms at most`,
    );
    server.kill('SIGTERM');
    expect(await server.ended).toMatchObject({ status: 0, stderr: '' });
  });
});
