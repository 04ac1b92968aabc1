// Being told: whatever ends a lease without the word of its holder reaches the holder at once, over a live connection and in
// process, and a holder can be asked to give way.
import { afterEach, describe, expect, it } from 'vitest';
import { defineTask } from '../../src/client/define-task.ts';
import type { Leasehold } from '../../src/client/leasehold.ts';
import { connect } from '../../src/client-node.ts';
import { memoryEngine } from '../../src/engines/memory/memory-engine.ts';
import { openWith } from '../../src/open.ts';
import { nodeWorld } from '../../src/world/node-world.ts';
import { startServed, stopAllServed } from '../support/served.ts';

const open = new Set<Leasehold>();

afterEach(async () => {
  await Promise.all([...open].map((lh) => lh.close()));
  open.clear();
  await stopAllServed();
});

function kept(lh: Leasehold): Leasehold {
  open.add(lh);
  return lh;
}

/** A holder and another handle on the same authority. */
const WAYS: readonly (readonly [way: string, make: () => Promise<readonly [Leasehold, Leasehold]>])[] = [
  [
    'over a live connection',
    async () => {
      const { url } = await startServed();
      return [kept(connect(url)), kept(connect(url))];
    },
  ],
  [
    'in process',
    async () => {
      const lh = kept(await openWith(memoryEngine(), { ...nodeWorld, hashSeed: 1 }));
      return [lh, lh];
    },
  ],
];

function aborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason);
    else signal.addEventListener('abort', () => resolve(signal.reason), { once: true });
  });
}

/** Long enough that no renewal would tell within the time of a test. */
const LONG = { ttl: '10m' } as const;

describe.each(WAYS)('%s, a holder is told', (_, make) => {
  it('that its lease was broken', async () => {
    const [holder, other] = await make();
    const lease = await holder.acquire('n', LONG);
    await other.leases.break('n', { reason: 'stuck' });
    expect(await aborted(lease.signal)).toMatchObject({
      code: 'LEASE_LOST',
      details: { loss: 'broken', names: ['n'] },
    });
    expect(() => lease.assertHeld()).toThrow('broken');
  });

  it('that its lease was granted again to the same holder', async () => {
    const [holder, other] = await make();
    const lease = await holder.acquire('n', { ...LONG, holder: 'h' });
    await other.acquire('n', { ...LONG, holder: 'h' });
    expect(await aborted(lease.signal)).toMatchObject({ details: { loss: 'superseded' } });
  });

  it('that its leases were wiped, and those of guards are not', async () => {
    const [holder, other] = await make();
    // What ends first is told first, so the guard's end would have been told by then.
    const [guard, lease] = [await holder.acquire('system:mine', LONG), await holder.acquire('n', LONG)];
    const token = 'x'.repeat(22);
    const name = 'system:orchestrator:guard_lock';
    await other.call('lease.acquire', { name, holder: 'o', token, ttl_ms: 60_000 });
    await other.call('lease.wipe', { prefix: '', guard: { name, holder: 'o', token } });
    expect(await aborted(lease.signal)).toMatchObject({ details: { loss: 'broken' } });
    expect(guard.signal.aborted).toBe(false);
  });

  it('nothing when it gives the lease back itself', async () => {
    const [holder, other] = await make();
    const lease = await holder.acquire('n', LONG);
    await lease.release();
    const next = await other.acquire('n', LONG);
    await other.leases.break('n', { reason: 'stuck' });
    await aborted(next.signal);
    expect(lease.signal.aborted).toBe(false);
  });

  it('that it is asked to give way, and why, and keeps its lease', async () => {
    const [holder, other] = await make();
    const lease = await holder.acquire('n', LONG);
    expect(await other.leases.ask('n', { reason: 'a deployment' })).toBe(true);
    expect(await aborted(lease.asked)).toMatchObject({
      code: 'LEASE_ASKED',
      details: { reason: 'a deployment', names: ['n'] },
    });
    lease.assertHeld();
    await expect(other.leases.ask('free', { reason: 'x' })).rejects.toMatchObject({
      code: 'LEASE_NOT_FOUND',
    });
  });

  it.each([
    ['killed', 'killed'],
    ['cancelled', 'cancelled'],
  ] as const)('that its task was %s', async (what, loss) => {
    const [holder, other] = await make();
    const task = defineTask<number>('work');
    const { taskId } = await holder.enqueue(task, 1);
    const reason = await new Promise<unknown>((resolve) => {
      holder.work(task, LONG, async ({ signal }) => {
        if (what === 'killed') await other.call('task.kill', { task_id: taskId, reason: 'stuck' });
        else await other.call('task.cancel', { task_id: taskId, reason: 'no longer wanted' });
        resolve(await aborted(signal));
      });
    });
    expect(reason).toMatchObject({ code: 'LEASE_LOST', details: { loss, taskId } });
  });
});

describe('over HTTP', () => {
  it('a holder cannot be told, and the caller that asks learns it', async () => {
    const { url } = await startServed();
    const lh = kept(connect(url, { transport: 'http' }));
    await lh.acquire('n', LONG);
    expect(await lh.leases.ask('n', { reason: 'please' })).toBe(false);
    expect(lh.connection).toEqual({ state: 'polling', url });
  });
});
