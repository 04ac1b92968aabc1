// The guard: one process of a kind, which ends rather than hopes.
import { beforeEach, describe, expect, it } from 'vitest';
import { openStage, type Stage, type TestWire } from '../../test/support/lease-stage.ts';
import { isSettled, ManualWorld } from '../../test/support/manual-world.ts';
import type { Guarded } from './guard.ts';
import type { Leasehold } from './leasehold.ts';
import type { ClientWorld } from './world.ts';

const GUARD = 'system:reports:guard';

/** A process that can be ended, and lives on to tell. */
class MortalWorld extends ManualWorld implements ClientWorld {
  readonly ends: { readonly code: number; readonly says: string }[] = [];
  deadline: { readonly monotonicMs: number; readonly wallMs: number } | null = null;
  watchdogs = 0;
  watchdogDies: (fault: Error) => void = () => undefined;

  readonly ending = {
    startWatchdog: async (_says: string, onDeath: (fault: Error) => void) => {
      this.watchdogs += 1;
      this.watchdogDies = onDeath;
      let isWatching = true;
      return {
        moveTo: (deadline: { readonly monotonicMs: number; readonly wallMs: number }) => {
          const { monotonicMs, wallMs } = deadline;
          this.deadline = { monotonicMs, wallMs };
        },
        stop: () => {
          if (isWatching) this.watchdogs -= 1;
          isWatching = false;
        },
      };
    },
    endProcess: (code: number, says: string) => {
      this.ends.push({ code, says });
    },
  };
}

let world: MortalWorld;
let stage: Stage;
let lh: Leasehold;
let wire: TestWire;
/** Another client of the same authority. */
let other: Leasehold;

beforeEach(async () => {
  world = new MortalWorld();
  stage = await openStage(world);
  ({ lh, wire } = stage.client());
  other = stage.client().lh;
});

function later<T>(call: Promise<T>): Promise<T> {
  call.catch(() => undefined);
  return call;
}

/** A main that goes on until it is told to stop, and then for so long. */
async function service({ signal }: Guarded, stopsInMs = 0): Promise<string> {
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
  if (stopsInMs > 0) await new Promise<void>((resolve) => world.timers.after(stopsInMs, resolve));
  return 'stopped';
}

async function holderOfGuard(): Promise<string | null> {
  const found = await world.finish(other.call('lease.get', { name: GUARD }));
  return found.ok ? found.holder : null;
}

describe('a guard', () => {
  it('runs main while it holds the lease, returns its value, and gives the lease back', async () => {
    const value = await world.finish(
      lh.guard(GUARD, async (guarded) => {
        guarded.assertHeld();
        expect(guarded.remaining()).toBe(14_250);
        expect(await holderOfGuard()).toBe(guarded.holder);
        expect(world.watchdogs).toBe(1);
        expect(world.holds).toBe(1);
        return guarded.leaseSeq;
      }),
    );
    expect(value).toBeGreaterThan(0);
    expect(await holderOfGuard()).toBeNull();
    expect(world).toMatchObject({ watchdogs: 0, holds: 0, ends: [] });
  });

  it('gives the lease back when main throws, and lets the error pass', async () => {
    const failing = lh.guard(GUARD, () => {
      throw new Error('my own');
    });
    await expect(world.finish(failing)).rejects.toThrow('my own');
    expect(await holderOfGuard()).toBeNull();
    expect(world).toMatchObject({ watchdogs: 0, ends: [] });
  });

  it('refuses to start when another process holds it, without waiting, and names the holder', async () => {
    await world.finish(other.acquire(GUARD, { holder: 'host-1:77' }));
    const refused = lh.guard(GUARD, () => expect.unreachable());
    await expect(world.finish(refused)).rejects.toMatchObject({
      code: 'LEASE_HELD',
      message: expect.stringContaining('host-1:77'),
    });
    expect(world).toMatchObject({ watchdogs: 0, ends: [] });
  });

  it.each([
    [{ endProcess: false }, 'The option endProcess of guard is not known'],
    [GUARD, 'The options of guard must be an object.'],
  ])('refuses %j before anything is asked for', async (options, says) => {
    await expect(lh.guard(GUARD, options as never, () => 1)).rejects.toThrow(says);
    await expect(lh.guard(GUARD, options as never)).rejects.toThrow(/takes a name, options and a function/);
    expect([world.watchdogs, wire.sent]).toEqual([0, []]);
  });

  it('refuses to start when no server can be reached', async () => {
    wire.let(null, 'fails');
    const refused = lh.guard(GUARD, () => expect.unreachable());
    await expect(world.finish(refused)).rejects.toMatchObject({ code: 'UNREACHABLE' });
  });

  it('goes on as long as every renewal gets through, and moves the deadline of the watchdog', async () => {
    const running = later(lh.guard(GUARD, service));
    await world.advance(0);
    expect(world.deadline).toEqual({
      monotonicMs: world.monotonicMs + 14_250,
      wallMs: world.wallMs + 14_250,
    });
    await world.advance(60_000);
    expect(await isSettled(running)).toBe(false);
    expect(world.deadline).toEqual({
      monotonicMs: world.monotonicMs + 14_250,
      wallMs: world.wallMs + 14_250,
    });
    expect(wire.count('lease.renew')).toBe(12);
  });

  it('gives a renewal until the next is due to be answered, though another lease is due before', async () => {
    const running = later(lh.guard(GUARD, service));
    await world.advance(4_000);
    await world.finish(lh.acquire('another'));
    wire.hold('lease.renew');
    await world.advance(5_999);
    expect(world.ends).toEqual([]);
    wire.letGo();
    await world.advance(60_000);
    expect(await isSettled(running)).toBe(false);
    expect(world.ends).toEqual([]);
  });

  it('gives a renewal that time though the wall clock is set forward meanwhile', async () => {
    const running = later(lh.guard(GUARD, service));
    await world.settle();
    wire.hold('lease.renew');
    await world.advance(5_000);
    world.setWall(world.wallMs + 1_000);
    await world.advance(4_999);
    expect(world.ends).toEqual([]);
    wire.letGo();
    await world.advance(60_000);
    expect(await isSettled(running)).toBe(false);
  });

  it('is told in a sentence where there is no process to end', async () => {
    const { lh: browser } = stage.client({
      clock: world.clock,
      timers: world.timers,
      newToken: world.newToken,
    });
    await expect(browser.guard(GUARD, () => 1)).rejects.toThrow(/set endsProcess to false/);
  });

  it('ends the process when the thread that watches it dies', async () => {
    void later(lh.guard(GUARD, service));
    await world.settle();
    world.watchdogDies(new Error('out of memory'));
    expect(world.ends).toEqual([{ code: 4, says: expect.stringContaining('out of memory') }]);
  });
});

describe('a guard that is lost', () => {
  it.each([
    ['fails', 5_000],
    ['refuses', 5_000],
    ['hangs', 10_000],
  ] as const)('ends the process after the first renewal that %s', async (fate, ms) => {
    let guarded!: Guarded;
    const running = later(
      lh.guard(GUARD, (it) => {
        guarded = it;
        return service(it);
      }),
    );
    await world.settle();
    wire.let('lease.renew', fate, 1);
    await world.advance(ms - 1);
    expect(guarded.signal.aborted).toBe(false);
    await world.advance(1);
    expect(guarded.signal.reason).toMatchObject({ code: 'LEASE_LOST', details: { loss: 'unreachable' } });
    expect(world.ends).toEqual([{ code: 4, says: expect.stringContaining(GUARD) }]);
    await expect(world.finish(running)).rejects.toMatchObject({ code: 'LEASE_LOST' });
    // Without another write: the next process takes over when the lease has expired.
    expect(wire.count('lease.release')).toBe(0);
    expect(wire.count('lease.renew')).toBe(1);
  });

  it('gives main its grace to end by itself', async () => {
    const running = later(lh.guard(GUARD, { grace: '3s' }, (guarded) => service(guarded, 60_000)));
    await world.settle();
    wire.let('lease.renew', 'fails');
    await world.advance(7_999);
    expect(world.ends).toEqual([]);
    await world.advance(1);
    expect(world.ends).toHaveLength(1);
    await expect(world.finish(running)).rejects.toMatchObject({ code: 'LEASE_LOST' });
  });

  it('ends the process as soon as main has ended', async () => {
    void later(lh.guard(GUARD, { grace: '5s' }, (guarded) => service(guarded, 1_000)));
    await world.settle();
    wire.let('lease.renew', 'fails');
    await world.advance(5_999);
    expect(world.ends).toEqual([]);
    await world.advance(1);
    expect(world.ends).toHaveLength(1);
  });

  it('ends the process before its watchdog would kill it, however long the grace and short the lease is', async () => {
    void later(lh.guard(GUARD, { ttl: '2s', grace: '1h' }, (guarded) => service(guarded, 60_000)));
    await world.settle();
    const endsMs = world.deadline!.monotonicMs - 200;
    wire.let('lease.renew', 'fails');
    await world.advance(endsMs - world.monotonicMs - 1);
    expect(world.ends).toEqual([]);
    await world.advance(1);
    expect(world.ends).toHaveLength(1);
  });

  it('grants none at all when another process may run already', async () => {
    void later(lh.guard(GUARD, { holder: 'twin' }, (guarded) => service(guarded, 60_000)));
    await world.settle();
    await world.finish(other.acquire(GUARD, { holder: 'twin' }));
    await world.advance(5_000);
    expect(world.ends).toEqual([{ code: 4, says: expect.stringContaining('granted again') }]);
  });

  it('ends the process when main blocked the event loop past the deadline and returned', async () => {
    const running = lh.guard(GUARD, () => {
      world.monotonicMs += 20_000;
      world.wallMs += 20_000;
    });
    void later(running);
    await world.advance(1);
    await expect(world.finish(running)).rejects.toMatchObject({
      code: 'LEASE_LOST',
      details: { loss: 'expired' },
    });
    expect(world.ends).toHaveLength(1);
  });

  it('leaves the process alone for those who ask for it: main is awaited, then LEASE_LOST is thrown', async () => {
    const running = later(lh.guard(GUARD, { endsProcess: false }, (guarded) => service(guarded, 60_000)));
    await world.settle();
    expect(world.watchdogs).toBe(0);
    wire.let('lease.renew', 'fails');
    await world.advance(64_999);
    expect(await isSettled(running)).toBe(false);
    await world.advance(1);
    await expect(world.finish(running)).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(world.ends).toEqual([]);
  });
});
