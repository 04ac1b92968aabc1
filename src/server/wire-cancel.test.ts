// Cancelling and changing tasks over the wire, in the words of the contract.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Body, type Served, startServed, stopAllServed } from '../../test/support/served.ts';

const TOKENS = [
  { token: 'token-of-a-writer', scopes: ['v1:write'] },
  { token: 'token-of-an-admin', scopes: ['v1:admin'] },
];
const REASON = 'The customer has left.';

let served: Served;

beforeEach(async () => {
  served = await startServed();
});
afterEach(stopAllServed);

const create = (fields: object = {}): Promise<Body> => served.done('task.create', { payload: 1, ...fields });
const get = (task_id: string): Promise<Body> => served.done('task.get', { task_id });
const cancel = (task_id: string): Promise<Body> => served.done('task.cancel', { task_id, reason: REASON });
const typesOf = async (task_id: string): Promise<string[]> =>
  (await served.done('task.history', { task_id })).entries.map(({ type }: Body) => type);

/** A task under a lease of a minute, of which no more is left to say. */
async function leased(fields: object = {}): Promise<{ task_id: string; lease_id: string }> {
  await create(fields);
  const { leases } = await served.done('task.lease', { worker_id: 'w', ttl_ms: 60_000 });
  return { task_id: leases[0].task_id, lease_id: leases[0].lease_id };
}

const CANCELLED = { state: 'DEAD', reason: 'CANCELLED', reason_detail: REASON };

describe('a waiting task that is cancelled', () => {
  it('is DEAD, with the words of the caller in reason_detail', async () => {
    const { task_id } = await create();
    const { status, body } = await served.call('task.cancel', { task_id, reason: REASON });
    expect([status, body.state, body.cancel_requested]).toEqual([200, 'DEAD', undefined]);
    expect(await get(task_id)).toMatchObject({ ...CANCELLED, seq: body.seq });
    const { entries } = await served.done('task.history', { task_id });
    expect(entries[1]).toMatchObject({ type: 'TaskDead', reason: 'CANCELLED', reason_detail: REASON });
  });

  it('ends also while it is delayed', async () => {
    const { task_id } = await create({ delay_ms: 1_000 });
    await cancel(task_id);
    served.advance(1_000);
    expect((await served.done('task.lease', { worker_id: 'w' })).leases).toEqual([]);
  });

  it('can be cancelled again: 200, duplicate', async () => {
    const { task_id } = await create();
    const { seq } = await cancel(task_id);
    expect(await cancel(task_id)).toEqual({ task_id, state: 'DEAD', seq, duplicate: true });
  });
});

describe('a leased task that is cancelled', () => {
  it('stays LEASED, and says that it is to be cancelled', async () => {
    const { task_id } = await leased();
    const body = await cancel(task_id);
    expect(body).toMatchObject({ task_id, state: 'LEASED', cancel_requested: true });
    expect(await get(task_id)).toMatchObject({ state: 'LEASED', cancel_requested: true, seq: body.seq });
    expect(await typesOf(task_id)).toEqual(['TaskCreated', 'LeaseGranted', 'TaskCancelRequested']);
  });

  it('can be cancelled again: 200, duplicate', async () => {
    const { task_id } = await leased();
    const body = await cancel(task_id);
    expect(await cancel(task_id)).toEqual({ ...body, duplicate: true });
  });

  it('tells its holder with the next extend or heartbeat reply, and no other', async () => {
    const other = await leased();
    const lease = await leased();
    const beat = { worker_id: 'w', leases: [other, lease] };
    const extend = { ...lease, ttl_ms: 90_000 };
    expect((await served.done('task.extend', extend)).cancel_requested).toBeUndefined();
    await cancel(lease.task_id);
    expect((await served.done('task.extend', extend)).cancel_requested).toBe(true);
    const { extended } = await served.done('worker.heartbeat', beat);
    expect(extended.map((each: Body) => each.cancel_requested)).toEqual([undefined, true]);
  });

  it('may still be completed in time', async () => {
    const lease = await leased();
    await cancel(lease.task_id);
    const verdict = await served.done('task.complete', { ...lease, result: 1 });
    expect(verdict).toMatchObject({ outcome: 'COMMITTED', state: 'COMPLETED' });
    const again = await served.call('task.cancel', { task_id: lease.task_id, reason: REASON });
    expect([again.status, again.body.code]).toEqual([409, 'TASK_TERMINAL']);
  });

  it.each([
    ['failure', 'task.fail', { reason: 'no' }, 'TaskFailed'],
    ['release', 'task.release', {}, 'TaskReleased'],
  ] as const)('ends with a %s, which is written as ever', async (_, verb, fields, entry) => {
    const lease = await leased();
    await cancel(lease.task_id);
    const verdict = await served.done(verb, { ...lease, ...fields });
    expect(verdict).toMatchObject({ outcome: 'COMMITTED', state: 'DEAD' });
    expect(verdict.due_at).toBeUndefined();
    expect(await served.done(verb, { ...lease, ...fields })).toEqual({ ...verdict, duplicate: true });
    expect(await get(lease.task_id)).toMatchObject(CANCELLED);
    expect((await typesOf(lease.task_id)).slice(3)).toEqual([entry, 'TaskDead']);
    expect(await cancel(lease.task_id)).toMatchObject({ state: 'DEAD', duplicate: true });
  });

  it('ends when its lease runs out', async () => {
    const { task_id } = await leased();
    await cancel(task_id);
    served.advance(60_000);
    expect(await get(task_id)).toMatchObject(CANCELLED);
    expect((await typesOf(task_id)).slice(3)).toEqual(['LeaseExpired', 'TaskDead']);
    expect((await served.done('task.lease', { worker_id: 'w' })).leases).toEqual([]);
  });

  it('is dead of the cancellation even when its attempts are used up as well', async () => {
    const lease = await leased({ max_attempts: 1 });
    await cancel(lease.task_id);
    await served.done('task.fail', { ...lease, reason: 'no' });
    expect(await get(lease.task_id)).toMatchObject(CANCELLED);
  });

  it('has FAILED when its last failure is final', async () => {
    const lease = await leased();
    await cancel(lease.task_id);
    const verdict = await served.done('task.fail', { ...lease, reason: 'no', retry: false });
    expect(verdict.state).toBe('FAILED');
    expect(await get(lease.task_id)).toMatchObject({ state: 'FAILED', reason: 'no' });
  });
});

describe('a batch', () => {
  it('takes cancel, checkpoint and kill, each judged on its own', async () => {
    const { task_id } = await create();
    const lease = await leased();
    const other = await create();
    const ops = [
      { op: 'task.cancel', task_id, reason: REASON },
      { op: 'task.checkpoint', ...lease, value: 1 },
      { op: 'task.kill', task_id: other.task_id, reason: 'no' },
      { op: 'task.kill', task_id: other.task_id, reason: 'no' },
    ];
    const { text } = await served.send('POST', '/v1/batch', { body: { ops } });
    const { results } = JSON.parse(text) as { results: { status: number }[] };
    expect(results.map(({ status }) => status)).toEqual([200, 200, 200, 409]);
  });

  it('asks for the scope of each operation: a writer kills nothing', async () => {
    const guarded = await startServed({ tokens: TOKENS });
    const ops = [
      { op: 'task.create', task_id: 'one', payload: 1 },
      { op: 'task.kill', task_id: 'one', reason: 'no' },
    ];
    const send = async (token: string) => {
      const { text } = await guarded.send('POST', '/v1/batch', { body: { ops }, token });
      return (JSON.parse(text) as { results: { status: number; body: Body }[] }).results;
    };
    const [created, refused] = await send('token-of-a-writer');
    expect([created!.status, refused!.status, refused!.body.code]).toEqual([201, 403, 'FORBIDDEN']);
    expect(refused!.body.detail).toContain('v1:admin');
    expect((await send('token-of-an-admin')).map(({ status }) => status)).toEqual([200, 200]);
  });
});

describe('changing a task', () => {
  it('leaves a task where it was among those of its key', async () => {
    for (const task_id of ['a', 'b', 'c'])
      await served.done('task.create', { task_id, payload: 1, key: 'acme' });
    await served.done('task.change', { task_id: 'b', queue: 'other', priority: 1 });
    const { tasks } = await served.done('task.list', { key: 'acme' });
    expect(tasks.map((task: { readonly task_id: string }) => task.task_id)).toEqual(['a', 'b', 'c']);
  });

  it('moves it to another queue, with its place by age', async () => {
    const { task_id } = await create();
    await create({ queue: 'other' });
    await served.done('task.change', { task_id, queue: 'other' });
    const { leases } = await served.done('task.lease', { worker_id: 'w', queues: ['other'] });
    expect(leases[0].task_id).toBe(task_id);
    const { queues } = await served.done('queue.list');
    expect(queues.map(({ queue }: Body) => queue)).toEqual(['other']);
  });

  it('puts it before others by its priority', async () => {
    await create();
    const { task_id } = await create();
    await served.done('task.change', { task_id, priority: 1 });
    expect((await leased()).task_id).toBe(task_id);
  });

  it('delays it from now on, and a delay of 0 ends its delay', async () => {
    const { task_id } = await create();
    await served.done('task.change', { task_id, delay_ms: 60_000 });
    expect((await served.done('task.lease', { worker_id: 'w' })).leases).toEqual([]);
    await served.done('task.change', { task_id, delay_ms: 0 });
    expect((await served.done('task.lease', { worker_id: 'w' })).leases).toHaveLength(1);
  });

  it('serves who waits in the new queue', async () => {
    const { task_id } = await create();
    const waiting = served.done('task.lease', { worker_id: 'w', queues: ['other'], wait_ms: 60_000 });
    await served.until(async () => (await served.done('status.get')).counts.waiters === 1);
    await served.done('task.change', { task_id, queue: 'other' });
    expect((await waiting).leases).toMatchObject([{ task_id }]);
  });

  it('records the outcome, and nothing when nothing changes', async () => {
    const { task_id, due_at } = await create({ priority: 2 });
    const { seq } = await served.done('task.change', { task_id, priority: 3 });
    expect((await served.done('task.change', { task_id, priority: 3, queue: 'default' })).seq).toBe(seq);
    const { entries } = await served.done('task.history', { task_id });
    expect(entries.slice(1)).toMatchObject([
      { seq, type: 'TaskChanged', task_id, queue: 'default', priority: 3, due_at },
    ]);
  });

  it('takes its dedup key along', async () => {
    const { task_id } = await create({ dedup_key: 'one' });
    await served.done('task.change', { task_id, queue: 'other' });
    expect((await create({ dedup_key: 'one' })).duplicate).toBeUndefined();
    expect(await create({ dedup_key: 'one', queue: 'other' })).toMatchObject({ task_id, duplicate: true });
  });

  it('needs something to change: 400', async () => {
    const { task_id } = await create();
    const { status, body } = await served.call('task.change', { task_id });
    expect([status, body.code]).toEqual([400, 'INVALID_ARGUMENT']);
  });

  it('needs v1:admin', async () => {
    const guarded = await startServed({ tokens: TOKENS });
    const change = { task_id: 'x', priority: 1 };
    const writer = await guarded.call('task.change', change, { token: 'token-of-a-writer' });
    const admin = await guarded.call('task.change', change, { token: 'token-of-an-admin' });
    expect([writer.status, admin.status]).toEqual([403, 404]);
  });
});

describe('a start task', () => {
  it.each([
    ['task.cancel', { reason: 'no' }],
    ['task.checkpoint', { lease_id: 'l00000000001', value: 1 }],
    ['task.change', { priority: 1 }],
  ] as const)('refuses %s: 403', async (operation, fields) => {
    const intent = { type: 'live', serviceRef: 'one', profileID: 'p' };
    const { session_id } = await served.done('intent.accept', intent);
    const { status, body } = await served.call(operation, { task_id: session_id, ...fields });
    expect([status, body.code]).toEqual([403, 'FORBIDDEN']);
  });
});
