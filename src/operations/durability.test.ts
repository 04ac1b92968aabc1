// The whole way from a call to the disk and back, on a disk that forgets what it was not asked to keep.
import { beforeEach, describe, expect, it } from 'vitest';
import { HeldEngine } from '../../test/support/held-engine.ts';
import { isSettled, ManualWorld } from '../../test/support/manual-world.ts';
import { diskError, TestDisk } from '../../test/support/test-disk.ts';
import type { Leasehold } from '../client/leasehold.ts';
import { fileEngine } from '../engines/file/file-engine.ts';
import { memoryEngine } from '../engines/memory/memory-engine.ts';
import { type IntentOptions, openCore, openWith } from '../open.ts';

const DIR = '/data';
let world: ManualWorld;
let disk: TestDisk;

beforeEach(() => {
  world = new ManualWorld();
  disk = new TestDisk();
});

function openOn(files: TestDisk, intents: IntentOptions = {}): Promise<Leasehold> {
  const engine = fileEngine({ dir: DIR, files, segmentBytes: 64 * 1024 });
  return world.finish(openWith(engine, world, { intents }));
}

/** The last file that is written to. */
function segments(): string[] {
  return disk.paths().filter((path) => path.endsWith('.seg'));
}

describe('a reply', () => {
  it('does not leave before the durable write that covers it has come back from the disk', async () => {
    const lh = await openOn(disk);
    let letGo = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    disk.slow = ({ name }) => (name === 'write' ? held : null);
    const calls = [
      lh.call('task.create', { payload: 1 }),
      lh.call('lease.acquire', { name: 'n', holder: 'h', ttl_ms: 60_000 }),
      lh.call('task.list', {}),
    ];
    await world.settle();
    for (const call of calls) expect(await isSettled(call)).toBe(false);
    letGo();
    for (const call of calls) expect(await world.finish<unknown>(call)).toMatchObject({ ok: true });
  });
});

describe('what a holder is told', () => {
  it('does not leave before the entry that it tells of is durable', async () => {
    const held = new HeldEngine(memoryEngine());
    const lh = await world.finish(openWith(held, world));
    const lease = await world.finish(lh.acquire('n', { ttl: '1m' }));
    held.holding = true;
    const broken = lh.call('lease.break', { name: 'n', reason: 'stuck' });
    await world.settle();
    expect([held.waiting, lease.signal.aborted]).toEqual([1, false]);
    held.letGo();
    await world.finish(broken);
    await world.settle();
    expect(lease.signal.reason).toMatchObject({ details: { loss: 'broken' } });
  });
});

describe('a power cut', () => {
  /** Works until the power goes; what was acknowledged by then must be there for ever. */
  async function workUntilCut(lh: Leasehold, acknowledged: Map<string, string>): Promise<void> {
    const worker = async (name: string): Promise<void> => {
      for (let number = 0; number < 6; number++) {
        const id = `${name}-${number}`;
        await lh.call('task.create', { task_id: id, payload: { id }, queue: name });
        acknowledged.set(id, 'WAITING');
        const reply = await lh.call('task.lease', { worker_id: name, queues: [name] });
        if (!reply.ok) return;
        const { task_id, lease_id } = reply.leases[0]!;
        await lh.call('task.complete', { task_id, lease_id, result: id });
        acknowledged.set(id, 'COMPLETED');
      }
    };
    await Promise.allSettled(['a', 'b', 'c'].map(worker));
  }

  it('at any operation of the disk loses nothing that was acknowledged, whatever else survives', async () => {
    let cuts = 0;
    for (let cutAt = 1; ; cutAt++) {
      world = new ManualWorld();
      disk = new TestDisk();
      const acknowledged = new Map<string, string>();
      const lh = await openOn(disk);
      let left = cutAt;
      let isCut = false;
      disk.gate = () => {
        left -= 1;
        if (left === 0) {
          isCut = true;
          disk.cutPower();
        }
      };
      await world.finish(workUntilCut(lh, acknowledged));
      if (!isCut) break;
      cuts += 1;
      // Of what was not synced, some sectors reach the disk and some do not.
      const next = disk.afterPowerCut({ sector: (_, sector) => (sector * 7 + cutAt) % 3 === 0 });
      const survivor = await openOn(next);
      for (const [taskId, state] of acknowledged) {
        const task = await world.finish(survivor.call('task.get', { task_id: taskId }));
        if (!task.ok) throw new Error(`cut at ${cutAt}: ${taskId} is gone`);
        if (state === 'COMPLETED') expect(task.state).toBe('COMPLETED');
        expect(task.payload?.parse()).toEqual({ id: taskId });
      }
      await world.finish(survivor.close());
    }
    expect(cuts).toBeGreaterThan(10);
  });
});

describe('a failing disk', () => {
  it('ends the handle at once, and the next open is clean', async () => {
    const lh = await openOn(disk);
    await world.finish(lh.call('task.create', { payload: 1, task_id: 'before' }));
    disk.gate = ({ name }) => {
      if (name === 'write') throw diskError('EIO');
    };
    const failed = lh.call('task.create', { payload: 2, task_id: 'during' });
    await expect(world.finish(failed)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await expect(world.finish(lh.call('task.get', { task_id: 'before' }))).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    });
    await world.finish(lh.close());
    disk.gate = () => undefined;
    const again = await openOn(disk);
    expect(await world.finish(again.call('task.get', { task_id: 'before' }))).toMatchObject({ ok: true });
    expect(await world.finish(again.call('task.get', { task_id: 'during' }))).toMatchObject({
      code: 'TASK_NOT_FOUND',
    });
  });
});

describe('a full disk', () => {
  const LIVE = { type: 'live', serviceRef: 'one', profileID: 'low' } as const;

  it('is a state and not a crash: what is new is refused, what is held can be kept and ended, what is repeated is answered', async () => {
    const lh = await openOn(disk);
    const held = await world.finish(lh.call('lease.acquire', { name: 'n', holder: 'h', ttl_ms: 60_000 }));
    const mine = { task_id: 'mine', payload: 1, dedup_key: 'once' };
    await world.finish(lh.call('task.create', mine));
    const leased = await world.finish(lh.call('task.lease', { worker_id: 'w', request_id: 'r' }));
    await world.finish(lh.call('intent.accept', LIVE));
    if (!held.ok || !leased.ok) throw new Error('refused');
    disk.capacityBytes = segments().reduce((sum, path) => sum + disk.contentOf(path).length, 0);
    let refusal: unknown = null;
    for (let tried = 0; tried < 1_000 && refusal === null; tried++) {
      const reply = await world.finish(lh.call('task.create', { payload: 'x'.repeat(500) }));
      if (!reply.ok) refusal = reply;
    }
    expect(refusal).toMatchObject({ code: 'DISK_FULL', status: 507 });
    expect(await world.finish(lh.status())).toMatchObject({ diskFull: true });
    expect(
      await world.finish(lh.call('lease.acquire', { name: 'other', holder: 'h', ttl_ms: 60_000 })),
    ).toMatchObject({ code: 'DISK_FULL' });
    expect(await world.finish(lh.call('task.lease', { worker_id: 'w' }))).toMatchObject({
      code: 'DISK_FULL',
    });
    const proof = { name: 'n', holder: 'h', token: held.token };
    const { payload } = leased.leases[0]!;
    const repeats: Promise<unknown>[] = [
      lh.call('lease.acquire', { ...proof, ttl_ms: 60_000 }),
      lh.call('task.create', { task_id: 'mine', payload }),
      lh.call('task.create', { payload, dedup_key: 'once' }),
      lh.call('task.lease', { worker_id: 'w', request_id: 'r' }),
    ];
    for (const repeat of repeats) {
      expect(await world.finish(repeat)).toMatchObject({ ok: true, duplicate: true });
    }
    expect(await world.finish(lh.call('intent.accept', LIVE))).toMatchObject({ status: 'idempotent_replay' });
    expect(await world.finish(lh.call('intent.accept', { ...LIVE, serviceRef: 'two' }))).toMatchObject({
      code: 'DISK_FULL',
    });
    expect(await world.finish(lh.call('lease.renew', { ...proof, ttl_ms: 90_000 }))).toMatchObject({
      ok: true,
    });
    expect(await world.finish(lh.call('lease.release', proof))).toMatchObject({ released: true });
    const { task_id, lease_id } = leased.leases[0]!;
    expect(await world.finish(lh.call('task.complete', { task_id, lease_id }))).toMatchObject({
      outcome: 'COMMITTED',
    });

    disk.capacityBytes = Number.POSITIVE_INFINITY;
    let reply: unknown = null;
    for (let tried = 0; tried < 10; tried++)
      reply = await world.finish(lh.call('task.create', { payload: 1 }));
    expect(reply).toMatchObject({ ok: true });
    expect(await world.finish(lh.status())).toMatchObject({ diskFull: false });
  });
});

describe('what was a repeat when it came to a full disk', () => {
  it('is answered also when the secret of intents has changed since', async () => {
    const LIVE = { type: 'live', serviceRef: 'one', profileID: 'low' } as const;
    const first = await openOn(disk, { secret: 'before' });
    const { session_id } = (await world.finish(first.call('intent.accept', LIVE))) as { session_id?: string };
    await world.finish(first.close());
    const lh = await openOn(disk, { secret: 'after', previousSecret: 'before' });
    disk.capacityBytes = segments().reduce((sum, path) => sum + disk.contentOf(path).length, 0);
    for (let tried = 0; tried < 1_000; tried++) {
      if (!(await world.finish(lh.call('task.create', { payload: 'x'.repeat(500) }))).ok) break;
    }
    expect(await world.finish(lh.status())).toMatchObject({ diskFull: true });
    const again = await world.finish(lh.call('intent.accept', LIVE));
    expect(again).toMatchObject({ session_id, status: 'idempotent_replay' });
  });

  it('is refused when it has become a new request by its turn', async () => {
    const lh = await openOn(disk);
    for (let payload = 0; payload < 10; payload++) await world.finish(lh.call('task.create', { payload }));
    const asked = { worker_id: 'w', request_id: 'r', ttl_ms: 1_000, max: 5 };
    await world.finish(lh.call('task.lease', { ...asked, max: 1 }));
    const held = await world.finish(lh.call('lease.acquire', { name: 'n', holder: 'h', ttl_ms: 600_000 }));
    if (!held.ok) throw new Error(held.detail);
    disk.capacityBytes = segments().reduce((sum, path) => sum + disk.contentOf(path).length, 0);
    for (let tried = 0; tried < 1_000; tried++) {
      const reply = await world.finish(lh.call('task.create', { payload: 'x'.repeat(500), queue: 'fill' }));
      if (!reply.ok) break;
    }
    await world.advance(999);
    let letGo = (): void => undefined;
    const writing = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    disk.slow = ({ name }) => (name === 'write' ? writing : null);
    const proof = { name: 'n', holder: 'h', token: held.token };
    // So many that they are not written at once.
    const before = Promise.all(
      Array.from({ length: 400 }, (_, more) => lh.call('lease.renew', { ...proof, ttl_ms: 900_000 + more })),
    );
    await world.settle();
    const repeat = lh.call('task.lease', asked);
    await world.advance(1);
    letGo();
    await world.finish(before);
    expect(await world.finish(repeat)).toMatchObject({ code: 'DISK_FULL' });
  });
});

describe('a disk on which nothing fits any more', () => {
  /** Renews until even the reserve is used up. */
  async function fill(lh: Leasehold): Promise<void> {
    const held = await world.finish(lh.call('lease.acquire', { name: 'n', holder: 'h', ttl_ms: 3_600_000 }));
    if (!held.ok) throw new Error(held.detail);
    disk.capacityBytes = segments().reduce((sum, path) => sum + disk.contentOf(path).length, 0);
    const proof = { name: 'n', holder: 'h', token: held.token };
    let refusal: unknown = null;
    for (let tried = 0; tried < 5_000 && refusal === null; tried++) {
      const reply = await world.finish(lh.call('lease.renew', { ...proof, ttl_ms: 3_600_000 + tried }));
      if (!reply.ok) refusal = reply;
    }
    expect(refusal).toMatchObject({ code: 'DISK_FULL' });
  }

  it('lets who waits leave, and the handle be closed', async () => {
    const lh = await openOn(disk);
    const leaving = new AbortController();
    const waiting = lh.call('task.lease', { worker_id: 'w', wait_ms: 600_000 }, { signal: leaving.signal });
    waiting.catch(() => undefined);
    await fill(lh);
    leaving.abort(new Error('enough'));
    await expect(world.finish(waiting)).rejects.toThrow('enough');
    await world.settle();
    await world.finish(lh.close());
  });

  it('serves who stands behind one that left, once there is room again', async () => {
    const lh = await openOn(disk);
    const leaving = new AbortController();
    const ask = { ttl_ms: 600_000, wait_ms: 600_000 };
    await world.finish(lh.call('lease.acquire', { name: 'y', holder: 'h', ttl_ms: 3_600_000 }));
    const ahead = lh.call(
      'lease.acquire_all',
      { ...ask, names: ['x', 'y'], holder: 'a' },
      { signal: leaving.signal },
    );
    const behind = lh.call('lease.acquire', { ...ask, name: 'x', holder: 'b' });
    ahead.catch(() => undefined);
    await fill(lh);
    leaving.abort(new Error('enough'));
    await world.settle();
    disk.capacityBytes = Number.POSITIVE_INFINITY;
    await world.advance(1_000);
    expect(await world.finish(behind)).toMatchObject({ ok: true, name: 'x', holder: 'b' });
  });

  it('lets what falls due wait for room, without asking for it all the time', async () => {
    const lh = await openOn(disk);
    await world.finish(lh.call('lease.acquire', { name: 'due', holder: 'h', ttl_ms: 600_000 }));
    await fill(lh);
    let attempts = 0;
    disk.gate = () => {
      attempts += 1;
    };
    await world.advance(601_000);
    expect(attempts).toBeLessThan(100);
    disk.gate = () => undefined;
    disk.capacityBytes = Number.POSITIVE_INFINITY;
    await world.advance(1_000);
    expect(await world.finish(lh.call('lease.get', { name: 'due' }))).toMatchObject({
      code: 'LEASE_NOT_FOUND',
    });
  });
});

describe('a payload that was damaged on the disk', () => {
  it('is told of once, with its task', async () => {
    const first = await openOn(disk);
    await world.finish(first.call('task.create', { task_id: 'two', payload: 'payload of two' }));
    await world.finish(first.close());
    disk.tamper(segments()[0]!, (content) => {
      content[content.indexOf('payload of two')]! ^= 1;
      return content;
    });
    const engine = fileEngine({ dir: DIR, files: disk, segmentBytes: 64 * 1024 });
    const { authority, calls } = await world.finish(openCore(engine, world));
    const told: string[] = [];
    authority.onDamagedPayload = (taskId) => told.push(taskId);
    for (const worker_id of ['w', 'v']) await world.finish(calls['task.lease']({ worker_id, max: 10 }));
    expect(told).toEqual(['two']);
  });

  it('makes its task DEAD with PAYLOAD_DAMAGED, and nothing else', async () => {
    const first = await openOn(disk);
    for (const id of ['one', 'two', 'three']) {
      await world.finish(first.call('task.create', { task_id: id, payload: `payload of ${id}` }));
    }
    await world.finish(first.close());
    disk.tamper(segments()[0]!, (content) => {
      content[content.indexOf('payload of two')]! ^= 1;
      return content;
    });
    const lh = await openOn(disk);
    const reply = await world.finish(lh.call('task.lease', { worker_id: 'w', max: 10 }));
    if (!reply.ok) throw new Error(reply.detail);
    expect(reply.leases.map(({ task_id }) => task_id)).toEqual(['one', 'three']);
    expect(await world.finish(lh.call('task.get', { task_id: 'two' }))).toMatchObject({
      state: 'DEAD',
      reason: 'PAYLOAD_DAMAGED',
      payload: null,
    });
    expect(await world.finish(lh.call('task.get', { task_id: 'one' }))).toMatchObject({ state: 'LEASED' });
  });
});

describe('an opening that fails', () => {
  it('at any write, that of its own first entry included, leaves the directory free for the next one', async () => {
    let failures = 0;
    for (let failAt = 1; ; failAt++) {
      disk = new TestDisk();
      await world.finish((await openOn(disk)).close());
      let left = failAt;
      disk.gate = ({ name }) => {
        if (name === 'write') left -= 1;
        if (name === 'write' && left === 0) throw diskError('EIO');
      };
      const opened = await openOn(disk).catch((fault: unknown) => fault as Error);
      disk.gate = () => undefined;
      if (!(opened instanceof Error)) break;
      failures += 1;
      const lh = await openOn(disk);
      expect(await world.finish(lh.call('task.create', { payload: 1 }))).toMatchObject({ ok: true });
    }
    expect(failures).toBeGreaterThan(0);
  });
});
