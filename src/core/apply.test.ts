/** Facts and the states they fit: every effect of seed 002, and every precondition as a refusal. */
import { describe, expect, it } from 'vitest';
import {
  acceptIntent,
  acquireGuard,
  acquireNames,
  cancelTask,
  changeSession,
  completeTask,
  createTask,
  killTask,
  leaseStarts,
  leaseTasks,
  opaqueOf,
  releaseName,
  releaseTask,
  setSchedule,
  startSession,
  TTL_MS,
  tokenHashOf,
  writeObject,
} from '../../test/support/commands.ts';
import { given, later, restore, Scenario, START_MS, type Step } from '../../test/support/scenario.ts';
import { taskCreatedEntry } from '../../test/support/task-created.ts';
import { apply } from './apply.ts';
import type { Entry, EntryType, ScheduleFired, ScheduleSet } from './entries.ts';
import { stateHash } from './state-hash.ts';

const END_MS = START_MS + TTL_MS;
const NOW_MS = START_MS + 1;

function taken(value: ReturnType<typeof opaqueOf>) {
  return { ...value, at: 77 };
}

/** Facts that fit the story they stand beside, one of each type; 3 is the first lease of the task, 2 of the name. */
const TASK: readonly Step[] = [createTask(), leaseTasks()];
const NAME: readonly Step[] = [acquireNames(), writeObject()];
const VALUE = taken(opaqueOf('value'));

const CREATED = taskCreatedEntry({ task: 'new', dueAtMs: NOW_MS, payload: VALUE });

const SESSION: readonly Step[] = [acquireGuard(), acceptIntent(), leaseStarts(), startSession()];

const SET: ScheduleSet = {
  type: 'ScheduleSet',
  name: 'schedule',
  payload: VALUE,
  cron: null,
  everyMs: 1_000,
  anchorMs: NOW_MS,
  timezone: 'UTC',
  queue: 'default',
  priority: 0,
  maxFailures: 5,
  backoffMs: 1_000,
  maxBackoffMs: 300_000,
  maxAttempts: 100,
  groupKey: null,
  overlap: 'skip',
  catchUp: 'one',
  jitterMs: 0,
  startsAtMs: null,
  endsAtMs: null,
  paused: false,
  applied: false,
  nextDueAtMs: NOW_MS + 1_000,
  nextFiresAtMs: NOW_MS + 1_000,
};

const FIRED: ScheduleFired = {
  type: 'ScheduleFired',
  name: 'schedule',
  dueAtMs: START_MS + 1_000,
  firesAtMs: START_MS + 1_000,
  task: 'schedule@1',
  skipped: null,
  throughMs: null,
  queue: 'default',
  payload: VALUE,
  nextDueAtMs: START_MS + 2_000,
  nextFiresAtMs: START_MS + 2_000,
  requestId: null,
};

/** So that its first due time is not there before. */
const SCHEDULE: readonly Step[] = [setSchedule()];
const DUE_MS = START_MS + 1_000;

const FITTING: {
  readonly [T in EntryType]: readonly [steps: readonly Step[], entry: Entry & { type: T }, atMs?: number];
} = {
  TaskCreated: [[], CREATED],
  LeaseGranted: [
    [createTask()],
    { type: 'LeaseGranted', task: 'task', workerId: 'w', attempt: 1, expiresAtMs: END_MS, requestId: null },
  ],
  LeaseExtended: [TASK, { type: 'LeaseExtended', task: 'task', leaseSeq: 3, expiresAtMs: END_MS + 1 }],
  LeaseExpired: [TASK, { type: 'LeaseExpired', task: 'task', leaseSeq: 3, counted: true }, END_MS],
  TaskCompleted: [TASK, { type: 'TaskCompleted', task: 'task', leaseSeq: 3, result: null, writes: [] }],
  TaskCancelled: [
    [...TASK, releaseTask()],
    { type: 'TaskCancelled', task: 'task', leaseSeq: 3, verb: 'complete', result: null },
  ],
  TaskFailed: [
    TASK,
    { type: 'TaskFailed', task: 'task', leaseSeq: 3, reason: 'r', nextState: 'WAITING', dueAtMs: NOW_MS },
  ],
  TaskReleased: [TASK, { type: 'TaskReleased', task: 'task', leaseSeq: 3, dueAtMs: NOW_MS }],
  TaskDead: [TASK, { type: 'TaskDead', task: 'task', leaseSeq: 3, reason: 'r', detail: null }],
  TaskCancelRequested: [TASK, { type: 'TaskCancelRequested', task: 'task', leaseSeq: 3, reason: 'r' }],
  TaskCheckpointed: [TASK, { type: 'TaskCheckpointed', task: 'task', leaseSeq: 3, value: VALUE }],
  TaskChanged: [
    [createTask()],
    { type: 'TaskChanged', task: 'task', queue: 'other', priority: 3, dueAtMs: NOW_MS },
  ],
  NameLeased: [
    [],
    {
      type: 'NameLeased',
      names: ['name'],
      holder: 'h',
      tokenHash: tokenHashOf('t'),
      expiresAtMs: END_MS,
      metadata: null,
    },
  ],
  NameRenewed: [NAME, { type: 'NameRenewed', name: 'name', leaseSeq: 2, expiresAtMs: END_MS + 1 }],
  NameReleased: [NAME, { type: 'NameReleased', name: 'name', leaseSeq: 2 }],
  NameExpired: [NAME, { type: 'NameExpired', name: 'name', leaseSeq: 2 }, END_MS],
  NameBroken: [NAME, { type: 'NameBroken', name: 'name', leaseSeq: 2, reason: 'r' }],
  NamesWiped: [[...NAME, acquireGuard()], { type: 'NamesWiped', prefix: '', count: 1 }],
  ObjectWritten: [NAME, { type: 'ObjectWritten', objectId: 'name', leaseSeq: 2, version: 2, value: VALUE }],
  ObjectDeleted: [NAME, { type: 'ObjectDeleted', objectId: 'name', leaseSeq: 2, version: 2 }],
  IntentAccepted: [
    [],
    {
      type: 'IntentAccepted',
      intent: { type: 'live', target: 'service', profileId: 'profile', startMs: 0 },
      serviceName: 'lease:service:service',
      key: 'key of live|service|profile|0',
      payload: VALUE,
    },
  ],
  SessionChanged: [
    SESSION,
    {
      type: 'SessionChanged',
      session: 3,
      state: 'STOPPING',
      reason: 'R_CLIENT_STOP',
      reasonDetail: null,
      slot: '0',
      leaseSeq: 5,
    },
  ],
  ScheduleSet: [[], SET],
  ScheduleRemoved: [SCHEDULE, { type: 'ScheduleRemoved', name: 'schedule' }],
  ScheduleFired: [SCHEDULE, FIRED, DUE_MS],
  QueueLimited: [
    [],
    {
      type: 'QueueLimited',
      queue: 'default',
      maxLeased: 1,
      maxLeasedPerKey: null,
      rateCount: null,
      ratePerMs: null,
      ratePerKey: false,
      applied: false,
    },
  ],
  QueuePaused: [[], { type: 'QueuePaused', queue: 'default' }],
  QueueResumed: [[], { type: 'QueueResumed', queue: 'default' }],
  EpochStarted: [[], { type: 'EpochStarted', epoch: 2, format: 'leasehold', version: 1, restored: false }],
  Forgotten: [[createTask(), killTask()], { type: 'Forgotten', tasks: ['task'], names: [], sessions: [] }],
};

function applyTo(steps: readonly Step[], entry: Entry, atMs = NOW_MS): Scenario {
  const story = new Scenario().given(...steps);
  apply(story.state, entry, story.state.lastSeq + 1, atMs);
  return story;
}

describe('apply takes any entry that fits', () => {
  for (const [type, [steps, entry, atMs]] of Object.entries(FITTING)) {
    it(`${type}, and notes position and time`, () => {
      const before = new Scenario().given(...steps).state;
      const { state } = applyTo(steps, entry, atMs);
      expect([state.lastSeq, state.lastAtMs]).toEqual([before.lastSeq + 1, atMs ?? NOW_MS]);
      expect(stateHash(state)).not.toBe(stateHash(before));
    });
  }
});

/** What no authority could have written there. */
const MISFITS: readonly (readonly [
  why: string,
  type: EntryType,
  change: object,
  steps?: readonly Step[],
  atMs?: number,
])[] = [
  ['the task exists', 'TaskCreated', { task: 'task' }, [createTask()]],
  ['its id is not its position', 'TaskCreated', { task: 7 }],
  ['the dedup key is taken', 'TaskCreated', { dedupKey: 'key' }, [createTask({ dedupKey: 'key' })]],
  ['the task is unknown', 'LeaseGranted', {}, []],
  ['the task is not WAITING', 'LeaseGranted', { attempt: 2 }, TASK],
  ['the task is not WAITING', 'LeaseGranted', { attempt: 2 }, [...TASK, completeTask()]],
  ['the attempt is not the next one', 'LeaseGranted', { attempt: 2 }],
  ['the task is unknown', 'LeaseExtended', {}, []],
  ['the task is not LEASED', 'LeaseExtended', {}, [...TASK, releaseTask()]],
  ['the lease is not current', 'LeaseExtended', { leaseSeq: 2 }],
  ['the lease has run out', 'LeaseExtended', {}, TASK, END_MS],
  ['an extension never shortens', 'LeaseExtended', { expiresAtMs: END_MS }],
  ['the lease has not run out', 'LeaseExpired', {}, TASK, END_MS - 1],
  ['the lease is not current', 'LeaseExpired', { leaseSeq: 2 }],
  ['the task is not LEASED', 'TaskCompleted', {}, [...TASK, completeTask()]],
  ['the lease is not current', 'TaskCompleted', { leaseSeq: 4 }],
  ['the lease has run out', 'TaskCompleted', {}, TASK, END_MS],
  [
    'the object is not held',
    'TaskCompleted',
    { writes: [{ objectId: 'o', leaseSeq: 1, version: 1, value: VALUE }] },
  ],
  ['the task is unknown', 'TaskCancelled', {}, []],
  ['the task never had this lease', 'TaskCancelled', { leaseSeq: 99 }],
  ['the lease is live', 'TaskCancelled', {}, TASK],
  ['it is recorded once', 'TaskCancelled', {}, [...TASK, later(TTL_MS), completeTask()], END_MS],
  ['the lease has run out', 'TaskFailed', {}, TASK, END_MS],
  ['the task is not LEASED', 'TaskFailed', {}, [createTask()]],
  ['it has attempts left', 'TaskFailed', { nextState: 'DEAD' }],
  ['the lease has run out', 'TaskReleased', {}, TASK, END_MS],
  ['the task is not LEASED', 'TaskReleased', {}, [createTask()]],
  ['the task is unknown', 'TaskDead', {}, []],
  ['the task has ended', 'TaskDead', {}, [...TASK, completeTask()]],
  ['the lease is not current', 'TaskDead', { leaseSeq: 99 }],
  ['the lease is not current', 'TaskDead', { leaseSeq: 0 }],
  ['the task is not LEASED', 'TaskCancelRequested', {}, [createTask()]],
  ['the lease is not current', 'TaskCancelRequested', { leaseSeq: 2 }],
  ['it is recorded once', 'TaskCancelRequested', {}, [...TASK, cancelTask()]],
  ['the task is not LEASED', 'TaskCheckpointed', {}, [...TASK, releaseTask()]],
  ['the lease is not current', 'TaskCheckpointed', { leaseSeq: 2 }],
  ['the lease has run out', 'TaskCheckpointed', {}, TASK, END_MS],
  ['the task is unknown', 'TaskChanged', {}, []],
  ['the task is not WAITING', 'TaskChanged', {}, TASK],
  ['the task is not WAITING', 'TaskChanged', {}, [...TASK, completeTask()]],
  [
    'the dedup key is taken',
    'TaskChanged',
    {},
    [createTask({ dedupKey: 'd' }), createTask({ taskId: 'two', queue: 'other', dedupKey: 'd' })],
  ],
  ['is held by another holder', 'NameLeased', {}, NAME],
  ['the name is not held', 'NameRenewed', {}, []],
  ['the name is not held', 'NameRenewed', {}, [...NAME, releaseName()]],
  ['the lease is not current', 'NameRenewed', { leaseSeq: 1 }],
  ['the lease has run out', 'NameRenewed', {}, NAME, END_MS],
  ['a renewal never shortens', 'NameRenewed', { expiresAtMs: END_MS }],
  ['the lease is not current', 'NameReleased', { leaseSeq: 9 }],
  ['the lease has run out', 'NameReleased', {}, NAME, END_MS],
  ['the lease has run out', 'NameBroken', {}, NAME, END_MS],
  ['the lease has not run out', 'NameExpired', {}, NAME, END_MS - 1],
  ['the name is not held', 'NameBroken', {}, [...NAME, releaseName()]],
  ['it ends 1 leases, not 2', 'NamesWiped', { count: 2 }],
  ['the object is not held', 'ObjectWritten', {}, [...NAME, releaseName()]],
  ['the write is not fenced', 'ObjectWritten', { leaseSeq: 1 }],
  ['the lease has run out', 'ObjectWritten', {}, NAME, END_MS],
  ['the version is not the next one', 'ObjectWritten', { version: 3 }],
  ['the object is not held', 'ObjectDeleted', {}, [...NAME, releaseName()]],
  ['the delete is not fenced', 'ObjectDeleted', { leaseSeq: 1 }],
  ['the lease has run out', 'ObjectDeleted', {}, NAME, END_MS],
  ['there is no object', 'ObjectDeleted', { version: 1 }, [acquireNames()]],
  ['the version is not the next one', 'ObjectDeleted', { version: 3 }],
  ['the key is taken', 'IntentAccepted', {}, [acceptIntent()]],
  ['a wipe would not find its lease', 'IntentAccepted', { serviceName: 'service' }],
  ['the session is unknown', 'SessionChanged', { session: 2 }],
  ['a session that is NEW cannot become it', 'SessionChanged', {}, [acquireGuard(), acceptIntent()]],
  ['a session that is STARTING cannot become it', 'SessionChanged', { state: 'NEW' }],
  [
    'the first reason wins',
    'SessionChanged',
    { state: 'STOPPED' },
    [...SESSION, changeSession({ event: 'idle' })],
  ],
  ['it does not hold lease:tuner:7', 'SessionChanged', { slot: '7' }],
  ['it does not hold lease:service:service', 'SessionChanged', { leaseSeq: 4 }],
  ['the session has not ended', 'Forgotten', { tasks: [], sessions: [3] }, SESSION],
  ['it needs a pattern or an interval', 'ScheduleSet', { everyMs: null }],
  ['it needs a pattern or an interval', 'ScheduleSet', { cron: '@daily' }],
  ['what is paused is not due', 'ScheduleSet', { paused: true }],
  ['what is due fires', 'ScheduleSet', { nextFiresAtMs: null }],
  ['it fires only times after its entry', 'ScheduleSet', { nextDueAtMs: NOW_MS }],
  ['a new schedule needs a payload', 'ScheduleSet', { payload: null }],
  ['the schedule is unknown', 'ScheduleRemoved', {}, []],
  ['the schedule is unknown', 'ScheduleFired', {}, []],
  ['it fired, or was skipped', 'ScheduleFired', { skipped: 'OVERLAP' }],
  ['it fired, or was skipped', 'ScheduleFired', { task: null }],
  ['it is not the next due time', 'ScheduleFired', { dueAtMs: DUE_MS + 1 }],
  ['it is not the next due time', 'ScheduleFired', {}, [...SCHEDULE, later(1_000)]],
  ['a due time fires once', 'ScheduleFired', { throughMs: DUE_MS - 1 }],
  ['it is not due yet', 'ScheduleFired', {}, SCHEDULE, DUE_MS - 1],
  ['it is not due yet', 'ScheduleFired', { throughMs: DUE_MS + 1 }],
  ['due times go forward', 'ScheduleFired', { nextDueAtMs: DUE_MS }],
  ['the task exists', 'ScheduleFired', {}, [...SCHEDULE, createTask({ taskId: 'schedule@1' })]],
  ['the task needs a payload', 'ScheduleFired', { payload: null }],
  ['the epoch is not new', 'EpochStarted', { epoch: 1 }],
  ['the task is unknown', 'Forgotten', {}, []],
  ['the task has not ended', 'Forgotten', {}, TASK],
  ['the name is not idle', 'Forgotten', { tasks: [], names: ['unknown'] }],
  ['the name is not idle', 'Forgotten', { tasks: [], names: ['name'] }, NAME],
  ['the name is not idle', 'Forgotten', { tasks: [], names: ['name'] }, [...NAME, releaseName()]],
  ['time went backwards', 'QueuePaused', {}, [], START_MS - 1],
];

describe('INV-APPLY: apply throws on any other', () => {
  for (const [why, type, change, steps, atMs] of MISFITS) {
    const [fitting, entry, fittingAtMs] = FITTING[type];
    it(`${type} ${JSON.stringify(change, (field, value) => (field === 'value' ? '…' : value))}: ${why}`, () => {
      const misfit = { ...entry, ...change } as Entry;
      expect(() => applyTo(steps ?? fitting, misfit, atMs ?? fittingAtMs ?? NOW_MS)).toThrow(
        new RegExp(`INV-APPLY: ${type} at seq \\d+ does not fit: .*${why}`),
      );
    });
  }

  it('positions are new and leave none out', () => {
    const { state } = new Scenario();
    const [, entry] = FITTING.QueuePaused;
    expect(() => apply(state, entry, 1, NOW_MS)).toThrow('its position is not new');
    expect(() => apply(state, entry, 3, NOW_MS)).toThrow('a position was left out');
    expect(() => apply(state, { type: 'Unheard' } as never, 2, NOW_MS)).toThrow('unknown entry Unheard');
  });
});

describe('an epoch', () => {
  const started = { type: 'EpochStarted', epoch: 2, format: 'leasehold', version: 1 } as const;

  it('that begins ends no lease', () => {
    const { state } = applyTo([...TASK, acquireNames()], { ...started, restored: false });
    expect([
      state.epoch,
      state.epochStartedAtMs,
      state.tasks.expiring.size,
      state.names.expiring.size,
    ]).toEqual([2, NOW_MS, 1, 1]);
  });

  it('that was restored may jump ahead, and no other may', () => {
    const { state } = new Scenario();
    expect(() => apply(state, { ...started, restored: false }, 2 ** 41, NOW_MS)).toThrow(
      'a position was left out',
    );
    apply(state, { ...started, restored: true }, 2 ** 41, NOW_MS);
    expect(state.lastSeq).toBe(2 ** 41);
  });

  it('that was restored ends every lease; tasks wait again, names with an object stay', () => {
    given(...TASK, ...[acquireNames(), writeObject(), acquireNames({ names: ['bare'] })], restore())
      .thenTask('task', { state: 'WAITING', leases: [{ end: 'restored' }] })
      .thenName('name', { end: 'restored', object: { version: 1 } })
      .thenName('bare', { end: 'restored' });
  });
});
