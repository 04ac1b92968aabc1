// What is wrong but well formed gets the verdict it deserves: a token that was never given out, a guard that is not shown, a
// write without a lease. None of these is a malformed request.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Served, startServed, stopAllServed } from '../../test/support/served.ts';

const TOKEN = 'the-token-of-this-grant';

let served: Served;

beforeAll(async () => {
  served = await startServed();
  await served.done('lease.acquire', { name: 'n', holder: 'h', ttl_ms: 60_000, token: TOKEN });
});
afterAll(stopAllServed);

describe('a token that is not the one, however short', () => {
  const shown = { name: 'n', holder: 'h', token: 'wrong' };

  it('releases nothing', async () => {
    expect(await served.done('lease.release', shown)).toMatchObject({ released: false });
    const { status, body } = await served.call('lease.renew', { ...shown, ttl_ms: 60_000 });
    expect([status, body.code]).toEqual([409, 'LEASE_NOT_HELD']);
    expect(await served.done('lease.get', { name: 'n' })).toMatchObject({ holder: 'h' });
  });

  it('cannot be chosen', async () => {
    const { status, body } = await served.call('lease.acquire', { ...shown, name: 'm', ttl_ms: 60_000 });
    expect([status, body.code]).toEqual([400, 'INVALID_ARGUMENT']);
  });
});

describe('a guard that is not shown, or only in part', () => {
  const GUARD = 'system:orchestrator:guard_lock';

  it.each([
    undefined,
    {},
    { name: GUARD },
    { name: GUARD, holder: 'o' },
    { holder: 'o', token: TOKEN },
    { name: GUARD, holder: 'o', token: 'wrong' },
  ])('is not held: %j', async (guard) => {
    const { seq } = await served.done('status.get');
    const calls = {
      'lease.wipe': { prefix: '' },
      'session.start': { session_id: 's00000000001', lease_id: 'l', slots: [], ttl_ms: 1_000 },
      'session.change': { session_id: 's00000000001', event: 'ready' },
      'session.renew': { session_ids: [], ttl_ms: 1_000 },
    } as const;
    for (const [operation, request] of Object.entries(calls)) {
      const { status, body } = await served.call(operation as keyof typeof calls, { ...request, guard });
      expect([operation, status, body.code]).toEqual([operation, 403, 'GUARD_NOT_HELD']);
    }
    expect((await served.done('status.get')).seq).toBe(seq);
  });
});

describe('a write whose lease is null, or has no number', () => {
  it.each([null, {}, { lease_seq: null }])('is unfenced: %j', async (lease) => {
    const write = { object_id: 'n', value: 1, lease };
    for (const operation of ['object.write', 'object.delete'] as const) {
      const { value, ...rest } = write;
      const request = operation === 'object.write' ? { ...rest, value } : rest;
      const { status, body } = await served.call(operation, request);
      expect([status, body.code]).toEqual([428, 'WRITE_UNFENCED']);
    }
  });

  it.each([
    [{ lease_seq: 'one' }, 'The field lease.lease_seq is wrong: expected integer.'],
    [{ lease_seq: -1 }, 'The field lease.lease_seq is wrong: expected integer to be greater or equal to 0.'],
    [
      { seq: 1 },
      'The field lease.seq is unknown; known are lease_seq, object_id, holder_id, acquired_at, expires_at.',
    ],
    [7, 'The field lease is wrong: expected object.'],
  ])('that makes no sense is malformed, in a sentence about what is wrong: %j', async (lease, says) => {
    const { status, body } = await served.call('object.write', { object_id: 'n', value: 1, lease });
    expect([status, body.detail]).toEqual([400, says]);
  });
});

describe('a lease that is in the way', () => {
  it('says when to come back', async () => {
    const { headers } = await served.send('POST', '/v1/leases/n/acquire', {
      body: '{"holder":"other","ttl_ms":1000}',
    });
    expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    expect(Number(headers['retry-after'])).toBeLessThanOrEqual(60);
  });
});
