/** Intents and sessions by the rules: seeds 000 and 004 as far as they are about the state and not about processes. */
import { describe, expect, it } from 'vitest';
import {
  acceptIntent,
  acquireGuard,
  acquireNames,
  breakName,
  type CommandBuilder,
  changeSession,
  completeTask,
  createTask,
  extendLease,
  failTask,
  heartbeat,
  heartbeatSession,
  killTask,
  leaseStarts,
  leaseTasks,
  newestSession,
  releaseName,
  releaseTask,
  renewName,
  renewSessions,
  startSession,
  stopSession,
  TTL_MS,
  tokenHashOf,
  wipeNames,
} from '../../../test/support/commands.ts';
import {
  at,
  by,
  given,
  later,
  restart,
  restore,
  START_MS,
  type Step,
  scenario,
} from '../../../test/support/scenario.ts';
import { sessionIdOfSeq } from '../ids.ts';
import { START_QUEUE } from '../reserved-names.ts';
import { slotClaims } from './slot-claims.ts';

const SERVICE = 'lease:service:service';
const SLOT = 'lease:tuner:0';
const GUARD = 'system:orchestrator:guard_lock';
const ACCEPTED: readonly Step[] = [acquireGuard(), acceptIntent(), leaseStarts()];
const RUNNING: readonly Step[] = [...ACCEPTED, startSession()];
const READY: readonly Step[] = [...RUNNING, changeSession({ event: 'ready' })];
/** The id of the session in these. */
const FIRST = sessionIdOfSeq(3);

/** A second session of the same service, as another profile asks for it. */
const SECOND: readonly Step[] = [acceptIntent({ profileId: 'other' }), leaseStarts()];

describe('accepting an intent', () => {
  it('puts intent, session, key and start task into one entry', () => {
    given()
      .when(acceptIntent({ key: 'k' }))
      .thenRecords('IntentAccepted')
      .thenAnswers({ sessionId: sessionIdOfSeq(2), status: 'accepted', seq: 2 })
      .thenSession({ state: 'NEW', reason: null, slot: null, leaseSeq: 0, seq: 2 })
      .thenTask(sessionIdOfSeq(2), { state: 'WAITING', queue: START_QUEUE });
  });

  it('takes no lease', () => {
    const story = given(acceptIntent());
    expect([...story.state.names.expiring.all()]).toEqual([]);
  });

  it.each(['NEW', 'STARTING', 'READY'])('gives the same intent the session that is %s', (state) => {
    const steps = { NEW: ACCEPTED, STARTING: RUNNING, READY }[state]!;
    const story = given(...steps);
    const sessionId = newestSession(story.state);
    story
      .when(acceptIntent())
      .thenAnswers({ sessionId, status: 'idempotent_replay', seq: story.session().seq })
      .thenRecordsNothing();
  });

  it.each([
    ['STOPPING', [stopSession()]],
    ['STOPPED', [stopSession(), changeSession({ event: 'stopped' })]],
  ] as const)('starts a new session once the one before is %s', (_, steps) => {
    given(...RUNNING, ...steps)
      .when(acceptIntent())
      .thenAnswers({ status: 'accepted' })
      .thenSession({ state: 'NEW' });
  });

  it('continues to return that new session when the previous one has stopped', () => {
    const story = given(...RUNNING, stopSession(), acceptIntent());
    const sessionId = newestSession(story.state);
    story
      .given(changeSession({ sessionId: FIRST, event: 'stopped' }))
      .when(acceptIntent())
      .thenAnswers({ sessionId, status: 'idempotent_replay' });
  });

  it('finds a session under the secret before this one, and never writes with it', () => {
    const story = given(acceptIntent({ key: 'old' }));
    const sessionId = newestSession(story.state);
    story
      .when(acceptIntent({ key: 'new', previousKey: 'old' }))
      .thenAnswers({ sessionId, status: 'idempotent_replay' })
      .thenRecordsNothing()
      .when(acceptIntent({ target: 'another', key: 'new of another', previousKey: 'old of another' }))
      .thenRecordsEntry({ type: 'IntentAccepted', key: 'new of another' });
  });

  it('keeps sessions and keys over a restart', () => {
    const story = given(acceptIntent(), restart());
    const sessionId = newestSession(story.state);
    story.when(acceptIntent()).thenAnswers({ sessionId, status: 'idempotent_replay' });
  });

  it('with the service lease: takes it for the session, and answers LEASE_HELD with the session in the way', () => {
    const serviceLease = { tokenHash: tokenHashOf('api'), ttlMs: 30_000 };
    const story = given()
      .when(acceptIntent({ serviceLease }))
      .thenRecords('IntentAccepted', 'NameLeased')
      .thenAnswers({ status: 'accepted', seq: 3 })
      .thenName(SERVICE, { holder: sessionIdOfSeq(2), leaseSeq: 3, expiresAtMs: START_MS + 30_000 });
    story
      .when(acceptIntent({ serviceLease }))
      .thenRefuses('LEASE_HELD', { sessionId: sessionIdOfSeq(2), remainingMs: 30_000 })
      .when(acceptIntent({ serviceLease, profileId: 'other' }))
      .thenRefuses('LEASE_HELD', { sessionId: sessionIdOfSeq(2) });
  });

  it('with the service lease: gives the session again once that lease has run out', () => {
    const serviceLease = { tokenHash: tokenHashOf('api'), ttlMs: 30_000 };
    given(acceptIntent({ serviceLease }), at(START_MS + 30_000))
      .when(acceptIntent({ serviceLease }))
      .thenAnswers({ sessionId: sessionIdOfSeq(2), status: 'idempotent_replay' })
      .thenSession({ state: 'NEW' });
  });

  it('with the service lease: does not pass a line of others', () => {
    const serviceLease = { tokenHash: tokenHashOf('api'), ttlMs: 30_000 };
    given(
      acquireNames({ names: ['other'], holder: 'x', token: 'x' }),
      by('waiting', acquireNames({ names: [SERVICE, 'other'], holder: 'y', token: 'y', waitMs: 9_000 })),
    )
      .when(acceptIntent({ serviceLease }))
      .thenRefuses('LEASE_HELD', { holder: 'y' });
  });
});

describe('the start task', () => {
  it('is handed out to the live guard alone', () => {
    given(acceptIntent())
      .when(leaseTasks({ queues: [START_QUEUE] }))
      .thenRefuses('GUARD_NOT_HELD')
      .when(leaseStarts())
      .thenRefuses('GUARD_NOT_HELD')
      .when(acquireGuard())
      .when(leaseStarts({ token: 'guessed' }))
      .thenRefuses('GUARD_NOT_HELD')
      .when(leaseStarts())
      .thenLeases(sessionIdOfSeq(2));
  });

  it('is not leased to a caller whose guard ended while it waited', () => {
    given(acquireGuard(), by('waiting', leaseStarts({ waitMs: 2 * TTL_MS })), at(START_MS + TTL_MS))
      .when(acceptIntent())
      .thenServes('waiting', { refused: 'GUARD_NOT_HELD' })
      .thenTask(sessionIdOfSeq(4), { state: 'WAITING', attempt: 0 });
  });

  it('is leased once, though other waits timed out while the waiters were checked', () => {
    const bounds = {
      expiries: 1,
      wakes: 1,
      fedQueues: 256,
      leasedBytes: 1_000_000,
      firings: 1,
      firedBytes: 1,
    };
    const story = scenario({ bounds }).given(
      acquireGuard(),
      renewName({ name: GUARD, ttlMs: 9 * TTL_MS }),
      ...['a', 'b', 'c', 'd'].map((name) => acquireNames({ names: [name], token: name })),
      by('waiting', leaseStarts({ max: 1, waitMs: 9 * TTL_MS })),
    );
    story.moveTo(START_MS + TTL_MS);
    story.runTogether([
      [acceptIntent({ target: 'one' }), ''],
      [acceptIntent({ target: 'two' }), ''],
    ]);
    story.thenServes('waiting', { leases: [{ attempt: 1 }] });
  });

  it('cannot be made by hand, nor its id be taken', () => {
    given(acceptIntent())
      .when(createTask({ queue: START_QUEUE }))
      .thenRefuses('FORBIDDEN')
      .when(createTask({ taskId: sessionIdOfSeq(2) }))
      .thenRefuses('TASK_ID_CONFLICT')
      .when(createTask({ taskId: sessionIdOfSeq(99) }))
      .thenRefuses('INVALID_ARGUMENT');
  });

  it('is done once the session starts, and starts nothing a second time', () => {
    given(...ACCEPTED)
      .when(startSession())
      .thenRecords('NameLeased', 'SessionChanged', 'TaskCompleted')
      .thenTask(sessionIdOfSeq(3), { state: 'COMPLETED' })
      .when(leaseStarts())
      .thenLeases();
  });

  it('comes again when the orchestrator died between lease and start, and then starts once', () => {
    given(...ACCEPTED, restart(), at(START_MS + TTL_MS), acquireGuard({ holder: 'next', token: 'next' }))
      .when(leaseStarts({ holder: 'next', token: 'next' }))
      .thenLeases(sessionIdOfSeq(3))
      .when(startSession({ holder: 'next', token: 'next' }))
      .thenSession({ state: 'STARTING' });
  });

  it('takes its session with it when it is killed', () => {
    given(...ACCEPTED)
      .when(killTask({ taskId: sessionIdOfSeq(3), reason: 'by hand' }))
      .thenSession({ state: 'FAILED', reason: 'R_PIPELINE_START_FAILED', reasonDetail: 'by hand' });
  });

  it.each<[string, (taskId: string) => CommandBuilder]>([
    ['complete', (taskId) => completeTask({ taskId })],
    ['fail', (taskId) => failTask({ taskId, retry: false })],
    ['release', (taskId) => releaseTask({ taskId, delayMs: 3_600_000 })],
    ['extend', (taskId) => extendLease({ taskId, ttlMs: 9 * TTL_MS })],
  ])(
    'is not ended by who was given it: %s is refused, while the guard is live and when it is not',
    (_, command) => {
      const taskId = sessionIdOfSeq(3);
      given(...ACCEPTED)
        .when(command(taskId))
        .thenRefuses('GUARD_NOT_HELD')
        .thenRecords()
        .when(releaseName({ name: GUARD }))
        .when(command(taskId))
        .thenRefuses('GUARD_NOT_HELD')
        .thenRecords()
        .thenSession({ state: 'NEW', reason: null })
        .thenTask(taskId, { state: 'LEASED', attempt: 1 });
    },
  );

  it('is not renewed by a heartbeat either', () => {
    const taskId = sessionIdOfSeq(3);
    given(...ACCEPTED)
      .when(heartbeat({ leases: [{ taskId }] }))
      .thenAnswers({ extended: [], lost: [{ taskId }] })
      .thenRecords();
  });

  it('is released when the reply to its caller was not delivered', () => {
    const taskId = sessionIdOfSeq(3);
    given(...ACCEPTED)
      .when(releaseTask({ taskId, isUndelivered: true }))
      .thenTask(taskId, { state: 'WAITING' });
  });

  it('dies with a session that is given up before it began', () => {
    given(acceptIntent())
      .when(stopSession())
      .thenRecords('SessionChanged', 'TaskDead')
      .thenTask(sessionIdOfSeq(2), { state: 'DEAD', reason: 'R_CANCELLED' });
  });
});

describe('starting a session', () => {
  it('takes the service and the first free slot, both owned by the session, with one fencing number', () => {
    const story = given(...ACCEPTED)
      .when(startSession())
      .thenAnswers({ duplicate: false, lease: { remainingMs: TTL_MS } })
      .thenSession({ state: 'STARTING', slot: '0', leaseSeq: 5 });
    const holder = newestSession(story.state);
    story.thenName(SERVICE, { holder, leaseSeq: 5 }).thenName(SLOT, { holder, leaseSeq: 5 });
  });

  it('fails with R_LEASE_BUSY when another session runs this service', () => {
    given(...RUNNING, ...SECOND)
      .when(startSession())
      .thenRecords('SessionChanged', 'TaskCompleted')
      .thenAnswers({ lease: null })
      .thenSession({ state: 'FAILED', reason: 'R_LEASE_BUSY', reasonDetail: 'REJECTED_BUSY' });
  });

  it('holds a recording by its position, so that another position and a service of the same name are free', () => {
    const film = (startMs: number): readonly Step[] => [
      acceptIntent({ type: 'vod', target: 'service', startMs }),
      leaseStarts(),
    ];
    const slots = ['0', '1', '2'];
    const story = given(...RUNNING, ...film(61_999), startSession({ slots }), ...film(62_000))
      .when(startSession({ slots }))
      .thenSession({ state: 'STARTING', slot: '2' });
    story.thenName('lease:vod:service:61', { end: 'live' }).thenName('lease:vod:service:62', { end: 'live' });
  });

  it('fails with R_LEASE_BUSY when another profile runs this second of the recording', () => {
    const film = { type: 'vod', target: 'film', startMs: 61_999 } as const;
    const other = acceptIntent({ ...film, startMs: 61_000, profileId: 'other' });
    given(acquireGuard(), acceptIntent(film), leaseStarts(), startSession(), other, leaseStarts())
      .when(startSession())
      .thenSession({ state: 'FAILED', reason: 'R_LEASE_BUSY' });
  });

  it('fails with R_NO_TUNER when no slot is free, and keeps nothing', () => {
    const story = given(...RUNNING, acceptIntent({ target: 'other' }), leaseStarts())
      .when(startSession({ slots: ['0'] }))
      .thenSession({ state: 'FAILED', reason: 'R_NO_TUNER', reasonDetail: 'REJECTED_NO_TUNER' });
    expect(story.state.names.find('lease:service:other')).toBe(0);
  });

  it('takes the next slot when the first is held', () => {
    given(...RUNNING, acceptIntent({ target: 'other' }), leaseStarts())
      .when(startSession())
      .thenSession({ state: 'STARTING', slot: '1' });
  });

  it('gives the same answer to the same start, and nothing to another one', () => {
    given(...RUNNING)
      .when(startSession())
      .thenAnswers({ duplicate: true, lease: { remainingMs: TTL_MS } })
      .thenRecordsNothing()
      .when(startSession({ startToken: 'another' }))
      .thenRefuses('SESSION_STATE_CONFLICT');
  });

  it('continues with the service lease that the intent took itself', () => {
    const serviceLease = { tokenHash: tokenHashOf('api'), ttlMs: 30_000 };
    given(acquireGuard(), acceptIntent({ serviceLease }), leaseStarts())
      .when(startSession())
      .thenSession({ state: 'STARTING', slot: '0', leaseSeq: 6 });
  });

  it('waits for a STOPPING session when it is patient, and fails when it is not', () => {
    given(...RUNNING, stopSession(), ...SECOND)
      .when(startSession({ isPatient: true }))
      .thenRefuses('LEASE_HELD', { holder: sessionIdOfSeq(3) })
      .thenSession({ state: 'NEW' })
      .when(startSession())
      .thenSession({ state: 'FAILED', reason: 'R_LEASE_BUSY' });
  });

  it('does not wait for a session that runs on, however patient', () => {
    given(...RUNNING, ...SECOND)
      .when(startSession({ isPatient: true }))
      .thenSession({ state: 'FAILED', reason: 'R_LEASE_BUSY' });
  });

  it('needs the current lease on the start task', () => {
    given(...ACCEPTED)
      .when(startSession({ taskLeaseSeq: 1 }))
      .thenRefuses('LEASE_UNKNOWN');
    given(acquireGuard(), acceptIntent(), leaseStarts({ ttlMs: 10 }), later(10))
      .when(startSession())
      .thenRefuses('LEASE_EXPIRED');
    const handedOutAgain = given(...ACCEPTED, wipeNames({ prefix: 'lease:' }), leaseStarts());
    handedOutAgain
      .when(startSession({ taskLeaseSeq: 4 }))
      .thenRefuses('LEASE_NOT_CURRENT')
      .thenSession({ state: 'NEW' });
  });

  it('knows only sessions that there are', () => {
    given(acquireGuard())
      .when(startSession({ sessionId: sessionIdOfSeq(1) }))
      .thenRefuses('SESSION_NOT_FOUND')
      .when(stopSession('nonsense'))
      .thenRefuses('SESSION_NOT_FOUND');
  });

  it('does not pass a line of others for a slot', () => {
    given(
      ...ACCEPTED,
      acquireNames({ names: ['other'], holder: 'x', token: 'x' }),
      by('waiting', acquireNames({ names: [SLOT, 'other'], holder: 'y', token: 'y', waitMs: 9_000 })),
    )
      .when(startSession())
      .thenSession({ slot: '1' });
  });
});

describe('changes to a session', () => {
  const CHANGES: readonly (readonly [
    string,
    (given: { holder?: string; token?: string }) => CommandBuilder,
  ])[] = [
    ['starting', (proof) => startSession(proof)],
    ['changing', (proof) => changeSession({ ...proof, event: 'ready' })],
    ['renewing', (proof) => renewSessions(proof)],
  ];

  it.each(CHANGES)('%s needs the live guard: GUARD_NOT_HELD otherwise, and nothing changes', (_, command) => {
    given(...RUNNING, ...SECOND)
      .when(command({ token: 'guessed' }))
      .thenRefuses('GUARD_NOT_HELD')
      .when(command({ holder: 'somebody' }))
      .thenRefuses('GUARD_NOT_HELD');
  });

  it.each(CHANGES)('%s is refused to a deposed orchestrator that wakes up late', (_, command) => {
    given(...ACCEPTED, releaseName({ name: GUARD }), acquireGuard({ holder: 'next', token: 'next' }))
      .when(command({}))
      .thenRefuses('GUARD_NOT_HELD');
  });

  it.each(CHANGES)('%s is refused from the millisecond the guard ends', (_, command) => {
    given(...ACCEPTED)
      .when(command({}), { atMs: START_MS + TTL_MS })
      .thenRefuses('GUARD_NOT_HELD');
  });

  it('needs a guard of the right name', () => {
    given(...RUNNING, acquireNames({ names: ['system:other'], holder: 'holder', token: 'token' }))
      .when((state) => {
        const command = changeSession()(state);
        return { ...command, guard: { ...command.guard, name: 'system:other' } };
      })
      .thenRefuses('GUARD_NOT_HELD');
  });
});

describe('a session that loses a lease', () => {
  it.each([
    ['expired', [renewName({ name: GUARD, ttlMs: 9 * TTL_MS })], at(START_MS + TTL_MS)],
    ['released', [], releaseName({ name: SLOT, holder: FIRST, token: `token of ${FIRST}` })],
    ['broken', [], breakName({ name: SLOT })],
    ['wiped', [], wipeNames({ prefix: 'lease:' })],
    ['wiped', [], wipeNames({ prefix: SLOT })],
  ] as const)('ends in the same batch: %s', (cause, before, step) => {
    const story = given(...READY, ...before)
      .when(step)
      .thenSession({ state: 'FAILED', reason: 'R_LEASE_EXPIRED', reasonDetail: cause });
    for (const name of [SERVICE, SLOT]) expect(story.name(name).end, name).not.toBe('live');
  });

  it('ends when a lease is acquired again under its holder name', () => {
    const story = given(...READY);
    story
      .when(acquireNames({ names: [SLOT], holder: newestSession(story.state), token: 'stolen' }))
      .thenSession({ state: 'FAILED', reason: 'R_LEASE_EXPIRED', reasonDetail: 'superseded' })
      .thenName(SERVICE, { end: 'released' })
      // It was answered as granted, so it is.
      .thenName(SLOT, { end: 'live' });
  });

  it('ends as it was going to when it was STOPPING', () => {
    given(...READY, stopSession())
      .when(breakName({ name: SERVICE }))
      .thenRecords('NameBroken', 'SessionChanged')
      .thenSession({ state: 'STOPPED', reason: 'R_CLIENT_STOP' });
  });

  it('ends with a restored log, and those that are NEW stay', () => {
    const story = given(...READY, acceptIntent({ target: 'other' }), leaseStarts());
    const waiting = newestSession(story.state);
    story
      .given(restore())
      .thenSession(
        { state: 'FAILED', reason: 'R_LEASE_EXPIRED', reasonDetail: 'restored' },
        sessionIdOfSeq(3),
      )
      .thenSession({ state: 'NEW' }, waiting)
      .thenTask(waiting, { state: 'WAITING' });
  });

  it('ends while no orchestrator lives, and over a restart', () => {
    given(...READY, restart({ downMs: TTL_MS }))
      .when(heartbeatSession())
      .thenRefuses('SESSION_TERMINAL', {
        state: 'FAILED',
        reason: 'R_LEASE_EXPIRED',
        reasonDetail: 'expired',
      });
  });
});

describe('the end of a session', () => {
  it('ends its leases in the same entry', () => {
    given(...READY)
      .when(changeSession({ event: 'process_ended', detail: 'exit 3' }))
      .thenRecords('SessionChanged')
      .thenSession({ state: 'FAILED', reason: 'R_PROCESS_ENDED', reasonDetail: 'exit 3' })
      .thenName(SERVICE, { end: 'released' })
      .thenName(SLOT, { end: 'released' });
  });

  it('serves those who wait for its names', () => {
    given(
      ...READY,
      by('waiting', acquireNames({ names: [SLOT], holder: 'y', token: 'y', waitMs: 9_000 })),
      stopSession(),
    )
      .when(changeSession({ event: 'stopped' }))
      .thenServes('waiting', { leases: [{ name: SLOT }] });
  });

  it('gives back the service lease that an intent took and no pipeline used', () => {
    const serviceLease = { tokenHash: tokenHashOf('api'), ttlMs: 30_000 };
    given(acceptIntent({ serviceLease })).when(stopSession()).thenName(SERVICE, { end: 'released' });
  });

  it.each([
    ['a client stops it', [], stopSession(), 'CANCELLED'],
    ['the service is busy', [leaseStarts()], startSession(), 'FAILED'],
  ] as const)(
    'takes nothing from others that it never had, when %s before it began',
    (_, before, command, state) => {
      given(...READY, acceptIntent({ profileId: 'other' }), ...before)
        .when(command)
        .thenSession({ state })
        .thenSession({ state: 'READY' }, sessionIdOfSeq(3))
        .thenName(SERVICE, { holder: sessionIdOfSeq(3), end: 'live' });
    },
  );

  it('leaves the slot to the next one', () => {
    given(...READY, stopSession(), changeSession({ event: 'stopped' }), ...SECOND)
      .when(startSession({ slots: ['0'] }))
      .thenSession({ state: 'STARTING', slot: '0' });
  });

  it('is forgotten after a day, and the id is unknown then', () => {
    const story = scenario({ retention: { endedSessionsMs: 1_000, endedTasksMs: 1_000 } });
    story.given(acceptIntent(), stopSession());
    const sessionId = newestSession(story.state);
    story.when(heartbeatSession(sessionId)).thenRefuses('SESSION_TERMINAL');
    story.given(later(1_000)).when(heartbeatSession(sessionId)).thenRefuses('SESSION_NOT_FOUND');
    expect(story.state.sessions.ended.size).toBe(0);
  });

  it('is forgotten earlier when there are too many', () => {
    const story = scenario({ retention: { endedSessionsMax: 1 } });
    story.given(acceptIntent(), stopSession(), acceptIntent(), stopSession());
    expect(story.machine.nextDueMs()).toBe(0);
    story.given(later(1));
    expect([...story.state.sessions.ended.keys()]).toEqual([5]);
  });
});

describe('wiping', () => {
  it.each(['lease:', 'l', ''])(
    'hands every start task back at once, without counting an attempt, by the prefix "%s"',
    (prefix) => {
      given(...ACCEPTED)
        .when(wipeNames({ prefix }))
        .thenRecords('NamesWiped', 'TaskReleased')
        .thenTask(FIRST, { state: 'WAITING', countedAttempts: 0 })
        .when(leaseStarts())
        .thenLeases(FIRST);
    },
  );

  it('leaves start tasks alone when it is about other names', () => {
    given(...ACCEPTED)
      .when(wipeNames({ prefix: 'jobs:' }))
      .thenRecords('NamesWiped');
  });

  it('finds a start task back already whose lease has run out, noticed or not', () => {
    given(acquireGuard(), acceptIntent(), leaseStarts({ ttlMs: 10 }))
      .when(wipeNames({ prefix: '' }), { atMs: START_MS + 10 })
      .thenRecords('LeaseExpired', 'NamesWiped')
      .thenTask(FIRST, { state: 'WAITING', countedAttempts: 1 });
  });
});

describe('renewing sessions', () => {
  it('renews the leases of each together, and reports which are lost', () => {
    const story = given(...RUNNING);
    const sessionId = newestSession(story.state);
    const unknown = sessionIdOfSeq(999);
    story
      .when(renewSessions({ sessionIds: [sessionId, unknown], ttlMs: 2 * TTL_MS }))
      .thenRecords('NameRenewed', 'NameRenewed')
      .thenAnswers({
        renewed: [{ sessionId, state: 'STARTING', remainingMs: 2 * TTL_MS }],
        lost: [{ sessionId: unknown, state: null, reason: null }],
      })
      .when(stopSession())
      .when(renewSessions())
      .thenAnswers({ renewed: [{ sessionId, state: 'STOPPING' }] })
      .when(changeSession({ event: 'stopped' }))
      .when(renewSessions())
      .thenAnswers({ renewed: [], lost: [{ sessionId, state: 'STOPPED', reason: 'R_CLIENT_STOP' }] });
  });

  it('reports the remaining time of the one that ends first', () => {
    const token = `token of ${FIRST}`;
    given(...RUNNING, renewName({ name: SERVICE, holder: FIRST, token, ttlMs: 9 * TTL_MS }))
      .when(renewSessions({ ttlMs: 2 * TTL_MS }))
      .thenRecordsEntry({ type: 'NameRenewed', name: SLOT })
      .thenAnswers({ renewed: [{ remainingMs: 2 * TTL_MS }] });
  });

  it('never shortens, and writes nothing then', () => {
    given(...RUNNING)
      .when(renewSessions({ ttlMs: 10 }))
      .thenRecordsNothing();
  });

  it('never resurrects', () => {
    given(...RUNNING, renewName({ name: GUARD, ttlMs: 9 * TTL_MS }))
      .when(renewSessions(), { atMs: START_MS + TTL_MS })
      .thenAnswers({ renewed: [], lost: [{ state: 'FAILED', reason: 'R_LEASE_EXPIRED' }] });
  });
});

describe('taking over from the dead', () => {
  const held = (story: ReturnType<typeof given>): number => story.name(GUARD).leaseSeq;

  it('replaces one certain grant, in one change', () => {
    const story = given(acquireGuard());
    story
      .when(acquireNames({ names: [GUARD], holder: 'next', token: 'next', supersedes: held(story) }))
      .thenRecords('NameBroken', 'NameLeased')
      .thenAnswers({ seq: 4, leases: [{ holder: 'next', leaseSeq: 4 }] })
      .thenName(GUARD, { holder: 'next', leaseSeq: 4 });
  });

  it('gives the number that the grant has, though a session ends with the one before', () => {
    const story = given(...RUNNING);
    const { leaseSeq } = story.name('lease:tuner:0');
    story
      .when(acquireNames({ names: ['lease:tuner:0'], holder: 'x', token: 'x', supersedes: leaseSeq }))
      .thenRecords('NameBroken', 'SessionChanged', 'NameLeased');
    const { leaseSeq: now } = story.name('lease:tuner:0');
    story.thenAnswers({ seq: now, leases: [{ holder: 'x', leaseSeq: now }] });
  });

  it('is won by one of two racing callers', () => {
    const story = given(acquireGuard());
    const supersedes = held(story);
    story
      .given(acquireNames({ names: [GUARD], holder: 'first', token: 'first', supersedes }))
      .when(acquireNames({ names: [GUARD], holder: 'second', token: 'second', supersedes }))
      .thenRefuses('LEASE_NOT_CURRENT');
  });

  it('is refused when it is no longer held', () => {
    given(acquireGuard(), releaseName({ name: GUARD }))
      .when(acquireNames({ names: [GUARD], holder: 'next', token: 'next', supersedes: 2 }))
      .thenRefuses('LEASE_NOT_FOUND');
  });

  it('can be asked for twice when the answer was lost', () => {
    const story = given(acquireGuard());
    const takeOver = acquireNames({ names: [GUARD], holder: 'next', token: 'next', supersedes: held(story) });
    story.given(takeOver).when(takeOver).thenAnswers({ duplicate: true }).thenRecordsNothing();
  });
});

describe('slots in use', () => {
  it('counts those that a session claims and whose lease it owns', () => {
    const { state } = given(...RUNNING, acceptIntent({ target: 'other' }), leaseStarts(), startSession());
    expect(slotClaims(state, START_MS)).toEqual({ inUse: 2, violations: [] });
  });

  it('counts nothing for sessions that have ended or not begun', () => {
    const { state } = given(...READY, stopSession(), changeSession({ event: 'stopped' }), acceptIntent());
    expect(slotClaims(state, START_MS)).toEqual({ inUse: 0, violations: [] });
  });

  it('names a claim whose lease is not its own', () => {
    const { state } = given(...RUNNING);
    expect(slotClaims(state, START_MS + TTL_MS)).toEqual({
      inUse: 0,
      violations: [{ rule: 'lease_mismatch', sessionId: sessionIdOfSeq(3), slot: '0', leaseSeq: 5 }],
    });
  });

  it('counts a slot once that two claim, and names the second', () => {
    const story = given(...RUNNING, acceptIntent({ target: 'other' }), leaseStarts(), startSession());
    const second = { ...story.state.sessions.at(8)!, slot: '0' };
    story.state.sessions.open.set(8, second);
    const { inUse, violations } = slotClaims(story.state, START_MS);
    story.state.sessions.open.set(8, { ...second, slot: '1' });
    expect(inUse).toBe(1);
    expect(violations.map(({ rule }) => rule)).toContain('duplicate_slot_claim');
  });
});
