// The testing kit, used as its users use it: no turning of event loops by hand, only time that is let pass.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { defineTask } from '../client/define-task.ts';
import type { TaskContext } from '../client/task-context.ts';
import type { TaskVerdict } from '../client/task-verdict.ts';
import type { Body } from '../operations/table.ts';
import { type TestLeasehold, testLeasehold } from './test-leasehold.ts';

let t: TestLeasehold;

beforeEach(async () => {
  t = await testLeasehold();
});

afterEach(async () => {
  await t.close();
});

const mail = defineTask<{ to: string }, string>('mail');

async function typesInLog(): Promise<string[]> {
  const log = await t.lh.log({ from: 2 });
  if (!log.ok) throw new Error(log.detail);
  return log.entries.map(({ type }) => type);
}

describe('time', () => {
  it('stands still by itself and passes when it is let', async () => {
    const startedMs = t.now();
    expect(new Date(startedMs).toISOString()).toBe('2026-01-01T00:00:00.000Z');
    await t.lh.enqueue(mail, { to: 'ada' });
    expect(t.now()).toBe(startedMs);
    await t.advance('15s');
    expect(t.now()).toBe(startedMs + 15_000);
  });

  it('ends leases that are not renewed, to the millisecond', async () => {
    await t.lh.call('lease.acquire', { name: 'n', holder: 'a', ttl_ms: 15_000 });
    await t.advance('14999ms');
    expect(await t.lh.call('lease.get', { name: 'n' })).toMatchObject({ holder: 'a' });
    await t.advance(1);
    expect(await t.lh.call('lease.get', { name: 'n' })).toMatchObject({ code: 'LEASE_NOT_FOUND' });
  });

  it('lets handles renew themselves while it passes', async () => {
    const lease = await t.lh.acquire('n', { ttl: '15s' });
    await t.advance('1h');
    lease.assertHeld();
  });

  it('lets a handler take as long as the test says', async () => {
    t.lh.work(mail, {}, async ({ input }) => {
      await t.sleep('5m');
      return `sent to ${input.to}`;
    });
    const receipt = await t.lh.enqueue(mail, { to: 'ada' });
    await t.advance('4m');
    expect(await receipt.result()).toEqual({ state: 'LEASED' });
    await t.advance('1m');
    expect(await receipt.result()).toEqual({ state: 'COMPLETED', output: 'sent to ada' });
  });

  it('needs not pass for what needs no time', async () => {
    t.lh.work(mail, {}, ({ input }) => `sent to ${input.to}`);
    const receipt = await t.lh.enqueue(mail, { to: 'ada' });
    expect(await receipt.result({ wait: '1s' })).toEqual({ state: 'COMPLETED', output: 'sent to ada' });
  });
});

describe('ids', () => {
  it('are the same in every run', async () => {
    const twin = await testLeasehold();
    const ids = [await t.lh.enqueue(mail, { to: 'a' }), await twin.lh.enqueue(mail, { to: 'a' })];
    expect(ids[0]!.taskId).toBe(ids[1]!.taskId);
    await twin.close();
  });
});

describe('loseLease', () => {
  it('breaks a named lease, and its holder hears of it with its next renewal', async () => {
    const lease = await t.lh.acquire('n', { ttl: '15s' });
    await t.loseLease('n');
    await t.advance('5s');
    expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST', details: { loss: 'broken' } });
    expect(await t.lh.tryAcquire('n')).not.toBeNull();
  });

  it('supersedes a named lease, which fences out what its holder writes', async () => {
    const lease = await t.lh.acquire('n', { ttl: '15s' });
    await t.loseLease('n', 'superseded');
    const write = { object_id: 'n', value: 1, lease: { lease_seq: lease.leaseSeq } };
    expect(await t.lh.call('object.write', write)).toMatchObject({ code: 'WRITE_STALE_FENCE' });
    await t.advance('5s');
    expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST', details: { loss: 'superseded' } });
  });

  it('lets a named lease run out in silence, and no other', async () => {
    const lost = await t.lh.acquire('lost', { ttl: '15s' });
    const kept = await t.lh.acquire('kept', { ttl: '15s' });
    await t.loseLease('lost', 'expired');
    expect(lost.signal.reason).toMatchObject({ code: 'LEASE_LOST', details: { loss: 'unreachable' } });
    kept.assertHeld();
    expect(await t.lh.call('lease.get', { name: 'lost' })).toMatchObject({ code: 'LEASE_NOT_FOUND' });
  });

  it('lets a named lease run out, and who waits for it is granted it', async () => {
    const lost = await t.lh.acquire('n', { ttl: '15s' });
    const waiting = t.lh.acquire('n', { ttl: '15s', wait: '1m' });
    await t.settle();
    await t.loseLease('n', 'expired');
    const next = await waiting;
    expect(next.leaseSeq).toBeGreaterThan(lost.leaseSeq);
    await t.advance('1m');
    next.assertHeld();
  });

  it('lets the lease on a task expire, and another worker gets the task', async () => {
    const seen: TaskContext<{ to: string }>[] = [];
    const verdicts: TaskVerdict[] = [];
    t.lh.work(mail, { concurrency: 2, onVerdict: (verdict) => verdicts.push(verdict) }, async (task) => {
      seen.push(task);
      if (task.attempt === 1) await t.sleep('1h');
      return `by attempt ${task.attempt}`;
    });
    const receipt = await t.lh.enqueue(mail, { to: 'ada' });
    await t.settle();
    await t.loseLease(receipt.taskId);
    expect(seen[0]!.signal.reason).toMatchObject({ code: 'LEASE_LOST', details: { loss: 'expired' } });
    expect(await receipt.result()).toEqual({ state: 'COMPLETED', output: 'by attempt 2' });
    await t.advance('1h');
    expect(verdicts.map(({ outcome }) => outcome)).toEqual(['COMMITTED', 'LATE']);
  });

  it('takes a task away although its handler is done before the lease ends: the verdict comes too late', async () => {
    const verdicts: TaskVerdict[] = [];
    t.lh.work(mail, { ttl: '30s', onVerdict: (verdict) => verdicts.push(verdict) }, async ({ attempt }) => {
      await t.sleep('1s');
      return `by attempt ${attempt}`;
    });
    const receipt = await t.lh.enqueue(mail, { to: 'ada' });
    await t.settle();
    await t.loseLease(receipt.taskId, 'expired');
    await t.advance('10s');
    expect(verdicts.map(({ outcome, attempt }) => [outcome, attempt])).toEqual([
      ['COMMITTED', 2],
      ['LATE', 1],
    ]);
    expect(await receipt.output()).toBe('by attempt 2');
  });

  it('lets a named lease run out although its holder gives it back before', async () => {
    const working = t.lh.withLease('n', { ttl: '15s' }, () => t.sleep('1s'));
    await t.settle();
    await t.loseLease('n', 'expired');
    await t.advance('15s');
    await working;
    const types = (await t.lh.leases.history('n')).items.map(({ type }) => type);
    expect(types).toEqual(['NameLeased', 'NameExpired']);
  });

  it('kills a task, and its worker hears of it with the next heartbeat', async () => {
    let signal: AbortSignal | undefined;
    t.lh.work(mail, { ttl: '30s' }, async (task) => {
      ({ signal } = task);
      await t.sleep('1h');
      return '';
    });
    const receipt = await t.lh.enqueue(mail, { to: 'ada' });
    await t.settle();
    await t.loseLease(receipt.taskId, 'killed');
    await t.advance('10s');
    expect(signal!.reason).toMatchObject({ code: 'LEASE_LOST', details: { loss: 'killed' } });
  });

  it('complains when there is nothing to lose, or not in that way', async () => {
    await expect(t.loseLease('nobody')).rejects.toThrow(/There is no lease on/);
    await t.lh.acquire('n');
    await expect(t.loseLease('n', 'killed')).rejects.toThrow(/Only tasks/);
    await expect(t.loseLease('n', 'brokn' as never)).rejects.toThrow(/Unknown cause "brokn"/);
    await t.lh.enqueue(mail, { to: 'ada' }, { taskId: 'mine' });
    await t.lh.call('task.lease', { worker_id: 'w', queues: ['mail'] });
    await expect(t.loseLease('mine', 'broken')).rejects.toThrow(/not broken/);
  });
});

describe('a holder', () => {
  it('hears at once that it is asked to give way', async () => {
    const lease = await t.lh.acquire('n');
    expect(await t.lh.leases.ask('n', { reason: 'a deployment waits' })).toBe(true);
    expect(lease.asked.reason).toMatchObject({
      code: 'LEASE_ASKED',
      details: { reason: 'a deployment waits' },
    });
    lease.assertHeld();
  });

  it('of a guard too', async () => {
    const giving = t.lh.guard('only', ({ asked }) => {
      return new Promise<string>((resolve) => asked.addEventListener('abort', () => resolve('gave way')));
    });
    await t.settle();
    expect(await t.lh.leases.ask('only', { reason: 'a twin waits' })).toBe(true);
    expect(await giving).toBe('gave way');
  });

  it('of a task hears at once that it was cancelled', async () => {
    let signal: AbortSignal | undefined;
    t.lh.work(mail, async (task) => {
      ({ signal } = task);
      await t.sleep('1h');
      return '';
    });
    const receipt = await t.lh.enqueue(mail, { to: 'ada' });
    await t.settle();
    await receipt.cancel('not needed');
    await t.settle();
    expect(signal!.reason).toMatchObject({ code: 'LEASE_LOST', details: { loss: 'cancelled' } });
  });
});

describe('dropReply', () => {
  it('lets a call happen and its reply be lost, and the client asks again: one effect', async () => {
    t.dropReply('task.create');
    const receipt = await t.lh.enqueue(mail, { to: 'ada' });
    expect(receipt.duplicate).toBe(false);
    expect(await typesInLog()).toEqual(['TaskCreated']);
    t.dropReply('lease.acquire');
    const lease = await t.lh.acquire('n');
    lease.assertHeld();
    expect(await typesInLog()).toEqual(['TaskCreated', 'NameLeased']);
  });

  it('is used up by the next call that it is meant for, and by no other', async () => {
    t.dropReply('lease.acquire');
    t.dropReply();
    await t.lh.call('task.create', { payload: 1 });
    await t.lh.call('task.create', { payload: 2 });
    await t.lh.call('lease.acquire', { name: 'n', holder: 'a', ttl_ms: 1_000 });
    expect(await typesInLog()).toEqual(['TaskCreated', 'TaskCreated', 'NameLeased']);
  });

  it('is no duplicate for a caller that called once', async () => {
    t.dropReply('task.create');
    expect(await t.lh.call('task.create', { payload: 1 })).not.toHaveProperty('duplicate');
  });

  it('is a duplicate where a dedup key returned the task of another caller', async () => {
    const { task_id } = (await t.lh.call('task.create', {
      payload: 1,
      dedup_key: 'k',
    })) as Body<'task.create'>;
    t.dropReply('task.create');
    expect(await t.lh.call('task.create', { payload: 2, dedup_key: 'k' })).toMatchObject({
      task_id,
      duplicate: true,
    });
  });

  it('makes the client look what became of a write that it may have done', async () => {
    const lease = await t.lh.call('lease.acquire', { name: 'n', holder: 'a', ttl_ms: 60_000 });
    if (!lease.ok) throw new Error(lease.detail);
    t.dropReply('object.write');
    const write = { object_id: 'n', value: 1, lease: { lease_seq: lease.lease_seq }, if_version: 0 };
    expect(await t.lh.call('object.write', write)).toMatchObject({ ok: true, version: 1 });
  });

  it('throws with an unknown effect what may not be sent twice', async () => {
    const lease = await t.lh.call('lease.acquire', { name: 'n', holder: 'a', ttl_ms: 60_000 });
    if (!lease.ok) throw new Error(lease.detail);
    t.dropReply('object.write');
    const write = t.lh.call('object.write', {
      object_id: 'n',
      value: 1,
      lease: { lease_seq: lease.lease_seq },
    });
    await expect(write).rejects.toMatchObject({ code: 'UNREACHABLE', effect: 'unknown' });
    expect(await t.lh.call('object.get', { object_id: 'n' })).toMatchObject({ version: 1 });
  });
});

describe('failNext', () => {
  it('lets a call fail before anything happens', async () => {
    t.failNext('task.create');
    await expect(t.lh.enqueue(mail, { to: 'ada' })).rejects.toMatchObject({
      code: 'UNREACHABLE',
      effect: 'none',
      retryable: true,
    });
    expect(await typesInLog()).toEqual([]);
    await t.lh.enqueue(mail, { to: 'ada' });
    expect(await typesInLog()).toEqual(['TaskCreated']);
  });

  it('answers with a refusal where the authority would', async () => {
    t.failNext('lease.acquire', { code: 'LEASE_HELD', message: 'another client has it' });
    expect(await t.lh.tryAcquire('n', { ttl: '15s' })).toBeNull();
    t.failNext('lease.acquire', { code: 'LEASE_HELD', message: 'another client has it' });
    const problem409 = { ok: false, code: 'LEASE_HELD', status: 409, detail: 'another client has it' };
    await expect(t.lh.acquire('n')).rejects.toMatchObject({ problem: problem409 });
    t.failNext('task.create', { code: 'DISK_FULL' });
    expect(await t.lh.call('task.create', { payload: 1 })).toMatchObject({
      ok: false,
      code: 'DISK_FULL',
      status: 507,
    });
    t.failNext('task.create', { code: 'DISK_FULL' });
    const problem = { code: 'DISK_FULL' };
    await expect(t.lh.enqueue(mail, { to: 'ada' })).rejects.toMatchObject({ code: 'DISK_FULL', problem });
    t.failNext('task.create', { code: 'UNAVAILABLE' });
    await expect(t.lh.call('task.create', { payload: 1 })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('fails with the code that is asked for', async () => {
    t.failNext('lease.get', { code: 'PROTOCOL', message: 'odd', retryable: false });
    await expect(t.lh.call('lease.get', { name: 'n' })).rejects.toMatchObject({
      code: 'PROTOCOL',
      retryable: false,
    });
  });
});

describe('an operation that there is not', () => {
  it('is neither dropped nor failed, but refused at once', () => {
    expect(() => t.dropReply('task.creat' as never)).toThrow('There is no operation "task.creat"');
    expect(() => t.failNext('toString' as never)).toThrow(TypeError);
    expect(() => t.failNext('task.create', { retriable: false } as never)).toThrow('retriable');
  });
});

describe('the process', () => {
  it('is asked to terminate, and its workers drain', async () => {
    const worker = t.lh.work(mail, {}, () => '');
    t.terminate();
    await worker.done;
    await t.lh.enqueue(mail, { to: 'ada' }, { taskId: 'mine' });
    expect(await t.lh.receipt(mail, 'mine').result()).toEqual({ state: 'WAITING' });
  });

  it('is not ended by a lost guard, but it is told how it would have been', async () => {
    const guarded = t.lh.guard('system:only', { ttl: '15s' }, ({ signal }) => {
      return new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    });
    guarded.catch(() => undefined);
    await t.settle();
    await t.loseLease('system:only');
    await t.advance('15s');
    await expect(guarded).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(t.exits).toMatchObject([{ code: 4 }]);
  });
});
