// Tasks with key and trace, running an ended task again, and how long ended tasks are kept, over a real socket.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DamagedDisk } from '../../test/support/damaged-disk.ts';
import { type Body, type Served, startServed, stopAllServed } from '../../test/support/served.ts';
import { expectProblem } from '../../test/support/wire-contract.ts';

const DAY_MS = 86_400_000;
const TRACE = {
  traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  tracestate: 'congo=t61rcWkgMzE',
};

let served: Served;

beforeEach(async () => {
  served = await startServed();
});
afterEach(stopAllServed);

const create = (task_id: string, fields: object = {}): Promise<Body> =>
  served.done('task.create', { task_id, payload: { n: 1.0 }, ...fields });
const requeue = (task_id: string, fields: object = {}) => served.call('task.requeue', { task_id, ...fields });
const get = (task_id: string): Promise<Body> => served.done('task.get', { task_id });

async function dead(task_id: string, fields: object = {}): Promise<void> {
  await create(task_id, fields);
  await served.done('task.kill', { task_id, reason: 'by hand' });
}

async function completed(task_id: string, fields: object = {}): Promise<void> {
  await create(task_id, { queue: task_id, ...fields });
  const { leases } = await served.done('task.lease', { worker_id: 'w', queues: [task_id] });
  await served.done('task.complete', { task_id, lease_id: leases[0].lease_id });
}

describe('key and trace', () => {
  it('come back in the lease and in the record', async () => {
    await create('a', { key: 'customer-7', trace: TRACE });
    await create('b', { trace: { traceparent: TRACE.traceparent } });
    await create('c');
    const { leases } = await served.done('task.lease', { worker_id: 'w', max: 3 });
    expect(leases).toMatchObject([
      { key: 'customer-7', trace: TRACE },
      { trace: { traceparent: TRACE.traceparent } },
      {},
    ]);
    expect(Object.keys(leases[2])).not.toContain('key');
    expect(await get('a')).toMatchObject({ key: 'customer-7', trace: TRACE });
    const { tasks } = await served.done('task.list', { limit: 1 });
    expect(tasks).toMatchObject([{ key: 'customer-7', trace: TRACE }]);
  });

  it.each([
    '4bf92f3577b34da6a3ce929d0e0e4736',
    '00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01',
    '00-00000000000000000000000000000000-00f067aa0ba902b7-01',
    '00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01',
    'ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more',
  ])('with the traceparent %s is refused', async (traceparent) => {
    const answer = await served.call('task.create', { payload: 1, trace: { traceparent } });
    const { code, detail } = expectProblem(answer);
    expect([code, detail]).toEqual([
      'INVALID_ARGUMENT',
      'The field trace.traceparent must be a W3C traceparent, such as 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.',
    ]);
  });

  it('may have a traceparent of a later version, which says more', async () => {
    await create('a', { trace: { traceparent: `01${TRACE.traceparent.slice(2)}-more` } });
  });

  it('are no part of what TASK_ID_CONFLICT compares', async () => {
    await create('a', { trace: TRACE });
    expect(await create('a')).toMatchObject({ task_id: 'a', duplicate: true });
  });

  it('list by key in the order of creation', async () => {
    for (const id of ['a', 'b', 'c', 'd']) await create(id, { key: id === 'b' ? 'other' : 'k' });
    const ids = async (filter: object): Promise<string[]> =>
      (await served.done('task.list', { key: 'k', ...filter })).tasks.map(({ task_id }: Body) => task_id);
    expect(await ids({})).toEqual(['a', 'c', 'd']);
    expect(await ids({ order: 'newest', limit: 2 })).toEqual(['d', 'c']);
    expect(await ids({ queue: 'default', state: 'WAITING' })).toEqual(['a', 'c', 'd']);
    expect(await ids({ key: 'nobody' })).toEqual([]);
  });
});

describe('a known task_id whose task has ended', () => {
  it('is a duplicate with its state and reason', async () => {
    await dead('a');
    const { status, body } = await served.call('task.create', { task_id: 'a', payload: { n: 1.0 } });
    expect([status, body]).toMatchObject([200, { duplicate: true, state: 'DEAD', reason: 'by hand' }]);
    await completed('b');
    const again = await served.done('task.create', { task_id: 'b', payload: { n: 1.0 } });
    expect(again).toMatchObject({ duplicate: true, state: 'COMPLETED' });
    expect(again).not.toHaveProperty('reason');
  });
});

describe('POST /v1/tasks/{task_id}/requeue', () => {
  it('makes a new task of an ended one: a copy of payload, retry policy and key, attempt 0', async () => {
    const retry = { max_failures: 2, backoff_ms: 10, max_backoff_ms: 20 };
    await dead('old', {
      key: 'k',
      trace: TRACE,
      retry,
      max_attempts: 4,
      priority: 5,
      queue: 'q',
      dedup_key: 'd',
    });
    const { status, body } = await requeue('old', { reason: 'mended' });
    expect([status, body]).toMatchObject([
      201,
      {
        requeued_from: 'old',
        state: 'WAITING',
        attempt: 0,
        queue: 'q',
        priority: 5,
        seq: expect.any(Number),
      },
    ]);
    const record = await get(body.task_id);
    expect(record).toMatchObject({
      payload: { n: 1.0 },
      retry,
      max_attempts: 4,
      key: 'k',
      requeued_from: 'old',
      attempt: 0,
    });
    for (const field of ['dedup_key', 'trace', 'requeued_as']) expect(record).not.toHaveProperty(field);
    expect(await get('old')).toMatchObject({ state: 'DEAD', reason: 'by hand', requeued_as: body.task_id });
    const { entries } = await served.done('task.history', { task_id: body.task_id });
    expect(entries).toMatchObject([
      {
        type: 'TaskCreated',
        seq: body.seq,
        requeued_from: 'old',
        requeue_reason: 'mended',
        payload: { n: 1.0 },
      },
    ]);
    const old = await served.done('task.history', { task_id: 'old' });
    expect(old.entries.map(({ type }: Body) => type)).toEqual(['TaskCreated', 'TaskDead', 'TaskCreated']);
  });

  it('takes another queue, priority, delay and id', async () => {
    await completed('old');
    const given = { queue: 'other', priority: -3, delay_ms: 60_000, task_id_new: 'new' };
    expect((await requeue('old', given)).body).toMatchObject({
      task_id: 'new',
      queue: 'other',
      priority: -3,
    });
    expect(await served.done('task.why', { task_id: 'new' })).toMatchObject({ code: 'DELAYED' });
  });

  it('again gives the same new task, and never a second one', async () => {
    await dead('old');
    const { body: first } = await requeue('old');
    const { status, body } = await requeue('old');
    expect([status, body]).toMatchObject([200, { ...first, duplicate: true }]);
    expect((await requeue('old', { task_id_new: first.task_id })).status).toBe(200);
    expect(expectProblem(await requeue('old', { task_id_new: 'another' })).code).toBe('TASK_ID_CONFLICT');
    expect((await served.done('task.list')).tasks).toHaveLength(2);
  });

  it('at once from several callers gives them one new task', async () => {
    await dead('old');
    const answers = await Promise.all(Array.from({ length: 5 }, () => requeue('old')));
    expect(new Set(answers.map(({ body }) => body.task_id)).size).toBe(1);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 201]);
  });

  it('has no state to tell of once the new task was forgotten', async () => {
    await dead('old');
    const { body } = await requeue('old', { task_id_new: 'new', queue: 'new' });
    const { leases } = await served.done('task.lease', { worker_id: 'w', queues: ['new'] });
    await served.done('task.complete', { task_id: 'new', lease_id: leases[0].lease_id });
    served.advance(DAY_MS);
    const again = await requeue('old');
    expect([again.status, again.body]).toEqual([
      200,
      { task_id: 'new', requeued_from: 'old', seq: expect.any(Number), state: null, duplicate: true },
    ]);
    expect(again.body.seq).toBeGreaterThanOrEqual(body.seq);
  });

  it('is refused for what has not ended, whatever its queue is, and for system queues', async () => {
    await create('waiting');
    expect(expectProblem(await requeue('waiting')).code).toBe('TASK_NOT_ENDED');
    const intent = { type: 'live', serviceRef: 'ard', profileID: 'p' };
    const { session_id } = await served.done('intent.accept', intent);
    expect(expectProblem(await requeue(session_id)).code).toBe('FORBIDDEN');
    await dead('old');
    expect(expectProblem(await requeue('old', { queue: 'system:q' })).code).toBe('FORBIDDEN');
  });

  it('is refused where the payload is damaged on the disk', async () => {
    const disk = new DamagedDisk();
    served = await startServed({ engine: disk.engine() });
    await dead('old', { payload: 'the payload of old' });
    await stopAllServed();
    disk.damage('the payload of old');
    served = await startServed({ engine: disk.engine() });
    expect(expectProblem(await requeue('old')).code).toBe('PAYLOAD_DAMAGED');
    expect(await get('old')).toMatchObject({ state: 'DEAD', payload: null });
  });

  it('may stand in a batch, and sees what stands before it', async () => {
    await create('a', { queue: 'a' });
    const { leases } = await served.done('task.lease', { worker_id: 'w', queues: ['a'] });
    const { lease_id } = leases[0];
    const ops = [
      { op: 'task.requeue', task_id: 'a' },
      { op: 'task.complete', task_id: 'a', lease_id },
      { op: 'task.requeue', task_id: 'a', task_id_new: 'b' },
      { op: 'task.requeue', task_id: 'a' },
      { op: 'task.lease', worker_id: 'w', queues: ['a'] },
      { op: 'task.requeue', task_id: 'nobody' },
      { op: 'task.requeue' },
    ];
    const { text } = await served.send('POST', '/v1/batch', { body: { ops } });
    expect(JSON.parse(text).results).toMatchObject([
      { status: 409, body: { code: 'TASK_NOT_ENDED' } },
      { status: 200, body: { outcome: 'COMMITTED' } },
      { status: 201, body: { task_id: 'b', requeued_from: 'a' } },
      { status: 200, body: { task_id: 'b', duplicate: true } },
      { status: 200, body: { leases: [{ task_id: 'b', payload: { n: 1.0 } }] } },
      { status: 404, body: { code: 'TASK_NOT_FOUND' } },
      { status: 400, body: { code: 'INVALID_ARGUMENT' } },
    ]);
  });

  it('may stand in a batch more often than is prepared at once', async () => {
    const ids = Array.from({ length: 200 }, (_, index) => `t-${index}`);
    const batch = async (ops: object[]): Promise<Body[]> =>
      JSON.parse((await served.send('POST', '/v1/batch', { body: { ops } })).text).results;
    await batch(ids.map((task_id) => ({ op: 'task.create', task_id, payload: task_id })));
    for (const task_id of ids) await served.done('task.kill', { task_id, reason: 'no' });
    const results = await batch(ids.map((task_id) => ({ op: 'task.requeue', task_id })));
    expect(results.map(({ status, body }) => [status, body.requeued_from])).toEqual(
      ids.map((id) => [201, id]),
    );
    expect((await get(results[150]!.body.task_id)).payload).toBe('t-150');
  });
});

describe('ended tasks', () => {
  const states = async (): Promise<Body[]> =>
    (await served.done('task.list')).tasks.map(({ task_id, state }: Body) => [task_id, state]);

  it('are kept a day when they were completed, and thirty when they failed', async () => {
    await completed('c');
    await dead('f');
    served.advance(DAY_MS);
    expect(await states()).toEqual([['f', 'DEAD']]);
    served.advance(29 * DAY_MS - 60_000);
    expect(await states()).toEqual([['f', 'DEAD']]);
    served.advance(60_000);
    expect(await states()).toEqual([]);
  });

  it('do not evict those of the other kind', async () => {
    served = await startServed({ retention: { completedTasks: { max: 1 }, failedTasks: { max: 1 } } });
    await dead('f1');
    await dead('f2');
    for (const id of ['c1', 'c2', 'c3']) await completed(id);
    served.advance(1);
    expect(await states()).toEqual([
      ['f2', 'DEAD'],
      ['c3', 'COMPLETED'],
    ]);
  });
});
