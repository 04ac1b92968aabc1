// Checkpoints over the wire, in the words of the contract.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Body, type Served, startServed, stopAllServed } from '../../test/support/served.ts';

let served: Served;

beforeEach(async () => {
  served = await startServed();
});
afterEach(stopAllServed);

interface Lease {
  readonly task_id: string;
  readonly lease_id: string;
}

async function lease(): Promise<Body> {
  const { leases } = await served.done('task.lease', { worker_id: 'w', ttl_ms: 60_000 });
  return leases[0];
}

async function leased(): Promise<Lease> {
  await served.done('task.create', { payload: 1, retry: { backoff_ms: 0 } });
  const { task_id, lease_id } = await lease();
  return { task_id, lease_id };
}

const get = ({ task_id }: Lease): Promise<Body> => served.done('task.get', { task_id });
const save = (held: Lease, value: unknown) => served.call('task.checkpoint', { ...held, value });

describe('a checkpoint', () => {
  it('is durable, and in the record', async () => {
    const held = await leased();
    const { status, body } = await save(held, { done: 3, total: 9 });
    expect(status).toBe(200);
    expect(await get(held)).toMatchObject({ checkpoint: { done: 3, total: 9 }, seq: body.seq });
    const { entries } = await served.done('task.history', { task_id: held.task_id });
    const value = { done: 3, total: 9 };
    expect(entries.at(-1)).toMatchObject({ type: 'TaskCheckpointed', lease_id: held.lease_id, value });
  });

  it.each([
    ['failure', (held: Lease) => served.done('task.fail', { ...held, reason: 'no' })],
    ['release', (held: Lease) => served.done('task.release', held)],
    ['end of the lease', async () => served.advance(60_000)],
  ] as const)('comes with the next lease, after a %s', async (_, end) => {
    const held = await leased();
    await save(held, [1]);
    await end(held);
    expect(await lease()).toMatchObject({ task_id: held.task_id, attempt: 2, checkpoint: [1] });
  });

  it('is not in a lease without one', async () => {
    await served.done('task.create', { payload: 1 });
    expect(await lease()).not.toHaveProperty('checkpoint');
  });

  it('comes again when the lease is asked for again by its request_id', async () => {
    const held = await leased();
    await save(held, 'first');
    await served.done('task.release', held);
    const request = { worker_id: 'w', request_id: 'r' };
    await served.done('task.lease', request);
    const again = await served.done('task.lease', request);
    expect(again).toMatchObject({ duplicate: true, leases: [{ checkpoint: 'first' }] });
  });

  it('replaces the one before it', async () => {
    const held = await leased();
    await save(held, 'first');
    await save(held, 'second');
    await served.done('task.release', held);
    expect((await lease()).checkpoint).toBe('second');
  });

  it('goes with completion', async () => {
    const held = await leased();
    await save(held, 1);
    await served.done('task.complete', held);
    expect(await get(held)).not.toHaveProperty('checkpoint');
  });

  it('stays with a task that has failed for good', async () => {
    const held = await leased();
    await save(held, 1);
    await served.done('task.fail', { ...held, reason: 'no', retry: false });
    expect(await get(held)).toMatchObject({ state: 'FAILED', checkpoint: 1 });
  });

  it('survives byte for byte', async () => {
    const held = await leased();
    const text = '{"b":1.0, "a":12345678901234567890,"__proto__":[]}';
    const path = `/v1/tasks/${held.task_id}/checkpoint`;
    const body = `{"lease_id":"${held.lease_id}","value":${text}}`;
    const headers = { 'content-type': 'application/json' };
    expect((await served.send('POST', path, { body, headers })).status).toBe(200);
    expect((await served.send('GET', `/v1/tasks/${held.task_id}`)).text).toContain(`"checkpoint":${text}`);
    await served.done('task.release', held);
    const again = await served.send('POST', '/v1/tasks/lease', { body: { worker_id: 'w' } });
    expect(again.text).toContain(`"checkpoint":${text}`);
  });

  it('has at most 64 KiB', async () => {
    const held = await leased();
    const size = 64 * 1024 - 2;
    expect((await save(held, 'x'.repeat(size))).status).toBe(200);
    const { status, body } = await save(held, 'x'.repeat(size + 1));
    expect([status, body.code]).toEqual([413, 'PAYLOAD_TOO_LARGE']);
  });

  it('does not extend the lease', async () => {
    const held = await leased();
    const { expires_at } = await get(held);
    served.advance(1_000);
    await save(held, 1);
    expect((await get(held)).expires_at).toBe(expires_at);
  });

  it('is refused from the millisecond the lease ends: LEASE_EXPIRED', async () => {
    const held = await leased();
    served.advance(60_000);
    expect((await save(held, 1)).body.code).toBe('LEASE_EXPIRED');
    await lease();
    expect((await save(held, 1)).body.code).toBe('LEASE_EXPIRED');
    expect(await get(held)).not.toHaveProperty('checkpoint');
  });
});
