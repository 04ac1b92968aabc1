// A lease in the hands of a program whose database answers as the test says, in time that is moved by hand. What the
// functions do is tested with a real Postgres in test/postgres.
import { beforeEach, describe, expect, it } from 'vitest';
import { isSettled, ManualWorld } from '../../test/support/manual-world.ts';
import { RuntimeLease, runUnder } from './runtime-lease.ts';

const OPTIONS = { name: 'nightly', holder: 'a test', ttl: '10m' } as const;
const GRANTED = { token: 'token', lease_seq: '7', remaining_ms: 600_000 };

let world: ManualWorld;
let asked: string[];
/** What the acquisitions fail with, one after the other; then they succeed. */
let faults: Error[];
let isSilent: boolean;

beforeEach(() => {
  world = new ManualWorld();
  asked = [];
  faults = [];
  isSilent = false;
});

const db = {
  async query(text: string): Promise<{ rows: unknown[] }> {
    asked.push(/_(acquire|renew|release)\(/.exec(text)![1]!);
    if (isSilent) return new Promise(() => undefined);
    if (text.includes('_release(')) return { rows: [{ released: true }] };
    const fault = faults.shift();
    if (fault !== undefined) throw fault;
    return { rows: [GRANTED] };
  },
};

const acquire = (): Promise<RuntimeLease> => RuntimeLease.acquire(db, OPTIONS, world);

describe('a lease that is to be fresh', () => {
  it('is renewed once a good part of its time is over, and not before', async () => {
    const lease = await acquire();
    await world.advance(20_000);
    await lease.freshen();
    expect(asked).toEqual(['acquire']);
    await world.advance(60_000);
    await lease.freshen();
    expect(asked).toEqual(['acquire', 'renew']);
    await lease.release();
  });

  it('does not wait for the one renewal that is never answered', async () => {
    const lease = await acquire();
    isSilent = true;
    await world.advance(200_000);
    isSilent = false;
    await lease.freshen();
    expect(asked).toEqual(['acquire', 'renew', 'renew']);
    await lease.release();
  });

  it('is waited for no longer than it is held', async () => {
    const lease = await acquire();
    isSilent = true;
    await world.advance(100_000);
    const freshened = lease.freshen();
    await world.advance(400_000);
    expect([await isSettled(freshened), lease.isHeld]).toEqual([false, true]);
    await world.advance(100_000);
    expect([await isSettled(freshened), lease.isHeld]).toEqual([true, false]);
  });
});

describe('the release of a lease', () => {
  it('is not waited for longer than ten seconds when the database says nothing', async () => {
    const lease = await acquire();
    isSilent = true;
    const releasing = lease.release();
    await world.advance(9_999);
    expect(await isSettled(releasing)).toBe(false);
    await world.advance(1);
    expect(await releasing).toBe(false);
    await world.advance(600_000);
    expect(asked).toEqual(['acquire', 'release']);
  });

  it('does not keep what was done under the lease from its caller either', async () => {
    const running = runUnder(acquire(), async () => {
      isSilent = true;
      return 'done';
    });
    await world.advance(10_000);
    expect(await running).toBe('done');
  });

  it('is answered at once by a database that answers', async () => {
    const lease = await acquire();
    expect([await lease.release(), await lease.release()]).toEqual([true, false]);
  });
});

describe('an acquisition that the database gives up because of another', () => {
  const lostRace = (): Error =>
    Object.assign(new Error('could not serialize access due to concurrent update'), { code: '40001' });

  it('is sent again', async () => {
    faults = [lostRace(), lostRace()];
    const lease = await acquire();
    expect(asked).toEqual(['acquire', 'acquire', 'acquire']);
    await lease.release();
  });

  it('is not sent again for ever, nor after any other failure', async () => {
    faults = Array.from({ length: 20 }, lostRace);
    await expect(acquire()).rejects.toMatchObject({ code: '40001' });
    expect(asked).toHaveLength(20);
    faults = [Object.assign(new Error('no'), { code: '42501' })];
    await expect(acquire()).rejects.toMatchObject({ code: '42501' });
    expect(asked).toHaveLength(21);
  });

  it('is told as what it was when the transaction it stood in takes nothing more', async () => {
    faults = [lostRace(), Object.assign(new Error('current transaction is aborted'), { code: '25P02' })];
    await expect(acquire()).rejects.toMatchObject({ code: '40001' });
  });
});
