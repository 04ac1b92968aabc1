// The single writer: one batch at a time, and nothing that is not durable is visible to anyone.

import { beforeEach, describe, expect, it } from 'vitest';
import { heardBy } from '../../test/support/heard-by.ts';
import { HeldEngine } from '../../test/support/held-engine.ts';
import { isSettled, ManualWorld } from '../../test/support/manual-world.ts';
import { transportOf } from '../client/client.ts';
import type { Leasehold } from '../client/leasehold.ts';
import { LogCompactedError } from '../engines/log.ts';
import { MemoryDisk } from '../engines/memory/memory-disk.ts';
import { memoryEngine } from '../engines/memory/memory-engine.ts';
import { type OpenOptions, openWith } from '../open.ts';
import { Json } from '../protocol/json.ts';

let world: ManualWorld;
let disk: MemoryDisk;
let engine: HeldEngine;
let lh: Leasehold;

async function openNow(options?: OpenOptions): Promise<Leasehold> {
  engine = new HeldEngine(memoryEngine(disk));
  return await world.finish(openWith(engine, world, options));
}

beforeEach(async () => {
  world = new ManualWorld();
  disk = new MemoryDisk();
  lh = await openNow();
});

/** A call that is awaited later; a failure before that is not an unhandled rejection. */
function later<T>(call: Promise<T>): Promise<T> {
  call.catch(() => undefined);
  return call;
}

/** Makes a task and gives its lease. */
async function leased(ttlMs = 30_000): Promise<{ task_id: string; lease_id: string }> {
  await world.finish(lh.call('task.create', { payload: 1 }));
  const reply = await world.finish(lh.call('task.lease', { worker_id: 'w', ttl_ms: ttlMs }));
  if (!reply.ok) throw new Error(reply.detail);
  const { task_id, lease_id } = reply.leases[0]!;
  return { task_id, lease_id };
}

describe('whoami', () => {
  it('says in process that everything is allowed', async () => {
    expect(await world.finish(lh.whoami())).toEqual({ name: 'embedded', scopes: ['*'] });
  });
});

describe('a handle that is closed', () => {
  it('answers nothing more, not even from the log', async () => {
    await world.finish(lh.close());
    const error = { name: 'LeaseholdError', code: 'UNAVAILABLE' };
    await expect(world.finish(transportOf(lh).log({}))).rejects.toMatchObject(error);
    await expect(world.finish(lh.call('task.create', { payload: 1 }))).rejects.toMatchObject(error);
  });

  it('tells a reader of the log that it was closed when what was being read is lost by then, as a client does', async () => {
    await world.finish(lh.call('task.create', { payload: 1 }));
    engine.isHoldingReads = true;
    const page = later(transportOf(lh).log({}));
    await world.settle();
    const closed = lh.close();
    await world.settle();
    engine.fail(new Error('EBADF'));
    await expect(world.finish(page)).rejects.toMatchObject({
      name: 'LeaseholdError',
      code: 'UNAVAILABLE',
      message: 'The handle has been closed.',
      retryable: false,
      effect: 'none',
    });
    await world.finish(closed);
  });
});

describe('a batch', () => {
  it('takes few calls at first, and more once it is seen how quickly they are decided', async () => {
    engine.holding = true;
    let answered = 0;
    const calls = Array.from({ length: 1_000 }, async () => {
      await lh.call('task.create', { payload: 1 });
      answered += 1;
    });
    const seen: number[] = [];
    for (let batch = 0; batch < 3; batch++) {
      await world.settle();
      engine.letGo();
      await world.settle();
      seen.push(answered);
    }
    expect(seen).toEqual([256, 768, 1_000]);
    await world.finish(Promise.all(calls));
  });
});

describe('durable or invisible', () => {
  it('lets no reply leave before the append that covers it has resolved', async () => {
    engine.holding = true;
    const created = lh.call('task.create', { payload: 1 });
    await world.settle();
    expect(engine.waiting).toBe(1);
    expect(await isSettled(created)).toBe(false);
    engine.letGo();
    expect(await world.finish(created)).toMatchObject({ ok: true, state: 'WAITING' });
  });

  it('shows no read what is not durable yet', async () => {
    engine.holding = true;
    const created = lh.call('task.create', { payload: 1, task_id: 'mine' });
    await world.settle();
    const read = lh.call('task.get', { task_id: 'mine' });
    await world.settle();
    expect(await isSettled(read)).toBe(false);
    engine.letGo();
    await world.finish(created);
    expect(await world.finish(read)).toMatchObject({ ok: true, task_id: 'mine' });
  });

  it('shows no receipt with a fence that is not durable yet', async () => {
    engine.holding = true;
    const granted = lh.call('lease.acquire', { name: 'n', holder: 'a', ttl_ms: 60_000 });
    const refused = lh.call('object.write', { object_id: 'n', value: 1, lease: { lease_seq: 1 } });
    await world.settle();
    const receipts = lh.call('receipt.list', {});
    await world.settle();
    expect(await isSettled(receipts)).toBe(false);
    engine.holding = false;
    engine.letGo();
    await world.finish(Promise.all([granted, refused]));
    expect(await world.finish(receipts)).toMatchObject({ receipts: [{ code: 'WRITE_STALE_FENCE' }] });
  });

  it('tells no follower of an entry before it is durable', async () => {
    const heard = heardBy(lh);
    engine.holding = true;
    const created = lh.call('task.create', { payload: 1 });
    await world.settle();
    expect(heard).toEqual([]);
    engine.letGo();
    await world.finish(created);
    await world.settle();
    expect(heard).toEqual(['TaskCreated']);
  });

  it('keeps what a failed append would have changed from everybody', async () => {
    engine.holding = true;
    const created = later(lh.call('task.create', { payload: 1, task_id: 'lost' }));
    await world.settle();
    const read = later(lh.call('task.get', { task_id: 'lost' }));
    await world.settle();
    engine.fail(new Error('EIO'));
    await expect(world.finish(created)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expect(world.finish(read)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    lh = await openNow();
    expect(await world.finish(lh.call('task.get', { task_id: 'lost' }))).toMatchObject({
      code: 'TASK_NOT_FOUND',
    });
  });
});

describe('a failed append', () => {
  it('is final: every waiting caller gets UNAVAILABLE and the handle is dead for ever', async () => {
    const deaths: Error[] = [];
    await world.finish(lh.close());
    lh = await openNow({ onDeath: (fault) => deaths.push(fault) });
    await world.finish(lh.call('lease.acquire', { name: 'n', holder: 'a', ttl_ms: 60_000 }));
    const waiting = later(
      lh.call('lease.acquire', { name: 'n', holder: 'b', ttl_ms: 60_000, wait_ms: 60_000 }),
    );
    await world.settle();
    engine.holding = true;
    const first = later(lh.call('task.create', { payload: 1 }));
    await world.settle();
    const second = later(lh.call('task.create', { payload: 2 }));
    await world.settle();
    engine.fail(new Error('ENOSPC'));
    for (const call of [first, second, waiting]) {
      await expect(world.finish<unknown>(call)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    }
    await expect(world.finish(lh.call('task.create', { payload: 3 }))).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    });
    expect(deaths).toHaveLength(1);
  });
});

describe('one batch at a time', () => {
  it('decides what arrives during an append in the next batch, all together', async () => {
    engine.holding = true;
    const before = engine.appends;
    const first = lh.call('task.create', { payload: 0 });
    await world.settle();
    const rest = Array.from({ length: 50 }, (_, index) => lh.call('task.create', { payload: index }));
    await world.settle();
    expect(engine.waiting).toBe(1);
    engine.letGo();
    await world.finish(first);
    expect(engine.waiting).toBe(1);
    engine.letGo();
    await world.finish(Promise.all(rest));
    expect(engine.appends - before).toBe(2);
  });

  it('lets each call see the effects of those before it in the same batch', async () => {
    const created = lh.call('task.create', { payload: 1 });
    const taken = lh.call('task.lease', { worker_id: 'w' });
    const [, reply] = await world.finish(Promise.all([created, taken]));
    expect(reply).toMatchObject({ ok: true, leases: [{ attempt: 1 }] });
  });

  it('decides calls in the order they came', async () => {
    const grant = { name: 'n', holder: 'h', token: 'a-token-of-16-bytes' };
    const answers = await world.finish(
      Promise.all([
        lh.call('lease.acquire', { ...grant, ttl_ms: 1_000 }),
        lh.call('lease.renew', { ...grant, ttl_ms: 2_000 }),
        lh.call('lease.release', grant),
        lh.call('lease.acquire', { ...grant, holder: 'other', token: 'b-token-of-16-bytes', ttl_ms: 1_000 }),
      ]),
    );
    expect(answers).toMatchObject([{ ok: true }, { ok: true }, { released: true }, { ok: true }]);
  });

  it.each([
    ['behind', 'them when all of it can be decided now', 100],
    ['before', 'those that came earlier when more waits than can be decided now', 1_000],
  ])('decides what keeps or ends ownership %s %s: creates', async (where, _, count) => {
    const lease = await leased();
    engine.holding = true;
    const blocker = lh.call('task.create', { payload: 'blocks the loop' });
    await world.settle();
    const creates = Array.from({ length: count }, () => lh.call('task.create', { payload: 2 }));
    const completed = lh.call('task.complete', lease);
    await world.settle();
    engine.holding = false;
    engine.letGo();
    await world.finish(blocker);
    const [first, end] = await world.finish(Promise.all([creates[0]!, completed]));
    if (!first.ok || !end.ok) throw new Error('refused');
    expect(end.seq < first.seq ? 'before' : 'behind').toBe(where);
    await world.finish(Promise.all(creates));
  });
});

describe('a batch that is full by bytes', () => {
  it('lets what keeps or ends ownership go first in the next', async () => {
    const lease = await leased();
    engine.holding = true;
    const blocker = lh.call('task.create', { payload: 'blocks the loop' });
    await world.settle();
    // Few calls, and more than one batch takes.
    const payload = 'x'.repeat(250_000);
    const creates = Array.from({ length: 60 }, () => lh.call('task.create', { payload }));
    const completed = lh.call('task.complete', lease);
    await world.settle();
    engine.holding = false;
    engine.letGo();
    await world.finish(blocker);
    const [last, end] = await world.finish(Promise.all([creates.at(-1)!, completed]));
    if (!last.ok || !end.ok) throw new Error('refused');
    expect(end.seq).toBeLessThan(last.seq - 20);
  });
});

describe('time', () => {
  it('writes the end of a lease when it is due, without any call', async () => {
    await leased(1_000);
    const heard = heardBy(lh);
    await world.advance(999);
    expect(heard).toEqual([]);
    await world.advance(1);
    expect(heard).toEqual(['LeaseExpired']);
  });

  it('shows no lease in a list from its end on, however many end at the same time', async () => {
    for (const kind of ['a', 'b']) {
      const names = Array.from({ length: 600 }, (_, index) => `${kind}-${index}`);
      await world.finish(lh.call('lease.acquire_all', { names, holder: 'h', ttl_ms: 1_000 }));
    }
    // The event loop is blocked until all of them are over, and the list comes before anything could be written.
    world.monotonicMs += 1_000;
    expect(await world.finish(lh.call('lease.list', { limit: 1_000 }))).toMatchObject({ leases: [] });
  });

  it('gains at most 1 % when the wall clock is set forward', async () => {
    const lease = await leased(1_000);
    world.setWall(world.wallMs + 3_600_000);
    await world.advance(990);
    expect(await world.finish(lh.call('task.complete', lease))).toMatchObject({ outcome: 'COMMITTED' });
  });

  it('loses at most 1 % when the wall clock is set back', async () => {
    const lease = await leased(1_000);
    world.setWall(world.wallMs - 3_600_000);
    await world.advance(1_011);
    expect(await world.finish(lh.call('task.complete', lease))).toMatchObject({
      outcome: 'CANCELLED',
      cause: 'expired',
    });
  });

  it('never goes backwards over a restart, and no expired lease comes back', async () => {
    const lease = await leased(1_000);
    await world.advance(1_000);
    await world.finish(lh.close());
    world.setWall(world.wallMs - 24 * 3_600_000);
    lh = await openNow();
    expect(await world.finish(lh.call('task.complete', lease))).toMatchObject({ outcome: 'CANCELLED' });
    const log = await world.finish(transportOf(lh).log({ from: 1, limit: 100 }));
    if (!log.ok) throw new Error(log.detail);
    const times = log.entries.map((entry) => entry.at);
    expect(times).toEqual([...times].sort());
  });

  it('ends a lease that ran out while the authority was down, without counting the attempt', async () => {
    await world.finish(lh.call('task.create', { payload: 1, max_attempts: 1 }));
    await world.finish(lh.call('task.lease', { worker_id: 'w', ttl_ms: 1_000 }));
    await world.finish(lh.close());
    world.wallMs += 5_000;
    lh = await openNow();
    const again = await world.finish(lh.call('task.lease', { worker_id: 'w' }));
    expect(again).toMatchObject({ ok: true, leases: [{ attempt: 2 }] });
  });
});

describe('waiting', () => {
  it('grants a name to the first in line the moment it is released', async () => {
    const held = await world.finish(lh.call('lease.acquire', { name: 'n', holder: 'a', ttl_ms: 60_000 }));
    if (!held.ok) throw new Error(held.detail);
    const waits = lh.call('lease.acquire', { name: 'n', holder: 'b', ttl_ms: 60_000, wait_ms: 10_000 });
    await world.settle();
    expect(await isSettled(waits)).toBe(false);
    await world.finish(lh.call('lease.release', { name: 'n', holder: 'a', token: held.token }));
    expect(await world.finish(waits)).toMatchObject({ ok: true, holder: 'b' });
  });

  it('answers LEASE_HELD with the holder in the way when the wait runs out', async () => {
    await world.finish(lh.call('lease.acquire', { name: 'n', holder: 'a', ttl_ms: 60_000 }));
    const waits = lh.call('lease.acquire', { name: 'n', holder: 'b', ttl_ms: 60_000, wait_ms: 10_000 });
    await world.advance(10_000);
    expect(await world.finish(waits)).toMatchObject({
      code: 'LEASE_HELD',
      holder: 'a',
      remaining_ms: 50_000,
    });
  });

  it('hands a task to a waiting worker as soon as there is one', async () => {
    const waits = lh.call('task.lease', { worker_id: 'w', wait_ms: 10_000 });
    await world.settle();
    await world.finish(lh.call('task.create', { payload: { n: 1 } }));
    const reply = await world.finish(waits);
    if (!reply.ok) throw new Error(reply.detail);
    expect(reply.leases[0]!.payload.parse()).toEqual({ n: 1 });
  });

  it('hands a delayed task to a waiting worker when it falls due', async () => {
    await world.finish(lh.call('task.create', { payload: 1, delay_ms: 5_000 }));
    const waits = lh.call('task.lease', { worker_id: 'w', wait_ms: 10_000 });
    await world.advance(4_999);
    expect(await isSettled(waits)).toBe(false);
    await world.advance(1);
    expect(await world.finish(waits)).toMatchObject({ ok: true, leases: [{ attempt: 1 }] });
  });

  it('answers with no leases when nothing came in time', async () => {
    const waits = lh.call('task.lease', { worker_id: 'w', wait_ms: 10_000 });
    await world.advance(10_000);
    expect(await world.finish(waits)).toMatchObject({ ok: true, leases: [] });
  });

  it('grants nothing to a caller that has gone', async () => {
    const held = await world.finish(lh.call('lease.acquire', { name: 'n', holder: 'a', ttl_ms: 60_000 }));
    if (!held.ok) throw new Error(held.detail);
    const gone = new AbortController();
    const left = later(
      lh.call('lease.acquire', { name: 'n', holder: 'b', ttl_ms: 60_000, wait_ms: 10_000 }, gone),
    );
    const stays = lh.call('lease.acquire', { name: 'n', holder: 'c', ttl_ms: 60_000, wait_ms: 10_000 });
    await world.settle();
    gone.abort(new Error('gone'));
    await expect(world.finish(left)).rejects.toThrow('gone');
    await world.finish(lh.call('lease.release', { name: 'n', holder: 'a', token: held.token }));
    expect(await world.finish(stays)).toMatchObject({ ok: true, holder: 'c' });
  });

  it('keeps no place for a caller that goes while nothing happens but a commit mark', async () => {
    const want = { name: 'n', ttl_ms: 60_000 };
    await world.finish(lh.call('lease.acquire', { ...want, holder: 'a' }));
    const going = new AbortController();
    const { signal } = going;
    const waiting = later(lh.call('lease.acquire', { ...want, holder: 'b', wait_ms: 60_000 }, { signal }));
    engine.isHoldingMarks = true;
    await world.advance(1_000);
    expect([engine.waiting, world.holds]).toEqual([1, 1]);
    going.abort(new Error('gone'));
    await expect(world.finish(waiting)).rejects.toThrow('gone');
    engine.letGo();
    await world.settle();
    expect(world.holds).toBe(0);
  });

  it('gives a grant back at once whose caller went while it was being made durable', async () => {
    engine.holding = true;
    const gone = new AbortController();
    const left = later(lh.call('lease.acquire', { name: 'n', holder: 'b', ttl_ms: 60_000 }, gone));
    await world.settle();
    gone.abort(new Error('gone'));
    engine.holding = false;
    engine.letGo();
    await expect(world.finish(left)).rejects.toThrow('gone');
    await world.settle();
    expect(await world.finish(lh.call('lease.get', { name: 'n' }))).toMatchObject({
      code: 'LEASE_NOT_FOUND',
    });
    const log = await world.finish(transportOf(lh).log({ from: 2 }));
    if (!log.ok) throw new Error(log.detail);
    expect(log.entries.map((entry) => entry.type)).toEqual(['NameLeased', 'NameReleased']);
  });

  it('hands out a task whose payload was moved by a compaction while it was being read', async () => {
    await world.finish(lh.call('task.create', { payload: 'here' }));
    engine.isHoldingReads = true;
    const leasing = lh.call('task.lease', { worker_id: 'w' });
    await world.settle();
    engine.isHoldingReads = false;
    engine.fail(new LogCompactedError('The file has been compacted away.'));
    const reply = await world.finish(leasing);
    if (!reply.ok) throw new Error(reply.detail);
    expect(reply.leases[0]!.payload.parse()).toBe('here');
  });

  it('does not give back what a caller holds already when only its repeated call was abandoned', async () => {
    const request = { name: 'n', holder: 'a', ttl_ms: 60_000, token: 'chosen-by-the-caller' };
    const first = await world.finish(lh.call('lease.acquire', request));
    engine.holding = true;
    const other = lh.call('task.create', { payload: 1 });
    const gone = new AbortController();
    const again = later(lh.call('lease.acquire', request, gone));
    await world.settle();
    gone.abort(new Error('gone'));
    engine.holding = false;
    engine.letGo();
    await world.finish(other);
    await expect(world.finish(again)).rejects.toThrow('gone');
    await world.settle();
    if (!first.ok) throw new Error(first.detail);
    expect(await world.finish(lh.call('lease.get', { name: 'n' }))).toMatchObject({
      lease_seq: first.lease_seq,
    });
  });

  it('answers a read that waits for the end of a task once that end is durable', async () => {
    const lease = await leased();
    const waits = lh.call('task.get', { task_id: lease.task_id, wait_ms: 10_000 });
    await world.settle();
    expect(await isSettled(waits)).toBe(false);
    await world.finish(lh.call('task.complete', { ...lease, result: { done: true } }));
    const record = await world.finish(waits);
    if (!record.ok) throw new Error(record.detail);
    expect(record.state).toBe('COMPLETED');
    expect(record.result!.parse()).toEqual({ done: true });
  });

  it('a read that waits for the end of a task is rejected when the authority closes', async () => {
    const lease = await leased();
    const waits = later(lh.call('task.get', { task_id: lease.task_id, wait_ms: 600_000 }));
    await world.settle();
    await world.finish(lh.close());
    await expect(world.finish(waits)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(world.holds).toBe(0);
  });

  it('lines do not survive a restart', async () => {
    await world.finish(lh.call('lease.acquire', { name: 'n', holder: 'a', ttl_ms: 60_000 }));
    const waits = later(
      lh.call('lease.acquire', { name: 'n', holder: 'b', ttl_ms: 60_000, wait_ms: 60_000 }),
    );
    await world.settle();
    await world.finish(lh.close());
    await expect(world.finish(waits)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });
});

describe('back-pressure', () => {
  it('refuses creates with OVERLOADED when too much waits, and still takes renewals', async () => {
    const held = await world.finish(lh.call('lease.acquire', { name: 'n', holder: 'a', ttl_ms: 60_000 }));
    if (!held.ok) throw new Error(held.detail);
    const creates = Array.from({ length: 100_001 }, () => lh.call('task.create', { payload: 1 }));
    const renewed = lh.call('lease.renew', { name: 'n', holder: 'a', token: held.token, ttl_ms: 90_000 });
    expect(await creates.at(-1)).toMatchObject({ ok: false, code: 'OVERLOADED', status: 503 });
    expect(await world.finish(renewed)).toMatchObject({ ok: true });
    const replies = await world.finish(Promise.all(creates));
    expect(replies.filter((reply) => !reply.ok)).toHaveLength(1);
  });

  it('lets calls that wait take up 256 MiB and no more, while those that do not wait are decided', async () => {
    await world.finish(lh.call('lease.acquire', { name: 'n', holder: 'a', ttl_ms: 60_000 }));
    // All of them show the same bytes, so that the test itself takes up little.
    const metadata = new Json(Buffer.from(JSON.stringify('m'.repeat(256 * 1024 - 2))));
    const leaving = new AbortController();
    const wait = (index: number) =>
      lh.call(
        'lease.acquire',
        { name: 'n', holder: `h${index}`, ttl_ms: 60_000, wait_ms: 600_000, metadata },
        { signal: leaving.signal },
      );
    const waits = Array.from({ length: 1_023 }, (_, index) => wait(index));
    for (const each of waits) each.catch(() => undefined);
    await world.settle();
    expect(await world.finish(wait(2_000))).toMatchObject({ code: 'OVERLOADED' });
    expect(await world.finish(lh.call('task.create', { payload: 1 }))).toMatchObject({ ok: true });
    expect(
      await world.finish(lh.call('lease.acquire', { name: 'o', holder: 'b', ttl_ms: 60_000, metadata })),
    ).toMatchObject({ ok: true });
    leaving.abort(new Error('gone'));
    await world.settle();
    const again = later(
      lh.call('lease.acquire', { name: 'n', holder: 'c', ttl_ms: 60_000, wait_ms: 600_000, metadata }),
    );
    await world.settle();
    await world.finish(lh.call('lease.break', { name: 'n', reason: 'stuck' }));
    expect(await world.finish(again)).toMatchObject({ ok: true, holder: 'c' });
  });

  it('gives back the room of workers that wait when they leave, and when they are served', async () => {
    const queues = Array.from({ length: 100 }, (_, index) => `${index}`.padStart(256, 'q'));
    const leaving = new AbortController();
    const wait = (index: number, signal?: AbortSignal) =>
      later(
        lh.call(
          'task.lease',
          { worker_id: `w${index}`, queues, max: 1, wait_ms: 600_000 },
          signal === undefined ? {} : { signal },
        ),
      );
    /** How many may wait; the next one is refused. */
    const waitAll = async (signal?: AbortSignal): Promise<number> => {
      for (let count = 0; ; count += 500) {
        const last = Array.from({ length: 500 }, (_, index) => wait(count + index, signal)).at(-1)!;
        await world.settle();
        if (await isSettled(last)) return count;
      }
    };
    const room = await waitAll(leaving.signal);
    expect(room).toBeGreaterThan(5_000);
    leaving.abort(new Error('gone'));
    await world.settle();
    expect(await waitAll()).toBe(room);
    const tasks = Array.from({ length: 2 * room }, () =>
      lh.call('task.create', { payload: 1, queue: queues[0]! }),
    );
    await world.finish(Promise.all(tasks));
    await world.finish(lh.call('queue.pause', { queue: queues[0]! }));
    expect(await waitAll()).toBe(room);
  });
});

describe('a worker that waits for many tasks', () => {
  it('gets all that come in together, and not the first alone', async () => {
    const waiting = lh.call('task.lease', { worker_id: 'patient', max: 10, wait_ms: 60_000 });
    await world.settle();
    await world.finish(Promise.all([1, 2, 3].map((payload) => lh.call('task.create', { payload }))));
    const reply = await world.finish(waiting);
    if (!reply.ok) throw new Error(reply.code);
    expect(reply.leases.map(({ payload }) => payload.parse())).toEqual([1, 2, 3]);
  });

  it('is not overtaken by a caller of the same batch', async () => {
    const waiting = lh.call('task.lease', { worker_id: 'patient', wait_ms: 60_000 });
    await world.settle();
    const created = lh.call('task.create', { payload: 1 });
    const hasty = lh.call('task.lease', { worker_id: 'hasty' });
    await world.finish(created);
    expect(await world.finish(hasty)).toMatchObject({ leases: [] });
    expect(await world.finish(waiting)).toMatchObject({ leases: [{ attempt: 1 }] });
  });
});

describe('an answer that would be very large', () => {
  const MEBIBYTE = 1024 * 1024;
  const payload = 'x'.repeat(MEBIBYTE / 4 - 2);

  it('gives out no further task once its payloads have four mebibytes', async () => {
    await world.finish(Promise.all(Array.from({ length: 20 }, () => lh.call('task.create', { payload }))));
    const first = await world.finish(lh.call('task.lease', { worker_id: 'w', max: 100 }));
    const second = await world.finish(lh.call('task.lease', { worker_id: 'w', max: 100 }));
    if (!first.ok || !second.ok) throw new Error('refused');
    expect([first.leases.length, second.leases.length]).toEqual([16, 4]);
  });

  it('ends a page of a list early, with a cursor to go on from', async () => {
    await world.finish(Promise.all(Array.from({ length: 20 }, () => lh.call('task.create', { payload }))));
    const first = await world.finish(lh.call('task.list', { limit: 100 }));
    if (!first.ok) throw new Error(first.code);
    expect(first.tasks).toHaveLength(16);
    const second = await world.finish(lh.call('task.list', { limit: 100, cursor: first.next_cursor! }));
    expect(second).toMatchObject({ tasks: { length: 4 } });
  });
});

describe('the workers heard of lately', () => {
  it('have as many leases as the state says, and not as they were once given', async () => {
    await world.finish(Promise.all([1, 2, 3].map((payload) => lh.call('task.create', { payload }))));
    const reply = await world.finish(lh.call('task.lease', { worker_id: 'w', max: 3, ttl_ms: 1_000 }));
    if (!reply.ok) throw new Error(reply.code);
    const active = async () =>
      (await world.finish(lh.workers.list())).map(({ activeLeases }) => activeLeases);
    expect(await active()).toEqual([3]);
    const { task_id, lease_id } = reply.leases[0]!;
    await world.finish(lh.call('task.complete', { task_id, lease_id }));
    expect(await active()).toEqual([2]);
    await world.advance(1_000);
    expect(await active()).toEqual([0]);
  });
});
