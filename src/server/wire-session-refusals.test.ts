// Every refusal of the operations on intents and sessions, over a real socket, each with the log as long afterwards as it
// was before. The table does not compile until each code that the table of operations lists has its case.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CallAnswer, type Served, startServed, stopAllServed } from '../../test/support/served.ts';
import { GUARD, LIVE, SessionStage } from '../../test/support/session-stage.ts';
import { TestDisk } from '../../test/support/test-disk.ts';
import { expectProblem, type SessionOperation } from '../../test/support/wire-contract.ts';
import type { RefusalCode } from '../core/refusals.ts';
import { fileEngine } from '../engines/file/file-engine.ts';
import { PAGES } from '../operations/pages.ts';
import { type AnyOperation, OPERATIONS } from '../operations/table.ts';

const KIB = 1024;
const UNKNOWN_SESSION = 's0000000000v';
const STALE_GUARD = { ...GUARD, token: 'a-token-that-is-not-the-guards' };
const TOKENS = ['v1:admin', 'v3:read', 'v3:write', '*'].map((scope) => ({
  token: `token-with-the-scope-${scope}`,
  scopes: [scope],
}));

let served: Served;
let stage: SessionStage;
/** One whose intents take their leases, and one whose disk is full. */
let leasing: Served;
let full: Served;
let services = 0;

beforeAll(async () => {
  served = await startServed();
  leasing = await startServed({ intents: { takeLeases: true } });
  stage = new SessionStage(served);
  await stage.takeGuard();
});
afterAll(stopAllServed);

const fresh = (): object => ({ serviceRef: `service ${++services}` });

/** A session that is NEW, and the lease on its start task. */
async function taken(fields: object = fresh()): Promise<{ sessionId: string; leaseId: string }> {
  const sessionId = await stage.accept(fields);
  const task = (await stage.startTasks()).find(({ task_id }) => task_id === sessionId)!;
  return { sessionId, leaseId: task.lease_id };
}

/** Its slot is free again at once, so that there is one for the next. */
async function ended(): Promise<string> {
  const { sessionId } = await taken();
  await stage.change(sessionId, 'start_failed', { detail: 'no such profile' });
  return sessionId;
}

type Case = () => Promise<CallAnswer | (() => Promise<CallAnswer>)>;

/** What comes first in a case is prepared; the call that it gives back is the one that is refused. */
const CASES: {
  readonly [Op in SessionOperation]: Record<(typeof OPERATIONS)[Op]['refusals'][number], Case>;
} = {
  'intent.accept': {
    LEASE_HELD: async () => {
      await leasing.done('intent.accept', LIVE);
      return () => leasing.call('intent.accept', LIVE);
    },
    DISK_FULL: async () => full.call('intent.accept', { ...LIVE, ...fresh() }),
  },
  'session.get': {
    SESSION_NOT_FOUND: () => stage.call('session.get', { session_id: UNKNOWN_SESSION }),
    SESSION_TERMINAL: async () => {
      const session_id = await ended();
      return () => stage.call('session.get', { session_id });
    },
  },
  'session.list': {},
  'session.heartbeat': {
    SESSION_NOT_FOUND: () => stage.call('session.heartbeat', { session_id: UNKNOWN_SESSION }),
    SESSION_TERMINAL: async () => {
      const session_id = await ended();
      return () => stage.call('session.heartbeat', { session_id });
    },
  },
  'session.stop': {
    SESSION_NOT_FOUND: () => stage.call('session.stop', { session_id: UNKNOWN_SESSION }),
    SESSION_TERMINAL: async () => {
      const session_id = await ended();
      return () => stage.call('session.stop', { session_id });
    },
  },
  'session.start': {
    GUARD_NOT_HELD: async () => {
      const { sessionId, leaseId } = await taken();
      return () => stage.start(sessionId, leaseId, { guard: STALE_GUARD });
    },
    SESSION_NOT_FOUND: () => stage.start(UNKNOWN_SESSION, 'l00000000001'),
    LEASE_UNKNOWN: async () => {
      const { sessionId } = await taken();
      return () => stage.start(sessionId, 'l00000000001');
    },
    LEASE_NOT_CURRENT: async () => {
      const { sessionId, leaseId } = await taken();
      await stage.done('lease.wipe', { prefix: 'lease:', guard: GUARD });
      return () => stage.start(sessionId, leaseId);
    },
    LEASE_HELD: async () => {
      const fields = fresh();
      const leaving = await stage.starting(fields);
      await stage.done('session.stop', { session_id: leaving });
      const { sessionId, leaseId } = await taken(fields);
      return async () => {
        const answer = await stage.start(sessionId, leaseId, { patient: true });
        expect(answer.body).toMatchObject({ session_id: leaving, holder: leaving });
        expect(answer.headers['retry-after']).toMatch(/^[1-9]\d*$/);
        return answer;
      };
    },
    LEASE_NOT_HELD: async () => {
      const name = 'lease:tuner:used';
      const token = 'a-token-that-was-used-before';
      const { sessionId, leaseId } = await taken();
      await stage.done('lease.acquire', { name, holder: 'h', ttl_ms: 60_000, token });
      await stage.done('lease.release', { name, holder: 'h', token });
      return () => stage.start(sessionId, leaseId, { slots: ['used'], token });
    },
    LEASE_EXPIRED: async () => {
      const { sessionId, leaseId } = await taken();
      served.advance(30_000);
      await stage.done('task.get', { task_id: sessionId });
      return () => stage.start(sessionId, leaseId);
    },
    SESSION_STATE_CONFLICT: async () => {
      const { sessionId, leaseId } = await taken();
      await stage.start(sessionId, leaseId, { slots: ['a slot of its own'] });
      return () => stage.start(sessionId, leaseId, { slots: ['another'] });
    },
    SESSION_TERMINAL: async () => {
      const { sessionId, leaseId } = await taken();
      await stage.done('session.stop', { session_id: sessionId });
      return () => stage.start(sessionId, leaseId);
    },
    DISK_FULL: async () =>
      full.call('session.start', {
        session_id: UNKNOWN_SESSION,
        guard: GUARD,
        lease_id: 'x',
        slots: [],
        ttl_ms: 1_000,
      }),
  },
  'session.change': {
    GUARD_NOT_HELD: async () => {
      const { sessionId } = await taken();
      return () => stage.change(sessionId, 'start_failed', { guard: STALE_GUARD });
    },
    SESSION_NOT_FOUND: () => stage.change(UNKNOWN_SESSION, 'ready'),
    SESSION_STATE_CONFLICT: async () => {
      const { sessionId } = await taken();
      return () => stage.change(sessionId, 'ready');
    },
    SESSION_TERMINAL: async () => {
      const sessionId = await ended();
      return () => stage.change(sessionId, 'stopped');
    },
  },
  'session.renew': {
    GUARD_NOT_HELD: () => stage.call('session.renew', { guard: STALE_GUARD, session_ids: [], ttl_ms: 1_000 }),
  },
};

const ALL = Object.entries(CASES).flatMap(([operation, cases]) =>
  Object.entries(cases as Record<string, Case>).map(
    ([code, prepare]) => [operation, code as RefusalCode, prepare] as const,
  ),
);

const seqs = (): number[] => [served, leasing].map(({ authority }) => authority.log.position.lastSeq);

describe('a refusal', () => {
  it.each(ALL.filter(([, code]) => code !== 'DISK_FULL'))(
    'of %s is %s, and leaves nothing behind',
    async (_, code, prepare) => {
      let before = seqs();
      let answer = await prepare();
      if (typeof answer === 'function') {
        before = seqs();
        answer = await answer();
      }
      expect(answer.body.code).toBe(code);
      expect(seqs()).toEqual(before);
      expect(served.troubles).toEqual([]);
    },
  );
});

describe('a server whose disk is full', () => {
  beforeAll(async () => {
    const disk = new TestDisk();
    const sizes = { segmentBytes: 8 * KIB, batchBytesMax: 1 * KIB, operationBytesMax: 1 * KIB };
    full = await startServed({ engine: fileEngine({ dir: '/data', files: disk, ...sizes }) });
    await full.done('intent.accept', LIVE);
    disk.capacityBytes = disk.paths().reduce((sum, path) => sum + disk.contentOf(path).length, 0);
    const create = () => full.call('task.create', { payload: 'x'.repeat(500) });
    for (let tries = 0; tries < 1_000 && (await create()).status !== 507; tries++);
  });

  it.each(ALL.filter(([, code]) => code === 'DISK_FULL'))('refuses %s with %s', async (_, code, run) => {
    const answer = (await run()) as CallAnswer;
    expect([answer.status, answer.body.code]).toEqual([507, code]);
  });

  it('still stops sessions', async () => {
    const { sessions } = await full.done('session.list', {});
    const { status } = await full.call('session.stop', { session_id: sessions[0].session_id });
    expect(status).toBe(202);
  });
});

describe('6. Auth Strictness', () => {
  const PLACES = Object.entries({ ...OPERATIONS, session_events: PAGES.session_events }).filter(
    ([, { path }]) => path.startsWith('/api/v3/'),
  );

  it.each(PLACES)('a caller that may not use %s leaves no trace', async (_, { method, path, scope }) => {
    const guarded = await startServed({ tokens: TOKENS });
    const all = new SessionStage(guarded, { token: 'token-with-the-scope-*' });
    await all.takeGuard();
    const sessionId = await all.ready();
    const { entries: before } = await all.done('task.history', { task_id: sessionId });
    const seq = await all.seq();
    const place = path.replace('{session_id}', sessionId);
    const body = JSON.stringify({ ...LIVE, profileID: 'low' });
    const strangers = [undefined, 'a-token-that-was-not-given', 'token-with-the-scope-v1:admin'];
    if (scope !== 'v3:read') strangers.push('token-with-the-scope-v3:read');
    if (scope === 'v3:admin') strangers.push('token-with-the-scope-v3:write');
    for (const token of strangers) {
      const sent = { ...(method === 'GET' ? {} : { body }), ...(token === undefined ? {} : { token }) };
      const answer = await guarded.send(method, place, sent);
      const isKnown = token?.startsWith('token-with') ?? false;
      expect(expectProblem(answer, place)).toMatchObject(
        isKnown ? { status: 403, code: 'FORBIDDEN' } : { status: 401, code: 'UNAUTHENTICATED' },
      );
    }
    expect(await all.seq()).toBe(seq);
    expect((await all.done('task.history', { task_id: sessionId })).entries).toEqual(before);
    expect((await all.done('session.get', { session_id: sessionId })).last_heartbeat_at).toBeUndefined();
  });

  it('lists exactly the scopes that the contract names', () => {
    const scopes = Object.fromEntries(
      PLACES.map(([name, { scope }]) => [name, (scope as AnyOperation['scope']).slice(3)]),
    );
    expect(scopes).toEqual({
      'intent.accept': 'write',
      'session.get': 'read',
      'session.list': 'admin',
      'session.heartbeat': 'read',
      'session.stop': 'write',
      'session.start': 'admin',
      'session.change': 'admin',
      'session.renew': 'admin',
      session_events: 'read',
    });
  });
});
