/** Every invariant can fail: for each a state, or a step, that breaks it and nothing named before it. */
import { describe, expect, it } from 'vitest';
import {
  acceptIntent,
  acquireGuard,
  acquireNames,
  cancelTask,
  completeTask,
  createTask,
  failTask,
  killTask,
  leaseStarts,
  leaseTasks,
  limitQueue,
  opaqueOf,
  releaseName,
  releaseTask,
  requeueTask,
  setSchedule,
  startSession,
  stopSession,
  TTL_MS,
  tokenHashOf,
  writeObject,
} from '../../test/support/commands.ts';
import { later, Scenario, START_MS, type Step } from '../../test/support/scenario.ts';
import { apply } from './apply.ts';
import { sessionIdOfSeq } from './ids.ts';
import { checkInvariants, checkStep, INVARIANTS, type InvariantId } from './invariants.ts';
import { type Limits, NO_LIMITS } from './limits.ts';
import type { KeyRow, LeaseRow, NameRow, TaskRow } from './row-types.ts';
import type { Schedule } from './schedules/schedule-table.ts';
import type { Session } from './sessions/session-table.ts';
import { createState, type State } from './state.ts';
import { type StateSummary, summaryOf } from './step-invariants.ts';

/** A story that is sound, and a hand that reaches into it. */
const FIRST_TASK = 1 as TaskRow;
const SECOND_TASK = 2 as TaskRow;
const THIRD_TASK = 3 as TaskRow;
const FIRST_LEASE = 1 as LeaseRow;
const FIRST_KEY = 1 as KeyRow;
const FIRST_NAME = 1 as NameRow;
const SECOND_NAME = 2 as NameRow;

type Damage = readonly [steps: readonly Step[], damage: (state: State) => void];

const TASK: readonly Step[] = [createTask({ dedupKey: 'key' }), leaseTasks({ requestId: 'r' })];
/** A key with one lease, one more task, and no room in its window. */
const KEYED: readonly Step[] = [
  limitQueue({ rate: { count: 1, perMs: 1_000, perKey: true } }),
  createTask({ groupKey: 'k' }),
  leaseTasks(),
  createTask({ taskId: 'other', groupKey: 'k' }),
];
const SECOND: readonly Step[] = [createTask({ taskId: 'second' })];
const NAME: readonly Step[] = [acquireNames(), writeObject()];

const NEW: readonly Step[] = [acquireGuard(), acceptIntent(), leaseStarts()];
/** A fact of another moment, so that what came before it is no longer news. */
const LATER: readonly Step[] = [later(1), createTask()];
const RUNNING: readonly Step[] = [...NEW, startSession(), ...LATER];
/** The position of the intent in these. */
const SESSION = 3;

function inSession(seq: number, change: Partial<Session>): (state: State) => void {
  return ({ sessions }) => void Object.assign(sessions.at(seq)!, change);
}

function endStartTask({ tasks }: State): void {
  const row = tasks.find(sessionIdOfSeq(SESSION)) as TaskRow;
  tasks.leave(row);
  tasks.leases.end(tasks.lease.get(row), 'killed', SESSION + 1, 0);
  tasks.endedSeq.set(row, SESSION + 1);
  tasks.endedAtMs.set(row, START_MS);
  tasks.enter(row, 'DEAD', START_MS);
}

const OF_A_STATE: Record<Exclude<InvariantId, keyof typeof OF_A_STEP | 'INV-APPLY'>, readonly Damage[]> = {
  'INV-TASK-ONE-LEASE': [
    [
      TASK,
      ({ tasks }) => {
        const older = tasks.lease.get(FIRST_TASK);
        tasks.lease.set(FIRST_TASK, tasks.leases.grant(FIRST_TASK, 3, 'w', null, 1, older));
      },
    ],
  ],
  'INV-LEASE-ONE-TASK': [
    [TASK, ({ tasks }) => tasks.leases.task.set(FIRST_LEASE, 7 as TaskRow)],
    [TASK, ({ tasks }) => tasks.leases.rows.take()],
    [
      [createTask(), leaseTasks(), releaseTask(), leaseTasks()],
      ({ tasks }) => tasks.leases.seq.set(FIRST_LEASE, 9),
    ],
    [
      [createTask(), createTask({ taskId: 'other' }), leaseTasks(), releaseTask()],
      ({ tasks }) => tasks.lease.set(SECOND_TASK, tasks.lease.get(FIRST_TASK)),
    ],
  ],
  'INV-WAITING-NO-LEASE': [
    [
      [createTask()],
      ({ tasks }) => tasks.lease.set(FIRST_TASK, tasks.leases.grant(FIRST_TASK, 2, 'w', null, 1, 0)),
    ],
  ],
  'INV-LEASED-VALID-LEASE': [
    [TASK, ({ tasks }) => tasks.leases.end(FIRST_LEASE, 'expired', 3, 0)],
    [TASK, ({ tasks }) => tasks.leases.seq.set(FIRST_LEASE, 1)],
  ],
  'INV-TERMINAL-ENDED': [
    [[createTask(), killTask()], ({ tasks }) => tasks.endedSeq.set(FIRST_TASK, 0)],
    [[createTask()], ({ tasks }) => tasks.endedSeq.set(FIRST_TASK, 2)],
  ],
  'INV-ENDED-BY-KIND': [
    [
      [createTask(), createTask({ taskId: 'other' }), killTask(), killTask({ taskId: 'other' })],
      ({ tasks }) => tasks.endedSeq.set(SECOND_TASK, 1),
    ],
    [
      [createTask(), killTask()],
      ({ tasks }) => {
        tasks.failed.remove(FIRST_TASK);
        tasks.completed.append(FIRST_TASK);
      },
    ],
    [
      [createTask(), killTask()],
      ({ tasks }) => {
        tasks.failed.size = 2;
      },
    ],
  ],
  'INV-REQUEUE-ONE-SUCCESSOR': [
    [[createTask()], ({ tasks }) => tasks.requeuedAs.set(FIRST_TASK, 'other')],
    [[createTask(), killTask(), requeueTask()], ({ tasks }) => tasks.requeuedAs.set(FIRST_TASK, 'other')],
    [
      [createTask(), killTask(), requeueTask(), createTask({ taskId: 'other' })],
      ({ tasks }) => tasks.requeuedFrom.set(THIRD_TASK, 'task'),
    ],
  ],
  'INV-TASK-ONE-PLACE': [
    [[createTask()], ({ tasks }) => tasks.queues.get('default')!.remove(FIRST_TASK, 0, 0)],
    [[createTask(), killTask()], ({ tasks }) => tasks.failed.remove(FIRST_TASK)],
    [TASK, ({ tasks }) => tasks.expiring.remove(FIRST_TASK)],
    [[createTask({ delayMs: 9 })], ({ tasks }) => tasks.delayed.remove(FIRST_TASK)],
    [[createTask(), createTask({ taskId: 'other', queue: 'other' })], swapQueues],
  ],
  'INV-LEASE-IN-HEAP': [
    [NAME, ({ names }) => names.expiring.remove(FIRST_NAME)],
    [NAME, ({ names }) => names.expiresAtMs.set(FIRST_NAME, START_MS)],
    [TASK, ({ tasks }) => tasks.leases.expiresAtMs.set(FIRST_LEASE, START_MS)],
    [[createTask({ delayMs: 9 })], ({ tasks }) => tasks.dueAtMs.set(FIRST_TASK, START_MS)],
  ],
  'INV-QUEUE-COUNTS': [
    [
      [createTask()],
      ({ tasks }) => {
        tasks.queues.get('default')!.lists.add(FIRST_TASK, 'LEASED');
      },
    ],
    [[createTask()], ({ tasks }) => Object.assign(tasks.queues.get('default')!, { backingOff: 1 })],
    [
      [createTask({ delayMs: 9 })],
      ({ tasks }) => Object.assign(tasks.queues.get('default')!, { delayed: 0 }),
    ],
    [[], ({ tasks }) => void tasks.openQueue('idle')],
  ],
  'INV-QUEUE-ORDER': [
    [[createTask(), createTask({ taskId: 'later' })], ({ tasks }) => tasks.createdSeq.set(SECOND_TASK, 1)],
    [KEYED, ({ tasks }) => tasks.queues.get('default')!.holdBack(FIRST_KEY, false)],
    [
      [limitQueue({ maxLeased: 1 }), createTask()],
      ({ tasks }) => Object.assign(tasks.queues.get('default')!, { next: () => 0 }),
    ],
  ],
  'INV-KEYS-EXACT': [
    [KEYED, ({ tasks }) => tasks.keys.leased.set(FIRST_KEY, 2)],
    [KEYED, ({ tasks }) => void tasks.keys.take(tasks.openQueue('default'), 'k')],
    [KEYED, ({ tasks }) => void tasks.keys.take(tasks.openQueue('default'), 'other')],
    [KEYED, ({ tasks }) => tasks.keys.windows.open(FIRST_KEY)],
    [KEYED, ({ tasks }) => Object.assign(tasks.queues.get('default')!, { heldBack: 0 })],
    [
      KEYED,
      ({ tasks }) =>
        Object.assign(tasks.queues.get('default')!, { limits: { ...NO_LIMITS, maxLeasedPerKey: 1 } }),
    ],
  ],
  'INV-LISTS-EXACT': [
    [[createTask()], ({ tasks }) => tasks.lists.remove(FIRST_TASK, 'WAITING')],
    [[createTask()], ({ tasks }) => tasks.lists.add(SECOND_TASK, 'DEAD')],
    [[createTask()], ({ tasks }) => Object.assign(tasks.lists, { waiting: null })],
    [TASK, ({ tasks }) => tasks.leases.byWorker.of('worker')!.remove(FIRST_TASK)],
    [[createTask({ groupKey: 'k' })], ({ tasks }) => tasks.byKey.remove(FIRST_TASK, 'k')],
    [[createTask({ groupKey: 'k' })], ({ tasks }) => tasks.groupKey.set(FIRST_TASK, 'l')],
    [NAME, ({ names }) => names.byHolder.remove(FIRST_NAME)],
  ],
  'INV-INDEX-EXACT': [
    [[createTask()], ({ tasks }) => tasks.byId.add(1, FIRST_TASK)],
    [TASK, ({ tasks }) => tasks.byDedup.add(1, FIRST_TASK)],
    [TASK, ({ tasks }) => tasks.leases.byRequest.add(1, FIRST_LEASE)],
    [NAME, ({ names }) => names.byName.add(1, FIRST_NAME)],
    [NAME, ({ names }) => names.byLease.add(1, FIRST_NAME)],
  ],
  'INV-ROWS-EXACT': [
    [[], ({ tasks }) => void tasks.rows.take()],
    [[createTask()], ({ tasks }) => tasks.rows.free(FIRST_TASK)],
    [[], ({ names }) => names.rows.extend(1)],
  ],
  'INV-STRINGS-EXACT': [
    [[], ({ tasks }) => void tasks.strings.put('lost')],
    [NAME, ({ tasks }) => tasks.strings.free(1)],
  ],
  'INV-MEMORY-BOUNDED': [[NAME, ({ names }) => void names.tokens.pastRows.take()]],
  'INV-ATTEMPTS-COUNTED': [
    [TASK, ({ tasks }) => tasks.countedAttempts.set(FIRST_TASK, 2)],
    [TASK, ({ tasks }) => tasks.maxAttempts.set(FIRST_TASK, 0)],
    [[createTask(), leaseTasks(), failTask()], ({ tasks }) => tasks.maxFailures.set(FIRST_TASK, 0)],
    [[createTask(), leaseTasks(), releaseTask()], ({ tasks }) => tasks.attempt.set(FIRST_TASK, 0)],
  ],
  'INV-CHECKPOINT-UNFINISHED': [
    [
      [...TASK, completeTask()],
      ({ tasks }) => tasks.checkpoint.set(FIRST_TASK, { ...opaqueOf('left behind'), at: 77 }),
    ],
  ],
  'INV-TIMES-PAST': [
    [[createTask()], ({ tasks }) => tasks.createdAtMs.set(FIRST_TASK, START_MS + 1)],
    [[createTask()], ({ tasks }) => tasks.lastSeq.set(FIRST_TASK, 99)],
    [[createTask()], ({ tasks }) => tasks.dueAtMs.set(FIRST_TASK, Number.NaN)],
    [TASK, ({ tasks }) => tasks.leases.cancelledSeq.set(FIRST_LEASE, 99)],
    [NAME, ({ names }) => names.acquiredAtMs.set(FIRST_NAME, START_MS + 1)],
    [NAME, ({ names }) => names.lastSeq.set(FIRST_NAME, 99)],
    [
      [],
      (state) => {
        state.epochStartedAtMs = START_MS + 1;
      },
    ],
  ],
  'INV-NAME-ONE-HOLDER': [
    [NAME, ({ names }) => names.endedSeq.set(FIRST_NAME, 3)],
    [NAME, ({ names }) => names.tokens.clear(FIRST_NAME)],
    [[acquireNames(), releaseName()], ({ names }) => names.endedSeq.set(FIRST_NAME, 2)],
  ],
  'INV-NAME-IDLE': [
    [[acquireNames(), releaseName()], ({ names }) => names.idle.remove(FIRST_NAME)],
    [NAME, ({ names }) => names.idle.append(FIRST_NAME)],
    [
      [acquireNames(), acquireNames({ names: ['b'] }), releaseName(), releaseName({ name: 'b' })],
      ({ names }) => {
        names.idle.remove(FIRST_NAME);
        names.idle.append(FIRST_NAME);
      },
    ],
  ],
  'INV-FENCE-LINKED': [
    [
      [acquireNames(), acquireNames({ names: ['b'], holder: 'other' })],
      ({ names }) => {
        names.end(SECOND_NAME, 'released');
        names.grant(SECOND_NAME, 2, 'other', tokenHashOf('x'), START_MS + TTL_MS);
      },
    ],
  ],
  'INV-FENCE-REJECT-UNFENCED': [[NAME, ({ names }) => names.valueLeaseSeq.set(FIRST_NAME, 0)]],
  'INV-FENCE-REJECT-STALE': [
    [NAME, ({ names }) => names.valueLeaseSeq.set(FIRST_NAME, 3)],
    [NAME, ({ names }) => names.valueSeq.set(FIRST_NAME, 2)],
    [[...NAME, acquireNames({ token: 'new' })], ({ names }) => names.valueSeq.set(FIRST_NAME, 4)],
  ],
  'INV-SESSION-HOLDS': [
    [RUNNING, inSession(SESSION, { slot: null })],
    [RUNNING, inSession(SESSION, { slot: '7' })],
    [
      [acquireNames({ names: ['lease:tuner:1'], holder: 'other', token: 'other' }), ...RUNNING],
      inSession(SESSION + 1, { slot: '1' }),
    ],
    [
      [...NEW, startSession(), acceptIntent({ target: 'other' }), leaseStarts(), startSession(), ...LATER],
      inSession(SESSION + 5, { slot: '0' }),
    ],
  ],
  'INV-SESSION-START-TASK': [
    [[...NEW, ...LATER], endStartTask],
    [[...NEW, ...LATER], inSession(SESSION, { state: 'STOPPING', slot: '0' })],
  ],
  'INV-SESSION-FOUND': [
    [NEW, ({ sessions }) => sessions.leave(sessions.at(SESSION)!)],
    [[...RUNNING, stopSession()], ({ sessions }) => sessions.leave(sessions.at(SESSION)!)],
    [[acceptIntent(), stopSession()], inSession(2, { reason: null })],
    [[acceptIntent(), stopSession()], inSession(2, { state: 'NEW' })],
    [[acceptIntent(), stopSession(), acceptIntent(), stopSession()], inSession(2, { lastSeq: 7 })],
    [NEW, ({ sessions }) => void sessions.open.set(1, sessions.at(SESSION)!)],
    [NEW, ({ sessions }) => sessions.enter({ ...sessions.at(SESSION)!, key: 'another' })],
  ],
  'INV-SCHEDULE-DUE': [
    [[setSchedule()], inSchedule({ paused: true })],
    [[setSchedule()], inSchedule({ lastDueAtMs: START_MS + 1_000 })],
    [[setSchedule()], inSchedule({ nextFiresAtMs: START_MS })],
    [[setSchedule()], inSchedule({ nextFiresAtMs: START_MS + 1_001 })],
    [[setSchedule()], inSchedule({ lastSeq: 9 })],
    [[setSchedule()], inSchedule({ requestIds: new Array(17).fill('r') })],
    [
      [setSchedule()],
      ({ schedules }) => {
        schedules.payloadBytes += 1;
      },
    ],
  ],
  'INV-SCHEDULE-UNFINISHED': [
    [[createTask()], ({ tasks }) => tasks.schedule.set(FIRST_TASK, 'schedule')],
    [[setSchedule(), later(1_000)], ({ tasks }) => tasks.schedule.set(FIRST_TASK, null)],
  ],
};

function swapQueues({ tasks }: State): void {
  const [one, other] = [tasks.queues.get('default')!, tasks.queues.get('other')!];
  one.remove(FIRST_TASK, 0, 0);
  other.remove(SECOND_TASK, 0, 0);
  one.add(SECOND_TASK, 0, 0);
  other.add(FIRST_TASK, 0, 0);
}

/** What an observer has seen, and then sees. */
type Taken = readonly [steps: readonly Step[], damage: (state: State, before: StateSummary) => void];

const OF_A_STEP = {
  'INV-FENCE-MONOTONIC': [
    [[...NAME, releaseName()], ({ names }) => names.leaseSeq.set(FIRST_NAME, 1)],
    [TASK, ({ tasks }) => tasks.leases.seq.set(FIRST_LEASE, 1)],
  ],
  'INV-TERMINAL-FOR-EVER': [
    [[createTask(), killTask()], ({ tasks }) => tasks.enter(FIRST_TASK, 'WAITING', START_MS)],
    [[createTask(), killTask()], ({ tasks }) => tasks.endedSeq.set(FIRST_TASK, 2)],
    [[createTask(), killTask(), requeueTask()], ({ tasks }) => tasks.requeuedAs.set(FIRST_TASK, 'other')],
  ],
  'INV-CANCELLED-NEVER-LEASED': [
    [[...TASK, cancelTask()], ({ tasks }) => tasks.cancelReason.set(FIRST_TASK, null)],
    [
      [...TASK, cancelTask()],
      (state) => {
        state.tasks.attempt.set(FIRST_TASK, 2);
        state.tasks.leases.seq.set(FIRST_LEASE, 9);
      },
    ],
  ],
  'INV-SESSION-FOR-EVER': [
    [[acceptIntent(), stopSession()], inSession(2, { lastSeq: 2 })],
    [[acceptIntent(), stopSession()], inSession(2, { reason: 'R_SHUTDOWN' })],
    [NEW, ({ sessions }) => void sessions.open.delete(SESSION)],
  ],
  'INV-SCHEDULE-ONCE': [
    [[setSchedule(), later(1_000)], inSchedule({ lastDueAtMs: START_MS })],
    [[setSchedule(), later(1_000)], inSchedule({ lastDueAtMs: START_MS + 9_000 })],
  ],
  'INV-ATTEMPT-MONOTONIC': [
    [TASK, ({ tasks }) => tasks.attempt.set(FIRST_TASK, 0)],
    [TASK, ({ tasks }) => tasks.attempt.set(FIRST_TASK, 2)],
  ],
  'INV-NEVER-SHORTENED': [
    [NAME, ({ names }) => names.expiresAtMs.set(FIRST_NAME, START_MS + 1)],
    [TASK, ({ tasks }) => tasks.leases.expiresAtMs.set(FIRST_LEASE, START_MS + 1)],
    [
      NAME,
      (state) => {
        state.lastAtMs = START_MS + TTL_MS;
        state.names.expiresAtMs.set(FIRST_NAME, START_MS + 9 * TTL_MS);
      },
    ],
  ],
  'INV-NEVER-RESURRECTED': [
    [[acquireNames(), releaseName()], ({ names }) => names.setEnd(FIRST_NAME, 'live')],
    [[acquireNames(), releaseName()], ({ names }) => names.setEnd(FIRST_NAME, 'expired')],
  ],
  'INV-WRITE-WHILE-HELD': [
    [[...NAME, releaseName()], written],
    [
      NAME,
      (state) => {
        state.lastAtMs = START_MS + TTL_MS;
        written(state);
      },
    ],
    [
      NAME,
      (state) => {
        written(state);
        state.names.valueLeaseSeq.set(FIRST_NAME, 1);
      },
    ],
  ],
  'INV-LIMIT-LEASED': [
    [[limitQueue({ maxLeased: 1 }), createTask(), ...SECOND], (state) => grantPast(state, { maxLeased: 0 })],
    [
      [limitQueue({ maxLeasedPerKey: 1 }), createTask({ groupKey: 'k' }), ...SECOND],
      (state) => grantPast(state, { maxLeasedPerKey: 0 }),
    ],
  ],
  'INV-LIMIT-RATE': [
    [
      [limitQueue({ rate: { count: 1, perMs: 9, perKey: false } }), createTask(), ...SECOND],
      (state) => grantPast(state, { rate: { count: 0, perMs: 9, perKey: false } }),
    ],
    [
      [limitQueue({ maxLeased: 9 }), createTask(), ...SECOND],
      (state) => grantPast(state, { rate: { count: 1, perMs: 9, perKey: false } }),
    ],
  ],
  'INV-KEYS-TAKE-TURNS': [
    [
      [createTask({ groupKey: 'k' }), createTask({ taskId: 'next', groupKey: 'k' }), ...SECOND],
      (state) => {
        grantPast(state, {});
        state.tasks.queues.get('default')!.endTurn(0, state.tasks.keyOf(THIRD_TASK));
      },
    ],
  ],
  'INV-LOG-FORWARD': [
    [NAME, forward('lastSeq')],
    [NAME, forward('lastAtMs')],
    [NAME, forward('epoch')],
  ],
} satisfies { [Id in InvariantId]?: readonly Taken[] };

function inSchedule(change: Partial<Schedule>) {
  return ({ schedules }: State): void => {
    Object.assign(schedules.find('schedule')!, change);
  };
}

function written(state: State): void {
  state.lastSeq += 1;
  state.names.version.set(FIRST_NAME, 2);
  state.names.valueSeq.set(FIRST_NAME, state.lastSeq);
}

/** Leases the first task by an entry, and says afterwards that its queue had other limits. */
function grantPast(state: State, limits: Partial<Limits>): void {
  const seq = state.lastSeq + 1;
  const entry = { type: 'LeaseGranted', task: 'task', workerId: 'w', attempt: 1, requestId: null } as const;
  apply(state, { ...entry, expiresAtMs: START_MS + TTL_MS }, seq, state.lastAtMs);
  Object.assign(state.tasks.queues.get('default')!, { limits: { ...NO_LIMITS, ...limits } });
}

function forward(field: 'lastSeq' | 'lastAtMs' | 'epoch') {
  return (state: State): void => {
    state[field] -= 1;
  };
}

describe('the invariants of a state', () => {
  it('hold for the state in which nothing has happened', () => {
    expect(() => checkInvariants(createState())).not.toThrow();
  });

  for (const [id, damages] of Object.entries(OF_A_STATE)) {
    for (const [index, [steps, damage]] of damages.entries()) {
      it(`${id}: ${INVARIANTS[id as InvariantId]} (${index + 1})`, () => {
        const { state } = new Scenario().given(...steps);
        checkInvariants(state);
        damage(state);
        expect(() => checkInvariants(state)).toThrow(`${id}: ${INVARIANTS[id as InvariantId]} But `);
      });
    }
  }

  it('INV-MEMORY-BOUNDED: seventeen leases before the newest are one too many', () => {
    const story = new Scenario().given(createTask());
    for (let round = 0; round < 17; round++) story.given(leaseTasks(), releaseTask());
    const { tasks } = story.state;
    let oldest = tasks.lease.get(FIRST_TASK);
    while (tasks.leases.older.get(oldest) !== 0) oldest = tasks.leases.older.get(oldest);
    const lost = tasks.leases.grant(FIRST_TASK, 2, 'w', null, 1, 0);
    tasks.leases.end(lost, 'expired', 2, 0);
    tasks.leases.older.set(oldest, lost);
    tasks.leases.seq.set(oldest, 2.5);
    tasks.attempt.set(FIRST_TASK, 18);
    expect(() => checkInvariants(story.state)).toThrow('INV-MEMORY-BOUNDED');
  });
});

describe('the invariants of a step', () => {
  for (const [id, cases] of Object.entries(OF_A_STEP) as [InvariantId, readonly Taken[]][]) {
    for (const [index, [steps, damage]] of cases.entries()) {
      it(`${id}: ${INVARIANTS[id]} (${index + 1})`, () => {
        const { state } = new Scenario().given(...steps);
        const before = summaryOf(state);
        checkStep(before, summaryOf(state));
        damage(state, before);
        expect(() => checkStep(before, summaryOf(state))).toThrow(`${id}: ${INVARIANTS[id]} But `);
      });
    }
  }

  it('hold over many entries at once', () => {
    const story = new Scenario().given(...TASK, ...NAME);
    const before = summaryOf(story.state);
    story.given(
      completeTask(),
      later(TTL_MS),
      acquireNames({ holder: 'next', token: 'next' }),
      writeObject(),
    );
    expect(() => checkStep(before, summaryOf(story.state))).not.toThrow();
  });
});

describe('INV-APPLY', () => {
  it('names itself in what apply throws', () => {
    expect(() => apply(createState(), { type: 'NameExpired', name: 'n', leaseSeq: 1 }, 1, 0)).toThrow(
      'INV-APPLY',
    );
  });
});
