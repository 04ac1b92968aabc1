// The rules of the handle that hold for all of it: members that survive destructuring, one error for every loss, lists
// page by page, faults that end no process; and what 0.1 called by other names.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { defineTask } from '../../src/client/define-task.ts';
import { job } from '../../src/client/worker-options.ts';
import { LeaseholdError } from '../../src/protocol/leasehold-error.ts';
import { type TestLeasehold, testLeasehold } from '../../src/testing/test-leasehold.ts';

const mail = defineTask<{ to: string }, string>('mail', { retry: { maxFailures: 1 } });

let t: TestLeasehold;

beforeEach(async () => {
  t = await testLeasehold();
});

afterEach(() => t.close());

describe('what is held', () => {
  it('survives destructuring: a lease, several, a guard and a task', async () => {
    const { assertHeld, remaining, extend, write, release } = await t.lh.acquire('n', { ttl: '15s' });
    assertHeld();
    expect(remaining()).toBe(14_250);
    await extend('1m');
    expect(remaining()).toBe(57_000);
    expect(await write(1)).toMatchObject({ version: 1 });
    expect(await release()).toBe(true);
    expect(() => assertHeld()).toThrow(expect.objectContaining({ code: 'LEASE_LOST' }));
    const { names, write: writeTo, release: releaseAll } = await t.lh.acquireAll(['a', 'b']);
    expect(names).toEqual(['a', 'b']);
    await writeTo('b', 2);
    await releaseAll();
    const guarded = await t.lh.guard('g', ({ assertHeld: isHeld, write: writeGuarded, extend: longer }) => {
      isHeld();
      return longer('1m').then(() => writeGuarded('mine'));
    });
    expect(guarded.version).toBe(1);
  });

  it('is extended once: later renewals are by its own ttl again', async () => {
    const { extend, remaining, signal } = await t.lh.acquire('n', { ttl: '15s' });
    await extend('1m');
    await t.advance('50s');
    expect(remaining()).toBeLessThanOrEqual(15_000);
    expect(signal.aborted).toBe(false);
  });

  it('is disposable also when it was only tried', async () => {
    {
      await using lease = await t.lh.tryAcquire('n');
      await using second = await t.lh.tryAcquire('n');
      expect([lease?.name, second]).toEqual(['n', null]);
    }
    expect(await t.lh.leases.get('n')).toBeNull();
  });
});

describe('an error', () => {
  it('says LEASE_LOST in one shape, of a name and of a task', async () => {
    const lease = await t.lh.acquire('n');
    await t.loseLease('n', 'superseded');
    await t.advance('5s');
    const { taskId } = await t.lh.enqueue(mail, { to: 'ada' });
    const reasons: unknown[] = [lease.signal.reason];
    t.lh.work(mail, ({ signal }) => {
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          reasons.push(signal.reason);
          reject(signal.reason);
        });
      });
    });
    await t.settle();
    await t.loseLease(taskId, 'killed');
    await t.advance('10s');
    const details = reasons.map((reason) =>
      LeaseholdError.is(reason, 'LEASE_LOST') ? reason.details : null,
    );
    expect(details).toMatchObject([
      { loss: 'superseded', names: ['n'], leaseSeq: lease.leaseSeq },
      { loss: 'killed', taskId },
    ]);
  });

  it('is known by its code, also when it comes from another copy of the package', async () => {
    const held = await t.lh.acquire('n', { holder: 'ada' });
    const error: unknown = await t.lh.acquire('n').catch((thrown: unknown) => thrown);
    expect(LeaseholdError.is(error)).toBe(true);
    expect(LeaseholdError.is(error, 'FORBIDDEN')).toBe(false);
    expect(LeaseholdError.is(error, 'FORBIDDEN', 'LEASE_HELD') && error.details).toMatchObject({
      holder: held.holder,
    });
    const copy = Object.assign(Object.create({ [Symbol.for('leasehold.error')]: true }), {
      code: 'LEASE_HELD',
    });
    expect(copy).not.toBeInstanceOf(LeaseholdError);
    expect(LeaseholdError.is(copy, 'LEASE_HELD')).toBe(true);
    expect([null, undefined, 1, new Error('x')].some((other) => LeaseholdError.is(other))).toBe(false);
  });
});

describe('a listing', () => {
  it('gives one page when awaited and everything when iterated, and asks for nothing before', async () => {
    await t.lh.enqueueMany(
      mail,
      ['ada', 'bob', 'eve'].map((to) => ({ input: { to }, taskId: to })),
    );
    const found = t.lh.tasks.find({ queue: 'mail', limit: 2 });
    const page = await found;
    expect(page.items).toHaveLength(2);
    const rest = await t.lh.tasks.find({ queue: 'mail', limit: 2, cursor: page.cursor! });
    expect(rest).toMatchObject({ items: [{ queue: 'mail', state: 'WAITING' }], cursor: null });
    const all: string[] = [];
    for await (const { taskId } of found) all.push(taskId);
    expect(all.sort()).toEqual(['ada', 'bob', 'eve']);
    t.failNext('task.list');
    t.lh.tasks.find();
    await expect(t.lh.tasks.find()).rejects.toMatchObject({ code: 'UNREACHABLE' });
  });

  it('shows entries in camelCase, and opaque values as they are', async () => {
    const { taskId } = await t.lh.enqueue(mail, { to: 'snake_case' });
    const [created] = (await t.lh.tasks.history(taskId)).items;
    if (created?.type !== 'TaskCreated') throw new Error('no creation');
    expect(created).toMatchObject({ taskId, maxAttempts: 100, retry: { maxFailures: 1, backoffMs: 1_000 } });
    expect(created.payload?.parse()).toEqual({ to: 'snake_case' });
    expect(created).not.toHaveProperty('task_id');
  });
});

describe('the namespaces', () => {
  it('show what there is, and null or a code where there is nothing', async () => {
    const { taskId } = await t.lh.enqueue(mail, { to: 'ada' });
    expect(await t.lh.tasks.get(taskId)).toMatchObject({ taskId, state: 'WAITING', maxAttempts: 100 });
    expect(await t.lh.tasks.why(taskId)).toMatchObject({ code: 'WAITING_FOR_WORKER' });
    await expect(t.lh.tasks.get('none')).rejects.toMatchObject({ code: 'TASK_NOT_FOUND' });
    await t.lh.queues.pause('mail');
    expect(await t.lh.queues.list()).toMatchObject([{ queue: 'mail', paused: true, waiting: 1 }]);
    await t.lh.queues.resume('mail');
    const lease = await t.lh.acquire('n');
    await lease.write(7);
    expect(await t.lh.leases.get('n')).toMatchObject({ holder: lease.holder, leaseSeq: lease.leaseSeq });
    expect((await t.lh.leases.list({ prefix: 'n' })).items).toHaveLength(1);
    expect((await t.lh.leases.history('n')).items.map(({ type }) => type)).toEqual([
      'NameLeased',
      'ObjectWritten',
    ]);
    expect((await t.lh.objects.get('n'))?.value?.parse()).toBe(7);
    expect(await t.lh.objects.get('none')).toBeNull();
    await t.lh.leases.break('n', { reason: 'a test', leaseSeq: lease.leaseSeq });
    expect(await t.lh.leases.get('n')).toBeNull();
    await t.lh.call('object.write', { object_id: 'n', value: 1, lease: { lease_seq: 1 } });
    expect((await t.lh.objects.refusals({ objectId: 'n' })).items).toMatchObject([
      { objectId: 'n', presentedLeaseSeq: 1, currentFence: lease.leaseSeq },
    ]);
    expect(await t.lh.workers.list()).toEqual([]);
    expect(await t.lh.status()).toMatchObject({ role: 'leader', diskFull: false });
  });

  it('show sessions, those that have ended included', async () => {
    const intent = { type: 'live', serviceRef: 'one', profileId: 'high' } as const;
    const session = await t.lh.sessions.request(intent);
    expect(session.isNew).toBe(true);
    const again = await t.lh.sessions.request(intent);
    expect(again).toMatchObject({ sessionId: session.sessionId, isNew: false });
    const { get, stop, heartbeat } = t.lh.sessions.attach(session.sessionId);
    expect(await get()).toMatchObject({ state: 'NEW', profileId: 'high' });
    await heartbeat();
    await stop();
    await stop();
    expect(await get()).toMatchObject({ state: 'CANCELLED', reason: 'R_CANCELLED', serviceRef: 'one' });
    await expect(heartbeat()).rejects.toMatchObject({
      code: 'SESSION_TERMINAL',
      details: { state: 'CANCELLED' },
    });
    await expect(session.ready({ wait: '1s' })).rejects.toMatchObject({ code: 'SESSION_TERMINAL' });
    expect((await t.lh.sessions.list({ state: 'CANCELLED' })).items).toHaveLength(1);
    const raw = await t.lh.call('session.get', { session_id: session.sessionId });
    expect(raw).toMatchObject({ ok: false, code: 'SESSION_TERMINAL' });
  });

  it('refuse an intent with a field of the other type', async () => {
    const mixed = { type: 'live', serviceRef: 'one', profileId: 'high', startMs: 5 } as never;
    await expect(t.lh.sessions.request(mixed)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it('wait for a session as long as they are told', async () => {
    const session = await t.lh.sessions.request({
      type: 'vod',
      recordingId: 'r',
      profileId: 'p',
      startMs: 5,
    });
    const waiting = expect(session.ready({ wait: '1s' })).rejects.toMatchObject({ code: 'SESSION_PENDING' });
    await t.settle();
    await t.advance('1s');
    await waiting;
  });
});

describe('a receipt', () => {
  it('gives the output, or says why there is none', async () => {
    const [good, bad] = await t.lh.enqueueMany(mail, [{ input: { to: 'ada' } }, { input: { to: 'bob' } }]);
    const { output } = good!;
    const pending = expect(output({ wait: '1s' })).rejects.toMatchObject({
      code: 'TASK_PENDING',
      details: { taskId: good!.taskId, state: 'WAITING' },
    });
    await t.settle();
    await t.advance('1s');
    await pending;
    const waiting = output();
    t.lh.work([
      job(mail, ({ input }) => {
        if (input.to === 'bob') throw new Error('no such box');
        return `to ${input.to}`;
      }),
    ]);
    expect(await waiting).toBe('to ada');
    await expect(bad!.output()).rejects.toMatchObject({
      code: 'TASK_FAILED',
      details: { taskId: bad!.taskId, state: 'FAILED', reason: 'no such box' },
    });
  });

  it('takes the dedup key from the definition', async () => {
    const once = defineTask<{ order: number }>('once', { dedupKey: ({ order }) => `order ${order}` });
    const first = await t.lh.enqueue(once, { order: 1 });
    expect(await t.lh.enqueue(once, { order: 1 })).toMatchObject({ taskId: first.taskId, duplicate: true });
    expect(await t.lh.enqueue(once, { order: 2 })).toMatchObject({ duplicate: false });
  });
});

describe('a worker that cannot go on', () => {
  it('notifies its own listener, or else the handle, once; and rejects what awaits its end', async () => {
    const faults: unknown[] = [];
    t.failNext('task.lease', { code: 'FORBIDDEN', retryable: false });
    const watched = t.lh.work(mail, { onFault: (fault) => faults.push(fault) }, () => 'sent');
    await expect(watched.done).rejects.toMatchObject({ code: 'FORBIDDEN' });
    expect(faults).toMatchObject([{ code: 'FORBIDDEN' }]);
    expect(t.faults).toEqual([]);
    t.failNext('task.lease', { code: 'FORBIDDEN', retryable: false });
    t.lh.work(mail, () => 'sent');
    await t.settle();
    expect(t.faults).toMatchObject([{ code: 'FORBIDDEN' }]);
  });
});

describe('closing with a grace period', () => {
  it('lets handlers finish', async () => {
    const receipt = await t.lh.enqueue(mail, { to: 'ada' });
    t.lh.work(mail, async () => {
      await t.sleep('2s');
      return 'sent';
    });
    await t.settle();
    const result = receipt.result({ wait: '5s' });
    const closing = t.lh.close({ grace: '5s' });
    await t.settle();
    await t.advance('2s');
    await closing;
    expect(await result).toMatchObject({ state: 'COMPLETED', output: 'sent' });
  });
});

describe('the names of 0.1', () => {
  it('still reach the wire, and guards and workers with options first', async () => {
    const made = await t.lh.task.create({ payload: { to: 'ada' }, queue: 'mail' });
    expect(made).toMatchObject({ ok: true, state: 'WAITING' });
    expect(await t.lh.lease.get({ name: 'n' })).toMatchObject({ ok: false, code: 'LEASE_NOT_FOUND' });
    expect(await t.lh.object.receipts()).toMatchObject({ ok: true, receipts: [] });
    expect(await t.lh.pause({ queue: 'mail' })).toMatchObject({ paused: true });
    expect(await t.lh.resume({ queue: 'mail' })).toMatchObject({ paused: false });
    expect(await t.lh.heartbeat({ worker_id: 'w' })).toMatchObject({ ok: true });
    const asked = await t.lh.session.request({ type: 'live', serviceRef: 's', profileID: 'p' });
    expect(asked).toMatchObject({ ok: true, status: 'accepted' });
    expect(await t.lh.log({ types: ['TaskCreated'] })).toMatchObject({ entries: [{ type: 'TaskCreated' }] });
    expect(await t.lh.guard({ name: 'g', ttl: '15s' }, ({ name }) => name)).toBe('g');
    const lease = await t.lh.acquire('n', { ttl: '15s' });
    await lease.renew('1m');
    expect(lease.remaining()).toBe(57_000);
    t.lh.worker({}, [[mail, ({ input }) => `to ${input.to}`]]);
    await t.settle();
    expect((await t.lh.queues.list()).find(({ queue }) => queue === 'mail')).toMatchObject({ completed: 1 });
  });
});
