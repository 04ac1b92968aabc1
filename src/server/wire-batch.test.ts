// `POST /v1/batch`: several operations in one request, in order, each judged on its own.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { HeldEngine } from '../../test/support/held-engine.ts';
import { type Body, type Served, startServed, stopAllServed } from '../../test/support/served.ts';
import { expectProblem, expectProblemBody, expectReply } from '../../test/support/wire-contract.ts';
import { memoryEngine } from '../engines/memory/memory-engine.ts';
import { refusalsOf } from '../operations/refusals-of.ts';
import { type BatchOperation, OPERATIONS, type Operation } from '../operations/table.ts';
import { LIMITS } from '../protocol/limits.ts';

let served: Served;
let names = 0;

beforeAll(async () => {
  served = await startServed();
});
afterAll(stopAllServed);

interface Result {
  readonly status: number;
  readonly body: Body;
}

const TOKEN = 'a-token-of-16-bytes';
const fresh = (): string => `name-${++names}`;

/** Every result is what the operation alone could have answered. */
async function batch(ops: readonly object[], headers: Record<string, string> = {}): Promise<Result[]> {
  const answer = await served.send('POST', '/v1/batch', { body: { ops }, headers });
  expect(answer.status, answer.text).toBe(200);
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  const { results, ...rest } = JSON.parse(answer.text) as { results: Result[] };
  expect(rest).toEqual({});
  expect(results).toHaveLength(ops.length);
  for (const [place, { status, body, ...more }] of results.entries()) {
    const { op } = ops[place] as { op: Operation };
    expect(more).toEqual({});
    if (status < 400) expectReply(op, status, body);
    else {
      expectProblemBody(status, body, `/v1/batch#${place}`);
      expect(body.requestId).toBe(answer.headers['x-request-id']);
      if (Object.hasOwn(OPERATIONS, op)) expect(refusalsOf(op)).toContain(body.code);
    }
  }
  return results;
}

const statuses = (results: readonly Result[]): number[] => results.map(({ status }) => status);

describe('a batch', () => {
  it.each([
    ['as our client writes it', '{"ops":[{"op":"task.lease","request_id":"r","worker_id":"w"}]}'],
    ['in another form', '{ "ops": [] }'],
  ])('has no query, %s', async (_, body) => {
    const headers = { 'content-type': 'application/json' };
    const answer = await served.send('POST', '/v1/batch?wait_ms=1', { body, headers });
    expect(expectProblem(answer)).toMatchObject({ status: 400, code: 'INVALID_ARGUMENT' });
  });

  it('of nothing is answered with nothing', async () => {
    const answer = await served.send('POST', '/v1/batch', { body: { ops: [] } });
    expect([answer.status, answer.text]).toEqual([200, '{"results":[]}']);
  });

  it('is decided in its order: each sees the effects of those before it', async () => {
    const queue = fresh();
    const ids = Array.from({ length: 100 }, () => fresh());
    const lease = { op: 'task.lease', worker_id: 'w', queues: [queue] };
    const results = await batch(
      ids.flatMap((task_id) => [{ op: 'task.create', payload: 1, task_id, queue }, lease]),
    );
    const leased = results.flatMap(({ body }) => (body.leases ?? []) as Body[]).map(({ task_id }) => task_id);
    expect(leased).toEqual(ids);
    const seqs = results.map(({ body }) => body.seq as number);
    expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
  });

  it('keeps its order whatever stands in it, what goes first under load too', async () => {
    const [name, task_id] = [fresh(), fresh()];
    const grant = { name, holder: 'a', token: TOKEN };
    const [acquired] = await batch([{ op: 'lease.acquire', ...grant, ttl_ms: 60_000 }]);
    const lease = { lease_seq: acquired!.body.lease_seq as number };
    const results = await batch([
      { op: 'object.write', object_id: name, value: 1, lease },
      { op: 'lease.renew', ...grant, ttl_ms: 120_000 },
      { op: 'lease.release', ...grant },
      { op: 'object.write', object_id: name, value: 2, lease },
      { op: 'lease.acquire', ...grant, holder: 'b', token: `${TOKEN}-b`, ttl_ms: 60_000 },
      { op: 'lease.release', ...grant, holder: 'b', token: `${TOKEN}-b` },
      { op: 'task.create', payload: 1, task_id, queue: fresh() },
      { op: 'task.complete', task_id, lease_id: 'lease:1' },
    ]);
    expect(statuses(results)).toEqual([200, 200, 200, 412, 200, 200, 201, 409]);
    expect([results[2]!.body.released, results[5]!.body.released]).toEqual([true, true]);
    expect(results[7]!.body.code).toBe('LEASE_UNKNOWN');
  });

  it('continues behind what is refused', async () => {
    const name = fresh();
    const acquire = { op: 'lease.acquire', name, holder: 'a', ttl_ms: 60_000 };
    const results = await batch([
      acquire,
      { ...acquire, holder: 'b' },
      { op: 'lease.acquire', name: fresh(), holder: 'b', ttl_ms: 60_000 },
    ]);
    expect(statuses(results)).toEqual([200, 409, 200]);
    expect(results[1]!.body).toMatchObject({ code: 'LEASE_HELD', holder: 'a' });
  });

  it('carries the id of its request into problems and receipts', async () => {
    const object_id = fresh();
    const headers = { 'x-request-id': 'batch-7' };
    const [result] = await batch([{ op: 'object.write', object_id, value: 1 }], headers);
    expect(result!.body).toMatchObject({ code: 'WRITE_UNFENCED', requestId: 'batch-7' });
    const { receipts } = await served.done('receipt.list', { object_id });
    expect(receipts).toMatchObject([{ code: 'WRITE_UNFENCED', requestId: 'batch-7' }]);
  });

  it('tells a new task from one that is there', async () => {
    const create = { op: 'task.create', task_id: fresh(), payload: { n: 1 } };
    const results = await batch([create, create, { ...create, payload: { n: 2 } }]);
    expect(statuses(results)).toEqual([201, 200, 409]);
    expect(results[1]!.body.duplicate).toBe(true);
  });

  it('may have 5 000 operations', async () => {
    const ops = Array.from({ length: LIMITS.batchOps }, (_, n) => ({
      op: 'task.create',
      payload: n,
      queue: 'many',
    }));
    const results = await batch(ops);
    expect(new Set(statuses(results))).toEqual(new Set([201]));
    expect(new Set(results.map(({ body }) => body.task_id)).size).toBe(LIMITS.batchOps);
  });

  it('gives out 16 MiB of tasks and no more, also of leases that were given before, and continues behind that', async () => {
    const queue = fresh();
    await served.done('task.create', { payload: 'x'.repeat(256 * 1024 - 2), queue });
    const lease = { op: 'task.lease', worker_id: 'w', queues: [queue], request_id: fresh(), ttl_ms: 60_000 };
    const results = await batch([
      ...Array.from({ length: 100 }, () => lease),
      { op: 'task.create', payload: 1, queue },
    ]);
    const given = statuses(results).filter((status) => status === 200);
    expect(given).toHaveLength(64);
    expect(statuses(results.slice(0, 64))).toEqual(given);
    expect(results[64]!.body).toMatchObject({ code: 'OVERLOADED' });
    expect(results[100]!.status).toBe(201);
  });

  it('may not have one more, and then nothing of it happens', async () => {
    const { seq } = await served.done('status.get');
    const ops = Array.from({ length: LIMITS.batchOps + 1 }, () => ({ op: 'task.create', payload: 1 }));
    const { code, detail } = expectProblem(
      await served.send('POST', '/v1/batch', { body: { ops } }),
      '/v1/batch',
    );
    expect([code, detail]).toEqual(['INVALID_ARGUMENT', 'The batch has 5001 operations; 5000 are allowed.']);
    expect((await served.done('status.get')).seq).toBe(seq);
  });

  it.each([
    ['no ops', {}],
    ['ops that are no list', { ops: {} }],
    ['ops that are null', { ops: null }],
    ['another field', { ops: [], atomic: true }],
    ['a list for a body', []],
  ])('with %s is refused as a whole', async (_, body) => {
    expect(expectProblem(await served.send('POST', '/v1/batch', { body }), '/v1/batch').code).toBe(
      'INVALID_ARGUMENT',
    );
  });

  it('takes no query', async () => {
    expect(expectProblem(await served.send('POST', '/v1/batch?x=1', { body: { ops: [] } })).code).toBe(
      'INVALID_ARGUMENT',
    );
  });
});

/** Each operation that may stand in a batch, with its path parameters as fields. */
const BATCHED: Record<BatchOperation, (lease: Body, name: string) => object> = {
  'task.create': () => ({ payload: 1 }),
  'task.lease': () => ({ worker_id: 'w' }),
  'task.extend': ({ task_id, lease_id }) => ({ task_id, lease_id, ttl_ms: 60_000 }),
  'task.complete': ({ task_id, lease_id }) => ({ task_id, lease_id, result: [1] }),
  'task.fail': ({ task_id, lease_id }) => ({ task_id, lease_id, reason: 'no' }),
  'task.release': ({ task_id, lease_id }) => ({ task_id, lease_id }),
  'task.requeue': ({ ended }) => ({ task_id: ended }),
  'task.checkpoint': ({ task_id, lease_id }) => ({ task_id, lease_id, value: [1] }),
  'task.cancel': ({ task_id }) => ({ task_id, reason: 'no' }),
  'task.kill': ({ task_id }) => ({ task_id, reason: 'no' }),
  'worker.heartbeat': ({ task_id, lease_id }) => ({ worker_id: 'w', leases: [{ task_id, lease_id }] }),
  'lease.acquire': (_, name) => ({ name: `${name}/new`, holder: 'h', ttl_ms: 60_000 }),
  'lease.renew': (_, name) => ({ name, holder: 'h', token: TOKEN, ttl_ms: 60_000 }),
  'lease.release': (_, name) => ({ name, holder: 'h', token: TOKEN }),
  'object.write': ({ fence }, name) => ({ object_id: name, value: 1, lease: { lease_seq: fence } }),
};

describe('an operation in a batch', () => {
  it.each(Object.keys(BATCHED) as BatchOperation[])(
    'may be %s, with what stands in its path as a field',
    async (op) => {
      const queue = fresh();
      const name = fresh();
      await served.done('task.create', { payload: 1, queue });
      const { leases } = await served.done('task.lease', { worker_id: 'w', queues: [queue] });
      const { lease_seq: fence } = await served.done('lease.acquire', {
        name,
        holder: 'h',
        ttl_ms: 60_000,
        token: TOKEN,
      });
      const { task_id: ended } = await served.done('task.create', { payload: 1, queue });
      await served.done('task.kill', { task_id: ended, reason: 'no' });
      const [result] = await batch([{ op, ...BATCHED[op]({ ...leases[0], fence, ended }, name) }]);
      expect(result!.status).toBeLessThan(300);
    },
  );

  it('is one of those the contract names', () => {
    const batched = Object.entries(OPERATIONS).filter(([, route]) => 'batch' in route);
    expect(batched.map(([op]) => op).sort()).toEqual(Object.keys(BATCHED).sort());
  });

  it.each(Object.keys(OPERATIONS).filter((op) => !Object.hasOwn(BATCHED, op)))(
    'may not be %s',
    async (op) => {
      const [result] = await batch([{ op, task_id: 't', name: 'n', reason: 'no', queue: 'q' }]);
      expect(result!.body).toMatchObject({
        code: 'INVALID_ARGUMENT',
        detail: `The operation ${op} may not stand in a batch.`,
      });
    },
  );

  it.each([undefined, null, 7, {}])('may not be %j', async (op) => {
    const [result] = await batch([{ op, payload: 1 }]);
    expect(result!.body).toMatchObject({
      code: 'INVALID_ARGUMENT',
      detail: 'The field op must name an operation.',
    });
  });

  it.each(['', 'task.explode', 'constructor', '__proto__', 'toString'])('may not be %j', async (op) => {
    const [result] = await batch([{ op, payload: 1 }]);
    expect(result!.body).toMatchObject({
      code: 'INVALID_ARGUMENT',
      detail: `There is no operation ${op}; GET /openapi.json lists them all.`,
    });
  });

  it('is an object', async () => {
    const ops = [null, 1, 'task.create', [], ['task.create'], true] as unknown as object[];
    const answer = await served.send('POST', '/v1/batch', { body: { ops } });
    const { results } = JSON.parse(answer.text) as { results: Result[] };
    expect(results.map(({ body }) => body.code)).toEqual(ops.map(() => 'INVALID_ARGUMENT'));
  });

  it('may not wait, be it for no time at all', async () => {
    const results = await batch([
      { op: 'task.lease', worker_id: 'w', wait_ms: 0 },
      { op: 'lease.acquire', name: fresh(), holder: 'h', ttl_ms: 1_000, wait_ms: 1_000 },
    ]);
    for (const { body } of results) {
      expect(body).toMatchObject({
        code: 'INVALID_ARGUMENT',
        detail: 'No operation may wait inside a batch.',
      });
    }
  });

  it('is checked as strictly as by itself', async () => {
    const results = await batch([
      { op: 'task.create' },
      { op: 'task.create', payload: 1, colour: 'red' },
      { op: 'lease.acquire', name: 'x'.repeat(257), holder: 'h', ttl_ms: 1_000 },
      { op: 'lease.acquire', name: fresh(), holder: 'h', ttl_ms: 9 },
      { op: 'task.complete', task_id: 'a/b', lease_id: 'l' },
    ]);
    expect(results.map(({ body }) => body.code)).toEqual(results.map(() => 'INVALID_ARGUMENT'));
    const large = { op: 'task.create', payload: 'x'.repeat(LIMITS.opaqueBytes - 1) };
    expect((await batch([large]))[0]!.body.code).toBe('PAYLOAD_TOO_LARGE');
  });

  it('has its outcome in its own problem', async () => {
    const [result] = await batch([{ op: 'task.complete', task_id: 'no-such-task', lease_id: 'l' }]);
    expect(result).toMatchObject({ status: 404, body: { code: 'TASK_NOT_FOUND', outcome: 'REJECTED' } });
  });

  it.each([
    ['as our client writes it', { op: 'task.create', task_id: 'ours', payload: 1, queue: 'system:ours' }],
    ['in another form', { op: 'task.create', queue: 'system:ours', payload: 1 }],
  ])('needs its own scope, %s', async (_, op) => {
    const token = 'a-token-that-may-write';
    const guarded = await startServed({ tokens: [{ token, scopes: ['v1:write'] }] });
    const headers = { authorization: `Bearer ${token}` };
    const answer = await guarded.send('POST', '/v1/batch', { body: { ops: [op] }, headers });
    expect(JSON.parse(answer.text)).toMatchObject({
      results: [{ status: 403, body: { code: 'FORBIDDEN' } }],
    });
  });

  it('whose payload cannot be read back leaves the others their answers', async () => {
    const engine = new HeldEngine(memoryEngine());
    const failing = await startServed({ engine });
    const create = (task_id: string) => ({ op: 'task.create', task_id, payload: 1 });
    await failing.send('POST', '/v1/batch', { body: { ops: [create('a'), create('b')] } });
    engine.isHoldingReads = true;
    const ops = [create('a'), create('c'), create('b')];
    const answering = failing.send('POST', '/v1/batch', { body: { ops } });
    await vi.waitFor(() => expect(engine.waiting).toBe(2));
    engine.fail(new Error('the disk does not answer'));
    const { results } = JSON.parse((await answering).text) as { results: Result[] };
    expect(statuses(results)).toEqual([500, 201, 500]);
    expect(results[0]!.body).toMatchObject({ code: 'INTERNAL', instance: '/v1/batch#0' });
    expect(failing.troubles).toHaveLength(1);
  });

  it('reports no fault', () => {
    expect(served.troubles).toEqual([]);
  });
});
