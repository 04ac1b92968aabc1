/** What a task says to its workers: the table state × command, and each verdict in the words of seed 002. */
import { describe, expect, it } from 'vitest';
import {
  acceptIntent,
  acquireNames,
  breakName,
  bulkTasks,
  type CommandBuilder,
  cancelTask,
  changeSession,
  changeTask,
  checkpointTask,
  completeTask,
  createTask,
  deleteObject,
  extendLease,
  failTask,
  fireSchedule,
  heartbeat,
  heartbeatSession,
  killTask,
  leaseTasks,
  limitQueue,
  newestLease,
  pauseQueue,
  pauseSchedule,
  releaseName,
  releaseTask,
  removeSchedule,
  renewName,
  renewSessions,
  requeueTask,
  resumeQueue,
  resumeSchedule,
  setSchedule,
  startSession,
  stopSession,
  TTL_MS,
  wipeNames,
  writeObject,
} from '../../test/support/commands.ts';
import {
  at,
  given,
  later,
  restart,
  restore,
  type Scenario,
  START_MS,
  type Step,
  times,
} from '../../test/support/scenario.ts';
import type { CommandType } from './commands.ts';
import { isRefusal } from './decision.ts';
import type { TaskState } from './image.ts';
import { TASK_RULES } from './verdicts.ts';

const END_MS = START_MS + TTL_MS;

/** How a task with one lease comes into each state. */
const WAYS: Record<TaskState, readonly Step[]> = {
  WAITING: [createTask(), leaseTasks(), at(END_MS)],
  LEASED: [createTask(), leaseTasks()],
  COMPLETED: [createTask(), leaseTasks(), completeTask()],
  FAILED: [createTask(), leaseTasks(), failTask({ retry: false })],
  DEAD: [createTask(), leaseTasks(), killTask()],
};

const COMMANDS: Record<CommandType, CommandBuilder> = {
  CreateTask: createTask(),
  LeaseTasks: leaseTasks(),
  ExtendLease: extendLease({ ttlMs: 2 * TTL_MS }),
  CompleteTask: completeTask(),
  FailTask: failTask(),
  ReleaseTask: releaseTask(),
  KillTask: killTask(),
  RequeueTask: requeueTask({ taskId: 'task' }),
  CancelTask: cancelTask(),
  CheckpointTask: checkpointTask(),
  ChangeTask: changeTask({ priority: 1 }),
  BulkTasks: bulkTasks({ filter: { queue: 'another' } }),
  Heartbeat: heartbeat({ ttlMs: 2 * TTL_MS }),
  AcquireNames: acquireNames(),
  RenewName: renewName(),
  ReleaseName: releaseName(),
  BreakName: breakName(),
  WipeNames: wipeNames(),
  WriteObject: writeObject(),
  DeleteObject: deleteObject(),
  AcceptIntent: acceptIntent(),
  StopSession: stopSession(),
  HeartbeatSession: heartbeatSession(),
  StartSession: startSession(),
  ChangeSession: changeSession(),
  RenewSessions: renewSessions(),
  PauseQueue: pauseQueue('another'),
  ResumeQueue: resumeQueue('another'),
  SetSchedule: setSchedule({ queue: 'another' }),
  RemoveSchedule: removeSchedule(),
  PauseSchedule: pauseSchedule(),
  ResumeSchedule: resumeSchedule(),
  FireSchedule: fireSchedule(),
  LimitQueue: limitQueue({ maxLeased: 1 }, 'another'),
};

/** What the task's newest holder hears, and what becomes of the task. */
type Cell = readonly [hears: string, becomes: TaskState];
type TaskCommandType =
  | 'CreateTask'
  | 'LeaseTasks'
  | 'ExtendLease'
  | 'CompleteTask'
  | 'FailTask'
  | 'ReleaseTask'
  | 'KillTask'
  | 'RequeueTask'
  | 'CancelTask'
  | 'CheckpointTask'
  | 'ChangeTask'
  | 'Heartbeat';

function elsewhere(state: TaskState): Record<Exclude<CommandType, TaskCommandType>, Cell> {
  const cell: Cell = ['is not about tasks', state];
  return {
    BulkTasks: cell,
    AcquireNames: cell,
    RenewName: cell,
    ReleaseName: cell,
    BreakName: cell,
    WipeNames: cell,
    WriteObject: cell,
    DeleteObject: cell,
    AcceptIntent: cell,
    StopSession: cell,
    HeartbeatSession: cell,
    StartSession: cell,
    ChangeSession: cell,
    RenewSessions: cell,
    PauseQueue: cell,
    ResumeQueue: cell,
    SetSchedule: cell,
    RemoveSchedule: cell,
    PauseSchedule: cell,
    ResumeSchedule: cell,
    FireSchedule: cell,
    LimitQueue: cell,
  };
}

/** A new state or command does not compile here until every cell says what happens. */
const TABLE: Record<TaskState, Record<CommandType, Cell>> = {
  WAITING: {
    CreateTask: ['duplicate', 'WAITING'],
    LeaseTasks: ['1 leased', 'LEASED'],
    ExtendLease: ['LEASE_EXPIRED', 'WAITING'],
    CompleteTask: ['CANCELLED', 'WAITING'],
    FailTask: ['CANCELLED', 'WAITING'],
    ReleaseTask: ['CANCELLED', 'WAITING'],
    KillTask: ['killed', 'DEAD'],
    CancelTask: ['cancelled', 'DEAD'],
    CheckpointTask: ['LEASE_EXPIRED', 'WAITING'],
    ChangeTask: ['changed', 'WAITING'],
    Heartbeat: ['lost: expired', 'WAITING'],
    RequeueTask: ['TASK_NOT_ENDED', 'WAITING'],
    ...elsewhere('WAITING'),
  },
  LEASED: {
    CreateTask: ['duplicate', 'LEASED'],
    LeaseTasks: ['0 leased', 'LEASED'],
    ExtendLease: ['extended', 'LEASED'],
    CompleteTask: ['COMMITTED', 'COMPLETED'],
    FailTask: ['COMMITTED', 'WAITING'],
    ReleaseTask: ['COMMITTED', 'WAITING'],
    KillTask: ['killed', 'DEAD'],
    CancelTask: ['cancelled', 'LEASED'],
    CheckpointTask: ['checkpointed', 'LEASED'],
    ChangeTask: ['TASK_NOT_WAITING', 'LEASED'],
    Heartbeat: ['1 extended', 'LEASED'],
    RequeueTask: ['TASK_NOT_ENDED', 'LEASED'],
    ...elsewhere('LEASED'),
  },
  COMPLETED: {
    CreateTask: ['duplicate', 'COMPLETED'],
    LeaseTasks: ['0 leased', 'COMPLETED'],
    ExtendLease: ['LEASE_NOT_CURRENT', 'COMPLETED'],
    CompleteTask: ['COMMITTED, duplicate', 'COMPLETED'],
    FailTask: ['LEASE_NOT_CURRENT, REJECTED', 'COMPLETED'],
    ReleaseTask: ['LEASE_NOT_CURRENT, REJECTED', 'COMPLETED'],
    KillTask: ['TASK_TERMINAL', 'COMPLETED'],
    CancelTask: ['TASK_TERMINAL', 'COMPLETED'],
    CheckpointTask: ['LEASE_NOT_CURRENT', 'COMPLETED'],
    ChangeTask: ['TASK_NOT_WAITING', 'COMPLETED'],
    Heartbeat: ['lost: completed', 'COMPLETED'],
    RequeueTask: ['requeued', 'COMPLETED'],
    ...elsewhere('COMPLETED'),
  },
  FAILED: {
    CreateTask: ['duplicate', 'FAILED'],
    LeaseTasks: ['0 leased', 'FAILED'],
    ExtendLease: ['LEASE_NOT_CURRENT', 'FAILED'],
    CompleteTask: ['LEASE_NOT_CURRENT, REJECTED', 'FAILED'],
    FailTask: ['COMMITTED, duplicate', 'FAILED'],
    ReleaseTask: ['LEASE_NOT_CURRENT, REJECTED', 'FAILED'],
    KillTask: ['TASK_TERMINAL', 'FAILED'],
    CancelTask: ['TASK_TERMINAL', 'FAILED'],
    CheckpointTask: ['LEASE_NOT_CURRENT', 'FAILED'],
    ChangeTask: ['TASK_NOT_WAITING', 'FAILED'],
    Heartbeat: ['lost: failed', 'FAILED'],
    RequeueTask: ['requeued', 'FAILED'],
    ...elsewhere('FAILED'),
  },
  DEAD: {
    CreateTask: ['duplicate', 'DEAD'],
    LeaseTasks: ['0 leased', 'DEAD'],
    ExtendLease: ['LEASE_NOT_CURRENT', 'DEAD'],
    CompleteTask: ['CANCELLED', 'DEAD'],
    FailTask: ['CANCELLED', 'DEAD'],
    ReleaseTask: ['CANCELLED', 'DEAD'],
    KillTask: ['TASK_TERMINAL', 'DEAD'],
    CancelTask: ['TASK_TERMINAL', 'DEAD'],
    CheckpointTask: ['LEASE_NOT_CURRENT', 'DEAD'],
    ChangeTask: ['TASK_NOT_WAITING', 'DEAD'],
    Heartbeat: ['lost: killed', 'DEAD'],
    RequeueTask: ['requeued', 'DEAD'],
    ...elsewhere('DEAD'),
  },
};

function heard(command: CommandType, { answer }: Scenario): string {
  if (command in elsewhere('WAITING')) return 'is not about tasks';
  if (answer === null) return 'waits';
  if (isRefusal(answer)) return [answer.refused, ...(answer.outcome ? [answer.outcome] : [])].join(', ');
  const repeated = 'duplicate' in answer && answer.duplicate ? ['duplicate'] : [];
  if ('outcome' in answer) return [answer.outcome, ...repeated].join(', ');
  if ('extended' in answer && 'lost' in answer) {
    return answer.lost.length > 0 ? `lost: ${answer.lost[0]!.cause}` : `${answer.extended.length} extended`;
  }
  if ('leases' in answer) return `${answer.leases.length} leased`;
  if (command === 'KillTask') return 'killed';
  if ('requeuedFrom' in answer) return repeated[0] ?? 'requeued';
  if (command === 'CancelTask') return repeated[0] ?? 'cancelled';
  if (command === 'CheckpointTask') return 'checkpointed';
  if (command === 'ChangeTask') return 'changed';
  return repeated[0] ?? 'extended';
}

describe('state × command', () => {
  for (const state of Object.keys(TABLE) as TaskState[]) {
    for (const command of Object.keys(TABLE[state]) as CommandType[]) {
      const [hears, becomes] = TABLE[state][command];
      it(`${state} × ${command}: ${hears} → ${becomes}`, () => {
        const story = given(...WAYS[state]).thenTask('task', { state });
        story.when(COMMANDS[command]).thenTask('task', { state: becomes });
        expect(heard(command, story)).toBe(hears);
      });
    }
  }

  it('has a rule for every state', () => {
    expect(Object.keys(TASK_RULES).sort()).toEqual(Object.keys(TABLE).sort());
  });
});

describe('a task that is not there', () => {
  it.each([
    ['complete', completeTask({ leaseSeq: 1 })],
    ['fail', failTask({ leaseSeq: 1 })],
    ['release', releaseTask({ leaseSeq: 1 })],
  ] as const)('rejects to %s: TASK_NOT_FOUND', (_, command) => {
    given().when(command).thenRefuses('TASK_NOT_FOUND', { outcome: 'REJECTED' }).thenRecordsNothing();
  });

  it.each([
    ['extended', extendLease({ leaseSeq: 1 })],
    ['killed', killTask()],
    ['cancelled', cancelTask()],
    ['checkpointed', checkpointTask({ leaseSeq: 1 })],
    ['changed', changeTask({ priority: 1 })],
  ] as const)('cannot be %s: TASK_NOT_FOUND', (_, command) => {
    given().when(command).thenRefuses('TASK_NOT_FOUND').thenRecordsNothing();
  });

  it('is lost, for an unknown reason', () => {
    given()
      .when(heartbeat({ leases: [{ taskId: 'task', leaseSeq: 7 }] }))
      .thenAnswers({ extended: [], lost: [{ taskId: 'task', cause: 'unknown' }] })
      .thenRecordsNothing();
  });
});

describe('a lease the task never had', () => {
  it.each([
    ['complete', completeTask({ leaseSeq: 99 })],
    ['fail', failTask({ leaseSeq: 99 })],
    ['release', releaseTask({ leaseSeq: 99 })],
  ] as const)('rejects to %s: LEASE_UNKNOWN', (_, command) => {
    given(createTask(), leaseTasks())
      .when(command)
      .thenRefuses('LEASE_UNKNOWN', { outcome: 'REJECTED' })
      .thenRecordsNothing()
      .thenTask('task', { state: 'LEASED' });
  });

  it('is the lease of another task: LEASE_UNKNOWN', () => {
    given(createTask({ taskId: 'one' }), createTask({ taskId: 'two' }), leaseTasks({ max: 2 }))
      .when((state) => completeTask({ taskId: 'one', leaseSeq: newestLease(state, 'two') })(state))
      .thenRefuses('LEASE_UNKNOWN', { outcome: 'REJECTED' })
      .thenTask('one', { state: 'LEASED' });
  });

  it('cannot be extended', () => {
    given(createTask(), leaseTasks())
      .when(extendLease({ leaseSeq: 99 }))
      .thenRefuses('LEASE_UNKNOWN');
  });
});

describe('completing a task', () => {
  it('makes it COMPLETED and invalidates its lease', () => {
    given(createTask(), leaseTasks())
      .when(completeTask({ result: 'done' }))
      .thenCommits({
        state: 'COMPLETED',
        verb: 'complete',
        duplicate: false,
        seq: 4,
        dueAtMs: 0,
        cause: null,
      })
      .thenRecords('TaskCompleted')
      .thenTask('task', {
        state: 'COMPLETED',
        attempt: 1,
        result: { length: 4 },
        endedSeq: 4,
        endedAtMs: START_MS,
      })
      .thenTask('task', { leases: [{ seq: 3, end: 'complete', endedSeq: 4 }] });
  });

  it('is accepted in the last millisecond of the lease', () => {
    given(createTask(), leaseTasks())
      .when(completeTask(), { atMs: END_MS - 1 })
      .thenCommits();
  });

  it('is refused from the millisecond the lease ends, even before the expiry is written', () => {
    given(createTask(), leaseTasks())
      .when(completeTask(), { atMs: END_MS })
      .thenCancels({ cause: 'expired', state: 'WAITING', duplicate: false })
      .thenRecords('LeaseExpired', 'TaskCancelled')
      .thenTask('task', { state: 'WAITING' });
  });

  it('is CANCELLED when the lease was superseded; the new holder keeps the task', () => {
    given(createTask(), leaseTasks(), at(END_MS), leaseTasks({ workerId: 'second' }))
      .when(completeTask({ leaseSeq: 3, result: 'late' }))
      .thenCancels({ cause: 'expired', state: 'LEASED' })
      .thenRecords('TaskCancelled')
      .thenTask('task', { state: 'LEASED', attempt: 2, result: null });
  });

  it('is CANCELLED when the task was killed, and keeps the late result for inspection', () => {
    given(createTask(), leaseTasks(), killTask())
      .when(completeTask({ result: 'late result' }))
      .thenCancels({ cause: 'killed', state: 'DEAD' })
      .thenTask('task', {
        state: 'DEAD',
        result: null,
        leases: [{ end: 'killed', lateResult: { length: 11 } }],
      });
  });

  it('is CANCELLED when the lease ended by a restore', () => {
    given(createTask(), leaseTasks(), restore())
      .when(completeTask())
      .thenCancels({ cause: 'restored', state: 'WAITING' });
  });

  it('is recorded once as TaskCancelled, however often it arrives and by whatever verb', () => {
    const story = given(createTask(), leaseTasks(), at(END_MS), completeTask({ result: 'first' }));
    const cancelledSeq = story.state.lastSeq;
    story
      .when(completeTask({ result: 'second' }))
      .thenCancels({ duplicate: true, seq: cancelledSeq, cause: 'expired' })
      .thenRecordsNothing();
    story.when(failTask()).thenCancels({ duplicate: true, seq: cancelledSeq }).thenRecordsNothing();
    story.thenTask('task', { leases: [{ cancelledSeq, lateResult: { length: 5 } }] });
  });

  it('sent again gets its first answer and no new entry', () => {
    const story = given(createTask(), leaseTasks(), completeTask({ result: 'first' }));
    story
      .when(completeTask({ result: 'another' }), { atMs: END_MS + 1 })
      .thenCommits({ state: 'COMPLETED', seq: 4, duplicate: true })
      .thenRecordsNothing()
      .thenTask('task', { result: { length: 5 } });
  });

  it('without a result leaves none', () => {
    given(createTask(), leaseTasks()).when(completeTask()).thenTask('task', { result: null });
  });
});

describe('completing a task with fenced writes', () => {
  const held = [
    createTask(),
    leaseTasks(),
    acquireNames({ names: ['one'] }),
    acquireNames({ names: ['two'] }),
  ];

  it('writes all of them in the same entry', () => {
    const story = given(...held).when(
      completeTask({
        writes: [
          { objectId: 'one', value: 'a' },
          { objectId: 'two', value: 'bb' },
        ],
      }),
    );
    story.thenCommits().thenRecords('TaskCompleted');
    const { lastSeq } = story.state;
    story.thenName('one', {
      version: 1,
      object: { value: { length: 1 }, version: 1, leaseSeq: 4, seq: lastSeq },
    });
    story.thenName('two', {
      version: 1,
      object: { value: { length: 2 }, version: 1, leaseSeq: 5, seq: lastSeq },
    });
  });

  it('counts two writes of one object as two versions', () => {
    given(...held)
      .when(
        completeTask({
          writes: [
            { objectId: 'one', value: 'a' },
            { objectId: 'one', value: 'bb' },
          ],
        }),
      )
      .thenCommits()
      .thenName('one', { version: 2, object: { value: { length: 2 } } });
  });

  it('writes none when one fails: the first that fails answers with its code and index, the task stays LEASED', () => {
    given(...held, breakName({ name: 'two' }))
      .when(
        completeTask({
          writes: [{ objectId: 'one' }, { objectId: 'two' }, { objectId: 'one', lease: null }],
        }),
      )
      .thenRefuses('LEASE_EXPIRED', { index: 1 })
      .thenRecordsNothing()
      .thenTask('task', { state: 'LEASED' })
      .thenName('one', { version: 0, object: null });
  });

  it('judges a write by the same checks as a write of its own', () => {
    given(...held)
      .when(completeTask({ writes: [{ objectId: 'one', lease: null }] }))
      .thenRefuses('WRITE_UNFENCED', { index: 0 });
  });

  it('refuses a lease of an object that ends in this millisecond', () => {
    given(createTask(), leaseTasks(), acquireNames({ ttlMs: 1_000 }))
      .when(completeTask({ writes: [{}] }), { atMs: START_MS + 1_000 })
      .thenRefuses('LEASE_EXPIRED', { index: 0 })
      .thenTask('task', { state: 'LEASED' });
  });

  it('does not judge them when the verdict is CANCELLED anyway', () => {
    given(...held, killTask())
      .when(completeTask({ writes: [{ objectId: 'one', lease: null }] }))
      .thenCancels()
      .thenName('one', { object: null });
  });

  it('does not write again when the completion is repeated', () => {
    given(...held, completeTask({ writes: [{ objectId: 'one' }] }))
      .when(completeTask({ writes: [{ objectId: 'one' }] }))
      .thenCommits({ duplicate: true })
      .thenRecordsNothing()
      .thenName('one', { version: 1 });
  });
});

describe('failing a task', () => {
  it('makes it WAITING again after its backoff', () => {
    given(createTask({ backoffMs: 700 }), leaseTasks())
      .when(failTask({ reason: 'no such file' }))
      .thenCommits({ state: 'WAITING', dueAtMs: START_MS + 700, seq: 4 })
      .thenRecords('TaskFailed')
      .thenTask('task', { state: 'WAITING', failures: 1, reason: 'no such file', dueAtMs: START_MS + 700 });
  });

  it('doubles the backoff with every failure, up to its limit', () => {
    const story = given(createTask({ backoffMs: 100, maxBackoffMs: 350, maxFailures: 9 }));
    const waits = [100, 200, 350, 350].map((backoffMs) => {
      story.given(leaseTasks()).when(failTask());
      const { dueAtMs } = story.task('task');
      const waitMs = dueAtMs - story.machine.batchAtMs;
      story.given(at(dueAtMs));
      return [backoffMs, waitMs];
    });
    for (const [backoffMs, waitMs] of waits) expect(waitMs).toBe(backoffMs);
  });

  it('with a backoff of nothing is due at once, even after more than a thousand failures', () => {
    const story = given(
      createTask({ backoffMs: 0, maxFailures: 2_000, maxAttempts: 5_000 }),
      times(1_030, leaseTasks(), failTask()),
    );
    story.thenTask('task', { state: 'WAITING', failures: 1_030, dueAtMs: START_MS });
  }, 60_000);

  it('waits as long as the worker says when it says so', () => {
    given(createTask(), leaseTasks())
      .when(failTask({ delayMs: 5 }))
      .thenCommits({ dueAtMs: START_MS + 5 });
  });

  it('makes it FAILED at the max_failures-th failure', () => {
    given(createTask({ maxFailures: 2 }), leaseTasks(), failTask({ delayMs: 0 }), leaseTasks())
      .when(failTask({ reason: 'twice' }))
      .thenCommits({ state: 'FAILED', dueAtMs: 0 })
      .thenRecords('TaskFailed')
      .thenTask('task', { state: 'FAILED', failures: 2, reason: 'twice', endedSeq: 6 });
  });

  it('makes it FAILED at once when the worker wants no retry', () => {
    given(createTask(), leaseTasks())
      .when(failTask({ retry: false }))
      .thenCommits({ state: 'FAILED' })
      .thenTask('task', { state: 'FAILED', failures: 1 });
  });

  it('never counts expiries as failures', () => {
    given(createTask({ maxFailures: 1 }), times(3, leaseTasks(), later(TTL_MS))).thenTask('task', {
      state: 'WAITING',
      failures: 0,
      attempt: 3,
    });
  });

  it('sent again gets its first answer, whatever has become of the task since', () => {
    const story = given(createTask(), leaseTasks(), failTask({ delayMs: 5 }));
    const first = story.answer;
    story.given(later(5), leaseTasks(), completeTask());
    story
      .when(failTask({ leaseSeq: 3 }))
      .thenAnswers({ ...first, duplicate: true })
      .thenRecordsNothing();
  });

  it('sent again after the last failure says FAILED', () => {
    const story = given(createTask({ maxFailures: 1 }), leaseTasks(), failTask());
    const first = story.answer;
    story
      .when(failTask())
      .thenAnswers({ ...first, duplicate: true })
      .thenRecordsNothing();
  });

  it('sent again after an admin killed the waiting task still says WAITING', () => {
    const story = given(createTask(), leaseTasks(), failTask());
    const first = story.answer;
    story.given(killTask());
    story
      .when(failTask())
      .thenAnswers({ ...first, duplicate: true })
      .thenRecordsNothing();
  });

  it('by a lease that is over is CANCELLED', () => {
    given(createTask(), leaseTasks())
      .when(failTask(), { atMs: END_MS })
      .thenCancels({ cause: 'expired', verb: 'fail' })
      .thenTask('task', { failures: 0 });
  });
});

describe('releasing a task', () => {
  it('hands it back and counts as neither failure nor attempt', () => {
    given(createTask({ maxAttempts: 1 }), leaseTasks())
      .when(releaseTask())
      .thenCommits({ state: 'WAITING', dueAtMs: START_MS })
      .thenRecords('TaskReleased')
      .thenTask('task', { state: 'WAITING', attempt: 1, countedAttempts: 0, failures: 0 });
  });

  it('whose lease no worker was told of records nothing when it was killed meanwhile', () => {
    given(createTask(), leaseTasks(), killTask())
      .when(releaseTask({ isUndelivered: true }))
      .thenRefuses('LEASE_NOT_CURRENT')
      .thenRecordsNothing();
  });

  it('may ask for a delay', () => {
    given(createTask(), leaseTasks(), releaseTask({ delayMs: 50 }))
      .when(leaseTasks(), { atMs: START_MS + 49 })
      .thenLeases()
      .when(leaseTasks(), { atMs: START_MS + 50 })
      .thenLeases('task');
  });

  it('sent again gets its first answer and does not take the task from its next holder', () => {
    const story = given(createTask(), leaseTasks(), releaseTask());
    const first = story.answer;
    story.given(leaseTasks({ workerId: 'second' }));
    story
      .when(releaseTask({ leaseSeq: 3 }))
      .thenAnswers({ ...first, duplicate: true })
      .thenRecordsNothing()
      .thenTask('task', { state: 'LEASED' });
  });
});

describe('another verb on a lease its own holder ended', () => {
  const verbs = { complete: completeTask, fail: failTask, release: releaseTask };
  for (const [ended, first] of Object.entries(verbs)) {
    for (const [verb, second] of Object.entries(verbs)) {
      if (ended === verb) continue;
      it(`${ended}, then ${verb}: LEASE_NOT_CURRENT, REJECTED`, () => {
        given(createTask(), leaseTasks(), first())
          .when(second())
          .thenRefuses('LEASE_NOT_CURRENT', { outcome: 'REJECTED' })
          .thenRecordsNothing();
      });
    }
  }
});

describe('extending a lease', () => {
  it('moves its end', () => {
    given(createTask(), leaseTasks(), later(1_000))
      .when(extendLease())
      .thenAnswers({ taskId: 'task', leaseSeq: 3, expiresAtMs: END_MS + 1_000, remainingMs: TTL_MS, seq: 4 })
      .thenRecords('LeaseExtended')
      .thenTask('task', { state: 'LEASED', attempt: 1, leases: [{ expiresAtMs: END_MS + 1_000 }] });
  });

  it('never shortens', () => {
    given(createTask(), leaseTasks())
      .when(extendLease({ ttlMs: 10 }))
      .thenAnswers({ expiresAtMs: END_MS, remainingMs: TTL_MS, seq: 3 })
      .thenRecordsNothing();
  });

  it('keeps the lease alive beyond its first end', () => {
    given(createTask(), leaseTasks(), later(TTL_MS - 1), extendLease(), at(END_MS))
      .when(completeTask(), { atMs: END_MS + TTL_MS - 2 })
      .thenCommits();
  });

  it('is refused from the millisecond the lease ends', () => {
    given(createTask(), leaseTasks())
      .when(extendLease(), { atMs: END_MS - 1 })
      .thenAnswers({ leaseSeq: 3 });
    given(createTask(), leaseTasks())
      .when(extendLease(), { atMs: END_MS })
      .thenRefuses('LEASE_EXPIRED')
      .thenRecords('LeaseExpired');
  });

  it('says LEASE_NOT_CURRENT for a lease that ended otherwise', () => {
    given(createTask(), leaseTasks(), releaseTask(), leaseTasks())
      .when(extendLease({ leaseSeq: 3 }))
      .thenRefuses('LEASE_NOT_CURRENT');
  });
});

describe('a heartbeat', () => {
  it('extends all listed leases and names those that are lost, each with its cause', () => {
    given(
      createTask({ taskId: 'kept' }),
      createTask({ taskId: 'done' }),
      createTask({ taskId: 'ran out' }),
      leaseTasks({ max: 2 }),
      leaseTasks({ ttlMs: 10 }),
      completeTask({ taskId: 'done' }),
      later(10),
    )
      .when(heartbeat({ leases: [{ taskId: 'kept' }, { taskId: 'done' }, { taskId: 'ran out' }] }))
      .thenAnswers({
        extended: [{ taskId: 'kept', expiresAtMs: END_MS + 10 }],
        lost: [
          { taskId: 'done', cause: 'completed' },
          { taskId: 'ran out', cause: 'expired' },
        ],
      })
      .thenRecords('LeaseExtended');
  });

  it('gives back the lease ids it was sent', () => {
    given()
      .when(heartbeat({ leases: [{ taskId: 'gone', leaseSeq: 33 }] }))
      .thenAnswers({ lost: [{ leaseId: 'l00000000011' }] });
  });

  it('detects an end in this millisecond', () => {
    given(createTask(), leaseTasks())
      .when(heartbeat(), { atMs: END_MS })
      .thenAnswers({ extended: [], lost: [{ cause: 'expired' }] });
  });
});

describe('killing a task', () => {
  it('makes a WAITING task DEAD', () => {
    given(createTask())
      .when(killTask({ reason: 'not needed' }))
      .thenAnswers({ taskId: 'task', state: 'DEAD', seq: 3 })
      .thenRecordsEntry({ type: 'TaskDead', leaseSeq: 0, reason: 'not needed' })
      .thenTask('task', { state: 'DEAD', reason: 'not needed' });
  });

  it('ends the lease of a LEASED task', () => {
    given(createTask(), leaseTasks())
      .when(killTask())
      .thenRecordsEntry({ type: 'TaskDead', leaseSeq: 3 })
      .thenTask('task', { state: 'DEAD', leases: [{ end: 'killed' }] });
  });

  it('reaches a task that is delayed', () => {
    given(createTask({ delayMs: 1_000 }), killTask())
      .when(leaseTasks(), { atMs: START_MS + 1_000 })
      .thenLeases();
  });
});

describe('max_attempts', () => {
  it('counts attempts that expire: the task is DEAD, ATTEMPTS_EXHAUSTED', () => {
    given(createTask({ maxAttempts: 2 }), times(2, leaseTasks(), later(TTL_MS)))
      .thenTask('task', { state: 'DEAD', reason: 'ATTEMPTS_EXHAUSTED', attempt: 2 })
      .when(leaseTasks())
      .thenLeases();
  });

  it('counts attempts that fail', () => {
    given(
      createTask({ maxAttempts: 2, maxFailures: 9 }),
      leaseTasks(),
      failTask({ delayMs: 0 }),
      leaseTasks(),
    )
      .when(failTask({ reason: 'again' }))
      .thenCommits({ state: 'DEAD', dueAtMs: 0, seq: 6 })
      .thenRecords('TaskFailed', 'TaskDead')
      .thenTask('task', { state: 'DEAD', reason: 'ATTEMPTS_EXHAUSTED', failures: 2 });
  });

  it('makes the failure that uses them up name DEAD as the state that follows, and no other', () => {
    const failures = (maxAttempts: number, retry = true): string[] =>
      given(createTask({ maxAttempts, maxFailures: 9 }), leaseTasks(), failTask({ delayMs: 0, retry }))
        .log.map(({ entry }) => entry)
        .flatMap((entry) => (entry.type === 'TaskFailed' ? [entry.nextState] : []));
    expect(failures(1)).toEqual(['DEAD']);
    expect(failures(2)).toEqual(['WAITING']);
    expect(failures(1, false)).toEqual(['FAILED']);
  });

  it('gives the last failure its first answer again', () => {
    const story = given(createTask({ maxAttempts: 1 }), leaseTasks(), failTask());
    const first = story.answer;
    story
      .when(failTask())
      .thenAnswers({ ...first, state: 'DEAD', duplicate: true })
      .thenRecordsNothing();
  });

  it('does not count attempts that were handed back', () => {
    given(
      createTask({ maxAttempts: 2 }),
      times(5, leaseTasks(), releaseTask()),
      leaseTasks(),
      later(TTL_MS),
    ).thenTask('task', { state: 'WAITING', attempt: 6, countedAttempts: 1 });
  });

  it('does not count expiries that fell due while the authority was down', () => {
    given(createTask({ maxAttempts: 1 }), leaseTasks(), restart({ downMs: TTL_MS }))
      .thenTask('task', { state: 'WAITING', attempt: 1, countedAttempts: 0 })
      .when(leaseTasks())
      .thenLeases('task');
  });

  it('counts an expiry that fell due after the authority was back', () => {
    given(createTask({ maxAttempts: 1 }), leaseTasks(), restart({ downMs: TTL_MS - 1 }), later(1)).thenTask(
      'task',
      { state: 'DEAD', reason: 'ATTEMPTS_EXHAUSTED' },
    );
  });

  it('does not count leases that a restore ended', () => {
    given(createTask({ maxAttempts: 1 }), leaseTasks(), restore()).thenTask('task', {
      state: 'WAITING',
      attempt: 1,
      countedAttempts: 0,
    });
  });

  it('lets the last attempt complete', () => {
    given(createTask({ maxAttempts: 1 }), leaseTasks())
      .when(completeTask())
      .thenCommits();
  });
});

describe('memory of leases', () => {
  const used = (count: number): Step[] => [createTask(), times(count, leaseTasks(), releaseTask())];

  it('reaches back sixteen leases before the current one', () => {
    // The first lease has seq 3, and every round takes two entries.
    const story = given(...used(16), leaseTasks());
    story
      .when(releaseTask({ leaseSeq: 3 }))
      .thenCommits({ duplicate: true, seq: 4 })
      .thenRecordsNothing();
  });

  it('has forgotten the seventeenth', () => {
    const story = given(...used(17), leaseTasks());
    expect(story.task('task').leases).toHaveLength(17);
    story.when(releaseTask({ leaseSeq: 3 })).thenRefuses('LEASE_UNKNOWN', { outcome: 'REJECTED' });
    story.when(releaseTask({ leaseSeq: 5 })).thenCommits({ duplicate: true });
  });
});

describe('the invariants of seed 002', () => {
  it('INV-WAITING-NO-LEASE: a task in WAITING has no lease', () => {
    for (const end of [releaseTask(), failTask(), at(END_MS)]) {
      const { state, leases } = given(createTask(), leaseTasks(), end).task('task');
      expect([state, leases.filter((lease) => lease.end === 'live')]).toEqual(['WAITING', []]);
    }
  });

  it('INV-LEASED-VALID-LEASE: a task in LEASED has exactly one valid lease', () => {
    const { leases } = given(createTask(), times(3, leaseTasks(), later(TTL_MS)), leaseTasks()).task('task');
    expect(leases.map(({ end }) => end)).toEqual(['live', 'expired', 'expired', 'expired']);
  });

  it('INV-TERMINAL-FOR-EVER: COMPLETED tasks never transition again', () => {
    const story = given(createTask(), leaseTasks(), completeTask());
    const ended = story.task('task');
    for (const command of Object.values(COMMANDS)) story.when(command);
    story.given(later(10 * TTL_MS));
    // A requeue leaves a note of the successor, and nothing else.
    const { requeuedAs, lastSeq, ...now } = story.task('task');
    expect({ ...now, requeuedAs: null, lastSeq: ended.lastSeq }).toEqual(ended);
    expect(story.task(requeuedAs!)).toMatchObject({ createdSeq: lastSeq, requeuedFrom: 'task' });
  });

  it('INV-ATTEMPT-MONOTONIC: the attempt counts leases granted and never goes down', () => {
    given(
      createTask(),
      leaseTasks(),
      releaseTask(),
      leaseTasks(),
      failTask({ delayMs: 0 }),
      leaseTasks(),
    ).thenTask('task', { attempt: 3, countedAttempts: 2 });
  });
});
