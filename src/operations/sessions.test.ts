// Intents and sessions in process: the same operations without a wire, and the life of a session as it happens.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { transportOf } from '../client/client.ts';
import type { Leasehold } from '../client/leasehold.ts';
import { MemoryDisk } from '../engines/memory/memory-disk.ts';
import { memoryEngine } from '../engines/memory/memory-engine.ts';
import { type OpenOptions, openWith } from '../open.ts';
import type { EntryOf } from '../protocol/entry-shapes.ts';

const GUARD = {
  name: 'system:orchestrator:guard_lock',
  holder: 'orchestrator-1',
  token: 'the-token-of-the-guard',
};
const LIVE = { type: 'live', serviceRef: 'one', profileID: 'low' } as const;

let world: ManualWorld;
let lh: Leasehold;

async function openIn(options: OpenOptions = {}): Promise<void> {
  lh = await world.finish(openWith(memoryEngine(), world, options));
}

beforeEach(async () => {
  world = new ManualWorld();
  await openIn();
});
afterEach(() => world.finish(lh.close()));

async function done<T extends { readonly ok: boolean }>(call: Promise<T>): Promise<Extract<T, { ok: true }>> {
  const reply = await world.finish(call);
  if (!reply.ok) throw new Error(JSON.stringify(reply));
  return reply as Extract<T, { ok: true }>;
}

/** A session that is STARTING. */
async function starting(): Promise<string> {
  await done(lh.call('lease.acquire', { ...GUARD, ttl_ms: 600_000 }));
  const { session_id } = await done(lh.call('intent.accept', LIVE));
  const queues = ['system:session-starts'];
  const { leases } = await done(lh.call('task.lease', { worker_id: 'o', queues, guard: GUARD }));
  const { lease_id } = leases[0]!;
  await done(lh.call('session.start', { session_id, guard: GUARD, lease_id, slots: ['0'], ttl_ms: 60_000 }));
  return session_id;
}

/** Everything that is heard until the end. */
async function heard(
  entries: AsyncIterable<EntryOf<'IntentAccepted' | 'SessionChanged'>>,
): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const entry of entries) found.push('state' in entry ? entry.state : entry.type);
  return found;
}

describe('an intent in process', () => {
  it('is accepted under the name in the call, or a generated one', async () => {
    const named = await world.finish(lh.call('intent.accept', LIVE, { requestId: 'mine' }));
    expect(named).toMatchObject({ ok: true, status: 'accepted', requestId: 'mine' });
    const again = await done(lh.call('intent.accept', LIVE));
    expect(again).toMatchObject({ status: 'idempotent_replay', requestId: expect.stringMatching(/./) });
  });

  it('is known again without a secret, as long as the handle is open', async () => {
    const { session_id } = await done(lh.call('intent.accept', LIVE));
    expect((await done(lh.call('intent.accept', LIVE))).session_id).toBe(session_id);
  });

  it('takes the lease of its service itself where it is told to', async () => {
    await openIn({ intents: { takeLeases: true } });
    const { session_id } = await done(lh.call('intent.accept', LIVE));
    expect(await world.finish(lh.call('intent.accept', LIVE))).toMatchObject({
      ok: false,
      code: 'LEASE_HELD',
      session_id,
      remaining_ms: 30_000,
    });
  });

  it.each([{ secret: '' }, { secret: 1 }, { takesLeases: true }])('is refused with %j', async (intents) => {
    const opening = openWith(memoryEngine(), world, { intents } as OpenOptions);
    await expect(world.finish(opening)).rejects.toThrow(TypeError);
  });
});

describe('following a session in process', () => {
  it('tells its life from the intent on and ends with it', async () => {
    const id = await starting();
    const life = heard(lh.sessions.attach(id).follow());
    await world.settle();
    await done(lh.call('intent.accept', { ...LIVE, serviceRef: 'another' }));
    await done(lh.call('session.change', { session_id: id, guard: GUARD, event: 'ready' }));
    await done(lh.call('session.change', { session_id: id, guard: GUARD, event: 'process_ended' }));
    expect(await world.finish(life)).toEqual(['IntentAccepted', 'STARTING', 'READY', 'FAILED']);
    expect(await world.finish(heard(lh.sessions.attach(id).follow()))).toHaveLength(4);
  });

  it('hears of the end that time brings', async () => {
    const id = await starting();
    const life = heard(lh.sessions.attach(id).follow());
    await world.advance(60_000);
    expect(await world.finish(life)).toEqual(['IntentAccepted', 'STARTING', 'FAILED']);
  });

  it('throws what a server would refuse', async () => {
    const follow = (id: string, from = 0) => world.finish(heard(lh.sessions.attach(id).follow({ from })));
    await expect(follow('no id at all')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(follow('s0000000000v')).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' });
    const { session_id } = await done(lh.call('intent.accept', LIVE));
    const { seq } = await done(lh.call('session.stop', { session_id }));
    await expect(follow(session_id, seq + 1)).rejects.toMatchObject({
      code: 'SESSION_TERMINAL',
      problem: { state: 'CANCELLED' },
    });
  });

  it('is one way to hear some types only; the log has another', async () => {
    const ends = new AbortController();
    const types = ['SessionChanged'] as const;
    const entries = lh.follow({ from: 1, types, signal: ends.signal })[Symbol.asyncIterator]();
    await starting();
    expect((await world.finish(entries.next())).value).toMatchObject({ state: 'STARTING' });
    ends.abort();
    expect(await world.finish(entries.next())).toMatchObject({ done: true });
    const page = await done(transportOf(lh).log({ types: ['IntentAccepted', 'TaskCompleted'], limit: 2 }));
    expect(page.entries.map(({ type }) => type)).toEqual(['IntentAccepted', 'TaskCompleted']);
    const wrong = await world.finish(transportOf(lh).log({ types: ['Nothing'] } as never));
    expect(wrong).toMatchObject({ ok: false, code: 'INVALID_ARGUMENT' });
  });
});

describe('the history of a name', () => {
  it('has the end of the session that held it', async () => {
    const id = await starting();
    await done(lh.call('session.change', { session_id: id, guard: GUARD, event: 'ready' }));
    await done(lh.call('session.change', { session_id: id, guard: GUARD, event: 'process_ended' }));
    const { entries } = await done(lh.call('lease.history', { name: 'lease:tuner:0' }));
    expect(entries.map(({ type, state }) => state ?? type)).toEqual(['NameLeased', 'FAILED']);
  });
});

describe('a session without a watcher', () => {
  it('is idle for no longer than the authority has been up', async () => {
    const disk = new MemoryDisk();
    lh = await world.finish(openWith(memoryEngine(disk), world));
    const { session_id } = await done(lh.call('intent.accept', LIVE));
    await world.advance(3_600_000);
    expect(await done(lh.call('session.get', { session_id }))).toMatchObject({ idle_ms: 3_600_000 });
    await world.finish(lh.close());
    lh = await world.finish(openWith(memoryEngine(disk), world));
    await world.advance(1_000);
    expect(await done(lh.call('session.get', { session_id }))).toMatchObject({ idle_ms: 1_000 });
  });
});
