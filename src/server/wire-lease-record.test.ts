// The record of a lease as seed 003 has it: a grant answers with it, and a fenced write takes all of it.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Body, type Served, startServed, stopAllServed } from '../../test/support/served.ts';
import { WRITE_REFUSALS } from '../operations/fenced-writes.ts';

const TOKEN = 'a'.repeat(22);

let served: Served;
beforeAll(async () => {
  served = await startServed();
});
afterAll(stopAllServed);

/** The five fields of seed 003, out of a reply that has more. */
function recordOf({ lease_seq, object_id, holder_id, acquired_at, expires_at }: Body): object {
  return { lease_seq, object_id, holder_id, acquired_at, expires_at };
}

let names = 0;
async function acquired(): Promise<Body> {
  names += 1;
  return served.done('lease.acquire', { name: `root-${names}`, holder: 'w', token: TOKEN, ttl_ms: 60_000 });
}

async function inBatch(op: object): Promise<{ status: number; body: Body }> {
  const { results } = JSON.parse((await served.send('POST', '/v1/batch', { body: { ops: [op] } })).text);
  return results[0];
}

describe('a grant', () => {
  it('answers object_id and holder_id beside name and holder, by every way', async () => {
    const lease = await acquired();
    const { name } = lease;
    const names = { name, object_id: name, holder: 'w', holder_id: 'w' };
    expect(lease).toMatchObject(names);
    const proof = { name, holder: 'w', token: TOKEN, ttl_ms: 60_000 };
    expect(await served.done('lease.acquire', proof)).toMatchObject({ ...names, duplicate: true });
    expect(await served.done('lease.renew', proof)).toMatchObject(names);
    expect((await inBatch({ op: 'lease.acquire', ...proof })).body).toMatchObject(names);
    const all = await served.done('lease.acquire_all', { names: ['x', 'y'], holder: 'w', ttl_ms: 60_000 });
    expect(all.leases).toMatchObject([
      { name: 'x', object_id: 'x', holder: 'w', holder_id: 'w' },
      { name: 'y', object_id: 'y', holder: 'w', holder_id: 'w' },
    ]);
  });
});

describe('a fenced write', () => {
  it('takes the whole record', async () => {
    const lease = await acquired();
    const fields = { object_id: lease.name, lease: recordOf(lease) };
    expect(await served.done('object.write', { ...fields, value: 1 })).toMatchObject({ version: 1 });
    expect(await inBatch({ op: 'object.write', ...fields, value: 2 })).toMatchObject({ status: 200 });
    const { task_id } = await served.done('task.create', { payload: 1 });
    const { leases } = await served.done('task.lease', { worker_id: 'w' });
    const { lease_id } = leases[0];
    const writes = [{ ...fields, value: 3 }];
    expect(await served.done('task.complete', { task_id, lease_id, writes })).toMatchObject({
      outcome: 'COMMITTED',
    });
    expect(await served.done('object.get', { object_id: lease.name })).toMatchObject({
      value: 3,
      version: 3,
    });
    expect(await served.done('object.delete', fields)).toMatchObject({ lease_seq: lease.lease_seq });
  });

  it('goes by the clock of the authority and not by the instants in the record', async () => {
    const lease = await acquired();
    const past = {
      ...recordOf(lease),
      acquired_at: '1970-01-01T00:00:00Z',
      expires_at: '1970-01-01T00:00:01Z',
    };
    const future = { ...recordOf(lease), expires_at: '9999-12-31T23:59:59.999Z' };
    const fields = { object_id: lease.name, value: 1 };
    expect(await served.done('object.write', { ...fields, lease: past })).toMatchObject({ version: 1 });
    await served.done('lease.release', { name: lease.name, holder: 'w', token: TOKEN });
    const { body } = await served.call('object.write', { ...fields, lease: future });
    expect(body.code).toBe('LEASE_EXPIRED');
  });

  it('is still fenced when the record has no number', async () => {
    const { lease_seq: _, ...rest } = recordOf(await acquired()) as Body;
    const { body } = await served.call('object.write', { object_id: rest.object_id, value: 1, lease: rest });
    expect(body.code).toBe('WRITE_UNFENCED');
  });

  it.each([
    [
      { token: TOKEN },
      'The field lease.token is unknown; known are lease_seq, object_id, holder_id, acquired_at, expires_at.',
    ],
    [{ expires_at: 7 }, 'The field lease.expires_at is wrong: expected string.'],
  ])('refuses any other field, and what is no text: %j', async (more, detail) => {
    const lease = { ...recordOf(await acquired()), ...more };
    const { status, body } = await served.call('object.write', { object_id: 'o', value: 1, lease });
    expect([status, body.code, body.detail]).toEqual([400, 'INVALID_ARGUMENT', detail]);
  });
});

describe('receipts', () => {
  it.each([...WRITE_REFUSALS])('are narrowed by %s', async (code) => {
    expect(await served.done('receipt.list', { code })).toHaveProperty('receipts');
  });

  it.each(['NOPE', 'VERSION_MISMATCH', 'write_unfenced', ''])('know no code %j', async (code) => {
    const { status, body } = await served.call('receipt.list', { code });
    expect([status, body.code]).toEqual([400, 'INVALID_ARGUMENT']);
    expect(body.detail).toBe(`The field code must be one of ${WRITE_REFUSALS.join(', ')}.`);
  });
});
