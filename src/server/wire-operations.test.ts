// Every operation over a real socket, with the reply and the status that the table of operations promises. The
// shapes are checked by the support for all tests of the wire; here is what each operation does besides.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Body, type Served, startServed, stopAllServed } from '../../test/support/served.ts';
import type { SessionOperation } from '../../test/support/wire-contract.ts';
import { CHANGES, type Operation } from '../operations/table.ts';

let served: Served;

beforeEach(async () => {
  served = await startServed();
});
afterEach(stopAllServed);

const TOKEN = 'a-token-of-16-bytes';
const GUARD = { name: 'system:orchestrator:guard_lock', holder: 'orchestrator', token: TOKEN };

const NIGHTLY = { cron: '0 3 * * *', timezone: 'Europe/Berlin', queue: 'reports', payload: { n: 1 } };

const create = (fields: object = {}): Promise<Body> =>
  served.done('task.create', { payload: { n: 1 }, ...fields });
const lease = async (fields: object = {}): Promise<Body> => {
  const { leases } = await served.done('task.lease', { worker_id: 'worker', ...fields });
  return leases[0];
};
const acquire = (name: string, fields: object = {}): Promise<Body> =>
  served.done('lease.acquire', { name, holder: 'holder', ttl_ms: 60_000, token: TOKEN, ...fields });

/** What each operation is called for, and what it gives. A new operation does not compile until it stands here. */
const OPERATIONS: Record<Exclude<Operation, SessionOperation>, () => Promise<void>> = {
  'task.create': async () => {
    const body = await create({ task_id: 'mail-1', queue: 'mail', priority: 7 });
    expect(body).toMatchObject({
      task_id: 'mail-1',
      state: 'WAITING',
      attempt: 0,
      queue: 'mail',
      priority: 7,
    });
    const { status, body: again } = await served.call('task.create', {
      task_id: 'mail-1',
      payload: { n: 1 },
    });
    expect([status, again.duplicate, again.seq]).toEqual([200, true, body.seq]);
  },
  'task.lease': async () => {
    const { task_id } = await create();
    const { leases, seq } = await served.done('task.lease', { worker_id: 'worker', ttl_ms: 5_000 });
    expect(leases).toHaveLength(1);
    expect(leases[0]).toMatchObject({
      task_id,
      attempt: 1,
      payload: { n: 1 },
      queue: 'default',
      lease_seq: seq,
    });
    expect(leases[0].expiry_timestamp).toBe(leases[0].expires_at);
    expect(leases[0].remaining_ms).toBe(5_000);
    expect((await served.done('task.lease', { worker_id: 'worker' })).leases).toEqual([]);
  },
  'task.extend': async () => {
    await create();
    const { task_id, lease_id, expires_at } = await lease({ ttl_ms: 1_000 });
    const longer = await served.done('task.extend', { task_id, lease_id, ttl_ms: 60_000 });
    expect(longer.expires_at > expires_at).toBe(true);
    const shorter = await served.done('task.extend', { task_id, lease_id, ttl_ms: 10 });
    expect(shorter.expires_at).toBe(longer.expires_at);
  },
  'task.complete': async () => {
    await create();
    const { task_id, lease_id } = await lease();
    const fields = { task_id, lease_id, result: { sent: true } };
    const { headers, body } = await served.call('task.complete', fields);
    expect(headers['leasehold-outcome']).toBe('COMMITTED');
    expect(body).toMatchObject({ outcome: 'COMMITTED', state: 'COMPLETED' });
    expect(await served.done('task.complete', fields)).toEqual({ ...body, duplicate: true });
  },
  'task.fail': async () => {
    await create();
    const { task_id, lease_id } = await lease();
    const { headers, body } = await served.call('task.fail', {
      task_id,
      lease_id,
      reason: 'no route',
      delay_ms: 50,
    });
    expect(headers['leasehold-outcome']).toBe('COMMITTED');
    expect(body).toMatchObject({ outcome: 'COMMITTED', state: 'WAITING', due_at: expect.any(String) });
  },
  'task.release': async () => {
    await create();
    const { task_id, lease_id } = await lease();
    const { headers, body } = await served.call('task.release', { task_id, lease_id });
    expect(headers['leasehold-outcome']).toBe('COMMITTED');
    expect(body).toMatchObject({ outcome: 'COMMITTED', state: 'WAITING' });
  },
  'task.checkpoint': async () => {
    await create();
    const { task_id, lease_id } = await lease();
    const value = { done: 3, total: 9 };
    const saved = await served.done('task.checkpoint', { task_id, lease_id, value });
    expect(saved).toMatchObject({ task_id, lease_id });
    await served.done('task.release', { task_id, lease_id });
    expect(await lease()).toMatchObject({ task_id, attempt: 2, checkpoint: value });
  },
  'task.cancel': async () => {
    const { task_id } = await create();
    expect(await served.done('task.cancel', { task_id, reason: 'a mistake' })).toMatchObject({
      task_id,
      state: 'DEAD',
    });
  },
  'task.change': async () => {
    const { task_id } = await create();
    const fields = { priority: 5, queue: 'other', delay_ms: 60_000 };
    const body = await served.done('task.change', { task_id, ...fields });
    expect(body).toMatchObject({ task_id, state: 'WAITING', queue: 'other', priority: 5 });
    const { queue, priority, due_at } = await served.done('task.get', { task_id });
    expect({ queue, priority, due_at }).toEqual({ queue: 'other', priority: 5, due_at: body.due_at });
  },
  'task.kill': async () => {
    const { task_id } = await create();
    expect(await served.done('task.kill', { task_id, reason: 'a mistake' })).toMatchObject({
      task_id,
      state: 'DEAD',
    });
  },
  'task.requeue': async () => {
    const { task_id } = await create();
    await served.done('task.kill', { task_id, reason: 'a mistake' });
    const { status, body } = await served.call('task.requeue', { task_id, reason: 'no mistake' });
    expect([status, body]).toMatchObject([201, { requeued_from: task_id, state: 'WAITING', attempt: 0 }]);
  },
  'task.bulk': async () => {
    const { task_id } = await create({ queue: 'bulk' });
    const request = { action: 'cancel', filter: { queue: 'bulk' }, reason: 'a mistake' };
    expect(await served.done('task.bulk', request)).toEqual({
      matched: 1,
      changed: 1,
      refused: [],
      task_ids: [task_id],
      cursor: expect.stringMatching(/^0-[0-9]+$/),
      seq: 3,
    });
  },
  'task.get': async () => {
    const { task_id } = await create({ dedup_key: 'one' });
    const { lease_id, expires_at } = await lease({ ttl_ms: 60_000 });
    const leased = await served.done('task.get', { task_id });
    expect(leased).toMatchObject({
      task_id,
      payload: { n: 1 },
      state: 'LEASED',
      attempt: 1,
      current_lease_id: lease_id,
      dedup_key: 'one',
      leases: [{ lease_id, worker_id: 'worker' }],
      expiry_timestamp: expires_at,
      expires_at,
    });
    expect(leased.remaining_ms).toBeGreaterThan(50_000);
    expect(leased.remaining_ms).toBeLessThanOrEqual(60_000);
    await served.done('task.complete', { task_id, lease_id, result: [1] });
    expect(await served.done('task.get', { task_id })).toMatchObject({ state: 'COMPLETED', result: [1] });
  },
  'task.list': async () => {
    for (const n of [1, 2, 3]) await create({ task_id: `task-${n}`, queue: n === 2 ? 'other' : 'default' });
    const first = await served.done('task.list', { limit: 2 });
    const rest = await served.done('task.list', { limit: 2, cursor: first.next_cursor });
    expect(rest.next_cursor).toBeUndefined();
    const ids = [...first.tasks, ...rest.tasks].map(({ task_id }: Body) => task_id);
    expect(ids.sort()).toEqual(['task-1', 'task-2', 'task-3']);
    const other = await served.done('task.list', { queue: 'other', state: 'WAITING' });
    expect(other.tasks).toHaveLength(1);
  },
  'task.history': async () => {
    const { task_id } = await create();
    await lease();
    const { entries } = await served.done('task.history', { task_id });
    expect(entries.map(({ type }: Body) => type)).toEqual(['TaskCreated', 'LeaseGranted']);
  },
  'task.why': async () => {
    const { task_id } = await create({ delay_ms: 60_000 });
    expect(await served.done('task.why', { task_id })).toMatchObject({ code: 'DELAYED' });
  },
  'worker.heartbeat': async () => {
    await create();
    const { task_id, lease_id } = await lease({ ttl_ms: 1_000 });
    const unknown = { task_id, lease_id: 'nothing' };
    const fields = { worker_id: 'worker', leases: [{ task_id, lease_id }, unknown], ttl_ms: 60_000 };
    const { extended, lost } = await served.done('worker.heartbeat', fields);
    expect(extended).toMatchObject([{ task_id, lease_id }]);
    expect(lost).toMatchObject([unknown]);
  },
  'worker.list': async () => {
    await served.done('worker.heartbeat', { worker_id: 'worker' });
    expect((await served.done('worker.list')).workers).toMatchObject([
      { worker_id: 'worker', active_leases: 0 },
    ]);
  },
  'queue.list': async () => {
    for (const queue of ['mail', 'a', 'z', 'mail']) await create({ queue });
    expect((await served.done('queue.list')).queues).toMatchObject([
      { queue: 'a', waiting: 1 },
      { queue: 'mail', paused: false, waiting: 2 },
      { queue: 'z', waiting: 1 },
    ]);
  },
  'queue.figures': async () => {
    await create({ queue: 'mail' });
    const { task_id, lease_id } = await lease({ queues: ['mail'] });
    await served.done('task.complete', { task_id, lease_id });
    const { totals, wait, run } = await served.done('queue.figures', { queue: 'mail' });
    expect(totals).toMatchObject({ created: 1, leased: 1, completed: 1, failed: 0 });
    const sum = (buckets: { count: number }[]): number => buckets.reduce((all, { count }) => all + count, 0);
    expect([sum(wait), sum(run), wait.at(-1).up_to_ms]).toEqual([1, 1, null]);
    expect(await served.done('queue.figures', { queue: 'unknown' })).toMatchObject({ wait: [], run: [] });
  },
  'queue.limit': async () => {
    await create({ key: 'a' });
    await create({ key: 'a' });
    const rate = { count: 10, per_ms: 1_000 };
    const set = await served.done('queue.limit', { queue: 'default', max_leased_per_key: 1, rate });
    expect(set.limits).toEqual({ max_leased_per_key: 1, rate: { ...rate, per_key: false } });
    expect(await lease()).toBeDefined();
    expect(await lease()).toBeUndefined();
    const queues = async () => ((await served.done('queue.list')).queues as Body[])[0]!.limits;
    expect(await queues()).toEqual(set.limits);
    await served.done('queue.limit', { queue: 'default', max_leased_per_key: null, rate: null });
    expect(await queues()).toBeUndefined();
    expect(await lease()).toBeDefined();
  },
  'queue.pause': async () => {
    await create();
    expect(await served.done('queue.pause', { queue: 'default' })).toMatchObject({
      queue: 'default',
      paused: true,
    });
    expect(await lease()).toBeUndefined();
  },
  'queue.resume': async () => {
    await create();
    await served.done('queue.pause', { queue: 'default' });
    expect(await served.done('queue.resume', { queue: 'default' })).toMatchObject({ paused: false });
    expect(await lease()).toBeDefined();
  },
  'schedule.put': async () => {
    const { status, body } = await served.call('schedule.put', { name: 'nightly', ...NIGHTLY });
    expect(status).toBe(201);
    expect(body).toMatchObject({ ...NIGHTLY, name: 'nightly', created: true, last_due_at: null });
    expect(body.next_five).toHaveLength(5);
    expect(body.next_five[0]).toBe(body.next_at);
    const again = await served.call('schedule.put', { name: 'nightly', ...NIGHTLY });
    expect([again.status, again.body.seq, again.body.created]).toEqual([200, body.seq, false]);
    const applied = await served.call('schedule.put', {
      name: 'nightly',
      ...NIGHTLY,
      cron: '@hourly',
      applied: true,
    });
    expect(applied).toMatchObject({ status: 200, body: { kept: true, cron: NIGHTLY.cron } });
  },
  'schedule.get': async () => {
    await served.done('schedule.put', { name: 'nightly', ...NIGHTLY, starts_at: '2030-01-01T00:00:00Z' });
    const record = await served.done('schedule.get', { name: 'nightly' });
    expect(record).toMatchObject({ ...NIGHTLY, next_at: '2030-01-01T02:00:00.000Z' });
    expect(record.next_five[4]).toBe('2030-01-05T02:00:00.000Z');
  },
  'schedule.list': async () => {
    for (const name of ['b', 'ä', 'a']) await served.done('schedule.put', { name, ...NIGHTLY });
    const first = await served.done('schedule.list', { limit: 2 });
    const second = await served.done('schedule.list', { limit: 2, cursor: first.next_cursor });
    const names = [...first.schedules, ...second.schedules].map(({ name }: Body) => name);
    expect([names, second.next_cursor]).toEqual([['a', 'b', 'ä'], undefined]);
  },
  'schedule.delete': async () => {
    await served.done('schedule.put', { name: 'nightly', ...NIGHTLY });
    await served.done('schedule.delete', { name: 'nightly' });
    expect((await served.call('schedule.get', { name: 'nightly' })).status).toBe(404);
  },
  'schedule.pause': async () => {
    await served.done('schedule.put', { name: 'nightly', ...NIGHTLY });
    const paused = await served.done('schedule.pause', { name: 'nightly' });
    expect(paused).toMatchObject({ paused: true, next_at: null });
    expect(await served.done('schedule.get', { name: 'nightly' })).toMatchObject({ next_five: [] });
  },
  'schedule.resume': async () => {
    const { next_at } = await served.done('schedule.put', { name: 'nightly', ...NIGHTLY });
    await served.done('schedule.pause', { name: 'nightly' });
    const resumed = await served.done('schedule.resume', { name: 'nightly' });
    expect(resumed).toMatchObject({ paused: false, next_at });
  },
  'schedule.fire': async () => {
    await served.done('schedule.put', { name: 'nightly', ...NIGHTLY });
    const fired = await served.done('schedule.fire', { name: 'nightly', request_id: 'r' });
    expect(fired.task_id).toBe(`nightly!${fired.seq}`);
    const task = await served.done('task.get', { task_id: fired.task_id });
    expect(task).toMatchObject({ payload: NIGHTLY.payload, queue: 'reports', schedule: 'nightly' });
    const again = await served.done('schedule.fire', { name: 'nightly', request_id: 'r' });
    expect(again).toMatchObject({ task_id: fired.task_id, duplicate: true });
  },
  'lease.acquire': async () => {
    const grant = await acquire('report', { metadata: { host: 'a' } });
    expect(grant).toMatchObject({
      name: 'report',
      holder: 'holder',
      token: TOKEN,
      remaining_ms: 60_000,
      lease_seq: grant.seq,
    });
    const again = await acquire('report');
    expect(again).toMatchObject({ lease_seq: grant.lease_seq, duplicate: true });
    const { token } = await acquire('other', { token: undefined });
    expect(token.length).toBeGreaterThanOrEqual(22);
  },
  'lease.acquire_all': async () => {
    const fields = { names: ['a', 'b'], holder: 'holder', ttl_ms: 60_000 };
    const { leases, seq } = await served.done('lease.acquire_all', fields);
    expect(leases).toMatchObject([
      { name: 'a', lease_seq: seq },
      { name: 'b', lease_seq: seq },
    ]);
    expect(leases[0].token).toBe(leases[1].token);
  },
  'lease.renew': async () => {
    const { expires_at, lease_seq } = await acquire('report', { ttl_ms: 1_000 });
    const renewed = await served.done('lease.renew', {
      name: 'report',
      holder: 'holder',
      token: TOKEN,
      ttl_ms: 60_000,
    });
    expect(renewed.lease_seq).toBe(lease_seq);
    expect(renewed.expires_at > expires_at).toBe(true);
  },
  'lease.release': async () => {
    await acquire('report');
    const fields = { name: 'report', holder: 'holder', token: TOKEN };
    expect((await served.done('lease.release', { ...fields, token: `${TOKEN}!` })).released).toBe(false);
    expect((await served.done('lease.release', fields)).released).toBe(true);
    expect((await served.done('lease.release', fields)).released).toBe(false);
  },
  'lease.break': async () => {
    const { lease_seq } = await acquire('report');
    const fields = { name: 'report', reason: 'stuck', lease_seq };
    expect(await served.done('lease.break', fields)).toMatchObject({
      name: 'report',
      holder: 'holder',
      lease_seq,
    });
  },
  'lease.wipe': async () => {
    await acquire('lease:a');
    await acquire('lease:b');
    await acquire('other');
    await acquire(GUARD.name, { holder: GUARD.holder });
    expect((await served.done('lease.wipe', { prefix: 'lease:', guard: GUARD })).wiped).toBe(2);
    expect((await served.done('lease.wipe', { prefix: '', guard: GUARD })).wiped).toBe(1);
    expect((await served.done('lease.list')).leases).toMatchObject([{ name: GUARD.name }]);
  },
  'lease.get': async () => {
    const { lease_seq } = await acquire('report', { metadata: { host: 'a' } });
    const { text, body } = await served.call('lease.get', { name: 'report' });
    expect(body).toMatchObject({ name: 'report', holder: 'holder', lease_seq, metadata: { host: 'a' } });
    expect(text).not.toContain(TOKEN);
  },
  'lease.list': async () => {
    for (const name of ['a:1', 'a:2', 'a:3', 'b']) await acquire(name);
    const first = await served.done('lease.list', { prefix: 'a:', limit: 2 });
    const rest = await served.done('lease.list', { prefix: 'a:', limit: 2, cursor: first.next_cursor });
    const names = [...first.leases, ...rest.leases].map(({ name }: Body) => name);
    expect(names.sort()).toEqual(['a:1', 'a:2', 'a:3']);
    expect((await served.send('GET', '/v1/leases')).text).not.toContain(TOKEN);
  },
  'lease.waiters': async () => {
    expect(await served.done('lease.waiters', { name: 'report' })).toMatchObject({ waiters: [] });
  },
  'lease.ask': async () => {
    const wire = await served.live();
    await wire.call('lease.acquire', { name: 'report', holder: 'h', ttl_ms: 60_000 });
    expect(await served.done('lease.ask', { name: 'report', reason: 'please' })).toEqual({ told: true });
    wire.close();
    await served.until(
      async () => !(await served.done('lease.ask', { name: 'report', reason: 'again' })).told,
    );
  },
  'lease.history': async () => {
    await acquire('report');
    await served.done('lease.break', { name: 'report', reason: 'stuck' });
    const { text, body } = await served.call('lease.history', { name: 'report' });
    expect(body.entries.map(({ type }: Body) => type)).toEqual(['NameLeased', 'NameBroken']);
    expect(text).not.toContain(TOKEN);
  },
  'object.write': async () => {
    const { lease_seq } = await acquire('report');
    const fields = { object_id: 'report', value: { a: 1 }, lease: { lease_seq } };
    expect(await served.done('object.write', fields)).toMatchObject({
      object_id: 'report',
      version: 1,
      lease_seq,
    });
    expect(await served.done('object.write', { ...fields, if_version: 1 })).toMatchObject({ version: 2 });
  },
  'object.get': async () => {
    const { lease_seq } = await acquire('report');
    const { seq } = await served.done('object.write', {
      object_id: 'report',
      value: [1],
      lease: { lease_seq },
    });
    const object = { object_id: 'report', value: [1], version: 1, lease_seq, seq };
    expect(await served.done('object.get', { object_id: 'report' })).toEqual(object);
  },
  'object.delete': async () => {
    const { lease_seq } = await acquire('report');
    await served.done('object.write', { object_id: 'report', value: [1], lease: { lease_seq } });
    await served.done('object.delete', { object_id: 'report', lease: { lease_seq } });
    expect((await served.call('object.get', { object_id: 'report' })).body.code).toBe('OBJECT_NOT_FOUND');
  },
  'receipt.list': async () => {
    const { lease_seq } = await acquire('report');
    const late = { object_id: 'report', value: 1, lease: { lease_seq: lease_seq - 1, holder_id: 'late' } };
    await served.call('object.write', late, { headers: { 'x-request-id': 'write-1' } });
    await served.call(
      'object.write',
      { object_id: 'report', value: 1 },
      { headers: { 'x-request-id': 'write-2' } },
    );
    const { receipts } = await served.done('receipt.list', { object_id: 'report' });
    expect(receipts).toMatchObject([
      { code: 'WRITE_UNFENCED', requestId: 'write-2', presented_lease_seq: null, current_fence: lease_seq },
      {
        code: 'WRITE_STALE_FENCE',
        object_id: 'report',
        presented_lease_seq: lease_seq - 1,
        current_fence: lease_seq,
        holder_id: 'late',
        requestId: 'write-1',
      },
    ]);
    const stale = await served.done('receipt.list', { code: 'WRITE_STALE_FENCE', limit: 1 });
    expect(stale.receipts).toHaveLength(1);
    expect((await served.done('receipt.list', { object_id: 'other' })).receipts).toEqual([]);
  },
  'status.get': async () => {
    await create();
    await acquire(GUARD.name, { holder: GUARD.holder });
    expect(await served.done('status.get')).toMatchObject({
      role: 'leader',
      seq: 3,
      first_seq: 1,
      epoch: 1,
      disk_full: false,
      clock_off_ms: expect.closeTo(0, -2),
      guard_holder: GUARD.holder,
      counts: { tasks: { WAITING: 1 }, leases: 1, names: 1, waiters: 0 },
    });
  },
  // A server without tokens; those with tokens are in `wire-access.test.ts`.
  'object.list': async () => {
    const first = await acquire('a/1');
    await served.done('object.write', { object_id: 'a/1', value: 1, lease: { lease_seq: first.lease_seq } });
    await acquire('a/2');
    const again = await acquire('a/1', { token: 'another-token-of-16-bytes' });
    const listed = {
      object_id: 'a/1',
      version: 1,
      lease_seq: first.lease_seq,
      fence: again.lease_seq,
      held: true,
    };
    expect((await served.done('object.list')).objects).toMatchObject([listed]);
    expect((await served.done('object.list', { prefix: 'b' })).objects).toEqual([]);
  },
  'overview.get': async () => {
    await create({ queue: 'mail', task_id: 'lost' });
    await create({ queue: 'mail', delay_ms: 60_000 });
    await lease({ queues: ['mail'], worker_id: 'w7', ttl_ms: 1_000 });
    await acquire('report', { holder: 'host-1' });
    served.advance(2_000);
    await served.done('task.get', { task_id: 'lost' });
    await served.done('lease.break', { name: 'report', reason: 'it hangs' });
    await served.done('lease.acquire', { ...GUARD, ttl_ms: 15_000 });
    const { seq } = await served.done('status.get');
    const { queues, incidents, guard, commits, seq: seen } = await served.done('overview.get');
    expect(seen).toBe(seq);
    expect(commits).toBeGreaterThan(0);
    expect(guard).toMatchObject({ holder: 'orchestrator', remaining_ms: expect.any(Number) });
    expect(queues).toMatchObject([
      { queue: 'mail', ready: 1, delayed: 1, leased: 0, workers: 1, totals: { created: 2, expired: 1 } },
    ]);
    expect(incidents).toMatchObject([
      { type: 'NameBroken', name: 'report', holder: 'host-1', reason: 'it hangs' },
      { type: 'LeaseExpired', task_id: 'lost', queue: 'mail', holder: 'w7' },
    ]);
    served.advance(600_000);
    // Only the guard, which ran out just now.
    expect((await served.done('overview.get')).incidents).toMatchObject([{ name: GUARD.name }]);
  },
  'whoami.get': async () => {
    expect(await served.done('whoami.get')).toEqual({ name: 'anybody on this machine', scopes: ['*'] });
  },
};

describe('over HTTP', () => {
  it.each(Object.entries(OPERATIONS))('%s answers as the contract says', async (_, run) => {
    await run();
    expect(served.troubles).toEqual([]);
  });
});

describe('the reply to a change', () => {
  it('has the seq at which it is durable', () => {
    const without = CHANGES.filter(({ reply }) => !('seq' in reply.properties));
    expect(without.map(({ name }) => name)).toEqual([]);
  });
});

describe('a verdict that comes too late', () => {
  it.each([
    ['task.complete', { result: 1 }],
    ['task.fail', { reason: 'no' }],
    ['task.release', {}],
  ] as const)(
    'is CANCELLED, in the body and in the header, and changes nothing: %s',
    async (operation, fields) => {
      const { task_id } = await create();
      const { lease_id } = await lease({ ttl_ms: 1_000 });
      served.advance(1_000);
      const { status, headers, body } = await served.call(operation, { task_id, lease_id, ...fields });
      expect([status, headers['leasehold-outcome'], body.outcome]).toEqual([200, 'CANCELLED', 'CANCELLED']);
      expect((await served.done('task.get', { task_id })).state).toBe('WAITING');
      const { entries } = await served.done('task.history', { task_id });
      expect(entries.filter(({ type }: Body) => type === 'TaskCancelled')).toHaveLength(1);
      expect(await served.done(operation, { task_id, lease_id, ...fields })).toEqual({
        ...body,
        duplicate: true,
      });
    },
  );
});

describe('what is asked for again', () => {
  it('is answered as the first time, and done once', async () => {
    await create({ queue: 'q' });
    const poll = { worker_id: 'w', queues: ['q'], request_id: 'r-1' };
    const first = await served.done('task.lease', poll);
    expect(await served.done('task.lease', poll)).toMatchObject({
      leases: [{ lease_id: first.leases[0].lease_id, attempt: 1 }],
      duplicate: true,
    });
    const { status, body } = await served.call('task.create', { payload: 2, dedup_key: 'k' });
    const again = await served.call('task.create', { payload: 3, dedup_key: 'k' });
    expect([status, again.status, again.body.duplicate]).toEqual([201, 200, true]);
    expect(again.body.task_id).toBe(body.task_id);
  });
});

describe('a name or id in the path', () => {
  it('may be anything a name may be', async () => {
    const marks = [
      '/',
      '//',
      '%',
      '%2F',
      '%25',
      '%zz',
      '?',
      '#',
      '+',
      ' x ',
      ';',
      '&=',
      '"',
      '\\',
      "'",
      '*',
      ':',
      '..',
      '.',
    ];
    const words = [
      'é',
      '日本',
      '😀',
      '{name}',
      '<b>',
      'acquire',
      'wipe',
      'history',
      '__proto__',
      'constructor',
    ];
    for (const name of [...marks, ...words, 'ü'.repeat(128), 'x'.repeat(256)]) {
      expect((await acquire(name)).name).toBe(name);
      expect((await served.done('lease.get', { name })).name).toBe(name);
      expect((await served.done('lease.list', { prefix: name })).leases).toContainEqual(
        expect.objectContaining({ name }),
      );
    }
  });

  it('that is no name is refused as one', async () => {
    for (const name of [
      'ü'.repeat(129),
      'x'.repeat(257),
      'x'.repeat(10_000),
      'a\u0301',
      '\u2028',
      '\u007f',
      '\0',
      '',
    ]) {
      const { status, body } = await served.call('lease.acquire', { name, holder: 'holder', ttl_ms: 1_000 });
      expect([status, body.code]).toEqual([400, 'INVALID_ARGUMENT']);
      expect(body.detail).toBe('The field name must be 1 to 256 bytes of printable text in NFC.');
    }
  });

  it('of a task has no slash', async () => {
    const { body } = await served.call('task.get', { task_id: 'a/b' });
    expect(body.detail).toBe(
      'The field task_id must be 1 to 256 bytes of printable text in NFC without a slash.',
    );
  });
});
