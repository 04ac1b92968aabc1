// Taking named leases for programs: what is granted, what is refused, and what is given back.
import { inspect } from 'node:util';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { openStage, type Stage, type TestWire } from '../../test/support/lease-stage.ts';
import { isSettled, ManualWorld } from '../../test/support/manual-world.ts';
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

/** A call that is awaited later; a failure before that is not an unhandled rejection. */
function later<T>(call: Promise<T>): Promise<T> {
  call.catch(() => undefined);
  return call;
}

async function holderOf(name: string): Promise<string | null> {
  const found = await world.finish(other.call('lease.get', { name }));
  return found.ok ? found.holder : null;
}

describe('withLease', () => {
  it('throws when the lease was lost after its last renewal, even if that was not noticed yet', async () => {
    const broken = lh.withLease('n', {}, async () => {
      await other.call('lease.break', { name: 'n', reason: 'stuck' });
      return 'done';
    });
    await expect(world.finish(broken)).rejects.toMatchObject({
      name: 'LeaseLostError',
      code: 'LEASE_LOST',
      details: { loss: 'broken' },
    });
    const superseded = lh.withLease('n', { holder: 'twin' }, async () => {
      await other.call('lease.acquire', { name: 'n', holder: 'twin', ttl_ms: 60_000 });
    });
    await expect(world.finish(superseded)).rejects.toMatchObject({
      code: 'LEASE_LOST',
      details: { loss: 'superseded' },
    });
  });

  it('throws when the lease was lost, although the function gave it back afterwards', async () => {
    const lost = lh.withLease('n', {}, async (lease) => {
      await other.call('lease.break', { name: 'n', reason: 'stuck' });
      await expect(lease.renew()).rejects.toMatchObject({ details: { loss: 'broken' } });
      await lease.release();
      return 'done';
    });
    await expect(world.finish(lost)).rejects.toMatchObject({
      code: 'LEASE_LOST',
      details: { loss: 'broken' },
    });
    const given = lh.withLease('n', {}, async (lease) => lease.release());
    expect(await world.finish(given)).toBe(true);
  });

  it('says how the lease was lost however long its history is', async () => {
    const broken = lh.withLease('n', {}, async (lease) => {
      for (let value = 0; value < 1_100; value++) await lease.write(value);
      await other.call('lease.break', { name: 'n', reason: 'stuck' });
    });
    await expect(world.finish(broken)).rejects.toMatchObject({
      code: 'LEASE_LOST',
      details: { loss: 'broken' },
    });
  });

  it('says what ended the lease, not what came after', async () => {
    const guard = { name: 'system:orchestrator:guard_lock', holder: 'o', token: 'the-token-of-the-guard' };
    await world.finish(other.call('lease.acquire', { ...guard, ttl_ms: 600_000 }));
    const superseded = lh.withLease('n', { holder: 'twin' }, async () => {
      await other.call('lease.acquire', { name: 'n', holder: 'twin', ttl_ms: 60_000 });
      await other.call('lease.wipe', { prefix: '', guard });
    });
    await expect(world.finish(superseded)).rejects.toMatchObject({
      code: 'LEASE_LOST',
      details: { loss: 'superseded' },
    });
  });

  it('says broken when the orchestrator wiped the lease after its last renewal', async () => {
    const guard = { name: 'system:orchestrator:guard_lock', holder: 'o', token: 'the-token-of-the-guard' };
    await world.finish(other.call('lease.acquire', { ...guard, ttl_ms: 600_000 }));
    const wiped = lh.withLease('n', {}, async () => {
      await other.call('lease.wipe', { prefix: '', guard });
    });
    await expect(world.finish(wiped)).rejects.toMatchObject({
      code: 'LEASE_LOST',
      details: { loss: 'broken' },
    });
  });

  it('does not take its own release for a loss when the answer to it was lost', async () => {
    wire.let('lease.release', 'loses', 1);
    const working = lh.withLease('n', {}, () => 'done');
    await world.advance(2_000);
    expect(wire.count('lease.release')).toBe(2);
    expect(await world.finish(working)).toBe('done');
  });

  it('throws, and leaves no unhandled rejection, when no server can say how the lease ended', async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', note);
    wire.let('lease.history', 'fails');
    const broken = lh.withLease('n', {}, async () => {
      await other.call('lease.break', { name: 'n', reason: 'stuck' });
    });
    await expect(world.finish(broken)).rejects.toMatchObject({ code: 'UNREACHABLE' });
    await world.settle();
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
  });

  it('runs the function while it holds the lease, returns its value and gives the lease back', async () => {
    const value = await world.finish(
      lh.withLease('n', {}, async (lease) => {
        expect(lease.name).toBe('n');
        expect(await holderOf('n')).toBe(lease.holder);
        lease.assertHeld();
        return 42;
      }),
    );
    expect(value).toBe(42);
    expect(await holderOf('n')).toBeNull();
  });

  it('gives the lease back when the function throws, and lets the error pass', async () => {
    const failing = lh.withLease('n', {}, () => {
      throw new Error('my own');
    });
    await expect(world.finish(failing)).rejects.toThrow('my own');
    expect(await holderOf('n')).toBeNull();
  });

  it('lets the error of the function pass when no server can say how the lease ended', async () => {
    wire.let('lease.history', 'fails');
    const failing = lh.withLease('n', {}, async () => {
      await other.call('lease.break', { name: 'n', reason: 'stuck' });
      throw new Error('my own');
    });
    await expect(world.finish(failing)).rejects.toThrow('my own');
  });

  it('throws LEASE_HELD, naming the holder, when the lease is not available', async () => {
    await world.finish(other.acquire('n', { holder: 'first' }));
    const refused = lh.withLease('n', {}, () => expect.unreachable());
    await expect(world.finish(refused)).rejects.toMatchObject({
      code: 'LEASE_HELD',
      retryable: true,
      effect: 'none',
      message: expect.stringContaining('held by first'),
    });
  });

  it('throws LEASE_HELD when the wait runs out', async () => {
    await world.finish(other.acquire('n', { ttl: '1h' }));
    const waiting = later(lh.withLease('n', { wait: '30s' }, () => expect.unreachable()));
    await world.advance(29_999);
    expect(await isSettled(waiting)).toBe(false);
    await world.advance(1);
    await expect(world.finish(waiting)).rejects.toMatchObject({ code: 'LEASE_HELD' });
  });

  it('lets two callers of one process exclude each other', async () => {
    const order: string[] = [];
    const one = lh.withLease('n', {}, async (lease) => {
      order.push('one');
      await new Promise<void>((resolve) => world.timers.after(1_000, resolve));
      order.push('one ends');
      return lease.leaseSeq;
    });
    const two = lh.withLease('n', { wait: '1m' }, (lease) => {
      order.push('two');
      return lease.leaseSeq;
    });
    await world.advance(2_000);
    const [first, second] = await world.finish(Promise.all([one, two]));
    expect(order).toEqual(['one', 'one ends', 'two']);
    expect(second).toBeGreaterThan(first);
  });

  it('aborts the signal on loss, awaits the function, and then throws LEASE_LOST with the cause', async () => {
    let isDone = false;
    const working = later(
      lh.withLease('n', {}, async ({ signal }) => {
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        await new Promise<void>((resolve) => world.timers.after(5_000, resolve));
        isDone = true;
        return 'too late';
      }),
    );
    await world.settle();
    await world.finish(other.call('lease.break', { name: 'n', reason: 'stuck' }));
    await world.advance(5_000);
    expect(isDone).toBe(false);
    expect(await isSettled(working)).toBe(false);
    await world.advance(5_000);
    await expect(world.finish(working)).rejects.toMatchObject({
      code: 'LEASE_LOST',
      details: { loss: 'broken' },
    });
    expect(isDone).toBe(true);
  });

  it('throws LEASE_LOST rather than the error of work that was cut off, and keeps that error', async () => {
    const mine = new Error('half done');
    const working = later(
      lh.withLease('n', {}, async ({ signal }) => {
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        throw mine;
      }),
    );
    await world.settle();
    await world.finish(other.call('lease.break', { name: 'n', reason: 'stuck' }));
    await world.advance(5_000);
    await expect(world.finish(working)).rejects.toMatchObject({ code: 'LEASE_LOST', cause: mine });
  });

  it('throws LEASE_LOST when the function blocked the event loop past the end and noticed nothing', async () => {
    const working = lh.withLease('n', {}, () => {
      world.monotonicMs += 20_000;
      world.wallMs += 20_000;
    });
    await expect(world.finish(working)).rejects.toMatchObject({
      code: 'LEASE_LOST',
      details: { loss: 'expired' },
    });
  });

  it('does not mind a function that gives the lease back itself', async () => {
    expect(await world.finish(lh.withLease('n', {}, (lease) => lease.release()))).toBe(true);
  });
});

describe('acquire', () => {
  it('makes every call a holder of its own unless the caller names one', async () => {
    const one = await world.finish(lh.acquire('a'));
    const two = await world.finish(lh.acquire('b'));
    expect(one.holder).not.toBe(two.holder);
    const named = await world.finish(lh.acquire('c', { holder: 'me' }));
    expect(named.holder).toBe('me');
  });

  it('calls its holders after the process, where the world knows it', async () => {
    const { lh: labelled } = stage.client({
      clock: world.clock,
      timers: world.timers,
      newToken: world.newToken,
      label: 'host-1:77',
    });
    expect((await world.finish(labelled.acquire('a'))).holder).toMatch(/^host-1:77:./);
  });

  it('takes 15 s unless told otherwise, and keeps the metadata for others to see', async () => {
    await world.finish(lh.acquire('n', { metadata: { job: 7 } }));
    const found = await world.finish(other.call('lease.get', { name: 'n' }));
    if (!found.ok) throw new Error(found.detail);
    expect(found.remaining_ms).toBe(15_000);
    expect(found.metadata?.parse()).toEqual({ job: 7 });
  });

  it('refuses options it does not know, durations it cannot read, and a signal that is none', async () => {
    await expect(lh.acquire('n', { ttlMs: 5 } as never)).rejects.toThrow(
      /The option ttlMs of a lease is not known; known are ttl, wait/,
    );
    await expect(lh.acquire('n', { ttl: 'long' as '1s' })).rejects.toThrow(/The ttl "long"/);
    await expect(lh.acquire('n', { signal: {} as never })).rejects.toThrow(/AbortSignal/);
    await expect(world.finish(lh.acquire('n', { ttl: 1 }))).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    expect(await holderOf('n')).toBeNull();
  });

  it('sends a request that costs a free name nothing extra when it may wait', async () => {
    await world.finish(lh.acquire('n', { wait: '1m' }));
    expect(wire.sent.map(({ operation }) => operation)).toEqual(['lease.acquire']);
    expect(wire.sent[0]!.request).not.toHaveProperty('wait_ms');
  });

  it('confirms a grant that had to wait by one renewal before it is given out', async () => {
    const held = await world.finish(other.acquire('n', { ttl: '1h' }));
    const waiting = later(lh.acquire('n', { wait: '1m' }));
    await world.advance(40_000);
    await world.finish(held.release());
    const lease = await world.finish(waiting);
    expect(wire.count('lease.renew')).toBe(1);
    // Counted from the confirmation: a deadline from before the wait would be over.
    expect(lease.remaining()).toBe(14_250);
  });

  it('goes on waiting when a grant had run out before it could be confirmed', async () => {
    const held = await world.finish(other.acquire('n', { ttl: '1h' }));
    const waiting = later(lh.acquire('n', { wait: '1m', ttl: '1s' }));
    await world.settle();
    wire.hold('lease.acquire');
    await world.finish(held.release());
    await world.advance(2_000);
    wire.letGo();
    const lease = await world.finish(waiting);
    lease.assertHeld();
    const granted = (await stage.entries()).filter((type) => type === 'NameLeased');
    expect(granted).toHaveLength(3);
  });

  it('does not take a lease back from another with the same holder, who was granted it meanwhile', async () => {
    wire.hold('lease.acquire');
    const slow = later(lh.acquire('n', { holder: 'twin', ttl: '10s' }));
    await world.advance(6_000);
    const next = await world.finish(other.acquire('n', { holder: 'twin' }));
    wire.letGo();
    await expect(world.finish(slow)).rejects.toMatchObject({ code: 'LEASE_NOT_HELD' });
    await world.finish(next.renew());
    next.assertHeld();
  });

  it('is over for who gave up while the grant was being confirmed', async () => {
    const held = await world.finish(other.acquire('n'));
    const giveUp = new AbortController();
    const work = vi.fn();
    const waiting = later(lh.withLease('n', { wait: '1m', signal: giveUp.signal }, work));
    await world.settle();
    wire.hold('lease.renew');
    await world.finish(held.release());
    await world.settle();
    giveUp.abort(new Error('no longer needed'));
    wire.letGo();
    await expect(world.finish(waiting)).rejects.toThrow('no longer needed');
    await world.settle();
    expect(work).not.toHaveBeenCalled();
    expect(await holderOf('n')).toBeNull();
  });

  it('gives back what was won by who gave up while it was being confirmed, though the caller chose the token', async () => {
    const held = await world.finish(other.acquire('n'));
    const giveUp = new AbortController();
    const { signal } = giveUp;
    const waiting = later(lh.acquire('n', { wait: '1m', signal, token: 'a-token-of-my-own-choosing' }));
    await world.settle();
    wire.hold('lease.renew');
    await world.finish(held.release());
    giveUp.abort(new Error('no longer needed'));
    wire.letGo();
    await expect(world.finish(waiting)).rejects.toThrow('no longer needed');
    await world.settle();
    expect(await holderOf('n')).toBeNull();
  });

  it('gives a grant back that could not be confirmed', async () => {
    const held = await world.finish(other.acquire('n'));
    const waiting = later(lh.acquire('n', { wait: '1m' }));
    await world.settle();
    wire.let('lease.renew', 'refuses', 1);
    await world.finish(held.release());
    await expect(world.finish(waiting)).rejects.toMatchObject({ code: 'OVERLOADED' });
    await world.settle();
    expect(await holderOf('n')).toBeNull();
  });

  it('gives up when grant after grant is over before it is heard of', async () => {
    wire.hold('lease.acquire');
    const slow = later(lh.acquire('n', { ttl: '1s' }));
    for (let round = 0; round < 10; round++) {
      await world.advance(2_000);
      wire.letGo();
      wire.hold('lease.acquire');
    }
    expect(wire.count('lease.acquire')).toBe(5);
    await expect(world.finish(slow)).rejects.toMatchObject({ code: 'LEASE_EXPIRED' });
  });

  it('asks again when the reply came after the end of the grant', async () => {
    wire.hold();
    const slow = later(lh.acquire('n', { ttl: '1s' }));
    await world.advance(2_000);
    wire.letGo();
    (await world.finish(slow)).assertHeld();
    wire.hold();
    const slower = later(lh.acquire('m', { ttl: '1s' }));
    await world.advance(2_000);
    await world.finish(other.acquire('m'));
    wire.letGo();
    await expect(world.finish(slower)).rejects.toMatchObject({ code: 'LEASE_HELD' });
  });

  it('does not give out a grant whose confirmation came after its end', async () => {
    const held = await world.finish(other.acquire('n', { ttl: '1h' }));
    const waiting = later(lh.acquire('n', { wait: '1m', ttl: '1s' }));
    await world.settle();
    wire.hold('lease.renew');
    await world.finish(held.release());
    await world.advance(2_000);
    wire.letGo();
    await expect(world.finish(waiting)).rejects.toMatchObject({ code: 'LEASE_LOST' });
  });

  it('counts a grant whose reply was slow from before it was asked for', async () => {
    wire.hold();
    const slow = lh.acquire('n');
    await world.advance(4_000);
    wire.letGo();
    expect((await world.finish(slow)).remaining()).toBe(10_250);
  });

  it('confirms a grant that comes so late that half of it would be over: it may be younger than the call', async () => {
    wire.let('lease.acquire', 'lingers');
    const slow = lh.acquire('n');
    await world.advance(30_000);
    wire.letGo();
    expect((await world.finish(slow)).remaining()).toBe(14_250);
    expect(wire.count('lease.renew')).toBe(1);
  });

  it('returns the same grant again to a caller that knows its holder and token', async () => {
    const token = 'a-token-of-my-own-choosing';
    const first = await world.finish(lh.acquire('n', { holder: 'me', token }));
    await world.advance(3_000);
    const again = await world.finish(other.acquire('n', { holder: 'me', token }));
    expect(again.leaseSeq).toBe(first.leaseSeq);
    expect(again.remaining()).toBe(14_250);
    first.assertHeld();
  });

  it('waits longer than one request may, in pieces', async () => {
    await world.finish(other.acquire('n', { ttl: '1d' }));
    const waiting = later(lh.acquire('n', { wait: '25m' }));
    await world.advance(25 * 60_000);
    await expect(world.finish(waiting)).rejects.toMatchObject({ code: 'LEASE_HELD' });
    const waits = wire.sent
      .filter(({ operation }) => operation === 'lease.acquire')
      .map(({ request }) => request.wait_ms);
    expect(waits).toEqual([undefined, 600_000, 600_000, 300_000]);
  });

  it.each(['fails', 'loses'] as const)('goes on waiting while its wire %s every call', async (fate) => {
    const held = await world.finish(other.acquire('n', { ttl: '1d' }));
    const waiting = later(lh.acquire('n', { wait: '10m' }));
    await world.settle();
    wire.let(null, fate);
    await world.finish(held.release());
    await world.advance(120_000);
    expect(await isSettled(waiting)).toBe(false);
    wire.mend();
    await world.advance(5_000);
    const lease = await world.finish(waiting);
    lease.assertHeld();
    expect(await holderOf('n')).toBe(lease.holder);
  });

  it('goes on waiting when its grant cannot be confirmed', async () => {
    const held = await world.finish(other.acquire('n', { ttl: '1d' }));
    const waiting = later(lh.acquire('n', { wait: '10m' }));
    await world.settle();
    wire.let('lease.renew', 'fails', 3);
    await world.finish(held.release());
    await world.advance(5_000);
    (await world.finish(waiting)).assertHeld();
  });

  it('does not wait for a server for longer than it wants to wait', async () => {
    wire.let(null, 'fails');
    const waiting = later(lh.acquire('n', { wait: '1m' }));
    await world.advance(59_999);
    expect(await isSettled(waiting)).toBe(false);
    await world.advance(1);
    await expect(world.finish(waiting)).rejects.toMatchObject({ code: 'UNREACHABLE' });
    await expect(world.finish(lh.acquire('n'))).rejects.toMatchObject({ code: 'UNREACHABLE' });
  });

  it('gives up waiting for a server with the reason of the signal', async () => {
    wire.let(null, 'fails');
    const giveUp = new AbortController();
    const waiting = later(lh.acquire('n', { wait: '1m', signal: giveUp.signal }));
    await world.advance(10_000);
    giveUp.abort(new Error('no longer needed'));
    await expect(world.finish(waiting)).rejects.toThrow('no longer needed');
  });

  it('gives up waiting with the reason of the signal, and leaves the line', async () => {
    const held = await world.finish(other.acquire('n', { ttl: '1h' }));
    const giveUp = new AbortController();
    const waiting = later(lh.acquire('n', { wait: '1m', signal: giveUp.signal }));
    await world.settle();
    giveUp.abort(new Error('no longer needed'));
    await expect(world.finish(waiting)).rejects.toThrow('no longer needed');
    await world.finish(held.release());
    await world.settle();
    expect(await holderOf('n')).toBeNull();
  });

  it('gives up with the reason of the signal while the grant is being confirmed, and gives it back', async () => {
    const held = await world.finish(other.acquire('n', { ttl: '1h' }));
    const giveUp = new AbortController();
    const waiting = later(lh.acquire('n', { wait: '1m', signal: giveUp.signal }));
    await world.settle();
    wire.let('lease.renew', 'hangs');
    await world.finish(held.release());
    await world.settle();
    expect(wire.count('lease.renew')).toBe(1);
    giveUp.abort(new Error('no longer needed'));
    await expect(world.finish(waiting)).rejects.toThrow('no longer needed');
    await world.settle();
    expect(await holderOf('n')).toBeNull();
  });

  it('sends nothing when the signal was aborted before', async () => {
    const signal = AbortSignal.abort(new Error('before'));
    await expect(lh.acquire('n', { signal })).rejects.toThrow('before');
    expect(wire.sent).toEqual([]);
  });

  it('gives back what an aborted request has won', async () => {
    const giveUp = new AbortController();
    stage.engine.holding = true;
    const acquiring = later(lh.acquire('n', { signal: giveUp.signal }));
    await world.settle();
    giveUp.abort(new Error('no longer needed'));
    await expect(world.finish(acquiring)).rejects.toThrow('no longer needed');
    stage.engine.holding = false;
    stage.engine.letGo();
    await world.settle();
    expect(await stage.entries()).toEqual(['EpochStarted', 'NameLeased', 'NameReleased']);
  });

  it('lets the transport give back what comes when the release of an aborted request has overtaken it', async () => {
    const { signal } = new AbortController();
    const token = 'a-token-of-my-own-choosing';
    await world.finish(lh.acquire('n', { signal }));
    await world.finish(lh.acquire('m', { signal, token }));
    expect(wire.sent.map(({ options }) => options?.isTokenOwn)).toEqual([true, false]);
  });

  it('gives back what a request has won whose reply never came', async () => {
    wire.let('lease.acquire', 'loses');
    await expect(world.finish(lh.acquire('n'))).rejects.toMatchObject({ effect: 'unknown' });
    await world.settle();
    expect(await stage.entries()).toEqual(['EpochStarted', 'NameLeased', 'NameReleased']);
  });

  it('leaves a grant alone whose token the caller chose: the caller can ask for it again', async () => {
    const token = 'a-token-of-my-own-choosing';
    wire.let('lease.acquire', 'loses', 1);
    await expect(world.finish(lh.acquire('n', { holder: 'me', token }))).rejects.toMatchObject({
      effect: 'unknown',
    });
    await world.settle();
    await world.finish(lh.acquire('n', { holder: 'me', token }));
    expect(await stage.entries()).toEqual(['EpochStarted', 'NameLeased']);
  });

  it('has one effect when its reply is lost and it is sent again', async () => {
    wire.let('lease.acquire', 'repeats');
    const lease = await world.finish(lh.acquire('n'));
    lease.assertHeld();
    expect(await stage.entries()).toEqual(['EpochStarted', 'NameLeased']);
  });
});

describe('a grant that the server took back because the connection broke', () => {
  it('is asked for again under a new token', async () => {
    wire.let('lease.acquire', 'breaks', 1);
    const lease = await world.finish(lh.acquire('n'));
    lease.assertHeld();
    expect(await holderOf('n')).toBe(lease.holder);
    expect(wire.count('lease.acquire')).toBe(2);
  });

  it('is refused to a caller who chose the token: it belongs to an earlier grant now', async () => {
    wire.let('lease.acquire', 'breaks', 1);
    await expect(
      world.finish(lh.tryAcquire('n', { token: 'a-token-of-my-own-choosing' })),
    ).rejects.toMatchObject({
      code: 'LEASE_NOT_HELD',
    });
  });

  it('is not asked for without end', async () => {
    wire.let('lease.acquire', 'breaks');
    await expect(world.finish(lh.tryAcquire('n', { wait: '1m' }))).rejects.toMatchObject({
      code: 'LEASE_NOT_HELD',
    });
    expect(wire.count('lease.acquire')).toBeLessThan(10);
  });
});

describe('tryAcquire', () => {
  it('gives the lease, or null when it is held', async () => {
    const first = await world.finish(lh.tryAcquire('n'));
    expect(first).toMatchObject({ name: 'n' });
    expect(await world.finish(lh.tryAcquire('n'))).toBeNull();
    await expect(world.finish(lh.acquire('n'))).rejects.toMatchObject({
      code: 'LEASE_HELD',
      details: { holder: first!.holder, remainingMs: 15_000 },
    });
  });

  it('throws every other refusal: a mistake is not contention', async () => {
    await expect(world.finish(lh.tryAcquire('n'.repeat(257)))).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    await expect(world.finish(lh.tryAcquire('n', { ttl: 1 }))).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });

  it('throws when no server can be reached', async () => {
    wire.let(null, 'fails');
    await expect(world.finish(lh.tryAcquire('n'))).rejects.toMatchObject({ code: 'UNREACHABLE' });
  });
});

describe('acquireAll', () => {
  it('takes all names under one number, or none', async () => {
    const both = await world.finish(lh.acquireAll(['a', 'b']));
    expect(both.names).toEqual(['a', 'b']);
    expect(await holderOf('a')).toBe(both.holder);
    expect(await holderOf('b')).toBe(both.holder);
    const found = await world.finish(other.call('lease.get', { name: 'b' }));
    expect(found).toMatchObject({ lease_seq: both.leaseSeq });
    await expect(world.finish(other.acquireAll(['c', 'a']))).rejects.toMatchObject({
      code: 'LEASE_HELD',
      message: expect.stringMatching(/^The lease on "a" is held by /),
      details: { name: 'a' },
    });
    expect(await holderOf('c')).toBeNull();
  });

  it('renews and releases all of them', async () => {
    const both = await world.finish(lh.acquireAll(['a', 'b']));
    await world.advance(60_000);
    both.assertHeld();
    expect(await holderOf('b')).toBe(both.holder);
    expect(await world.finish(both.release())).toBe(true);
    expect(await holderOf('a')).toBeNull();
    expect(await holderOf('b')).toBeNull();
  });

  it('is lost as a whole when one name is lost', async () => {
    const both = await world.finish(lh.acquireAll(['a', 'b']));
    await world.finish(other.call('lease.break', { name: 'b', reason: 'stuck' }));
    await world.advance(5_000);
    expect(both.signal.reason).toMatchObject({ code: 'LEASE_LOST', details: { loss: 'broken' } });
    expect(await holderOf('a')).toBe(both.holder);
    await world.finish(both.release());
    expect(await holderOf('a')).toBeNull();
  });

  it('says on release that it was over already when one of its names was', async () => {
    const both = await world.finish(lh.acquireAll(['a', 'b']));
    await world.finish(other.call('lease.break', { name: 'a', reason: 'stuck' }));
    expect(await world.finish(both.release())).toBe(false);
    expect(await holderOf('b')).toBeNull();
  });

  it('is lost at once when one name is lost, though the renewal of another was only put off', async () => {
    const both = await world.finish(lh.acquireAll(['a', 'b']));
    const { signal } = both;
    await world.finish(other.call('lease.break', { name: 'b', reason: 'stuck' }));
    wire.let('lease.renew', 'refuses', 1);
    await world.advance(5_000);
    expect(signal.reason).toMatchObject({ code: 'LEASE_LOST', details: { loss: 'broken' } });
  });

  it('lasts no longer than the name that ends first', async () => {
    const both = await world.finish(lh.acquireAll(['a', 'b']));
    wire.let('lease.renew', 'fails', 1);
    await expect(world.finish(both.renew('1m'))).rejects.toMatchObject({ code: 'UNREACHABLE' });
    // The longer time got through for b alone; a is renewed a second later, for as long as before.
    await world.advance(1_000);
    expect(wire.count('lease.renew')).toBe(4);
    expect(both.remaining()).toBe(14_250);
  });

  it('confirms what had to wait', async () => {
    const held = await world.finish(other.acquire('b', { ttl: '1h' }));
    const waiting = later(lh.acquireAll(['a', 'b'], { wait: '1m' }));
    await world.advance(40_000);
    await world.finish(held.release());
    expect((await world.finish(waiting)).remaining()).toBe(14_250);
  });

  it('writes the objects of its names and no others', async () => {
    const both = await world.finish(lh.acquireAll(['a', 'b']));
    expect(await world.finish(both.write('b', 1))).toMatchObject({ version: 1 });
    await expect(both.write('c', 1)).rejects.toThrow(TypeError);
    expect(await world.finish(other.call('object.get', { object_id: 'b' }))).toMatchObject({
      version: 1,
      lease_seq: both.leaseSeq,
    });
  });
});

describe('the secret of a grant', () => {
  it('shows in no form of the handle, of the client, or of an error', async () => {
    const token = 'this-must-not-be-seen-anywhere';
    const lease = await world.finish(lh.acquire('n', { token }));
    const both = await world.finish(lh.acquireAll(['a', 'b'], { token }));
    await world.finish(other.call('lease.break', { name: 'n', reason: 'stuck' }));
    await world.advance(5_000);
    for (const each of [lease, both, lh, lease.signal.reason]) {
      expect(inspect(each, { depth: 20, showHidden: true })).not.toContain('seen');
    }
    for (const each of [lease, both, lease.signal.reason]) {
      expect(JSON.stringify(each)).not.toContain('seen');
    }
  });

  it('is replaced by what is good to know', async () => {
    const lease: Lease = await world.finish(lh.acquire('n', { holder: 'me' }));
    const { leaseSeq } = lease;
    expect(JSON.parse(JSON.stringify(lease))).toEqual({ name: 'n', holder: 'me', leaseSeq, state: 'held' });
    expect(inspect(lease)).toBe(`Lease { name: 'n', holder: 'me', leaseSeq: ${leaseSeq}, state: 'held' }`);
    await world.finish(lease.release());
    expect(inspect({ lease })).toContain("state: 'released'");
  });
});
