// Intents and sessions over a real socket, in the words of seeds 000 and 004: what is accepted and known again, what a
// session shows at every stage of its life, and that nothing which is refused leaves a trace in the log.
import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Body, type Served, startServed, stopAllServed } from '../../test/support/served.ts';
import { GUARD, LIVE, SessionStage, START_QUEUE } from '../../test/support/session-stage.ts';
import { expectProblem, type SessionOperation } from '../../test/support/wire-contract.ts';
import { MemoryDisk } from '../engines/memory/memory-disk.ts';
import { memoryEngine } from '../engines/memory/memory-engine.ts';

const SECRET = 'a secret of the operator';
const VOD = { type: 'vod', recordingID: 'rec/2026-01-05 20:15', profileID: 'high' };

let served: Served;
let stage: SessionStage;

async function serveWith(options: Parameters<typeof startServed>[0] = {}): Promise<void> {
  served = await startServed({ intents: { secret: SECRET }, ...options });
  stage = new SessionStage(served);
}

beforeEach(() => serveWith());
afterEach(stopAllServed);

const intend = (fields: object = LIVE) => stage.call('intent.accept', fields);
const read = (sessionId: string) => stage.call('session.get', { session_id: sessionId });

/** What each operation does; a new one does not compile until it stands here. */
const OPERATIONS: Record<SessionOperation, () => Promise<void>> = {
  'intent.accept': async () => {
    const { status, body, headers } = await intend();
    expect(status).toBe(202);
    expect(body).toEqual({
      session_id: expect.stringMatching(/^s[0-9a-v]{11}$/),
      status: 'accepted',
      requestId: headers['x-request-id'],
      seq: await stage.seq(),
    });
  },
  'session.get': async () => {
    const before = Date.now();
    const sessionId = await stage.accept();
    const { status, body } = await read(sessionId);
    expect(status).toBe(200);
    expect(body).toMatchObject({ ...LIVE, session_id: sessionId, state: 'NEW', reason: null });
    expect(Date.parse(body.created_at)).toBeGreaterThanOrEqual(before - 1_000);
    expect(body.updated_at).toBe(body.created_at);
    expect(body.idle_ms).toBeLessThan(10_000);
    expect(body).not.toHaveProperty('slot');
  },
  'session.list': async () => {
    await stage.takeGuard();
    const ended = await stage.ended({ serviceRef: 'a' });
    const running = await stage.ready({ serviceRef: 'b' });
    const { sessions } = await stage.done('session.list', {});
    expect(sessions.map(({ session_id, state }: Body) => [session_id, state])).toEqual([
      [running, 'READY'],
      [ended, 'FAILED'],
    ]);
  },
  'session.heartbeat': async () => {
    const sessionId = await stage.accept();
    served.advance(5_000);
    expect((await read(sessionId)).body.idle_ms).toBeGreaterThanOrEqual(5_000);
    const seq = await stage.seq();
    const body = await stage.done('session.heartbeat', { session_id: sessionId });
    expect(body.idle_ms).toBeLessThan(5_000);
    expect(Date.parse(body.last_heartbeat_at)).toBeGreaterThan(Date.parse(body.created_at));
    expect(await stage.seq()).toBe(seq);
  },
  'session.stop': async () => {
    await stage.takeGuard();
    const sessionId = await stage.ready();
    const { status, body } = await stage.call('session.stop', { session_id: sessionId });
    expect([status, body.state, body.reason]).toEqual([202, 'STOPPING', 'R_CLIENT_STOP']);
    expect((await stage.call('session.stop', { session_id: sessionId })).status).toBe(202);
  },
  'session.start': async () => {
    await stage.takeGuard();
    const sessionId = await stage.accept();
    const [task] = await stage.startTasks();
    const token = 'the-token-of-a-start';
    const { body } = await stage.start(sessionId, task!.lease_id, { token });
    expect(body).toMatchObject({ session_id: sessionId, state: 'STARTING', slot: '0', reason: null });
    expect(body.remaining_ms).toBeGreaterThan(0);
    const again = await stage.start(sessionId, task!.lease_id, { token });
    expect(again.body).toMatchObject({ state: 'STARTING', lease_seq: body.lease_seq, duplicate: true });
    expect(await stage.done('lease.get', { name: 'lease:tuner:0' })).toMatchObject({
      holder: sessionId,
      lease_seq: body.lease_seq,
    });
  },
  'session.change': async () => {
    await stage.takeGuard();
    const sessionId = await stage.starting();
    expect((await stage.change(sessionId, 'ready')).body).toMatchObject({ state: 'READY', slot: '0' });
    const { body } = await stage.change(sessionId, 'process_ended', { detail: 'SIGSEGV' });
    expect(body).toMatchObject({ state: 'FAILED', reason: 'R_PROCESS_ENDED', reason_detail: 'SIGSEGV' });
    expect(body).not.toHaveProperty('idle_ms');
  },
  'session.renew': async () => {
    await stage.takeGuard();
    const running = await stage.starting({ serviceRef: 'a' });
    const ended = await stage.ended({ serviceRef: 'b' });
    const session_ids = [running, ended, 's00000000001'];
    const body = await stage.done('session.renew', { guard: GUARD, session_ids, ttl_ms: 60_000 });
    expect(body.renewed).toMatchObject([{ session_id: running, state: 'STARTING', remaining_ms: 60_000 }]);
    expect(body.lost).toEqual([
      { session_id: ended, state: 'FAILED', reason: 'R_PROCESS_ENDED' },
      { session_id: 's00000000001', state: null, reason: null },
    ]);
  },
};

describe('over the wire', () => {
  it.each(Object.entries(OPERATIONS))('%s answers as the contract says', async (_, run) => {
    await run();
    expect(served.troubles).toEqual([]);
  });
});

describe('3.1 API Layer: Intent Only', () => {
  it('intent, session, key and start task are one entry', async () => {
    const seq = await stage.seq();
    const sessionId = await stage.accept();
    expect(await stage.seq()).toBe(seq + 1);
    const key = createHmac('sha256', SECRET).update(`v3_intent|live|${LIVE.serviceRef}|high|0`).digest('hex');
    const [entry] = (await served.send('GET', `/v1/log?from=${seq + 1}`)).text.trim().split('\n');
    expect(JSON.parse(entry!)).toMatchObject({
      type: 'IntentAccepted',
      session_id: sessionId,
      task_id: sessionId,
      idempotency_key: key,
      queue: START_QUEUE,
    });
    await stage.takeGuard();
    const [task] = await stage.startTasks();
    expect(task).toMatchObject({ task_id: sessionId, payload: LIVE });
    const { entries } = await stage.done('task.history', { task_id: sessionId });
    expect(entries.map(({ type }: Body) => type)).toEqual(['IntentAccepted', 'LeaseGranted']);
  });

  it('takes no lease', async () => {
    await stage.accept();
    expect((await stage.done('lease.list', {})).leases).toEqual([]);
  });

  const { serviceRef: _, ...noTarget } = LIVE;
  const INVALID: [what: string, fields: object][] = [
    ['no type', { serviceRef: 'x', profileID: 'p' }],
    ['an unknown type', { ...LIVE, type: 'radio' }],
    ['live without a serviceRef', noTarget],
    ['live with a recordingID', { ...LIVE, recordingID: 'r' }],
    ['live with a start', { ...LIVE, start_ms: 0 }],
    ['vod without a recordingID', { type: 'vod', profileID: 'p' }],
    ['vod with a serviceRef', { ...VOD, serviceRef: 's' }],
    ['a start before the beginning', { ...VOD, start_ms: -1 }],
    ['half a millisecond', { ...VOD, start_ms: 0.5 }],
    ['no profile', { type: 'live', serviceRef: 'x' }],
    ['a bar in the profile', { ...LIVE, profileID: 'a|b' }],
    ['an empty profile', { ...LIVE, profileID: '' }],
    ['a target of 257 bytes', { ...LIVE, serviceRef: 'x'.repeat(257) }],
    ['an unknown field', { ...LIVE, profileId: 'high' }],
  ];
  it.each(INVALID)('refuses %s, without any side effect', async (_what, fields) => {
    const seq = await stage.seq();
    const { status, body } = await intend(fields);
    expect([status, body.code]).toEqual([400, 'INVALID_ARGUMENT']);
    expect(await stage.seq()).toBe(seq);
    expect((await stage.done('session.list', {})).sessions).toEqual([]);
  });

  it('takes targets with slashes, and as long as any name', async () => {
    for (const fields of [VOD, { ...LIVE, serviceRef: 'x'.repeat(256), profileID: 'p'.repeat(256) }]) {
      const { session_id } = (await intend(fields)).body;
      expect((await read(session_id)).body).toMatchObject(fields);
    }
  });

  it('and their leases can be looked at and broken like any other', async () => {
    const name = `lease:service:${'x'.repeat(256)}`;
    await stage.done('lease.acquire', { name, holder: 'h', ttl_ms: 60_000 });
    expect(await stage.done('lease.get', { name })).toMatchObject({ name, holder: 'h' });
    expect(await stage.done('lease.break', { name, reason: 'stuck' })).toMatchObject({ name });
    const all = await stage.done('lease.acquire_all', { names: [name], holder: 'h', ttl_ms: 60_000 });
    expect(all.leases).toMatchObject([{ name }]);
    const longer = await served.send('GET', `/v1/leases/${encodeURIComponent(`${name}x`)}`);
    expect(expectProblem(longer).code).toBe('INVALID_ARGUMENT');
    for (const fields of [
      { ...LIVE, serviceRef: name },
      { ...LIVE, profileID: name },
    ]) {
      expect((await stage.call('intent.accept', fields)).status).toBe(400);
    }
  });
});

describe('3.3 Idempotency Key Design', () => {
  it('the same intent is given the same session while that is NEW, STARTING or READY', async () => {
    await stage.takeGuard();
    const sessionId = await stage.starting();
    const seq = await stage.seq();
    expect((await intend()).body).toMatchObject({ session_id: sessionId, status: 'idempotent_replay' });
    await stage.change(sessionId, 'ready');
    expect((await intend()).body).toMatchObject({ session_id: sessionId, status: 'idempotent_replay' });
    expect(await stage.seq()).toBe(seq + 1);
  });

  it.each(['STOPPING', 'STOPPED'])('and a new one once that is %s', async (state) => {
    await stage.takeGuard();
    const sessionId = await stage.ready();
    await stage.done('session.stop', { session_id: sessionId });
    if (state === 'STOPPED') await stage.change(sessionId, 'stopped');
    const { body } = await intend();
    expect(body.status).toBe('accepted');
    expect(body.session_id).not.toBe(sessionId);
  });

  it('another service, profile or kind is another intent', async () => {
    const ids = await Promise.all([
      stage.accept(),
      stage.accept({ profileID: 'low' }),
      stage.accept({ serviceRef: 'another' }),
      stage.done('intent.accept', { ...VOD, recordingID: LIVE.serviceRef }).then((body) => body.session_id),
    ]);
    expect(new Set(ids).size).toBe(4);
  });

  it('a seek to 10 s and 10.5 s share a session, 60 s is a new intent', async () => {
    const at = async (start_ms?: number): Promise<string> =>
      (await stage.done('intent.accept', { ...VOD, ...(start_ms === undefined ? {} : { start_ms }) }))
        .session_id;
    const tenth = await at(10_000);
    expect(await at(10_500)).toBe(tenth);
    expect(await at(10_999)).toBe(tenth);
    expect(await at(9_999)).not.toBe(tenth);
    expect(await at(60_000)).not.toBe(tenth);
    expect(await at()).toBe(await at(0));
    // The session goes where the first of them wanted to.
    expect((await read(tenth)).body.start_ms).toBe(10_000);
  });

  it('keys made with the previous secret still find their sessions, and only the current one makes new ones', async () => {
    const disk = new MemoryDisk();
    const restart = async (intents: object): Promise<void> => {
      await served.stop();
      await serveWith({ engine: memoryEngine(disk), intents });
    };
    await restart({ secret: 'old' });
    const sessionId = await stage.accept();
    await restart({ secret: 'new', previousSecret: 'old' });
    expect((await intend()).body).toMatchObject({ session_id: sessionId, status: 'idempotent_replay' });
    const low = await stage.accept({ profileID: 'low' });
    await restart({ secret: 'new' });
    expect(await stage.accept({ profileID: 'low' })).toBe(low);
    expect(await stage.accept()).not.toBe(sessionId);
  });

  it('without a secret one is generated, and the log of the server says so with the first intent, once', async () => {
    await serveWith({ intents: {} });
    const warnings = () => served.said.flatMap(({ level, says }) => (level === 'warn' ? [says] : []));
    expect(warnings()).toEqual([]);
    expect(await stage.accept()).toBe(await stage.accept());
    expect(warnings()).toEqual([expect.stringMatching(/^LEASEHOLD_IDEM_SECRET .*IS NOT SET/)]);
  });
});

describe('5.1 Parallel Start', () => {
  it('Phase 2: two identical intents at once are two 202 with the same session', async () => {
    const [first, second] = await Promise.all([intend(), intend()]);
    expect([first.status, second.status]).toEqual([202, 202]);
    expect(first.body.session_id).toBe(second.body.session_id);
    expect([first.body.status, second.body.status].sort()).toEqual(['accepted', 'idempotent_replay']);
    await stage.takeGuard();
    expect(await stage.startTasks()).toHaveLength(1);
  });

  it('Phase 1: with LEASEHOLD_API_LEASES they are one 202 and one 409 that names the session in the way', async () => {
    await serveWith({ intents: { secret: SECRET, takeLeases: true } });
    const answers = await Promise.all([intend(), intend()]);
    expect(answers.map(({ status }) => status).sort()).toEqual([202, 409]);
    const accepted = answers.find(({ status }) => status === 202)!;
    const refused = answers.find(({ status }) => status === 409)!;
    const { session_id } = accepted.body;
    expect(refused.body).toMatchObject({ code: 'LEASE_HELD', session_id, holder: session_id });
    expect(refused.headers['retry-after']).toBe('30');
    const name = `lease:service:${LIVE.serviceRef}`;
    expect(await stage.done('lease.get', { name })).toMatchObject({ holder: session_id });
    served.advance(30_000);
    expect((await intend()).status).toBe(202);
  });

  it('Phase 1: the session takes over the lease that its intent took', async () => {
    await serveWith({ intents: { secret: SECRET, takeLeases: true } });
    await stage.takeGuard();
    const sessionId = await stage.starting();
    expect((await intend({ ...LIVE, profileID: 'low' })).body).toMatchObject({
      code: 'LEASE_HELD',
      session_id: sessionId,
    });
  });
});

describe('5.2 Lease Busy', () => {
  it('both are accepted; the second session is told that the service is busy', async () => {
    await stage.takeGuard();
    const first = await stage.starting();
    const second = await stage.accept({ profileID: 'low' });
    expect(second).not.toBe(first);
    const [task] = await stage.startTasks();
    const { status, body } = await stage.start(second, task!.lease_id);
    expect([status, body.state, body.reason, body.reason_detail]).toEqual([
      200,
      'FAILED',
      'R_LEASE_BUSY',
      'REJECTED_BUSY',
    ]);
    expect((await read(second)).body).toMatchObject({ status: 410, reason: 'R_LEASE_BUSY' });
    expect((await read(first)).body.state).toBe('STARTING');
  });
});

describe('recordings', () => {
  const leases = async (): Promise<string[]> => {
    const { leases } = await stage.done('lease.list', { prefix: 'lease:' });
    return leases.map(({ name }: { name: string }) => name).sort();
  };
  const recording = async (recordingID: string, start_ms: number): Promise<string> => {
    const { session_id } = await stage.done('intent.accept', { ...VOD, recordingID, start_ms });
    const task = (await stage.startTasks()).find(({ task_id }) => task_id === session_id)!;
    const { body } = await stage.start(session_id, task.lease_id);
    expect(body).toMatchObject({ state: 'STARTING' });
    return session_id;
  };

  it('run beside the live service of the same name', async () => {
    await stage.takeGuard();
    await stage.starting();
    await recording(LIVE.serviceRef, 10_999);
    expect(await leases()).toEqual([
      `lease:service:${LIVE.serviceRef}`,
      'lease:tuner:0',
      'lease:tuner:1',
      `lease:vod:${LIVE.serviceRef}:10`,
    ]);
  });

  it('run at several positions at once', async () => {
    await stage.takeGuard();
    await recording('film', 10_999);
    await recording('film', 11_000);
    expect(await leases()).toEqual([
      'lease:tuner:0',
      'lease:tuner:1',
      'lease:vod:film:10',
      'lease:vod:film:11',
    ]);
  });

  it('Phase 1: with LEASEHOLD_API_LEASES the intent takes the same name', async () => {
    await serveWith({ intents: { secret: SECRET, takeLeases: true } });
    const { session_id } = (await intend({ ...VOD, recordingID: 'film', start_ms: 61_500 })).body;
    expect(await leases()).toEqual(['lease:vod:film:61']);
    expect((await intend({ ...VOD, recordingID: 'film', start_ms: 62_000 })).status).toBe(202);
    expect((await intend({ type: 'live', serviceRef: 'film', profileID: 'high' })).status).toBe(202);
    const busy = await intend({ ...VOD, recordingID: 'film', start_ms: 61_000, profileID: 'low' });
    expect(busy.body).toMatchObject({ code: 'LEASE_HELD', session_id });
  });

  it('have leases that can be looked at and broken, however long the recordingID and the start are', async () => {
    await stage.takeGuard();
    const recordingID = 'ü'.repeat(128);
    const sessionId = await recording(recordingID, Number.MAX_SAFE_INTEGER);
    const name = `lease:vod:${recordingID}:9007199254740`;
    expect(await stage.done('lease.get', { name })).toMatchObject({ holder: sessionId });
    expect(await stage.done('lease.break', { name, reason: 'stuck' })).toMatchObject({ name });
    expect((await read(sessionId)).body).toMatchObject({ status: 410, reason_detail: 'broken' });
    for (const longer of [`lease:vod:${recordingID}x:1`, `${name}0`, `lease:vod:${recordingID}x`]) {
      const answer = await served.send('GET', `/v1/leases/${encodeURIComponent(longer)}`);
      expect(expectProblem(answer).code).toBe('INVALID_ARGUMENT');
    }
  });
});

describe('4. Terminal Session 410 Gone', () => {
  const ENDS: [state: string, reason: string, end: (sessionId: string) => Promise<unknown>][] = [
    ['STOPPED', 'R_SHUTDOWN', (id) => stage.change(id, 'shutdown').then(() => stage.change(id, 'stopped'))],
    ['FAILED', 'R_PROCESS_ENDED', (id) => stage.change(id, 'process_ended', { detail: 'exit code 1' })],
    ['FAILED', 'R_LEASE_EXPIRED', async () => served.advance(15_000)],
  ];
  it.each(ENDS)('%s because of %s', async (state, reason, end) => {
    await stage.takeGuard();
    const sessionId = await stage.ready();
    await end(sessionId);
    for (const operation of ['session.get', 'session.heartbeat', 'session.stop'] as const) {
      const answer = await stage.call(operation, { session_id: sessionId });
      expect(answer.status).toBe(410);
      expect(answer.body).toMatchObject({ code: 'SESSION_TERMINAL', session_id: sessionId, state, reason });
      expect(answer.body).toHaveProperty('reason_detail');
      expect(answer.body.requestId).toBe(answer.headers['x-request-id']);
    }
    const { sessions } = await stage.done('session.list', { state });
    expect(sessions).toMatchObject([{ session_id: sessionId, state, reason }]);
  });

  it('CANCELLED because it was stopped before it began', async () => {
    const sessionId = await stage.accept();
    const { status, body } = await stage.call('session.stop', { session_id: sessionId });
    expect([status, body.state, body.reason]).toEqual([202, 'CANCELLED', 'R_CANCELLED']);
    expect((await read(sessionId)).status).toBe(410);
    expect((await stage.done('task.get', { task_id: sessionId })).state).toBe('DEAD');
  });

  it('is forgotten after a day, and then unknown', async () => {
    const sessionId = await stage.accept();
    await stage.done('session.stop', { session_id: sessionId });
    served.advance(24 * 3_600_000);
    expect((await read(sessionId)).body.code).toBe('SESSION_NOT_FOUND');
  });
});

describe('an id', () => {
  const CALLS = [
    ['GET', ''],
    ['DELETE', ''],
    ['POST', '/heartbeat'],
    ['GET', '/events'],
  ];

  it.each(['no%20id', '..%2F..', '%00', '-s', '!', 's'.repeat(129), 's%C3%BC'])(
    'that is none is malformed: %s',
    async (id) => {
      for (const [method, path] of CALLS) {
        const answer = await served.send(method!, `/api/v3/sessions/${id}${path}`);
        expect([answer.status, expectProblem(answer).code]).toEqual([400, 'INVALID_ARGUMENT']);
      }
    },
  );

  it.each([
    'x',
    's1',
    't00000000001',
    'S00000000001',
    's0000000000z',
    's0000000000v',
    '0b54ac3c-7a29-4b9e-8e5a-5a9a3f8f5c11',
  ])('that was never given out is unknown, whatever its form: %s', async (id) => {
    for (const [method, path] of CALLS) {
      const answer = await served.send(method!, `/api/v3/sessions/${id}${path}`);
      expect([answer.status, expectProblem(answer).code]).toEqual([404, 'SESSION_NOT_FOUND']);
    }
  });
});

describe('the list', () => {
  it('gives every session once, page by page, whatever ends meanwhile', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 7; n++) ids.push(await stage.accept({ serviceRef: `service ${n}` }));
    for (const n of [5, 1]) await stage.done('session.stop', { session_id: ids[n]! });
    const seen = new Map<string, string>();
    let cursor: string | undefined;
    let pages = 0;
    do {
      const page: Body = await stage.done('session.list', { limit: 2, ...(cursor ? { cursor } : {}) });
      for (const { session_id, state } of page.sessions) seen.set(session_id, state);
      cursor = page.next_cursor;
      pages += 1;
      // One that was seen and one that was not end while we look.
      if (pages === 1) {
        for (const n of [0, 6]) await stage.done('session.stop', { session_id: ids[n]! });
      }
    } while (cursor !== undefined);
    expect([...seen.keys()].sort()).toEqual([...ids].sort());
    expect(seen.get(ids[6]!)).toBe('CANCELLED');
    const open = await stage.done('session.list', { state: 'NEW' });
    expect(open.sessions.map(({ session_id }: Body) => session_id)).toEqual([ids[2], ids[3], ids[4]]);
  });

  it.each(['x', 'o', 'e-1', '5', 'o1e3'])('refuses a cursor that is none of its own: %s', async (cursor) => {
    expect((await stage.call('session.list', { cursor })).status).toBe(400);
  });
});

describe('superseding a guard', () => {
  it('takes exactly the grant that is named, in one step', async () => {
    const { lease_seq } = await stage.takeGuard();
    const next = { ...GUARD, holder: 'orchestrator-2', token: 'another-token-of-a-guard', ttl_ms: 60_000 };
    const { body } = await stage.call('lease.acquire', { ...next, supersedes: lease_seq });
    expect(body.lease_seq).toBeGreaterThan(lease_seq);
    expect((await stage.done('status.get', {})).guard_holder).toBe('orchestrator-2');
    expect((await stage.call('lease.acquire', { ...next, supersedes: lease_seq })).body).toMatchObject({
      lease_seq: body.lease_seq,
      duplicate: true,
    });
    const sessionId = await stage.accept();
    expect((await stage.change(sessionId, 'start_failed')).body.code).toBe('GUARD_NOT_HELD');
  });
});

describe('the status', () => {
  it('counts sessions by state', async () => {
    await stage.takeGuard();
    await stage.ready({ serviceRef: 'a' });
    await stage.accept({ serviceRef: 'b' });
    const { counts, guard_holder } = await stage.done('status.get', {});
    expect(counts.sessions).toMatchObject({ NEW: 1, READY: 1, FAILED: 0 });
    expect(guard_holder).toBe(GUARD.holder);
  });
});
