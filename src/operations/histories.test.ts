// Histories are paged: no answer holds all that ever happened to a name.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { transportOf } from '../client/client.ts';
import type { Leasehold } from '../client/leasehold.ts';
import { memoryEngine } from '../engines/memory/memory-engine.ts';
import { openWith } from '../open.ts';
import type { EntryRecord } from './records.ts';
import type { Requests } from './table.ts';

const HELD = { name: 'door', holder: 'a', token: 'the-token-of-holder-a' };

let world: ManualWorld;
let lh: Leasehold;

beforeEach(async () => {
  world = new ManualWorld();
  lh = await world.finish(openWith(memoryEngine(), world));
});
afterEach(() => world.finish(lh.close()));

async function done<T extends { readonly ok: boolean }>(call: Promise<T>): Promise<Extract<T, { ok: true }>> {
  const reply = await world.finish(call);
  if (!reply.ok) throw new Error(JSON.stringify(reply));
  return reply as Extract<T, { ok: true }>;
}

/** The pages of a history, each asked for with the cursor of the one before. */
async function pages(request: Requests['lease.history']): Promise<EntryRecord[][]> {
  const found: EntryRecord[][] = [];
  for (let cursor: string | undefined; found.length < 100; ) {
    const page = await done(
      lh.call('lease.history', { ...request, ...(cursor === undefined ? {} : { cursor }) }),
    );
    found.push([...page.entries]);
    cursor = page.next_cursor;
    if (cursor === undefined) break;
  }
  return found;
}

const typesOf = (entries: readonly EntryRecord[]): string[] => entries.map(({ type }) => type);

describe('the history of a name', () => {
  it('is the same in pages as in one', async () => {
    const { lease_seq } = await done(lh.call('lease.acquire', { ...HELD, ttl_ms: 60_000 }));
    for (let value = 0; value < 5; value++) {
      await done(lh.call('object.write', { object_id: 'door', value, lease: { lease_seq } }));
      await done(lh.call('lease.renew', { ...HELD, ttl_ms: 60_000 + value }));
    }
    const [whole, ...none] = await pages({ name: 'door' });
    expect(none).toEqual([]);
    expect(whole).toHaveLength(10);
    const parts = await pages({ name: 'door', limit: 3 });
    expect(parts.map((part) => part.length)).toEqual([3, 3, 3, 1]);
    expect(parts.flat()).toEqual(whole);
  });

  it('ends a page early where its values are large', async () => {
    const { lease_seq } = await done(lh.call('lease.acquire', { ...HELD, ttl_ms: 60_000 }));
    const value = 'x'.repeat(256 * 1024 - 2);
    for (let i = 0; i < 20; i++) {
      await done(lh.call('object.write', { object_id: 'door', value, lease: { lease_seq } }));
    }
    const parts = await pages({ name: 'door' });
    expect(parts.map((part) => part.length)).toEqual([17, 4]);
  });

  it('ends a page early where many names were taken together', async () => {
    const names = ['door', ...Array.from({ length: 999 }, (_, i) => `${i}`.padStart(256, '0'))];
    for (let i = 0; i < 20; i++) {
      await done(lh.call('lease.acquire_all', { names, holder: 'a', ttl_ms: 60_000 }));
    }
    expect((await pages({ name: 'door' })).map((part) => part.length)).toEqual([17, 3]);
  });

  it('begins where it is asked to', async () => {
    await done(lh.call('lease.acquire', { ...HELD, ttl_ms: 60_000 }));
    await done(lh.call('lease.release', HELD));
    const { lease_seq: from } = await done(
      lh.call('lease.acquire', { ...HELD, holder: 'b', token: 't'.repeat(16), ttl_ms: 10 }),
    );
    await world.advance(10);
    expect((await pages({ name: 'door', from })).map(typesOf)).toEqual([['NameLeased', 'NameExpired']]);
    expect((await pages({ name: 'door', from, limit: 1 })).map(typesOf)).toEqual([
      ['NameLeased'],
      ['NameExpired'],
    ]);
    expect(await pages({ name: 'door', from: from + 100 })).toEqual([[]]);
  });

  it('reaches back behind the moment at which an idle name was forgotten', async () => {
    await done(lh.call('lease.acquire', { ...HELD, ttl_ms: 60_000 }));
    await done(lh.call('lease.release', HELD));
    await world.advance(11 * 60_000);
    expect(typesOf((await done(transportOf(lh).log({ from: 1 }))).entries)).toContain('Forgotten');
    expect((await pages({ name: 'door' })).map(typesOf)).toEqual([['NameLeased', 'NameReleased']]);
    expect((await pages({ name: 'door', limit: 1 })).map(typesOf)).toEqual([
      ['NameLeased'],
      ['NameReleased'],
      [],
    ]);
  });

  it('knows nothing of a name that never was, and nothing of a wipe before the first grant', async () => {
    const guard = { ...HELD, name: 'system:orchestrator:guard_lock' };
    await done(lh.call('lease.acquire', { ...guard, ttl_ms: 60_000 }));
    await done(lh.call('lease.wipe', { prefix: '', guard }));
    const never = { name: 'never' };
    expect(await world.finish(lh.call('lease.history', never))).toMatchObject({ code: 'LEASE_NOT_FOUND' });
    await done(lh.call('lease.acquire', { ...HELD, ttl_ms: 60_000 }));
    await done(lh.call('lease.wipe', { prefix: '', guard }));
    expect((await pages({ name: 'door' })).map(typesOf)).toEqual([['NameLeased', 'NamesWiped']]);
  });

  it('tells the end of a session whose grant stands on an earlier page', async () => {
    const guard = { ...HELD, name: 'system:orchestrator:guard_lock' };
    await done(lh.call('lease.acquire', { ...guard, ttl_ms: 600_000 }));
    const intent = { type: 'live', serviceRef: 'one', profileID: 'low' } as const;
    const { session_id } = await done(lh.call('intent.accept', intent));
    const queues = ['system:session-starts'];
    const { leases } = await done(lh.call('task.lease', { worker_id: 'o', queues, guard }));
    const { lease_id } = leases[0]!;
    await done(lh.call('session.start', { session_id, guard, lease_id, slots: ['0'], ttl_ms: 60_000 }));
    await done(lh.call('session.renew', { session_ids: [session_id], guard, ttl_ms: 90_000 }));
    await done(lh.call('session.change', { session_id, guard, event: 'start_failed' }));
    const parts = await pages({ name: 'lease:tuner:0', limit: 1 });
    expect(parts.map(typesOf)).toEqual([['NameLeased'], ['NameRenewed'], ['SessionChanged']]);
  });

  it.each(['', '1', 'x.1', '1.', '-1.0'])('refuses the cursor %j', async (cursor) => {
    await done(lh.call('lease.acquire', { ...HELD, ttl_ms: 60_000 }));
    const refused = await world.finish(lh.call('lease.history', { name: 'door', cursor }));
    expect(refused).toMatchObject({ ok: false, code: 'INVALID_ARGUMENT' });
  });
});

describe('the history of a task', () => {
  it('is the same in pages as in one', async () => {
    const { task_id } = await done(lh.call('task.create', { payload: 1 }));
    for (let attempt = 1; attempt <= 3; attempt++) {
      const { leases } = await done(lh.call('task.lease', { worker_id: 'w' }));
      await done(lh.call('task.release', { task_id, lease_id: leases[0]!.lease_id }));
    }
    const whole = await done(lh.call('task.history', { task_id }));
    expect(whole.entries).toHaveLength(7);
    expect(whole.first_seq).toBe(1);
    expect(whole.next_cursor).toBeUndefined();
    const first = await done(lh.call('task.history', { task_id, limit: 5 }));
    const rest = await done(lh.call('task.history', { task_id, limit: 5, cursor: first.next_cursor! }));
    expect([...first.entries, ...rest.entries]).toEqual(whole.entries);
    expect(rest.next_cursor).toBeUndefined();
    const { seq: from } = whole.entries[4]!;
    expect((await done(lh.call('task.history', { task_id, from }))).entries).toEqual(whole.entries.slice(4));
  });

  it('says nothing of a forgotten one that had the same id', async () => {
    await world.finish(lh.close());
    lh = await world.finish(openWith(memoryEngine(), world, { retention: { endedTasksMax: 0 } }));
    const task_id = 'report';
    await done(lh.call('task.create', { task_id, payload: 1 }));
    await done(lh.call('task.kill', { task_id, reason: 'not needed' }));
    await world.advance(1_000);
    await done(lh.call('task.create', { task_id, payload: 2 }));
    expect(typesOf((await done(lh.call('task.history', { task_id }))).entries)).toEqual(['TaskCreated']);
  });
});
