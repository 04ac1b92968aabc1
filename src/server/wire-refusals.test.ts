// Every refusal of every operation, produced over a real socket. The table below does not compile until each code that
// the table of operations lists has its case; that nothing else is ever answered is checked with every single answer.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DamagedDisk } from '../../test/support/damaged-disk.ts';
import {
  type Body,
  type CallAnswer,
  type Served,
  startServed,
  stopAllServed,
} from '../../test/support/served.ts';
import { diskError, TestDisk } from '../../test/support/test-disk.ts';
import { expectProblem, observed, type SessionOperation } from '../../test/support/wire-contract.ts';
import type { RefusalCode } from '../core/refusals.ts';
import { fileEngine } from '../engines/file/file-engine.ts';
import { MemoryDisk } from '../engines/memory/memory-disk.ts';
import { memoryEngine } from '../engines/memory/memory-engine.ts';
import { OPERATION_NAMES, type Operation, operationOf, type RefusalsOf } from '../operations/table.ts';
import { LIMITS } from '../protocol/limits.ts';

const TOKENS = [
  { token: 'token-of-a-writer', scopes: ['v1:write'] },
  { token: 'token-of-an-admin', scopes: ['v1:admin'] },
  { token: 'token-of-all-scopes', scopes: ['*'] },
];
const SECRET = 'a-lease-token-of-16-bytes';
const KIB = 1024;

let served: Served;
/** One with tokens, one whose disk is full, and one that cannot read the payloads of a task and a schedule. */
let guarded: Served;
let full: Served;
let damaged: Served;
/** A task that is leased there. */
let fullLease: object;
let names = 0;

beforeAll(async () => {
  served = await startServed();
  guarded = await startServed({ tokens: TOKENS });
  damaged = await servedDamaged();
});
afterAll(stopAllServed);

const fresh = (): string => `name-${++names}`;

async function servedDamaged(): Promise<Served> {
  const disk = new DamagedDisk();
  const before = await startServed({ engine: disk.engine() });
  await before.done('task.create', { task_id: 'damaged', payload: 'of the task' });
  await before.done('task.kill', { task_id: 'damaged', reason: 'no' });
  await before.done('schedule.put', { ...SCHEDULE, name: 'damaged', payload: 'of the schedule' });
  await before.stop();
  for (const payload of ['of the task', 'of the schedule']) disk.damage(payload);
  return startServed({ engine: disk.engine() });
}

/** A task with a lease on it, on a queue of its own. */
async function leased(fields: object = {}): Promise<{ task_id: string; lease_id: string }> {
  const { queue } = { queue: fresh(), ...fields };
  await served.done('task.create', { payload: 1, queue, ...fields });
  const { leases } = await served.done('task.lease', { worker_id: 'w', queues: [queue], ttl_ms: 60_000 });
  return { task_id: leases[0].task_id, lease_id: leases[0].lease_id };
}

/** The id of a task that has ended. */
async function killed(): Promise<string> {
  const { task_id } = await leased();
  await served.done('task.kill', { task_id, reason: 'no' });
  return task_id;
}

async function acquired(fields: object = {}): Promise<Body> {
  return served.done('lease.acquire', {
    name: fresh(),
    holder: 'h',
    ttl_ms: 600_000,
    token: SECRET,
    ...fields,
  });
}

const NO_SESSION = { session_id: 's0000000000v' };
const NO_GUARD = { name: 'n', holder: 'h', token: SECRET };
const NO_TASK = { task_id: 'no-such-task', lease_id: 'l00000000001' };

/** Writes that fail, each for its own reason, as the fields of an object and its lease. */
const WRITES = {
  WRITE_UNFENCED: async () => ({ object_id: (await acquired()).name, lease: { holder_id: 'h' } }),
  LEASE_OBJECT_MISMATCH: async () => {
    const { name, lease_seq } = await acquired();
    return { object_id: name, lease: { lease_seq, object_id: 'another' } };
  },
  WRITE_STALE_FENCE: async () => {
    const { name, lease_seq } = await acquired();
    await served.done('lease.break', { name, reason: 'stuck' });
    await acquired({ name, token: `${SECRET}!` });
    return { object_id: name, lease: { lease_seq } };
  },
  WRITE_UNKNOWN_FENCE: async () => {
    const { name, lease_seq } = await acquired();
    return { object_id: name, lease: { lease_seq: lease_seq + 1_000_000 } };
  },
  LEASE_HOLDER_MISMATCH: async () => {
    const { name, lease_seq } = await acquired();
    return { object_id: name, lease: { lease_seq, holder_id: 'another holder' } };
  },
  LEASE_EXPIRED: async () => {
    const { name, lease_seq } = await acquired();
    await served.done('lease.break', { name, reason: 'stuck' });
    return { object_id: name, lease: { lease_seq } };
  },
};

/** The cases of fenced writes, for an operation that makes one. */
const writes = (call: (write: object) => Promise<CallAnswer>) =>
  Object.fromEntries(
    Object.entries(WRITES).map(([code, write]) => [code, async () => call(await write())]),
  ) as Record<keyof typeof WRITES, () => Promise<CallAnswer>>;

/** Another verb on a lease that its own holder has ended. */
async function ended(): Promise<{ task_id: string; lease_id: string }> {
  const lease = await leased();
  await served.done('task.release', lease);
  return lease;
}

const notLeased = (call: (lease: object) => Promise<CallAnswer>) => ({
  TASK_NOT_FOUND: () => call(NO_TASK),
  LEASE_UNKNOWN: async () => call({ ...(await leased()), lease_id: 'l00000000001' }),
  GUARD_NOT_HELD: async () => {
    const intent = { type: 'live', serviceRef: fresh(), profileID: 'p' };
    const { session_id } = await served.done('intent.accept', intent);
    return call({ task_id: session_id, lease_id: 'l00000000001' });
  },
});

const forbidden = (operation: Operation, fields: object) => () =>
  guarded.call(operation, fields, { token: 'token-of-an-admin' });

const SCHEDULE = { name: 'schedule', every_ms: 86_400_000, queue: 'q', payload: 1 };

/** What is refused for a schedule that is not there, and on a full disk. */
const onSchedule = (operation: Operation) => ({
  SCHEDULE_NOT_FOUND: () => served.call(operation, { name: 'no-such-schedule' }),
  DISK_FULL: () => full.call(operation, { name: 'schedule' }),
});

const CASES: {
  readonly [Op in Exclude<Operation, SessionOperation>]: Record<RefusalsOf<Op>, () => Promise<CallAnswer>>;
} = {
  'task.create': {
    TASK_ID_CONFLICT: async () => {
      const task_id = fresh();
      await served.done('task.create', { task_id, payload: 1 });
      return served.call('task.create', { task_id, payload: 2 });
    },
    FORBIDDEN: forbidden('task.create', { payload: 1, queue: 'system:q' }),
    DISK_FULL: () => full.call('task.create', { payload: 1 }),
  },
  'task.lease': {
    FORBIDDEN: forbidden('task.lease', { worker_id: 'w', queues: ['system:q'] }),
    GUARD_NOT_HELD: () => served.call('task.lease', { worker_id: 'w', queues: ['system:session-starts'] }),
    DISK_FULL: () => full.call('task.lease', { worker_id: 'w' }),
  },
  'task.extend': {
    ...notLeased((lease) => served.call('task.extend', { ...lease, ttl_ms: 1_000 })),
    LEASE_NOT_CURRENT: async () => served.call('task.extend', { ...(await ended()), ttl_ms: 1_000 }),
    LEASE_EXPIRED: async () => {
      const lease = await leased();
      served.advance(60_000);
      return served.call('task.extend', { ...lease, ttl_ms: 1_000 });
    },
  },
  'task.complete': {
    ...notLeased((lease) => served.call('task.complete', lease)),
    LEASE_NOT_CURRENT: async () => served.call('task.complete', await ended()),
    ...writes(async (write) => {
      const good = await acquired();
      const lease = { lease_seq: good.lease_seq };
      const all = [
        { object_id: good.name, value: 1, lease },
        { value: 2, ...write },
      ];
      const task = await leased();
      const answer = await served.call('task.complete', { ...task, writes: all });
      // All or nothing: the first write has not happened, and the task is still leased.
      expect(answer.body.index).toBe(1);
      expect((await served.call('object.get', { object_id: good.name })).status).toBe(404);
      expect((await served.done('task.get', { task_id: task.task_id })).state).toBe('LEASED');
      return answer;
    }),
    DISK_FULL: () => full.call('task.complete', NO_TASK),
  },
  'task.fail': {
    ...notLeased((lease) => served.call('task.fail', { ...lease, reason: 'no' })),
    LEASE_NOT_CURRENT: async () => served.call('task.fail', { ...(await ended()), reason: 'no' }),
  },
  'task.release': {
    ...notLeased((lease) => served.call('task.release', lease)),
    LEASE_NOT_CURRENT: async () => {
      const lease = await leased();
      await served.done('task.complete', lease);
      return served.call('task.release', lease);
    },
  },
  'task.checkpoint': {
    FORBIDDEN: async () =>
      served.call('task.checkpoint', { ...(await leased({ queue: 'system:q' })), value: 1 }),
    TASK_NOT_FOUND: () => served.call('task.checkpoint', { ...NO_TASK, value: 1 }),
    LEASE_UNKNOWN: async () =>
      served.call('task.checkpoint', { ...(await leased()), lease_id: 'l00000000001', value: 1 }),
    LEASE_NOT_CURRENT: async () => served.call('task.checkpoint', { ...(await ended()), value: 1 }),
    LEASE_EXPIRED: async () => {
      const lease = await leased();
      served.advance(60_000);
      return served.call('task.checkpoint', { ...lease, value: 1 });
    },
    DISK_FULL: () => full.call('task.checkpoint', { ...fullLease, value: 1 }),
  },
  'task.cancel': {
    FORBIDDEN: async () => {
      const { task_id } = await served.done('task.create', { payload: 1, queue: 'system:q' });
      return served.call('task.cancel', { task_id, reason: 'no' });
    },
    TASK_NOT_FOUND: () => served.call('task.cancel', { task_id: 'no-such-task', reason: 'no' }),
    TASK_TERMINAL: async () => {
      const lease = await leased();
      await served.done('task.complete', lease);
      return served.call('task.cancel', { task_id: lease.task_id, reason: 'no' });
    },
  },
  'task.change': {
    FORBIDDEN: async () => {
      const { task_id } = await served.done('task.create', { payload: 1, queue: fresh() });
      return served.call('task.change', { task_id, queue: 'system:q' });
    },
    TASK_NOT_FOUND: () => served.call('task.change', { task_id: 'no-such-task', priority: 1 }),
    TASK_ID_CONFLICT: async () => {
      const [queue, other] = [fresh(), fresh()];
      await served.done('task.create', { payload: 1, queue: other, dedup_key: 'one' });
      const { task_id } = await served.done('task.create', { payload: 1, queue, dedup_key: 'one' });
      return served.call('task.change', { task_id, queue: other });
    },
    TASK_NOT_WAITING: async () =>
      served.call('task.change', { task_id: (await leased()).task_id, priority: 1 }),
  },
  'task.kill': {
    TASK_NOT_FOUND: () => served.call('task.kill', { task_id: 'no-such-task', reason: 'no' }),
    TASK_TERMINAL: async () => {
      const lease = await leased();
      await served.done('task.complete', lease);
      return served.call('task.kill', { task_id: lease.task_id, reason: 'no' });
    },
  },
  'task.requeue': {
    TASK_NOT_FOUND: () => served.call('task.requeue', { task_id: 'no-such-task' }),
    TASK_NOT_ENDED: async () => served.call('task.requeue', { task_id: (await leased()).task_id }),
    TASK_ID_CONFLICT: async () => {
      const task_id = await killed();
      return served.call('task.requeue', { task_id, task_id_new: task_id });
    },
    PAYLOAD_DAMAGED: () => damaged.call('task.requeue', { task_id: 'damaged' }),
    FORBIDDEN: async () => served.call('task.requeue', { task_id: await killed(), queue: 'system:q' }),
    DISK_FULL: () => full.call('task.requeue', { task_id: 'ended' }),
  },
  'task.bulk': {
    FORBIDDEN: () =>
      served.call('task.bulk', {
        action: 'change',
        filter: { queue: 'q' },
        reason: 'no',
        set: { queue: 'system:q' },
      }),
    DISK_FULL: () => full.call('task.bulk', { action: 'requeue', filter: { state: 'DEAD' }, reason: 'no' }),
  },
  'task.get': { TASK_NOT_FOUND: () => served.call('task.get', { task_id: 'no-such-task' }) },
  'task.list': {},
  'task.history': { TASK_NOT_FOUND: () => served.call('task.history', { task_id: 'no-such-task' }) },
  'task.why': { TASK_NOT_FOUND: () => served.call('task.why', { task_id: 'no-such-task' }) },
  'worker.heartbeat': {},
  'worker.list': {},
  'queue.list': {},
  'queue.figures': {},
  'queue.limit': {
    FORBIDDEN: () => served.call('queue.limit', { queue: 'system:q', max_leased: 1 }),
    DISK_FULL: () => full.call('queue.limit', { queue: 'q', max_leased: 1 }),
  },
  'queue.pause': {},
  'queue.resume': {},
  'schedule.put': {
    FORBIDDEN: () => served.call('schedule.put', { ...SCHEDULE, queue: 'system:session-starts' }),
    DISK_FULL: () => full.call('schedule.put', SCHEDULE),
  },
  'schedule.get': { SCHEDULE_NOT_FOUND: () => served.call('schedule.get', { name: fresh() }) },
  'schedule.list': {},
  'schedule.delete': onSchedule('schedule.delete'),
  'schedule.pause': onSchedule('schedule.pause'),
  'schedule.resume': onSchedule('schedule.resume'),
  'schedule.fire': {
    ...onSchedule('schedule.fire'),
    TASK_ID_CONFLICT: async () => {
      const name = fresh();
      const { seq } = await served.done('schedule.put', { ...SCHEDULE, name });
      await served.done('task.create', { task_id: `${name}!${seq + 2}`, payload: 1 });
      return served.call('schedule.fire', { name });
    },
    PAYLOAD_DAMAGED: () => damaged.call('schedule.fire', { name: 'damaged' }),
  },
  'lease.acquire': {
    FORBIDDEN: () =>
      guarded.call(
        'lease.acquire',
        { name: 'n', holder: 'h', ttl_ms: 1_000, supersedes: 1 },
        { token: 'token-of-a-writer' },
      ),
    LEASE_NOT_FOUND: () =>
      served.call('lease.acquire', { name: fresh(), holder: 'h', ttl_ms: 1_000, supersedes: 1 }),
    LEASE_NOT_CURRENT: async () => {
      const { name, lease_seq } = await acquired();
      return served.call('lease.acquire', { name, holder: 'o', ttl_ms: 1_000, supersedes: lease_seq - 1 });
    },
    LEASE_HELD: async () => {
      const { name } = await acquired();
      const answer = await served.call('lease.acquire', { name, holder: 'other', ttl_ms: 1_000 });
      expect(answer.body).toMatchObject({ holder: 'h', remaining_ms: expect.any(Number) });
      expect(answer.text).not.toContain(SECRET);
      return answer;
    },
    LEASE_NOT_HELD: async () => {
      const { name } = await acquired();
      await served.done('lease.release', { name, holder: 'h', token: SECRET });
      return served.call('lease.acquire', { name, holder: 'h', ttl_ms: 1_000, token: SECRET });
    },
    DISK_FULL: () => full.call('lease.acquire', { name: 'n', holder: 'h', ttl_ms: 1_000 }),
  },
  'lease.acquire_all': {
    FORBIDDEN: () =>
      guarded.call(
        'lease.acquire_all',
        { names: ['n', 'system:orchestrator:n'], holder: 'h', ttl_ms: 1_000 },
        { token: 'token-of-a-writer' },
      ),
    LEASE_HELD: async () => {
      const { name } = await acquired();
      const free = fresh();
      const answer = await served.call('lease.acquire_all', {
        names: [free, name],
        holder: 'other',
        ttl_ms: 1_000,
      });
      expect(answer.body).toMatchObject({ holder: 'h', name, remaining_ms: expect.any(Number) });
      expect((await served.call('lease.get', { name: free })).status).toBe(404);
      return answer;
    },
    LEASE_NOT_HELD: async () => {
      const { name } = await acquired();
      await served.done('lease.release', { name, holder: 'h', token: SECRET });
      return served.call('lease.acquire_all', { names: [name], holder: 'h', ttl_ms: 1_000, token: SECRET });
    },
    DISK_FULL: () => full.call('lease.acquire_all', { names: ['n'], holder: 'h', ttl_ms: 1_000 }),
  },
  'lease.renew': {
    LEASE_EXPIRED: async () => {
      const { name } = await acquired({ ttl_ms: 1_000 });
      served.advance(1_000);
      return served.call('lease.renew', { name, holder: 'h', token: SECRET, ttl_ms: 1_000 });
    },
    LEASE_NOT_HELD: async () => {
      const { name } = await acquired();
      return served.call('lease.renew', { name, holder: 'h', token: `${SECRET}!`, ttl_ms: 1_000 });
    },
  },
  'lease.release': {},
  'lease.break': {
    LEASE_NOT_FOUND: () => served.call('lease.break', { name: fresh(), reason: 'stuck' }),
    LEASE_NOT_CURRENT: async () => {
      const { name, lease_seq } = await acquired();
      return served.call('lease.break', { name, reason: 'stuck', lease_seq: lease_seq - 1 });
    },
  },
  'lease.wipe': {
    GUARD_NOT_HELD: async () => {
      const { name } = await acquired();
      const guard = { name: 'system:orchestrator:guard_lock', holder: 'h', token: SECRET };
      const answer = await served.call('lease.wipe', { prefix: '', guard });
      expect((await served.call('lease.get', { name })).status).toBe(200);
      return answer;
    },
  },
  'lease.get': { LEASE_NOT_FOUND: () => served.call('lease.get', { name: fresh() }) },
  'lease.list': {},
  'lease.waiters': {},
  'lease.ask': { LEASE_NOT_FOUND: () => served.call('lease.ask', { name: fresh(), reason: 'please' }) },
  'lease.history': { LEASE_NOT_FOUND: () => served.call('lease.history', { name: fresh() }) },
  'object.write': {
    ...writes((write) => served.call('object.write', { value: 1, ...write })),
    VERSION_MISMATCH: async () => {
      const { name, lease_seq } = await acquired();
      return served.call('object.write', { object_id: name, value: 1, lease: { lease_seq }, if_version: 1 });
    },
    DISK_FULL: async () => {
      const { lease_seq } = await full.done('lease.get', { name: 'held' });
      return full.call('object.write', { object_id: 'held', value: 1, lease: { lease_seq } });
    },
  },
  'object.get': { OBJECT_NOT_FOUND: () => served.call('object.get', { object_id: fresh() }) },
  'object.delete': {
    ...writes((write) => served.call('object.delete', write)),
    VERSION_MISMATCH: async () => {
      const { name, lease_seq } = await acquired();
      const write = { object_id: name, lease: { lease_seq } };
      await served.done('object.write', { ...write, value: 1 });
      return served.call('object.delete', { ...write, if_version: 2 });
    },
    OBJECT_NOT_FOUND: async () => {
      const { name, lease_seq } = await acquired();
      return served.call('object.delete', { object_id: name, lease: { lease_seq } });
    },
  },
  'receipt.list': {},
  'status.get': {},
  'object.list': {},
  'overview.get': {},
  'whoami.get': {},
};

type Case = readonly [operation: Operation, code: RefusalCode, run: () => Promise<CallAnswer>];
const ALL: readonly Case[] = (Object.keys(CASES) as (keyof typeof CASES)[]).flatMap((operation) =>
  (Object.entries(CASES[operation]) as [RefusalCode, () => Promise<CallAnswer>][]).map(
    ([code, run]) => [operation, code, run] as const,
  ),
);
const NAMES = OPERATION_NAMES.map((name) => [name, operationOf(name)] as const);
/** Whatever becomes of the authority, a server knows its tokens. */
const ASKING = NAMES.filter(([name]) => name !== 'whoami.get');
const VERDICTS: readonly Operation[] = ['task.complete', 'task.fail', 'task.release'];

describe('a refusal', () => {
  it.each(ALL.filter(([, code]) => code !== 'DISK_FULL'))('of %s is %s', async (operation, code, run) => {
    const { body } = await run();
    expect(body.code).toBe(code);
    const isVerdict =
      VERDICTS.includes(operation) && ['TASK_NOT_FOUND', 'LEASE_UNKNOWN', 'LEASE_NOT_CURRENT'].includes(code);
    expect(body.outcome).toBe(isVerdict ? 'REJECTED' : undefined);
    expect(served.troubles).toEqual([]);
  });

  it('changes nothing: the same call is refused again, and the log does not grow', async () => {
    const { name } = await acquired();
    const { seq } = await served.done('status.get');
    for (let times = 0; times < 3; times++) {
      await served.call('lease.acquire', { name, holder: 'other', ttl_ms: 1_000 });
      await served.call('object.write', { object_id: name, value: 1 });
      await served.call('task.complete', NO_TASK);
    }
    expect((await served.done('status.get')).seq).toBe(seq);
  });
});

describe('what every operation can be refused for', () => {
  it.each(NAMES)('%s: a field that it does not know', async (operation) => {
    const { body } = await served.call(operation, { ...PLACES, no_such_field: 1 });
    expect([body.code, body.detail]).toEqual(['INVALID_ARGUMENT', expect.stringMatching(/./)]);
  });

  it.each(NAMES.filter(([, { method }]) => method !== 'GET'))(
    '%s: a body that is too large, or no JSON',
    async (_, { method, path }) => {
      const place = path.replaceAll(/\{\w+\}/g, 'x');
      const large = await served.send(method, place, { body: ' '.repeat(LIMITS.bodyBytes + 1) });
      expect(expectProblem(large, place).code).toBe('PAYLOAD_TOO_LARGE');
      const text = await served.send(method, place, {
        body: 'x=1',
        headers: { 'content-type': 'text/plain' },
      });
      expect(expectProblem(text, place).code).toBe('UNSUPPORTED_MEDIA_TYPE');
    },
  );
});

/** Fields that stand in paths; whatever is asked for by them is not there. */
const PLACES = { task_id: 'x', name: 'x', object_id: 'x', worker_id: 'x', queue: 'x', session_id: 'x' };

/** A request of each operation that gets past the checks. */
const REQUESTS: Record<Operation, object> = {
  'task.create': { payload: 1 },
  'task.lease': { worker_id: 'w' },
  'task.extend': { ...NO_TASK, ttl_ms: 1_000 },
  'task.complete': NO_TASK,
  'task.fail': { ...NO_TASK, reason: 'no' },
  'task.release': NO_TASK,
  'task.checkpoint': { ...NO_TASK, value: 1 },
  'task.cancel': { task_id: 'x', reason: 'no' },
  'task.change': { task_id: 'x', priority: 1 },
  'task.kill': { task_id: 'x', reason: 'no' },
  'task.requeue': { task_id: 'x' },
  'task.bulk': { action: 'purge', filter: { queue: 'x' }, reason: 'no' },
  'task.get': { task_id: 'x' },
  'task.list': {},
  'task.history': { task_id: 'x' },
  'task.why': { task_id: 'x' },
  'worker.heartbeat': { worker_id: 'w' },
  'worker.list': {},
  'queue.figures': { queue: 'q' },
  'queue.list': {},
  'queue.limit': { queue: 'q' },
  'queue.pause': { queue: 'q' },
  'queue.resume': { queue: 'q' },
  'schedule.put': SCHEDULE,
  'schedule.get': { name: 'x' },
  'schedule.list': {},
  'schedule.delete': { name: 'x' },
  'schedule.pause': { name: 'x' },
  'schedule.resume': { name: 'x' },
  'schedule.fire': { name: 'x' },
  'lease.acquire': { name: 'n', holder: 'h', ttl_ms: 1_000 },
  'lease.acquire_all': { names: ['n'], holder: 'h', ttl_ms: 1_000 },
  'lease.renew': { name: 'n', holder: 'h', token: SECRET, ttl_ms: 1_000 },
  'lease.release': { name: 'n', holder: 'h', token: SECRET },
  'lease.break': { name: 'n', reason: 'stuck' },
  'lease.wipe': { prefix: '', guard: NO_GUARD },
  'lease.get': { name: 'n' },
  'lease.list': {},
  'lease.waiters': { name: 'n' },
  'lease.ask': { name: 'n', reason: 'please' },
  'lease.history': { name: 'n' },
  'object.write': { object_id: 'o', value: 1 },
  'object.get': { object_id: 'o' },
  'object.delete': { object_id: 'o' },
  'receipt.list': {},
  'status.get': {},
  'object.list': {},
  'overview.get': {},
  'whoami.get': {},
  'intent.accept': { type: 'live', serviceRef: 'x', profileID: 'low' },
  'session.get': NO_SESSION,
  'session.list': {},
  'session.heartbeat': NO_SESSION,
  'session.stop': NO_SESSION,
  'session.start': { ...NO_SESSION, guard: NO_GUARD, lease_id: 'x', slots: ['0'], ttl_ms: 1_000 },
  'session.change': { ...NO_SESSION, guard: NO_GUARD, event: 'ready' },
  'session.renew': { guard: NO_GUARD, session_ids: [], ttl_ms: 1_000 },
};

describe('a server whose disk fails', () => {
  it('answers everything with UNAVAILABLE, is alive and not ready, and tells its keeper once', async () => {
    const disk = new TestDisk();
    const deaths: Error[] = [];
    const engine = fileEngine({ dir: '/data', files: disk, segmentBytes: 64 * KIB });
    const dying = await startServed({ engine, onDeath: (fault) => void deaths.push(fault) });
    await dying.done('task.create', { payload: 1 });
    disk.gate = ({ name }) => {
      if (name === 'write') throw diskError('EIO');
    };
    for (const [operation] of ASKING) {
      const { status, body } = await dying.call(operation, REQUESTS[operation]);
      expect([operation, status, body.code]).toEqual([operation, 503, 'UNAVAILABLE']);
    }
    const batch = await dying.send('POST', '/v1/batch', {
      body: { ops: [{ op: 'task.create', payload: 1 }] },
    });
    expect(JSON.parse(batch.text).results).toMatchObject([{ status: 503, body: { code: 'UNAVAILABLE' } }]);
    expect((await dying.send('GET', '/healthz')).status).toBe(200);
    expect(expectProblem(await dying.send('GET', '/readyz')).code).toBe('UNAVAILABLE');
    expect((await dying.send('GET', '/metrics')).status).toBe(200);
    expect(deaths).toHaveLength(1);
  });
});

describe('a server whose disk is full', () => {
  let fullDisk: TestDisk;

  beforeAll(async () => {
    const disk = new TestDisk();
    fullDisk = disk;
    const sizes = { segmentBytes: 8 * KIB, batchBytesMax: 1 * KIB, operationBytesMax: 1 * KIB };
    full = await startServed({ engine: fileEngine({ dir: '/data', files: disk, ...sizes }) });
    await full.done('lease.acquire', { name: 'held', holder: 'h', ttl_ms: 600_000, token: SECRET });
    await full.done('task.create', { task_id: 'ended', payload: 1 });
    await full.done('task.kill', { task_id: 'ended', reason: 'no' });
    await full.done('task.create', { payload: 1, queue: 'leased' });
    const request = { worker_id: 'w', queues: ['leased'], ttl_ms: 600_000 };
    const [{ task_id, lease_id }] = (await full.done('task.lease', request)).leases;
    fullLease = { task_id, lease_id };
    disk.capacityBytes = disk.paths().reduce((sum, path) => sum + disk.contentOf(path).length, 0);
    const create = () => full.call('task.create', { payload: 'x'.repeat(500) });
    for (let tries = 0; tries < 1_000 && (await create()).status !== 507; tries++);
  });

  it.each(ALL.filter(([operation, code]) => code === 'DISK_FULL' && operation !== 'task.complete'))(
    'refuses %s with %s',
    async (_, code, run) => {
      const { status, body } = await run();
      expect([status, body.code]).toEqual([507, code]);
    },
  );

  it('still renews and releases, reads and says that it is full', async () => {
    const held = { name: 'held', holder: 'h', token: SECRET };
    await full.done('lease.renew', { ...held, ttl_ms: 700_000 });
    expect((await full.call('task.complete', NO_TASK)).body.code).toBe('TASK_NOT_FOUND');
    expect((await full.done('status.get')).disk_full).toBe(true);
    expect((await full.done('worker.heartbeat', { worker_id: 'w' })).lost).toEqual([]);
    expect((await full.send('GET', '/readyz')).status).toBe(200);
  });

  it('tells who has lost a lease, or asks for what is held, what it would tell at any other time', async () => {
    const write = (lease?: object) => full.call('object.write', { object_id: 'held', value: 1, lease });
    expect((await write()).body.code).toBe('WRITE_UNFENCED');
    expect((await write({ lease_seq: 1 })).body.code).toBe('WRITE_STALE_FENCE');
    expect((await full.done('receipt.list')).receipts).toHaveLength(2);
    const other = { holder: 'other', ttl_ms: 1_000 };
    const held = { code: 'LEASE_HELD', holder: 'h' };
    const over = { ...fullLease, lease_id: 'l00000000001', value: 1 };
    expect((await full.call('task.checkpoint', over)).body.code).toBe('LEASE_UNKNOWN');
    expect((await full.call('lease.acquire', { name: 'held', ...other })).body).toMatchObject(held);
    expect((await full.call('lease.acquire_all', { names: ['n', 'held'], ...other })).body).toMatchObject(
      held,
    );
  });

  it('refuses who would wait for what is held: it could not be granted either', async () => {
    const request = { name: 'held', holder: 'other', ttl_ms: 1_000, wait_ms: 60_000 };
    expect((await full.call('lease.acquire', request)).body.code).toBe('DISK_FULL');
  });

  it('refuses every change with DISK_FULL once the reserve is used up as well', async () => {
    let ttl = 700_000;
    const renew = () => full.call('lease.renew', { name: 'held', holder: 'h', token: SECRET, ttl_ms: ++ttl });
    for (let tries = 0; tries < 20_000 && (await renew()).status !== 507; tries++);
    for (const [operation, { method }] of ASKING) {
      const { body } = await full.call(operation, REQUESTS[operation]);
      const isRead = method === 'GET' || operation === 'lease.ask';
      expect([operation, body.code]).toEqual([operation, isRead ? 'UNAVAILABLE' : 'DISK_FULL']);
    }
    expect(expectProblem(await full.send('GET', '/readyz'))).toMatchObject({
      status: 503,
      code: 'UNAVAILABLE',
    });
  });

  it('is ready again once there is room, without any other call', async () => {
    fullDisk.capacityBytes = Number.POSITIVE_INFINITY;
    await full.until(async () => (await full.send('GET', '/readyz')).status === 200);
  });
});

describe('a server that is overloaded', () => {
  it('answers OVERLOADED with Retry-After, while renewals, heartbeats and releases are still decided', async () => {
    const disk = new MemoryDisk();
    const busy = await startServed({ engine: memoryEngine(disk) });
    await busy.done('lease.acquire', { name: 'n', holder: 'h', ttl_ms: 600_000, token: SECRET });
    let letGo = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    disk.sync = () => held;
    const first = busy.call('task.create', { payload: 1 });
    const ops = Array.from({ length: LIMITS.batchOps }, () => ({ op: 'task.create', payload: 1 }));
    const body = JSON.stringify({ ops });
    // More than the queue holds: the last of them find no room and say so.
    const batches = Array.from({ length: 22 }, () => busy.send('POST', '/v1/batch', { body }));
    await busy.until(() => busy.authority.waiting >= 100_000);
    for (const [operation] of ASKING.filter(([name]) => !URGENT.includes(name))) {
      const { status, body: problem } = await busy.call(operation, REQUESTS[operation]);
      expect([operation, status, problem.code]).toEqual([operation, 503, 'OVERLOADED']);
    }
    const path = '/api/v3/sessions/s0000000001n/events';
    expect(expectProblem(await busy.send('GET', path), path).code).toBe('OVERLOADED');
    expect(busy.troubles).toEqual([]);
    const urgent = URGENT.map((operation) => busy.call(operation, REQUESTS[operation]));
    disk.sync = () => Promise.resolve();
    letGo();
    for (const { body: problem } of await Promise.all(urgent)) expect(problem.code).not.toBe('OVERLOADED');
    const results = (await Promise.all(batches)).flatMap(({ text }) => JSON.parse(text).results as Body[]);
    expect(new Set(results.map(({ status }) => status))).toEqual(new Set([201, 503]));
    expect((await first).status).toBe(201);
    expect((await busy.call('status.get')).status).toBe(200);
  });
});

const URGENT: readonly Operation[] = [
  'task.extend',
  'worker.heartbeat',
  'lease.renew',
  'lease.release',
  'task.release',
  'task.complete',
  'task.fail',
  'session.stop',
  'session.heartbeat',
  'session.change',
  'session.renew',
];

describe('all in all', () => {
  it('every refusal that the table lists has been answered', () => {
    const listed = Object.entries(CASES).flatMap(([operation, cases]) =>
      Object.keys(cases).map((code) => `${operation} ${code}`),
    );
    expect(listed.filter((each) => !observed.has(each))).toEqual([]);
  });
});
