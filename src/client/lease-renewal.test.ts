// Holding a lease: renewals, every way to lose it, and giving it back.
import { beforeEach, describe, expect, it } from 'vitest';
import { openStage, type Stage, type TestWire } from '../../test/support/lease-stage.ts';
import { isSettled, ManualWorld } from '../../test/support/manual-world.ts';
import { namedLeasesOf } from './client.ts';
import type { Lease } from './held.ts';
import type { Leasehold } from './leasehold.ts';

let world: ManualWorld;
let stage: Stage;
let lh: Leasehold;
let wire: TestWire;
/** Another client of the same authority. */
let other: Leasehold;

beforeEach(async () => {
  world = new ManualWorld();
  stage = await openStage(world);
  ({ lh, wire } = stage.client());
  other = stage.client().lh;
});

/** The event loop stands still for so long: clocks go on, timers do not. */
function block(ms: number): void {
  world.monotonicMs += ms;
  world.wallMs += ms;
}

/** The machine sleeps for so long: only the wall clock goes on. */
function suspend(ms: number): void {
  world.setWall(world.wallMs + ms);
}

const lossOf = (lease: Pick<Lease, 'signal'>): unknown => (lease.signal.aborted ? lease.signal.reason : null);

async function holderOf(name: string): Promise<string | null> {
  const found = await world.finish(other.call('lease.get', { name }));
  return found.ok ? found.holder : null;
}

describe('renewing', () => {
  it('happens when a third of the time has passed, on the way of its own', async () => {
    const lease = await world.finish(lh.acquire('n'));
    await world.advance(4_999);
    expect(wire.count('lease.renew')).toBe(0);
    await world.advance(1);
    expect(wire.count('lease.renew')).toBe(1);
    expect(wire.sent.at(-1)!.options).toEqual({ isRenewal: true });
    expect(lease.remaining()).toBe(14_250);
  });

  it('keeps a lease for as long as it is wanted', async () => {
    const lease = await world.finish(lh.acquire('n', { ttl: '300ms' }));
    await world.advance(60_000);
    lease.assertHeld();
    expect(lossOf(lease)).toBeNull();
    expect(await holderOf('n')).toBe(lease.holder);
  });

  it('takes along whatever falls due soon, in the same turn', async () => {
    await world.finish(lh.acquire('first'));
    await world.advance(1_000);
    await world.finish(lh.acquire('soon after'));
    await world.advance(1_000);
    await world.finish(lh.acquire('much later'));
    await world.advance(3_000);
    const renewed = wire.sent.filter(({ operation }) => operation === 'lease.renew');
    expect(renewed.map(({ request }) => request.name)).toEqual(['first', 'soon after']);
  });

  it('renews ten thousand leases with one timer and in a handful of batches', async () => {
    const names = Array.from({ length: 10_000 }, (_, index) => `n-${index}`);
    const leases = await world.finish(Promise.all(names.map((name) => lh.acquire(name))));
    const appendsBefore = stage.engine.appends;
    await world.advance(5_000);
    expect(wire.count('lease.renew')).toBe(10_000);
    expect(stage.engine.appends - appendsBefore).toBeLessThanOrEqual(6);
    await world.advance(5_000);
    for (const lease of leases) lease.assertHeld();
    expect(wire.count('lease.renew')).toBe(20_000);
  });

  it('takes one timer, however often a lease that is due sooner comes along', async () => {
    let underWay = 0;
    const timers = {
      ...world.timers,
      after: (ms: number, call: () => void) => {
        underWay += 1;
        const timer = world.timers.after(ms, () => {
          underWay -= 1;
          call();
        });
        return {
          cancel: () => {
            underWay -= 1;
            timer.cancel();
          },
        };
      },
    };
    const { clock, newToken } = world;
    const { lh: counted } = stage.client({ clock, timers, newToken });
    for (const ttl of ['1h', '2s', '1s', '300ms'] as const) await world.finish(counted.acquire(ttl, { ttl }));
    expect(underWay).toBe(1);
    await world.advance(10_000);
    expect(underWay).toBe(1);
  });

  it('can be asked for, with a longer time from then on', async () => {
    const lease = await world.finish(lh.acquire('n'));
    await world.finish(lease.renew('1m'));
    expect(lease.remaining()).toBe(57_000);
    await world.advance(19_999);
    expect(wire.count('lease.renew')).toBe(1);
    await world.advance(1);
    expect(wire.count('lease.renew')).toBe(2);
    expect(lease.remaining()).toBe(57_000);
  });

  it('loses nothing by the answer to an earlier renewal that was overtaken', async () => {
    const lease = await world.finish(lh.acquire('n'));
    wire.let('lease.renew', 'lingers', 1);
    await world.advance(5_000);
    await world.advance(1_000);
    await world.finish(lease.renew('1m'));
    wire.letGo();
    await world.settle();
    expect(wire.count('lease.renew')).toBe(2);
    expect(lease.remaining()).toBe(57_000);
  });

  it('throws when it is asked for and fails, and the lease is still held', async () => {
    const lease = await world.finish(lh.acquire('n'));
    wire.let('lease.renew', 'fails', 1);
    await expect(world.finish(lease.renew())).rejects.toMatchObject({ code: 'UNREACHABLE' });
    lease.assertHeld();
    await world.advance(60_000);
    lease.assertHeld();
  });

  it('says what was lost when it is asked for too late', async () => {
    const lease = await world.finish(lh.acquire('n'));
    await world.finish(other.call('lease.break', { name: 'n', reason: 'stuck' }));
    await expect(world.finish(lease.renew())).rejects.toMatchObject({
      code: 'LEASE_LOST',
      details: { loss: 'broken' },
    });
  });
});

describe('a blocked event loop', () => {
  it('is told the truth by assertHeld before any timer has run', async () => {
    const lease = await world.finish(lh.acquire('n'));
    const { signal } = lease;
    block(14_249);
    lease.assertHeld();
    expect(lease.remaining()).toBe(1);
    block(1);
    expect(lease.remaining()).toBe(0);
    expect(() => lease.assertHeld()).toThrow(
      expect.objectContaining({ code: 'LEASE_LOST', details: expect.objectContaining({ loss: 'expired' }) }),
    );
    expect(signal.reason).toMatchObject({ code: 'LEASE_LOST', details: { loss: 'expired' } });
  });

  it('hears of the loss by its signal as soon as it turns again', async () => {
    const lease = await world.finish(lh.acquire('n'));
    block(20_000);
    await world.advance(1);
    expect(lossOf(lease)).toMatchObject({ details: { loss: 'expired' } });
  });

  it('cannot write under the lease it lost, and the authority would not let it either', async () => {
    const lease = await world.finish(lh.acquire('n'));
    block(20_000);
    const next = await world.finish(other.acquire('n'));
    await expect(world.finish(lease.write('late'))).rejects.toMatchObject({ code: 'LEASE_LOST' });
    const { leaseSeq: lease_seq } = lease;
    expect(
      await world.finish(lh.call('object.write', { object_id: 'n', value: 'late', lease: { lease_seq } })),
    ).toMatchObject({ code: 'WRITE_STALE_FENCE' });
    next.assertHeld();
  });

  it('is not taken for an unreachable authority, though a renewal had failed before one got through', async () => {
    const lease = await world.finish(lh.acquire('n'));
    wire.let('lease.renew', 'fails', 1);
    await world.advance(6_000);
    expect(wire.count('lease.renew')).toBe(2);
    block(20_000);
    expect(() => lease.assertHeld()).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ loss: 'expired' }) }),
    );
  });

  it('is not taken for an unreachable authority, though a renewal was under way', async () => {
    const lease = await world.finish(lh.acquire('n'));
    wire.let('lease.renew', 'hangs', 1);
    await world.advance(5_000);
    block(20_000);
    expect(() => lease.assertHeld()).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ loss: 'expired' }) }),
    );
  });
});

describe('a suspended machine', () => {
  it('is told at once by assertHeld, and by the signal within a second', async () => {
    const lease = await world.finish(lh.acquire('n', { ttl: '1m' }));
    const { signal } = lease;
    suspend(60_000);
    expect(lease.remaining()).toBe(0);
    await world.advance(1_000);
    expect(signal.reason).toMatchObject({ code: 'LEASE_LOST', details: { loss: 'expired' } });
    expect(() => lease.assertHeld()).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ loss: 'expired' }) }),
    );
  });

  it('is not taken for an unreachable authority, though a renewal was under way', async () => {
    const lease = await world.finish(lh.acquire('n'));
    wire.let('lease.renew', 'hangs', 1);
    await world.advance(5_000);
    suspend(20_000);
    expect(() => lease.assertHeld()).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ loss: 'expired' }) }),
    );
  });

  it('renews at once after a sleep that was short enough', async () => {
    const lease = await world.finish(lh.acquire('n', { ttl: '1m' }));
    suspend(30_000);
    expect(lease.remaining()).toBe(27_000);
    await world.advance(1_000);
    expect(wire.count('lease.renew')).toBe(1);
    expect(lease.remaining()).toBe(57_000);
  });

  it('does not outlive its lease because its wall clock was set back', async () => {
    const lease = await world.finish(lh.acquire('n'));
    wire.let('lease.renew', 'fails');
    suspend(-3_600_000);
    await world.advance(14_249);
    lease.assertHeld();
    await world.advance(1);
    expect(lossOf(lease)).toMatchObject({ details: { loss: 'unreachable' } });
  });
});

describe('losing a lease', () => {
  it('is told at the next renewal when the same holder was granted it again', async () => {
    const lease = await world.finish(lh.acquire('n', { holder: 'twin' }));
    const twin = await world.finish(other.acquire('n', { holder: 'twin' }));
    await world.advance(5_000);
    expect(lossOf(lease)).toMatchObject({ code: 'LEASE_LOST', details: { loss: 'superseded' } });
    expect(twin.leaseSeq).toBeGreaterThan(lease.leaseSeq);
    twin.assertHeld();
  });

  it('is told at the next renewal when an administrator broke it', async () => {
    const lease = await world.finish(lh.acquire('n'));
    await world.finish(other.call('lease.break', { name: 'n', reason: 'stuck' }));
    await world.advance(5_000);
    expect(lossOf(lease)).toMatchObject({ details: { loss: 'broken' }, problem: { code: 'LEASE_NOT_HELD' } });
  });

  it('counts as broken as well when another client holds it by now', async () => {
    const lease = await world.finish(lh.acquire('n'));
    await world.finish(other.call('lease.break', { name: 'n', reason: 'stuck' }));
    await world.finish(other.acquire('n'));
    await world.advance(5_000);
    expect(lossOf(lease)).toMatchObject({ details: { loss: 'broken' } });
  });

  it('counts as broken when the orchestrator wiped it', async () => {
    const lease = await world.finish(lh.acquire('lease:a'));
    const guard = { name: 'system:orchestrator:guard_lock', holder: 'o', token: 'the-token-of-the-guard' };
    await world.finish(other.call('lease.acquire', { ...guard, ttl_ms: 60_000 }));
    await world.finish(other.call('lease.wipe', { prefix: 'lease:', guard }));
    await world.advance(5_000);
    expect(lossOf(lease)).toMatchObject({ details: { loss: 'broken' } });
  });

  it('says expired when the authority says so, whatever the own clocks say', async () => {
    const slow = stage.client({
      clock: { wallMs: () => world.wallMs * 0.3, monotonicMs: () => world.monotonicMs * 0.3 },
      timers: world.timers,
      newToken: world.newToken,
    });
    const lease = await world.finish(slow.lh.acquire('n'));
    await world.advance(17_000);
    expect(lossOf(lease)).toMatchObject({ details: { loss: 'expired' }, problem: { code: 'LEASE_EXPIRED' } });
  });

  it('is final: the lease does not count as held while the client asks for the cause', async () => {
    const lease = await world.finish(lh.acquire('n'));
    await world.finish(other.call('lease.break', { name: 'n', reason: 'stuck' }));
    wire.let('lease.get', 'hangs');
    await world.advance(5_000);
    expect(lease.remaining()).toBe(0);
    expect(lossOf(lease)).toBeNull();
    expect(() => lease.assertHeld()).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ loss: 'superseded' }) }),
    );
    expect(lossOf(lease)).toMatchObject({ details: { loss: 'superseded' } });
  });

  it('does not wait long for the word that says why', async () => {
    const lease = await world.finish(lh.acquire('n'));
    await world.finish(other.call('lease.break', { name: 'n', reason: 'stuck' }));
    wire.let('lease.get', 'hangs');
    await world.advance(5_250);
    expect(lossOf(lease)).toMatchObject({ details: { loss: 'superseded' } });
  });

  it('ends the renewals: none is sent while it is being found out why', async () => {
    const lease = await world.finish(lh.acquire('n', { ttl: '300ms' }));
    const { signal } = lease;
    await world.finish(other.call('lease.break', { name: 'n', reason: 'stuck' }));
    wire.hold('lease.get');
    // The renewal is refused when a third of the time is over; the next would be due when two are.
    await world.advance(240);
    expect(wire.count('lease.renew')).toBe(1);
    wire.letGo();
    await world.settle();
    expect(signal.reason).toMatchObject({ details: { loss: 'broken' } });
  });

  it('does not wait for the word beyond the deadline', async () => {
    const lease = await world.finish(lh.acquire('n', { ttl: '300ms' }));
    await world.finish(other.call('lease.break', { name: 'n', reason: 'stuck' }));
    wire.let('lease.get', 'hangs');
    // The renewal is refused when a third of the time is over, and the margin of so short a lease is 50 ms.
    await world.advance(250);
    expect(lossOf(lease)).toMatchObject({ details: { loss: 'superseded' } });
  });

  it('is told to a hundred at once without a hundred questions', async () => {
    const guard = { name: 'system:orchestrator:guard_lock', holder: 'o', token: 'the-token-of-the-guard' };
    await world.finish(other.call('lease.acquire', { ...guard, ttl_ms: 60_000 }));
    const names = Array.from({ length: 100 }, (_, index) => `lease:${index}`);
    const leases = await world.finish(Promise.all(names.map((name) => lh.acquire(name))));
    await world.finish(other.call('lease.wipe', { prefix: '', guard }));
    await world.advance(5_000);
    expect(wire.count('lease.get')).toBeLessThan(10);
    for (const lease of leases) expect(lossOf(lease)).toMatchObject({ code: 'LEASE_LOST' });
  });

  it('is put into the right word for each of many that are lost one after the other', async () => {
    for (let index = 0; index < 10; index++) {
      const lease = await world.finish(lh.acquire('n'));
      await world.finish(other.call('lease.break', { name: 'n', reason: 'stuck' }));
      await world.advance(5_000);
      expect(lossOf(lease)).toMatchObject({ details: { loss: 'broken' } });
    }
  });

  it.each(['refuses', 'fails'] as const)('says superseded when the question %s', async (fate) => {
    const lease = await world.finish(lh.acquire('n'));
    await world.finish(other.call('lease.break', { name: 'n', reason: 'stuck' }));
    wire.let('lease.get', fate);
    await world.advance(5_000);
    expect(lossOf(lease)).toMatchObject({ details: { loss: 'superseded' } });
  });

  it('is told by a refused write, too', async () => {
    const lease = await world.finish(lh.acquire('n', { holder: 'twin' }));
    await world.finish(other.acquire('n', { holder: 'twin' }));
    await expect(world.finish(lease.write(1))).rejects.toMatchObject({ code: 'WRITE_STALE_FENCE' });
    await world.settle();
    expect(lossOf(lease)).toMatchObject({ details: { loss: 'superseded' } });
  });

  it('happens to all leases of a client that is closed', async () => {
    const lease = await world.finish(lh.acquire('n'));
    const { signal } = lease;
    await world.finish(lh.close());
    expect(signal.reason).toMatchObject({ code: 'LEASE_LOST', details: { loss: 'unreachable' } });
    expect(await world.finish(lease.release())).toBe(false);
  });

  it('shows in a signal that was not read before', async () => {
    const lease = await world.finish(lh.acquire('n'));
    block(20_000);
    expect(() => lease.assertHeld()).toThrow();
    expect(lease.signal.aborted).toBe(true);
    expect(lease.signal).toBe(lease.signal);
  });
});

describe('an authority that cannot be reached', () => {
  it('is tried again until the deadline, then the signal aborts', async () => {
    const lease = await world.finish(lh.acquire('n'));
    const { signal } = lease;
    wire.let('lease.renew', 'fails');
    await world.advance(14_249);
    expect(wire.count('lease.renew')).toBeGreaterThan(5);
    lease.assertHeld();
    expect(signal.aborted).toBe(false);
    await world.advance(1);
    expect(signal.reason).toMatchObject({
      code: 'LEASE_LOST',
      details: { loss: 'unreachable' },
      cause: { code: 'UNREACHABLE' },
    });
  });

  it('costs nothing when it is back in time', async () => {
    const lease = await world.finish(lh.acquire('n'));
    wire.let('lease.renew', 'fails');
    await world.advance(13_000);
    wire.mend();
    await world.advance(60_000);
    lease.assertHeld();
    expect(await holderOf('n')).toBe(lease.holder);
  });

  it('is an authority that refuses for overload as well', async () => {
    const lease = await world.finish(lh.acquire('n'));
    wire.let('lease.renew', 'refuses');
    await world.advance(14_249);
    lease.assertHeld();
    await world.advance(1);
    expect(lossOf(lease)).toMatchObject({ details: { loss: 'unreachable' }, cause: { code: 'OVERLOADED' } });
  });

  it('is one that never answers, which is asked again when the next renewal is due', async () => {
    const lease = await world.finish(lh.acquire('n'));
    wire.let('lease.renew', 'hangs');
    await world.advance(9_999);
    expect(wire.count('lease.renew')).toBe(1);
    await world.advance(1);
    expect(wire.count('lease.renew')).toBe(2);
    await world.advance(4_250);
    expect(lossOf(lease)).toMatchObject({ details: { loss: 'unreachable' } });
  });

  it('is not asked again about one lease because another is due', async () => {
    await world.finish(lh.acquire('first'));
    await world.advance(4_000);
    await world.finish(lh.acquire('second'));
    wire.let('lease.renew', 'hangs', 1);
    // The renewal of the first hangs from 5 s on and is due again at 10 s; that of the second comes at 9 s.
    await world.advance(5_000);
    const renewed = wire.sent.filter(({ operation }) => operation === 'lease.renew');
    expect(renewed.map(({ request }) => request.name)).toEqual(['first', 'second']);
  });

  it('cannot bring a lease back by an answer that comes after the deadline', async () => {
    const lease = await world.finish(lh.acquire('n'));
    wire.hold('lease.renew');
    await world.advance(14_250);
    expect(lossOf(lease)).toMatchObject({ details: { loss: 'unreachable' } });
    wire.letGo();
    await world.advance(1_000);
    expect(() => lease.assertHeld()).toThrow();
    expect(lease.remaining()).toBe(0);
  });
});

describe('releasing', () => {
  it('gives the lease back, ends its renewals, and is harmless twice', async () => {
    const lease = await world.finish(lh.acquire('n'));
    expect(await world.finish(lease.release())).toBe(true);
    expect(await world.finish(lease.release())).toBe(false);
    expect(wire.count('lease.release')).toBe(1);
    await world.advance(60_000);
    expect(wire.count('lease.renew')).toBe(0);
    expect(await holderOf('n')).toBeNull();
  });

  it('finished twice tells the same twice', async () => {
    const lease = await world.finish(namedLeasesOf(lh).acquire('n'));
    await world.finish(other.call('lease.break', { name: 'n', reason: 'stuck' }));
    const told = [await world.finish(lease.finish()), await world.finish(lease.finish())];
    expect(told).toMatchObject([{ details: { loss: 'broken' } }, { details: { loss: 'broken' } }]);
  });

  it('is no loss: the signal does not abort, but the lease does not count as held', async () => {
    const lease = await world.finish(lh.acquire('n'));
    const { signal } = lease;
    await world.finish(lease.release());
    expect(signal.aborted).toBe(false);
    expect(lease.remaining()).toBe(0);
    expect(() => lease.assertHeld()).toThrow(
      expect.objectContaining({ code: 'LEASE_LOST', details: expect.objectContaining({ loss: 'released' }) }),
    );
    await expect(lease.write(1)).rejects.toMatchObject({ details: { loss: 'released' } });
    await expect(lease.renew()).rejects.toMatchObject({ details: { loss: 'released' } });
  });

  it('is not undone or mistaken for a loss when a renewal was under way', async () => {
    const lease = await world.finish(lh.acquire('n'));
    const { signal } = lease;
    wire.hold('lease.renew');
    await world.advance(5_000);
    await world.finish(lease.release());
    wire.letGo();
    await world.advance(60_000);
    expect(signal.aborted).toBe(false);
    expect(wire.count('lease.renew')).toBe(1);
  });

  it('still happens after the lease was lost by our own clocks', async () => {
    const lease = await world.finish(lh.acquire('n', { ttl: '1h' }));
    suspend(3_600_000);
    await world.advance(1_000);
    expect(lossOf(lease)).toMatchObject({ details: { loss: 'expired' } });
    expect(await holderOf('n')).toBe(lease.holder);
    expect(await world.finish(lease.release())).toBe(true);
    expect(await holderOf('n')).toBeNull();
  });

  it('is tried again while the authority cannot be reached', async () => {
    const lease = await world.finish(lh.acquire('n'));
    wire.let(null, 'fails');
    const releasing = lease.release();
    await world.advance(3_500);
    expect(await isSettled(releasing)).toBe(false);
    expect(world.holds).toBe(1);
    wire.mend();
    await world.advance(1_000);
    expect(await world.finish(releasing)).toBe(true);
    expect(world.holds).toBe(0);
  });

  it('gives up when the lease has run out by itself, or after ten seconds', async () => {
    for (const [ttl, ms] of [
      ['3s', 3_000],
      ['1h', 10_000],
    ] as const) {
      wire.mend();
      const lease = await world.finish(lh.acquire(ttl, { ttl }));
      wire.let(null, 'fails');
      const releasing = lease.release();
      await world.advance(ms - 2_001);
      expect(await isSettled(releasing)).toBe(false);
      await world.advance(2_001);
      expect(await world.finish(releasing)).toBe(false);
    }
  });

  it('happens at the end of the block that owns the handle', async () => {
    const lease = await world.finish(lh.acquire('n'));
    await world.finish(lease[Symbol.asyncDispose]());
    expect(await holderOf('n')).toBeNull();
  });
});
