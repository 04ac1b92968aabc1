// A cron schedule on a real server: every second has its firing, once, although the server is killed midway, its wall
// clock is set by hours, or its machine sleeps for hours.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CliBench, type Process, type RunOptions, until } from '../support/cli-processes.ts';
import { INSTALL_MS_MAX, SteppedClock } from '../support/stepped-clock.ts';

const TICKS = { cron: '* * * * * *', queue: 'ticks', payload: null, overlap: 'allow', catch_up: 'all' };
const HOUR_S = 3_600;

interface Fired {
  readonly type: string;
  readonly at: string;
  readonly due_at: string;
  readonly task_id: string | null;
}

let bench: CliBench;

beforeEach(() => {
  bench = new CliBench();
});
afterEach(() => bench.close());

async function setSchedule(name: string, schedule: object): Promise<void> {
  const reply = await fetch(`${bench.url}/v1/schedules/${name}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(schedule),
  });
  expect(reply.status).toBe(201);
}

async function firings(): Promise<Fired[]> {
  const text = await (await fetch(`${bench.url}/v1/log?from=1&limit=1000`)).text();
  const entries = text.trimEnd().split('\n');
  return entries.map((line) => JSON.parse(line) as Fired).filter(({ type }) => type === 'ScheduleFired');
}

/** Waits for so many firings more than there are. */
async function ticks(more: number): Promise<void> {
  const before = (await firings()).length;
  await until(`${more} firings`, async () => (await firings()).length >= before + more);
}

/** One firing for every second from the first to the last, each with its own task. */
function expectEverySecond(fired: readonly Fired[]): void {
  const firstMs = Date.parse(fired[0]!.due_at);
  const dueAt = fired.map((_, index) => new Date(firstMs + index * 1_000).toISOString());
  expect(fired.map(({ due_at }) => due_at)).toEqual(dueAt);
  expect(fired.map(({ task_id }) => task_id)).toEqual(dueAt.map((at) => `tick@${at}`));
  for (const { at, due_at } of fired) expect(Date.parse(at)).toBeGreaterThanOrEqual(Date.parse(due_at));
}

describe('a schedule that is due every second', () => {
  it('fires each second once, although the server is killed and started again', async () => {
    await bench.serve();
    await setSchedule('tick', TICKS);
    await ticks(3);
    await bench.stopServer('SIGKILL');
    await bench.serve();
    await ticks(3);
    await bench.stopServer('SIGKILL');
    await bench.serve();
    await ticks(2);
    expectEverySecond(await firings());
    const { tasks } = await bench.get('/v1/tasks?queue=ticks&limit=1000');
    expect(tasks.length).toBeGreaterThanOrEqual(8);
  });
});

/** A server whose wall clock, and perhaps uptime, the test sets. */
async function serveWith(options: RunOptions): Promise<Process> {
  const args = ['serve', '--data', join(bench.dir, 'data'), '--listen', '127.0.0.1:0', '--json'];
  const server = bench.start([...args, '--log-level', 'warn'], options);
  const [, url] = await server.says(/"url":"([^"]+)"/);
  bench.url = url!;
  return server;
}

describe('a server whose wall clock is set', () => {
  let clock: SteppedClock;

  beforeEach(() => {
    clock = new SteppedClock();
  }, INSTALL_MS_MAX);
  afterEach(() => clock.remove());

  it.each([2 * HOUR_S, -2 * HOUR_S])(
    'by %i s fires every second all the same, and warns',
    async (seconds) => {
      const server = await serveWith({ env: clock.env });
      await setSchedule('tick', TICKS);
      await ticks(2);
      clock.setAhead(seconds);
      await server.says(/"off_ms":(-?\d+).*more than a minute off the wall clock/);
      await ticks(2);
      expectEverySecond(await firings());
      const { clock_off_ms: offMs } = await bench.get('/v1/status');
      // It follows by 1 %: at most a second after the 100 s that this may take.
      expect(-Math.sign(seconds) * offMs).toBeGreaterThan(2 * HOUR_S * 1_000 - 1_000);
      expect(-Math.sign(seconds) * offMs).toBeLessThanOrEqual(2 * HOUR_S * 1_000 + 100);
    },
  );

  it('and whose machine slept fires what was due meanwhile as soon as it wakes up', async () => {
    const uptime = join(bench.dir, 'uptime');
    const setUptime = (aheadS: number) =>
      writeFileSync(uptime, `${1_000 + performance.now() / 1_000 + aheadS} 0\n`);
    setUptime(0);
    // A file in the place of /proc/uptime, for this process alone.
    const under = ['unshare', '--mount', 'sh', '-c', 'mount --bind "$0" /proc/uptime && exec "$@"', uptime];
    const server = await serveWith({ env: clock.env, under });
    const dueAt = new Date(Date.now() + 2 * HOUR_S * 1_000);
    const minute = `${dueAt.getUTCMinutes()} ${dueAt.getUTCHours()} * * *`;
    await setSchedule('nightly', { cron: minute, queue: 'reports', payload: null });
    expect((await bench.get('/v1/schedules/nightly')).last_due_at).toBeNull();
    // The kernel moves both clocks before any process runs again.
    server.kill('SIGSTOP');
    clock.setAhead(3 * HOUR_S);
    setUptime(3 * HOUR_S);
    server.kill('SIGCONT');
    await until('the firing', async () => (await firings()).length > 0);
    const [fired, ...more] = await firings();
    dueAt.setUTCSeconds(0, 0);
    expect([fired!.due_at, more]).toEqual([dueAt.toISOString(), []]);
    expect(fired!.task_id).toBe(`nightly@${fired!.due_at}`);
    const { clock_off_ms: offMs } = await bench.get('/v1/status');
    // All but the second that a kernel may be wrong by; the file is as old as the last time it was written.
    expect(Math.abs(offMs)).toBeLessThan(60_000);
    rmSync(uptime);
  });
});
