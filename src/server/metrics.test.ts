// The metrics, read as Prometheus reads them and held against what happened.
import { readFileSync } from 'node:fs';
import { beforeEach, describe, expect, it } from 'vitest';
import { HeldEngine } from '../../test/support/held-engine.ts';
import { isSettled, ManualWorld } from '../../test/support/manual-world.ts';
import { family, parseMetrics } from '../../test/support/parse-metrics.ts';
import type { Authority } from '../authority/authority.ts';
import { MemoryDisk } from '../engines/memory/memory-disk.ts';
import { memoryEngine } from '../engines/memory/memory-engine.ts';
import { openCore } from '../open.ts';
import type { CheckedCalls } from '../operations/calls.ts';
import { HttpCounts } from './http-counts.ts';
import { Metrics } from './metrics.ts';

const OPENING_MS = 250;
/** As many as wait to be decided before calls are refused. */
const QUEUE_MAX = 100_000;

let world: ManualWorld;
let engine: HeldEngine;
let authority: Authority;
let calls: CheckedCalls;
let http: HttpCounts;
let metrics: Metrics;
const hub = { size: 3, cuts: 2 };
const longPolls = { size: 5 };
let statfs: () => Promise<number>;
let asked: number;
const freeBytes = (): Promise<number> => {
  asked += 1;
  return statfs();
};
const loopLag = {
  watched: 0,
  watch(): void {
    this.watched += 1;
  },
  take: () => ({ meanMs: 1, p99Ms: 20, maxMs: 300 }),
};

async function openOn(disk: MemoryDisk): Promise<void> {
  const below = memoryEngine(disk);
  engine = new HeldEngine({
    open(replay) {
      world.monotonicMs += OPENING_MS;
      return below.open(replay);
    },
  });
  ({ authority, calls } = await world.finish(openCore(engine, world)));
  http = new HttpCounts();
  metrics = new Metrics(authority, http, { hub, longPolls, loopLag, freeBytes, timers: world.timers });
}

beforeEach(async () => {
  statfs = () => Promise.resolve(5_000);
  asked = 0;
  world = new ManualWorld();
  await openOn(new MemoryDisk());
});

async function look(): Promise<Map<string, number>> {
  return parseMetrics(await world.finish(metrics.text()));
}

function run(operation: keyof CheckedCalls, request: object): Promise<object> {
  return world.finish(calls[operation](request));
}

describe('the metrics', () => {
  it('count every operation by its outcome and the code it was refused with', async () => {
    for (let task = 0; task < 3; task++) await run('task.create', { payload: task });
    const { leases } = (await run('task.lease', { worker_id: 'w', max: 2, ttl_ms: 1_000 })) as {
      leases: { task_id: string; lease_id: string }[];
    };
    const [{ task_id, lease_id }, late] = leases as [(typeof leases)[0], (typeof leases)[0]];
    await run('task.complete', { task_id, lease_id });
    await world.advance(2_000);
    await run('task.complete', { task_id: late.task_id, lease_id: late.lease_id });
    await run('task.complete', { task_id: 'unknown', lease_id });
    await run('lease.acquire', { name: 'n', holder: 'a', ttl_ms: 60_000 });
    await run('lease.acquire', { name: 'n', holder: 'b', ttl_ms: 60_000 });
    await run('lease.acquire', { name: 'n', holder: 'c', ttl_ms: 60_000 });
    const counted = family(await look(), 'leasehold_operations_total');
    const happened = Object.entries(counted).filter(([, count]) => count > 0);
    expect(Object.fromEntries(happened)).toEqual({
      '{operation="task.create",outcome="ok"}': 3,
      '{operation="task.lease",outcome="ok"}': 1,
      '{operation="task.complete",outcome="ok"}': 1,
      '{operation="task.complete",outcome="cancelled"}': 1,
      '{operation="task.complete",outcome="refused",code="TASK_NOT_FOUND"}': 1,
      '{operation="lease.acquire",outcome="ok"}': 1,
      '{operation="lease.acquire",outcome="refused",code="LEASE_HELD"}': 2,
    });
    expect(counted['{operation="object.write",outcome="ok"}']).toBe(0);
  });

  it('count a call that waited once, when it is answered', async () => {
    const waiting = calls['task.lease']({ worker_id: 'w', wait_ms: 5_000 });
    await world.settle();
    const before = await look();
    expect(before.get('leasehold_waiters')).toBe(1);
    expect(family(before, 'leasehold_operations_total')['{operation="task.lease",outcome="ok"}']).toBe(0);
    await run('task.create', { payload: 1 });
    await world.finish(waiting);
    const after = await look();
    expect(after.get('leasehold_waiters')).toBe(0);
    expect(family(after, 'leasehold_operations_total')['{operation="task.lease",outcome="ok"}']).toBe(1);
  });

  it('show how large batches are and how long they take to become durable', async () => {
    engine.holding = true;
    const first = calls['task.create']({ payload: 1 });
    await world.advance(30);
    const others = [2, 3, 4].map((payload) => calls['task.create']({ payload }));
    engine.letGo();
    await world.finish(first);
    await world.settle();
    await world.advance(4);
    engine.letGo();
    await world.finish(Promise.all(others));
    const samples = await look();
    expect(family(samples, 'leasehold_batch_calls_bucket')).toMatchObject({
      '{le="1"}': 1,
      '{le="2"}': 1,
      '{le="4"}': 2,
      '{le="8192"}': 2,
      '{le="+Inf"}': 2,
    });
    expect(samples.get('leasehold_batch_calls_sum')).toBe(4);
    expect(samples.get('leasehold_batch_calls_count')).toBe(2);
    expect(family(samples, 'leasehold_commit_seconds_bucket')).toMatchObject({
      '{le="0.0025"}': 0,
      '{le="0.005"}': 1,
      '{le="0.025"}': 1,
      '{le="0.05"}': 2,
      '{le="+Inf"}': 2,
    });
    expect(samples.get('leasehold_commit_seconds_sum')).toBeCloseTo(0.034, 9);
  });

  it('count the leases that ran out, and how late that was written', async () => {
    await run('lease.acquire', { name: 'n', holder: 'h', ttl_ms: 1_000 });
    await run('task.create', { payload: 1 });
    await run('task.lease', { worker_id: 'w', ttl_ms: 1_000 });
    // The disk is busy while both run out.
    await world.advance(990);
    engine.holding = true;
    const busy = calls['task.create']({ payload: 2 });
    await world.advance(80);
    engine.holding = false;
    engine.letGo();
    await world.finish(busy);
    await world.settle();
    const samples = await look();
    expect(family(samples, 'leasehold_expiries_total')).toEqual({
      '{subject="task"}': 1,
      '{subject="name"}': 1,
    });
    expect(family(samples, 'leasehold_expiry_lateness_seconds_bucket')).toMatchObject({
      '{le="0.05"}': 0,
      '{le="0.1"}': 2,
      '{le="+Inf"}': 2,
    });
    expect(samples.get('leasehold_expiry_lateness_seconds_sum')).toBeCloseTo(0.14, 9);
  });

  it('observe no lateness for leases that ran out while the authority was down', async () => {
    const disk = new MemoryDisk();
    await openOn(disk);
    await run('lease.acquire', { name: 'n', holder: 'h', ttl_ms: 1_000 });
    await world.finish(authority.close());
    await world.advance(3_600_000);
    await openOn(disk);
    await world.settle();
    const samples = await look();
    expect(family(samples, 'leasehold_expiries_total')).toMatchObject({ '{subject="name"}': 1 });
    expect(samples.get('leasehold_expiry_lateness_seconds_count')).toBe(0);
  });

  it('show the state: queues, leases, names', async () => {
    for (const queue of ['a', 'a', 'b"\n\\']) await run('task.create', { payload: 1, queue });
    await run('task.lease', { worker_id: 'w', queues: ['a'] });
    await run('queue.pause', { queue: 'a' });
    await run('lease.acquire', { name: 'n', holder: 'h', ttl_ms: 1_000 });
    const samples = await look();
    expect(family(samples, 'leasehold_queue_tasks')).toMatchObject({
      '{queue="a",state="ready"}': 1,
      '{queue="a",state="leased"}': 1,
      '{queue="b\\"\\n\\\\",state="ready"}': 1,
    });
    expect(family(samples, 'leasehold_queues')).toEqual({ '{paused="false"}': 1, '{paused="true"}': 1 });
    expect(samples.get('leasehold_leases')).toBe(1);
    expect(samples.get('leasehold_names')).toBe(1);
    // Looking is a read itself.
    expect(samples.get('leasehold_reads_total')).toBe(1);
    expect((await look()).get('leasehold_reads_total')).toBe(2);
  });

  it('show the log, its size, and how long it took to read', async () => {
    await run('task.create', { payload: 1 });
    const samples = await look();
    expect(samples.get('leasehold_log_seq')).toBe(2);
    expect(samples.get('leasehold_log_first_seq')).toBe(1);
    expect(samples.get('leasehold_log_epoch')).toBe(1);
    expect(samples.get('leasehold_log_bytes')).toBe(authority.log.size.bytes);
    expect(samples.get('leasehold_log_files')).toBe(1);
    expect(samples.get('leasehold_disk_full')).toBe(0);
    expect(samples.get('leasehold_clock_off_seconds')).toBe(0);
    expect(samples.get('leasehold_replay_seconds')).toBe(OPENING_MS / 1_000);
    expect(samples.get('leasehold_serving')).toBe(1);
  });

  it('show what the HTTP side has counted', async () => {
    http.connected();
    http.connected();
    http.disconnected();
    for (const status of [201, 201, 409, 503]) {
      http.began();
      http.ended('task.create', status);
    }
    http.began();
    http.refused('LEASE_HELD');
    http.refused('LEASE_HELD');
    http.refusedEarly();
    const samples = await look();
    expect(family(samples, 'leasehold_http_requests_total')).toEqual({
      '{operation="task.create",status="2xx"}': 2,
      '{operation="task.create",status="4xx"}': 1,
      '{operation="task.create",status="5xx"}': 1,
    });
    expect(family(samples, 'leasehold_http_refusals_total')).toEqual({ '{code="LEASE_HELD"}': 2 });
    expect(samples.get('leasehold_http_early_refusals_total')).toBe(1);
    expect(samples.get('leasehold_http_requests_in_flight')).toBe(1);
    expect(samples.get('leasehold_http_connections')).toBe(1);
    expect(samples.get('leasehold_http_waits')).toBe(5);
    expect(samples.get('leasehold_followers')).toBe(3);
    expect(samples.get('leasehold_followers_cut_total')).toBe(2);
    expect(loopLag.watched).toBeGreaterThan(0);
    expect(family(samples, 'leasehold_event_loop_lag_seconds')).toEqual({
      '{figure="mean"}': 0.001,
      '{figure="p99"}': 0.02,
      '{figure="max"}': 0.3,
    });
  });

  it('count who is turned away, and do without the state when they are turned away themselves', async () => {
    engine.holding = true;
    const first = calls['task.create']({ payload: 1 });
    await world.settle();
    const waiting = Array.from({ length: QUEUE_MAX }, () => calls['queue.pause']({ queue: 'q' }));
    expect(await run('task.create', { payload: 1 })).toMatchObject({ code: 'OVERLOADED' });
    const samples = await look();
    expect(samples.get('leasehold_calls_waiting')).toBe(QUEUE_MAX);
    expect(samples.get('leasehold_reads_refused_total')).toBe(1);
    expect(family(samples, 'leasehold_operations_total')).toMatchObject({
      '{operation="task.create",outcome="ok"}': 0,
      '{operation="task.create",outcome="refused",code="OVERLOADED"}': 1,
    });
    expect(samples.has('leasehold_leases')).toBe(false);
    engine.holding = false;
    engine.letGo();
    await world.finish(Promise.all([first, ...waiting]));
    expect((await look()).get('leasehold_leases')).toBe(0);
  });

  it('are there when the disk hangs and when the authority is dead, only without the state', async () => {
    engine.holding = true;
    const lost = calls['task.create']({ payload: 1 });
    await world.settle();
    const hanging = metrics.text();
    await world.advance(1_000);
    const hung = parseMetrics(await world.finish(hanging));
    expect([hung.get('leasehold_serving'), hung.has('leasehold_leases')]).toEqual([1, false]);
    engine.fail(new Error('The disk is gone.'));
    await expect(world.finish(lost)).rejects.toThrow('could not be written');
    const dead = await look();
    expect([dead.get('leasehold_serving'), dead.has('leasehold_leases')]).toEqual([0, false]);
  });

  it('have older names that are all in docs/guides/sessions.md', async () => {
    const page = readFileSync(new URL('../../docs/guides/sessions.md', import.meta.url), 'utf8');
    const told = [...page.matchAll(/`(xg2g_[a-z_]+)/g)].map(([, name]) => name!);
    const text = await world.finish(metrics.text());
    const there = [...text.matchAll(/^# TYPE (xg2g_\S+) /gm)].map(([, name]) => name!);
    expect(told.toSorted()).toEqual(there.toSorted());
  });
});

describe('the free space of the disk', () => {
  it('is looked at every few seconds at most, however often the page is scraped', async () => {
    expect((await look()).get('leasehold_disk_free_bytes')).toBe(5_000);
    statfs = () => Promise.resolve(4_000);
    expect((await look()).get('leasehold_disk_free_bytes')).toBe(5_000);
    expect(asked).toBe(1);
    await world.advance(5_000);
    expect((await look()).get('leasehold_disk_free_bytes')).toBe(4_000);
  });

  it('is waited for before anything is counted: a batch on its way to the disk is not', async () => {
    let tell: (bytes: number) => void = () => undefined;
    statfs = () => new Promise((resolve) => (tell = resolve));
    const text = metrics.text();
    await world.settle();
    engine.holding = true;
    const created = calls['task.create']({ payload: 1 });
    await world.settle();
    expect(engine.waiting).toBe(1);
    tell(5_000);
    await world.settle();
    expect(await isSettled(text)).toBe(false);
    engine.holding = false;
    engine.letGo();
    await world.finish(created);
    const shown = parseMetrics(await world.finish(text));
    expect(shown.get('leasehold_tasks_total{queue="default",event="created"}')).toBe(1);
    expect(shown.get('leasehold_queue_tasks{queue="default",state="ready"}')).toBe(1);
  });

  it('is left out when the file system does not tell', async () => {
    statfs = () => Promise.reject(new Error('no statfs'));
    const shown = await look();
    expect(shown.has('leasehold_disk_free_bytes')).toBe(false);
    expect(shown.get('leasehold_serving')).toBe(1);
  });
});
