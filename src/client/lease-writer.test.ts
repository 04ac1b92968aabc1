// Fenced writes through a handle: one effect each, whatever happens to the replies.
import { beforeEach, describe, expect, it } from 'vitest';
import { openStage, type Stage, type TestWire } from '../../test/support/lease-stage.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { Json } from '../protocol/json.ts';
import type { Lease } from './held.ts';
import type { Leasehold } from './leasehold.ts';

let world: ManualWorld;
let stage: Stage;
let lh: Leasehold;
let wire: TestWire;
/** Another client of the same authority. */
let other: Leasehold;
let lease: Lease;

beforeEach(async () => {
  world = new ManualWorld();
  stage = await openStage(world);
  ({ lh, wire } = stage.client());
  other = stage.client().lh;
  lease = await world.finish(lh.acquire('n'));
});

async function object(): Promise<{ value: unknown; version: number } | null> {
  const found = await world.finish(other.call('object.get', { object_id: 'n' }));
  return found.ok ? { value: found.value?.parse(), version: found.version } : null;
}

/** Another writer that was lent the lease, such as a child process. */
function writeBeside(value: unknown) {
  const { leaseSeq: lease_seq } = lease;
  return world.finish(other.call('object.write', { object_id: 'n', value, lease: { lease_seq } }));
}

describe('writing under a lease', () => {
  it('writes the object of the same name, version by version', async () => {
    const first = await world.finish(lease.write({ n: 1 }));
    expect(first.version).toBe(1);
    const second = await world.finish(lease.write({ n: 2 }));
    expect(second.version).toBe(2);
    expect(second.seq).toBeGreaterThan(first.seq);
    expect(await object()).toEqual({ value: { n: 2 }, version: 2 });
  });

  it('asks for the version once, and names the version it replaces in every write', async () => {
    await world.finish(lease.write(1));
    await world.finish(lease.write(2));
    expect(wire.count('object.get')).toBe(1);
    const writes = wire.sent.filter(({ operation }) => operation === 'object.write');
    expect(writes.map(({ request }) => request.if_version)).toEqual([0, 1]);
    expect(writes[0]!.request.lease).toEqual({
      lease_seq: lease.leaseSeq,
      object_id: 'n',
      holder_id: lease.holder,
    });
  });

  it('goes on from what an earlier lease has written', async () => {
    await world.finish(lease.write('old'));
    await world.finish(lease.release());
    const next = await world.finish(other.acquire('n'));
    expect(await world.finish(next.write('new'))).toMatchObject({ version: 2 });
  });

  it('goes on after the object was deleted, whose versions go on counting', async () => {
    await world.finish(lease.write('old'));
    const { leaseSeq: lease_seq } = lease;
    await world.finish(other.call('object.delete', { object_id: 'n', lease: { lease_seq } }));
    await world.finish(lease.release());
    const next = await world.finish(lh.acquire('n'));
    wire.let('object.write', 'repeats');
    expect(await world.finish(next.write('new'))).toMatchObject({ version: 3 });
    expect(await object()).toEqual({ value: 'new', version: 3 });
  });

  it('writes in the order of the calls, one after the other', async () => {
    const written = await world.finish(Promise.all([1, 2, 3].map((n) => lease.write(n))));
    expect(written.map(({ version }) => version)).toEqual([1, 2, 3]);
    expect(await object()).toEqual({ value: 3, version: 3 });
  });

  it('writes what the value was when it was asked to', async () => {
    const value = { n: 1 };
    const writing = lease.write(value);
    value.n = 2;
    await world.finish(writing);
    expect(await object()).toMatchObject({ value: { n: 1 } });
  });

  it('takes JSON text as it is, and refuses what has no JSON form', async () => {
    await world.finish(lease.write(Json.text('{"big": 10000000000000000000001}')));
    const found = await world.finish(other.call('object.get', { object_id: 'n' }));
    if (!found.ok) throw new Error(found.detail);
    expect(found.value?.text()).toBe('{"big": 10000000000000000000001}');
    await expect(lease.write(undefined)).rejects.toThrow(TypeError);
  });

  it('goes on after a write that was refused', async () => {
    await expect(world.finish(lease.write('x'.repeat(300_000)))).rejects.toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
    });
    expect(await world.finish(lease.write('short'))).toMatchObject({ version: 1 });
  });
});

describe('a write with a version', () => {
  it('writes only if the object has it', async () => {
    await world.finish(lease.write(1, { ifVersion: 0 }));
    await expect(world.finish(lease.write(2, { ifVersion: 0 }))).rejects.toMatchObject({
      code: 'VERSION_MISMATCH',
      effect: 'none',
    });
    expect(await world.finish(lease.write(2, { ifVersion: 1 }))).toMatchObject({ version: 2 });
  });

  it('says that nothing happened when the version has never been', async () => {
    await world.finish(lease.write(1));
    await expect(world.finish(lease.write(2, { ifVersion: 7 }))).rejects.toMatchObject({
      code: 'VERSION_MISMATCH',
      effect: 'none',
    });
  });

  it('does not take an earlier write of the same value for its own', async () => {
    await world.finish(lease.write('same'));
    await expect(world.finish(lease.write('same', { ifVersion: 0 }))).rejects.toMatchObject({
      code: 'VERSION_MISMATCH',
    });
    expect(await object()).toEqual({ value: 'same', version: 1 });
  });

  it('does not overwrite what another client wrote before under an older lease', async () => {
    await world.finish(lease.write('old'));
    await world.finish(lease.release());
    const next = await world.finish(other.acquire('n'));
    await expect(world.finish(next.write('new', { ifVersion: 5 }))).rejects.toMatchObject({
      code: 'VERSION_MISMATCH',
      effect: 'none',
    });
  });
});

describe('a reply that is lost', () => {
  it('leaves one effect when the write is sent again', async () => {
    wire.let('object.write', 'repeats');
    expect(await world.finish(lease.write('a'))).toMatchObject({ version: 1 });
    expect(await world.finish(lease.write('b'))).toMatchObject({ version: 2 });
    expect(await world.finish(lease.write('b', { ifVersion: 2 }))).toMatchObject({ version: 3 });
    const written = (await stage.entries()).filter((type) => type === 'ObjectWritten');
    expect(written).toHaveLength(3);
  });

  it('answers with the position at which the write is durable', async () => {
    wire.let('object.write', 'repeats');
    const { seq } = await world.finish(lease.write('a'));
    const found = await world.finish(other.call('object.get', { object_id: 'n' }));
    expect(found).toMatchObject({ seq });
  });

  it('fails with an unknown effect when it is not retried, and the next write succeeds', async () => {
    await world.finish(lease.write('a'));
    wire.let('object.write', 'loses', 1);
    await expect(world.finish(lease.write('b'))).rejects.toMatchObject({ effect: 'unknown' });
    expect(await world.finish(lease.write('c'))).toMatchObject({ version: 3 });
    expect(await object()).toEqual({ value: 'c', version: 3 });
  });
});

describe('another writer under the same lease', () => {
  it('is stepped around by a write without a version', async () => {
    await world.finish(lease.write('mine'));
    await writeBeside('theirs');
    expect(await world.finish(lease.write('mine again'))).toMatchObject({ version: 3 });
    expect(await object()).toEqual({ value: 'mine again', version: 3 });
  });

  it('is stepped around however often it wrote', async () => {
    await world.finish(lease.write('mine'));
    await writeBeside('theirs');
    await writeBeside('theirs again');
    expect(await world.finish(lease.write('mine again'))).toMatchObject({ version: 4 });
    expect(await object()).toEqual({ value: 'mine again', version: 4 });
  });
});

describe('a write under a lease that is over', () => {
  it('is refused by the fence when the name was granted again', async () => {
    const own = await world.finish(lh.acquire('m', { holder: 'twin' }));
    await world.finish(own.write('before'));
    const twin = await world.finish(other.acquire('m', { holder: 'twin' }));
    await world.finish(twin.write('after'));
    await expect(world.finish(own.write('late'))).rejects.toMatchObject({
      code: 'WRITE_STALE_FENCE',
      problem: { current_fence: twin.leaseSeq },
    });
    const receipts = await world.finish(other.call('receipt.list', { object_id: 'm' }));
    expect(receipts).toMatchObject({
      receipts: [{ code: 'WRITE_STALE_FENCE', presented_lease_seq: own.leaseSeq, holder_id: 'twin' }],
    });
  });

  it('is refused as expired when the lease was broken, and the holder hears how it ended', async () => {
    const { signal } = lease;
    await world.finish(other.call('lease.break', { name: 'n', reason: 'stuck' }));
    const late = lease.write('late').catch((fault: unknown) => {
      // From the moment the write is refused, not a little later.
      expect(signal.aborted).toBe(true);
      expect(() => lease.assertHeld()).toThrow('broken');
      throw fault;
    });
    await expect(world.finish(late)).rejects.toMatchObject({ code: 'LEASE_EXPIRED' });
    expect(signal.reason).toMatchObject({ details: { loss: 'broken' } });
    expect(await object()).toBeNull();
  });

  it('is refused by a newer fence when the lease was broken and granted to another, and the holder hears "broken"', async () => {
    await world.finish(other.call('lease.break', { name: 'n', reason: 'stuck' }));
    const next = await world.finish(other.acquire('n', { holder: 'next' }));
    const refused = { code: 'WRITE_STALE_FENCE', details: { currentFence: next.leaseSeq } };
    const fault: unknown = await world.finish(lease.write('late').catch((thrown: unknown) => thrown));
    expect(fault).toMatchObject(refused);
    expect(() => lease.assertHeld()).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ loss: 'broken' }) }),
    );
  });

  it('is not even sent once the holder knows', async () => {
    world.monotonicMs += 20_000;
    world.wallMs += 20_000;
    await expect(lease.write('late')).rejects.toMatchObject({
      code: 'LEASE_LOST',
      details: { loss: 'expired' },
    });
    expect(wire.count('object.write')).toBe(0);
  });

  it('is not sent when the lease was lost while it stood behind another write', async () => {
    wire.hold('object.write');
    const first = lease.write('first');
    const second = lease.write('second');
    second.catch(() => undefined);
    await world.settle();
    world.monotonicMs += 20_000;
    world.wallMs += 20_000;
    wire.letGo();
    expect(await world.finish(first)).toMatchObject({ version: 1 });
    await expect(world.finish(second)).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(wire.count('object.write')).toBe(1);
  });
});
