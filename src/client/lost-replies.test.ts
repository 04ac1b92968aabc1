// A reply lost after the effect, at every operation: the client sends the call again, the log shows one effect, and
// the caller gets the answer that was lost. Where a second try would not be safe, there is none, and the caller is told.
import { beforeEach, describe, expect, it } from 'vitest';
import { type Loopback, openLoopback } from '../../test/support/loopback-http.ts';
import { ManualWorld } from '../../test/support/manual-world.ts';
import type { EntryRecord } from '../operations/records.ts';
import type { Requests } from '../operations/table.ts';
import { OPERATIONS, type Operation } from '../operations/table.ts';
import { Json } from '../protocol/json.ts';
import type { Transport } from './transport.ts';

let world: ManualWorld;
let loopback: Loopback;

beforeEach(async () => {
  world = new ManualWorld();
  loopback = await openLoopback(world);
});

/** What an operation is called with, on an authority where everything it needs has been made. */
interface Scenario<Op extends Operation> {
  readonly request: (made: Made) => Requests[Op];
  /** 'same': answered as if nothing had been lost. Otherwise what the answer to the second try has. */
  readonly gives: 'same' | object;
  /** Entries that a second try leaves because it comes later; they take nothing from another caller. */
  readonly also?: readonly string[];
}

interface Made {
  readonly taskId: string;
  readonly leaseId: string;
  readonly leaseSeq: number;
  /** A session that runs. */
  readonly runningId: string;
  /** A task that waits. */
  readonly waitingTaskId: string;
  /** One that waits, and the lease on its start task. */
  readonly waitingId: string;
  readonly startLeaseId: string;
}

const TOKEN = 'x'.repeat(22);
const GUARD = { name: 'system:orchestrator:guard_lock', holder: 'o', token: TOKEN };

const SCENARIOS: { readonly [Op in Operation]: Scenario<Op> } = {
  'task.create': { request: () => ({ payload: { n: 1 } }), gives: 'same' },
  'task.lease': { request: () => ({ worker_id: 'w', max: 2 }), gives: 'same' },
  'task.extend': {
    request: ({ taskId, leaseId }) => ({ task_id: taskId, lease_id: leaseId, ttl_ms: 90_000 }),
    gives: { ok: true, remaining_ms: 90_000 },
    also: ['LeaseExtended'],
  },
  'task.complete': {
    request: ({ taskId, leaseId }) => ({ task_id: taskId, lease_id: leaseId, result: 1 }),
    gives: { outcome: 'COMMITTED', duplicate: true },
  },
  'task.fail': {
    request: ({ taskId, leaseId }) => ({ task_id: taskId, lease_id: leaseId, reason: 'no' }),
    gives: { outcome: 'COMMITTED', duplicate: true },
  },
  'task.release': {
    request: ({ taskId, leaseId }) => ({ task_id: taskId, lease_id: leaseId }),
    gives: { outcome: 'COMMITTED', duplicate: true },
  },
  'task.checkpoint': {
    request: ({ taskId, leaseId }) => ({ task_id: taskId, lease_id: leaseId, value: { done: 1 } }),
    gives: { ok: true },
    also: ['TaskCheckpointed'],
  },
  'task.cancel': {
    request: ({ taskId }) => ({ task_id: taskId, reason: 'enough' }),
    gives: { state: 'LEASED', cancel_requested: true, duplicate: true },
  },
  'task.change': {
    request: ({ waitingTaskId }) => ({ task_id: waitingTaskId, queue: 'other', priority: 3 }),
    gives: 'same',
  },
  'task.kill': { request: ({ taskId }) => ({ task_id: taskId, reason: 'enough' }), gives: 'same' },
  'task.requeue': {
    request: () => ({ task_id: 'ended' }),
    gives: { ok: true, requeued_from: 'ended', state: 'WAITING', duplicate: true },
  },
  'task.bulk': {
    request: () => ({ action: 'requeue', filter: { state: 'DEAD' }, reason: 'again' }),
    gives: { ok: true, matched: 0, changed: 0, refused: [] },
  },
  'worker.heartbeat': {
    request: ({ taskId, leaseId }) => ({
      worker_id: 'w',
      leases: [{ task_id: taskId, lease_id: leaseId }],
      ttl_ms: 90_000,
    }),
    gives: { ok: true, extended: [{ remaining_ms: 90_000 }] },
    also: ['LeaseExtended'],
  },
  'queue.limit': { request: () => ({ queue: 'default', max_leased: 9 }), gives: 'same' },
  'queue.pause': { request: () => ({ queue: 'default' }), gives: 'same' },
  'queue.figures': { request: () => ({ queue: 'default' }), gives: 'same' },
  'queue.resume': { request: () => ({ queue: 'stopped' }), gives: 'same' },
  'schedule.put': {
    request: () => ({ name: 'new', every_ms: 60_000, queue: 'default', payload: 1 }),
    gives: { ok: true, name: 'new', created: false },
  },
  'schedule.get': { request: () => ({ name: 'known' }), gives: 'same' },
  'schedule.list': { request: () => ({}), gives: 'same' },
  'schedule.delete': { request: () => ({ name: 'known' }), gives: { code: 'SCHEDULE_NOT_FOUND' } },
  'schedule.pause': { request: () => ({ name: 'known' }), gives: 'same' },
  'schedule.resume': { request: () => ({ name: 'paused' }), gives: 'same' },
  'schedule.fire': { request: () => ({ name: 'known' }), gives: 'same' },
  'lease.acquire': { request: () => ({ name: 'free', holder: 'h', ttl_ms: 60_000 }), gives: 'same' },
  'lease.acquire_all': { request: () => ({ names: ['a', 'b'], holder: 'h', ttl_ms: 60_000 }), gives: 'same' },
  'lease.renew': {
    request: () => ({ name: 'held', holder: 'h', token: TOKEN, ttl_ms: 90_000 }),
    gives: { ok: true, remaining_ms: 90_000 },
    also: ['NameRenewed'],
  },
  'lease.release': {
    request: () => ({ name: 'held', holder: 'h', token: TOKEN }),
    gives: { released: false },
  },
  'lease.break': {
    request: ({ leaseSeq }) => ({ name: 'held', reason: 'stuck', lease_seq: leaseSeq }),
    gives: 'same',
  },
  'lease.wipe': {
    request: () => ({ prefix: 'he', guard: GUARD }),
    gives: { wiped: 0 },
    also: ['NamesWiped'],
  },
  'object.write': {
    request: ({ leaseSeq }) => ({
      object_id: 'held',
      value: [2],
      lease: { lease_seq: leaseSeq },
      if_version: 1,
    }),
    gives: 'same',
  },
  'object.delete': {
    request: ({ leaseSeq }) => ({ object_id: 'held', lease: { lease_seq: leaseSeq }, if_version: 1 }),
    gives: 'same',
  },
  'intent.accept': {
    request: () => ({ type: 'live', serviceRef: 'third', profileID: 'low' }),
    gives: { ok: true, status: 'idempotent_replay' },
  },
  'session.get': { request: ({ runningId }) => ({ session_id: runningId }), gives: 'same' },
  'session.list': { request: () => ({}), gives: 'same' },
  'session.heartbeat': { request: ({ runningId }) => ({ session_id: runningId }), gives: 'same' },
  'session.stop': { request: ({ runningId }) => ({ session_id: runningId }), gives: 'same' },
  'session.start': {
    request: ({ waitingId, startLeaseId }) => ({
      session_id: waitingId,
      guard: GUARD,
      lease_id: startLeaseId,
      slots: ['0', '1'],
      ttl_ms: 60_000,
    }),
    gives: 'same',
  },
  'session.change': {
    request: ({ runningId }) => ({ session_id: runningId, guard: GUARD, event: 'ready' }),
    gives: 'same',
  },
  'session.renew': {
    request: ({ runningId }) => ({ guard: GUARD, session_ids: [runningId], ttl_ms: 90_000 }),
    gives: { ok: true, renewed: [{ state: 'STARTING', remaining_ms: 90_000 }], lost: [] },
    also: ['NameRenewed', 'NameRenewed'],
  },
  'task.get': { request: ({ taskId }) => ({ task_id: taskId }), gives: 'same' },
  'task.list': { request: () => ({}), gives: 'same' },
  'task.history': { request: ({ taskId }) => ({ task_id: taskId }), gives: 'same' },
  'task.why': { request: ({ taskId }) => ({ task_id: taskId }), gives: 'same' },
  'worker.list': { request: () => ({}), gives: 'same' },
  'queue.list': { request: () => ({}), gives: 'same' },
  'lease.get': { request: () => ({ name: 'held' }), gives: 'same' },
  'lease.list': { request: () => ({ prefix: 'h' }), gives: 'same' },
  'lease.waiters': { request: () => ({ name: 'held' }), gives: 'same' },
  'lease.ask': { request: () => ({ name: 'held', reason: 'please' }), gives: 'same' },
  'lease.history': { request: () => ({ name: 'held' }), gives: 'same' },
  'object.get': { request: () => ({ object_id: 'held' }), gives: 'same' },
  'receipt.list': { request: () => ({}), gives: 'same' },
  'status.get': { request: () => ({}), gives: 'same' },
  'object.list': { request: () => ({}), gives: 'same' },
  'overview.get': { request: () => ({}), gives: 'same' },
  'whoami.get': { request: () => ({}), gives: 'same' },
};

/** A leased task, waiting ones, a queue that is paused, a held name with an object, the guard, and two sessions. */
async function makeAll({ call }: Pick<Transport, 'call'>): Promise<Made> {
  const done = async <T extends { ok: boolean }>(reply: Promise<T>): Promise<Extract<T, { ok: true }>> => {
    const body = await world.finish(reply);
    if (!body.ok) throw new Error(JSON.stringify(body));
    return body as Extract<T, { ok: true }>;
  };
  for (const payload of [1, 2, 3]) await done(call('task.create', { payload, queue: 'work' }));
  await done(call('task.create', { payload: 1 }));
  const { task_id: waitingTaskId } = await done(call('task.create', { payload: 2 }));
  const { leases } = await done(call('task.lease', { worker_id: 'w', queues: ['work'] }));
  await done(call('task.create', { task_id: 'ended', payload: 1, queue: 'ended' }));
  await done(call('task.kill', { task_id: 'ended', reason: 'no' }));
  await done(call('queue.pause', { queue: 'stopped' }));
  const schedule = { every_ms: 86_400_000, queue: 'scheduled', payload: 1 };
  await done(call('schedule.put', { name: 'known', ...schedule }));
  await done(call('schedule.put', { name: 'paused', ...schedule, paused: true }));
  const held = { name: 'held', holder: 'h', token: TOKEN, ttl_ms: 60_000 };
  const { lease_seq } = await done(call('lease.acquire', held));
  await done(call('object.write', { object_id: 'held', value: [1], lease: { lease_seq } }));
  await done(call('lease.acquire', { ...GUARD, ttl_ms: 60_000 }));
  for (const serviceRef of ['first', 'second']) {
    await done(call('intent.accept', { type: 'live', serviceRef, profileID: 'low' }));
  }
  const starts = { worker_id: 'o', queues: ['system:session-starts'], max: 2, guard: GUARD };
  const [running, waiting] = (await done(call('task.lease', starts))).leases;
  await done(
    call('session.start', {
      session_id: running!.task_id,
      guard: GUARD,
      lease_id: running!.lease_id,
      slots: ['0'],
      ttl_ms: 60_000,
      token: TOKEN,
    }),
  );
  const { task_id, lease_id } = leases[0]!;
  return {
    taskId: task_id,
    leaseId: lease_id,
    leaseSeq: lease_seq,
    waitingTaskId,
    runningId: running!.task_id,
    waitingId: waiting!.task_id,
    startLeaseId: waiting!.lease_id,
  };
}

async function entriesSince(seq: number, { http }: Loopback): Promise<readonly EntryRecord[]> {
  const page = await world.finish(http.authority.log({ from: seq + 1, limit: 1_000 }));
  if (!page.ok) throw new Error(page.detail);
  return page.entries;
}

async function lastSeq({ http }: Loopback): Promise<number> {
  const status = await world.finish(http.authority.call('status.get', {}));
  return status.ok ? status.seq : 0;
}

/** Entries without the fields that are generated anew in every run. */
const told = (entries: readonly EntryRecord[]): unknown[] =>
  entries.map(({ token_sha256: _, request_id: __, ...entry }) => JSON.parse(JSON.stringify(entry)));

const NAMES = Object.keys(OPERATIONS) as Operation[];

describe.each(NAMES)('%s', (operation) => {
  const scenario = SCENARIOS[operation] as Scenario<'task.create'>;
  const { gives, also = [] } = scenario;

  /** The reply and the entries it left, with something happening to the first request of the operation. */
  async function run(fate: 'answered' | 'reply lost' | 'request lost' | 'refused') {
    world = new ManualWorld();
    loopback = await openLoopback(world);
    const { http, transport } = loopback;
    const made = await makeAll(http.authority);
    const before = await lastSeq(loopback);
    let isFirst = true;
    http.fate = (_, operations) => {
      if (!isFirst || !operations.includes(operation)) return 'answered';
      isFirst = false;
      return fate;
    };
    const reply = transport.call(operation as 'task.create', scenario.request(made));
    reply.catch(() => undefined);
    await world.advance(1_000);
    const entries = told(await entriesSince(before, loopback));
    return { reply: await world.finish(reply), entries, isFirst };
  }

  it('has one effect when the reply is lost, and the caller gets its answer', async () => {
    const clean = await run('answered');
    const lossy = await run('reply lost');
    expect(lossy.isFirst).toBe(false);
    expect(lossy.entries.map((entry) => (entry as EntryRecord).type)).toEqual([
      ...clean.entries.map((entry) => (entry as EntryRecord).type),
      ...also,
    ]);
    if (also.length === 0) expect(lossy.entries).toEqual(clean.entries);
    if (gives === 'same') expect(timeless(lossy.reply)).toEqual(timeless(clean.reply));
    else expect(lossy.reply).toMatchObject(gives);
  });

  it.each(['request lost', 'refused'] as const)('has one effect when the first try is %s', async (fate) => {
    const clean = await run('answered');
    const lossy = await run(fate);
    expect(lossy.isFirst).toBe(false);
    expect(timeless(lossy.entries)).toEqual(timeless(clean.entries));
    expect(timeless(lossy.reply)).toEqual(timeless(clean.reply));
  });
});

/** Without what moves on while the second try waits its turn. */
function timeless(value: unknown): unknown {
  const moving = ['remaining_ms', 'at', 'created_at', 'acquired_at', 'expires_at', 'due_at', 'last_commit'];
  const schedules = ['anchor_at', 'fires_at', 'next_at', 'next_five', 'next_due_at', 'next_fires_at'];
  const sessions = ['updated_at', 'last_heartbeat_at', 'idle_ms', 'requestId'];
  const timed = [
    ...moving,
    ...sessions,
    ...schedules,
    'expiry_timestamp',
    'new_expiry_timestamp',
    'last_heartbeat',
    'says',
    'now',
    'commit_ms',
    'oldest_ready_ms',
    'last_polled_at',
  ];
  return JSON.parse(JSON.stringify(value, (key, field) => (timed.includes(key) ? undefined : field)));
}

describe('what is not safe to send again', () => {
  const unsafe: [Operation, (made: Made) => object][] = [
    ['object.write', ({ leaseSeq }) => ({ object_id: 'held', value: [2], lease: { lease_seq: leaseSeq } })],
    ['object.delete', ({ leaseSeq }) => ({ object_id: 'held', lease: { lease_seq: leaseSeq } })],
    ['lease.break', () => ({ name: 'held', reason: 'stuck' })],
  ];

  it.each(unsafe)('is not: %s without what would make it so', async (operation, request) => {
    const { http, transport } = loopback;
    const made = await makeAll(http.authority);
    const before = await lastSeq(loopback);
    http.fate = () => 'reply lost';
    const call = transport.call(operation, request(made) as never);
    await expect(world.finish<unknown>(call)).rejects.toMatchObject({
      name: 'LeaseholdError',
      code: 'UNREACHABLE',
      effect: 'unknown',
      retryable: true,
    });
    expect(http.sent).toHaveLength(1);
    expect(await entriesSince(before, loopback)).toHaveLength(1);
  });

  it.each(unsafe)('is sent again all the same if it never left: %s', async (operation, request) => {
    const { http, transport } = loopback;
    const made = await makeAll(http.authority);
    http.fate = () => (http.sent.length === 1 ? 'refused' : 'answered');
    const call = transport.call(operation, request(made) as never);
    await world.advance(100);
    expect(await world.finish<unknown>(call)).toMatchObject({ ok: true });
  });
});

describe('lost replies', () => {
  it('are asked for again where that is safe, and told where it is not', async () => {
    const { http, transport } = loopback;
    const { leaseSeq } = await makeAll(http.authority);
    http.fate = () => (http.sent.length <= 2 ? 'reply lost' : 'answered');
    const created = transport.call('task.create', { payload: 'mine' });
    const written = transport.call('object.write', {
      object_id: 'held',
      value: 3,
      lease: { lease_seq: leaseSeq },
    });
    written.catch(() => undefined);
    await world.advance(100);
    expect(http.operations).toEqual([['task.create'], ['object.write'], ['task.create']]);
    expect(await world.finish(created)).toMatchObject({ ok: true, state: 'WAITING' });
    await expect(world.finish(written)).rejects.toMatchObject({ code: 'UNREACHABLE', effect: 'unknown' });
    expect(await world.finish(http.authority.call('object.get', { object_id: 'held' }))).toMatchObject({
      version: 2,
    });
  });
});

describe('a write whose reply was lost', () => {
  const write = (leaseSeq: number, value: unknown): Requests['object.write'] => ({
    object_id: 'held',
    value,
    lease: { lease_seq: leaseSeq },
    if_version: 1,
  });

  /** Loses the first reply and lets something else happen before the second try. */
  async function interrupted(
    request: Requests['object.write'],
    meanwhile: () => Promise<unknown>,
    fate = 'reply lost',
  ) {
    const { http, transport } = loopback;
    http.fate = () => (http.sent.length === 1 ? (fate as 'reply lost') : 'answered');
    const call = transport.call('object.write', request);
    call.catch(() => undefined);
    await world.settle();
    await meanwhile();
    await world.advance(100);
    return await world.finish(call);
  }

  it('is recognised by a value that is a text of its own', async () => {
    const { leaseSeq } = await makeAll(loopback.http.authority);
    const reply = await interrupted(write(leaseSeq, new Json('{ "a": 1.0 }')), async () => undefined);
    expect(reply).toMatchObject({ ok: true, version: 2, lease_seq: leaseSeq });
  });

  it('is recognised although its lease has ended since', async () => {
    const { leaseSeq } = await makeAll(loopback.http.authority);
    const { authority } = loopback.http;
    const release = { name: 'held', holder: 'h', token: TOKEN };
    const reply = await interrupted(write(leaseSeq, 2), () =>
      world.finish(authority.call('lease.release', release)),
    );
    expect(reply).toMatchObject({ ok: true, version: 2 });
  });

  it('is recognised as the first write after the object was deleted', async () => {
    const { leaseSeq } = await makeAll(loopback.http.authority);
    const { authority } = loopback.http;
    await world.finish(
      authority.call('object.delete', { object_id: 'held', lease: { lease_seq: leaseSeq } }),
    );
    const reply = await interrupted({ ...write(leaseSeq, 2), if_version: 0 }, async () => undefined);
    expect(reply).toMatchObject({ ok: true, version: 3 });
  });

  it('is not mistaken for the write of another client', async () => {
    const { leaseSeq } = await makeAll(loopback.http.authority);
    const { authority } = loopback.http;
    const theirs = () => world.finish(authority.call('object.write', write(leaseSeq, 'theirs')));
    const reply = await interrupted(write(leaseSeq, 'ours'), theirs, 'request lost');
    expect(reply).toMatchObject({ ok: false, code: 'VERSION_MISMATCH' });
  });

  it('is not mistaken for the same value under the lease of the next holder', async () => {
    const { authority } = loopback.http;
    const { leaseSeq } = await makeAll(authority);
    const theirs = async (): Promise<void> => {
      await world.finish(authority.call('lease.release', { name: 'held', holder: 'h', token: TOKEN }));
      const grant = await world.finish(
        authority.call('lease.acquire', { name: 'held', holder: 'next', ttl_ms: 60_000 }),
      );
      await world.finish(authority.call('object.write', write(grant.ok ? grant.lease_seq : 0, 'same')));
    };
    const reply = await interrupted(write(leaseSeq, 'same'), theirs, 'request lost');
    expect(reply).toMatchObject({ ok: false, code: 'WRITE_STALE_FENCE' });
  });

  it('is told as unknown when others have written since', async () => {
    const { leaseSeq } = await makeAll(loopback.http.authority);
    const { authority } = loopback.http;
    const theirs = () =>
      world.finish(authority.call('object.write', { ...write(leaseSeq, 'theirs'), if_version: 2 }));
    await expect(interrupted(write(leaseSeq, 'ours'), theirs)).rejects.toMatchObject({
      code: 'VERSION_MISMATCH',
      effect: 'unknown',
    });
  });

  it('is told as unknown then even if what stands there is the same', async () => {
    const { leaseSeq } = await makeAll(loopback.http.authority);
    const { authority } = loopback.http;
    const theirs = async (): Promise<void> => {
      for (const [if_version, value] of [
        [2, 'theirs'],
        [3, 'ours'],
      ] as const) {
        await world.finish(authority.call('object.write', { ...write(leaseSeq, value), if_version }));
      }
    };
    await expect(interrupted(write(leaseSeq, 'ours'), theirs)).rejects.toMatchObject({ effect: 'unknown' });
  });

  it('is refused as ever when the object is older than its lease', async () => {
    const { authority } = loopback.http;
    const { leaseSeq } = await makeAll(authority);
    await world.finish(authority.call('object.write', write(leaseSeq, 'older')));
    await world.finish(authority.call('lease.release', { name: 'held', holder: 'h', token: TOKEN }));
    const grant = await world.finish(
      authority.call('lease.acquire', { name: 'held', holder: 'h', ttl_ms: 60_000 }),
    );
    const newer = grant.ok ? grant.lease_seq : 0;
    const reply = await interrupted({ ...write(newer, 'ours'), if_version: 0 }, async () => undefined);
    expect(reply).toMatchObject({ ok: false, code: 'VERSION_MISMATCH' });
  });

  it('is refused as ever when it was never carried out', async () => {
    const { leaseSeq } = await makeAll(loopback.http.authority);
    const reply = await interrupted({ ...write(leaseSeq, 1), if_version: 7 }, async () => undefined);
    expect(reply).toMatchObject({ ok: false, code: 'VERSION_MISMATCH' });
  });

  it('is refused as ever when its lease ended before it got there, and the object is as it was', async () => {
    const { authority } = loopback.http;
    const { leaseSeq } = await makeAll(authority);
    const release = { name: 'held', holder: 'h', token: TOKEN };
    const released = () => world.finish(authority.call('lease.release', release));
    const reply = await interrupted(write(leaseSeq, 'ours'), released, 'request lost');
    expect(reply).toMatchObject({ ok: false, code: 'LEASE_EXPIRED' });
  });
});

describe('a kill whose reply was lost', () => {
  it('stays refused when another client killed the task', async () => {
    const { http, transport } = loopback;
    const { taskId } = await makeAll(http.authority);
    await world.finish(http.authority.call('task.kill', { task_id: taskId, reason: 'theirs' }));
    http.fate = () => (http.sent.length === 1 ? 'reply lost' : 'answered');
    const call = transport.call('task.kill', { task_id: taskId, reason: 'ours' });
    await world.advance(100);
    expect(await world.finish(call)).toMatchObject({ ok: false, code: 'TASK_TERMINAL' });
  });
});

describe('a call that was lost on its way, while another client did the same', () => {
  const lease = (lease_seq: number) => ({ object_id: 'held', lease: { lease_seq } });

  /** Loses the first request and lets another client act before the retry. */
  async function overtaken<Op extends Operation>(
    operation: Op,
    request: Requests[Op],
    theirs: () => Promise<unknown>,
  ): Promise<unknown> {
    const { http, transport } = loopback;
    http.fate = () => (http.sent.length === 1 ? 'request lost' : 'answered');
    const call = transport.call(operation, request);
    await world.settle();
    await world.finish(theirs());
    await world.advance(100);
    return world.finish<unknown>(call);
  }

  it('is no delete of ours when it was under the lease of the next holder', async () => {
    const { authority } = loopback.http;
    const { leaseSeq } = await makeAll(authority);
    const reply = await overtaken('object.delete', { ...lease(leaseSeq), if_version: 1 }, async () => {
      await authority.call('lease.release', { name: 'held', holder: 'h', token: TOKEN });
      const next = await authority.call('lease.acquire', { name: 'held', holder: 'next', ttl_ms: 60_000 });
      await authority.call('object.delete', lease(next.ok ? next.lease_seq : 0));
    });
    expect(reply).toMatchObject({ ok: false, code: 'WRITE_STALE_FENCE' });
  });

  it('is no delete of ours when it was of an earlier version', async () => {
    const { authority } = loopback.http;
    const { leaseSeq } = await makeAll(authority);
    await world.finish(authority.call('object.delete', lease(leaseSeq)));
    await world.finish(authority.call('object.write', { ...lease(leaseSeq), value: 3 }));
    const reply = await overtaken('object.delete', { ...lease(leaseSeq), if_version: 3 }, () =>
      authority.call('object.write', { ...lease(leaseSeq), value: 4 }),
    );
    expect(reply).toMatchObject({ ok: false, code: 'VERSION_MISMATCH' });
  });

  it('is no break of ours when it was for another reason', async () => {
    const { authority } = loopback.http;
    const { leaseSeq } = await makeAll(authority);
    const request = { name: 'held', reason: 'ours', lease_seq: leaseSeq };
    const reply = await overtaken('lease.break', request, () =>
      authority.call('lease.break', { ...request, reason: 'theirs' }),
    );
    expect(reply).toMatchObject({ ok: false, code: 'LEASE_NOT_FOUND' });
  });
});

describe('a grant whose reply was lost and which the server took back', () => {
  it('is asked for again under a new token', async () => {
    const { http, transport } = loopback;
    http.fate = () => (http.sent.length === 1 ? 'reply lost' : 'answered');
    const call = transport.call('lease.acquire', { name: 'n', holder: 'h', ttl_ms: 60_000 });
    await world.settle();
    const { token } = JSON.parse(http.sent[0]!.request.body!);
    await world.finish(http.authority.call('lease.release', { name: 'n', holder: 'h', token }));
    await world.advance(100);
    const reply = await world.finish(call);
    expect(reply).toMatchObject({ ok: true, name: 'n' });
    expect(reply.ok && reply.token).not.toBe(token);
    expect(http.sent).toHaveLength(3);
  });

  it('has had no effect, even if it cannot be asked for again', async () => {
    const { http, transport } = loopback;
    http.fate = () => (['reply lost', 'answered'] as const)[http.sent.length - 1] ?? 'refused';
    const call = transport.call('lease.acquire', { name: 'n', holder: 'h', ttl_ms: 60_000 });
    call.catch(() => undefined);
    await world.settle();
    const { token } = JSON.parse(http.sent[0]!.request.body!);
    await world.finish(http.authority.call('lease.release', { name: 'n', holder: 'h', token }));
    await world.advance(20_000);
    expect(http.sent.length).toBeGreaterThan(2);
    await expect(world.finish(call)).rejects.toMatchObject({ code: 'UNREACHABLE', effect: 'none' });
  });

  it('stays refused under a token that the caller chose', async () => {
    const { http, transport } = loopback;
    http.fate = () => (http.sent.length === 1 ? 'reply lost' : 'answered');
    const call = transport.call('lease.acquire', { name: 'n', holder: 'h', ttl_ms: 60_000, token: TOKEN });
    await world.settle();
    await world.finish(http.authority.call('lease.release', { name: 'n', holder: 'h', token: TOKEN }));
    await world.advance(100);
    expect(await world.finish(call)).toMatchObject({ ok: false, code: 'LEASE_NOT_HELD' });
  });
});

describe('an id that the caller gave', () => {
  it('is kept, and the answer to a second try says that it repeats an earlier one', async () => {
    const { http, transport } = loopback;
    http.fate = () => (http.sent.length === 1 ? 'reply lost' : 'answered');
    const call = transport.call('task.create', { task_id: 'mine', payload: 1 });
    await world.advance(100);
    expect(await world.finish(call)).toMatchObject({ ok: true, task_id: 'mine', duplicate: true });
  });
});

describe('a look that fails', () => {
  it('leaves the effect unknown', async () => {
    const { http, transport } = loopback;
    const { taskId } = await makeAll(http.authority);
    http.fate = (_, operations) => {
      if (http.sent.length === 1) return 'reply lost';
      return operations.includes('task.get') ? 'refused' : 'answered';
    };
    const call = transport.call('task.kill', { task_id: taskId, reason: 'ours' });
    call.catch(() => undefined);
    await world.advance(20_000);
    await expect(world.finish(call)).rejects.toMatchObject({ code: 'UNREACHABLE', effect: 'unknown' });
  });
});
