/** Cancelling, changing and checkpointing a task: what is recorded, what follows at once, what can never happen after it. */
import { describe, expect, it } from 'vitest';
import {
  cancelTask,
  changeTask,
  checkpointTask,
  completeTask,
  createTask,
  extendLease,
  failTask,
  heartbeat,
  killTask,
  leaseTasks,
  releaseTask,
  TTL_MS,
} from '../../test/support/commands.ts';
import { at, given, later, restart, restore, START_MS, type Step } from '../../test/support/scenario.ts';

const END_MS = START_MS + TTL_MS;
const LEASED: readonly Step[] = [createTask(), leaseTasks()];
const REASON = 'The customer has left.';
const CANCELLED = { state: 'DEAD', reason: 'CANCELLED', reasonDetail: REASON } as const;

describe('cancelling a task', () => {
  it('makes a WAITING task DEAD, with the words of the caller', () => {
    given(createTask())
      .when(cancelTask({ reason: REASON }))
      .thenAnswers({ taskId: 'task', state: 'DEAD', seq: 3, duplicate: false })
      .thenRecordsEntry({ type: 'TaskDead', leaseSeq: 0, reason: 'CANCELLED', detail: REASON })
      .thenTask('task', CANCELLED);
  });

  it('asks the holder of a LEASED task, once', () => {
    const story = given(...LEASED);
    story
      .when(cancelTask({ reason: REASON }))
      .thenAnswers({ state: 'LEASED', seq: 4, duplicate: false })
      .thenRecordsEntry({ type: 'TaskCancelRequested', leaseSeq: 3, reason: REASON })
      .thenTask('task', { state: 'LEASED', cancelReason: REASON });
    story.when(cancelTask()).thenAnswers({ state: 'LEASED', duplicate: true }).thenRecordsNothing();
  });

  it('is reported with the next extension and heartbeat', () => {
    const story = given(...LEASED);
    story.when(extendLease()).thenAnswers({ cancelRequested: false });
    story.given(cancelTask());
    story.when(extendLease()).thenAnswers({ cancelRequested: true });
    story.when(heartbeat()).thenAnswers({ extended: [{ cancelRequested: true }] });
  });

  it('leaves a completion in time as it is', () => {
    given(...LEASED, cancelTask())
      .when(completeTask())
      .thenCommits({ state: 'COMPLETED' })
      .thenRecords('TaskCompleted');
  });

  it('is followed by the end of the task when its holder fails it', () => {
    given(...LEASED, cancelTask({ reason: REASON }))
      .when(failTask())
      .thenCommits({ state: 'DEAD', dueAtMs: 0 })
      .thenRecords('TaskFailed', 'TaskDead')
      .thenTask('task', { ...CANCELLED, failures: 1, leases: [{ end: 'fail' }] });
  });

  it('is followed by the end of the task when its holder hands it back', () => {
    given(...LEASED, cancelTask({ reason: REASON }))
      .when(releaseTask())
      .thenCommits({ state: 'DEAD', dueAtMs: 0 })
      .thenRecords('TaskReleased', 'TaskDead')
      .thenTask('task', { ...CANCELLED, leases: [{ end: 'release' }] });
  });

  it('is followed by the end of the task when its lease runs out', () => {
    given(...LEASED, cancelTask({ reason: REASON }))
      .when(leaseTasks(), { atMs: END_MS })
      .thenLeases()
      .thenRecords('LeaseExpired', 'TaskDead')
      .thenTask('task', { ...CANCELLED, leases: [{ end: 'expired' }] });
  });

  it('gives the verb that ended the lease its first answer again', () => {
    for (const verb of [failTask(), releaseTask()]) {
      const story = given(...LEASED, cancelTask(), verb);
      const first = story.answer;
      story
        .when(verb)
        .thenAnswers({ ...first, duplicate: true } as never)
        .thenRecordsNothing();
    }
  });

  it('is the reason also when the attempts are used up', () => {
    given(createTask({ maxAttempts: 1 }), leaseTasks(), cancelTask({ reason: REASON }), at(END_MS)).thenTask(
      'task',
      CANCELLED,
    );
  });

  it('leaves a final failure as it is', () => {
    given(...LEASED, cancelTask())
      .when(failTask({ retry: false }))
      .thenCommits({ state: 'FAILED' })
      .thenRecords('TaskFailed');
  });

  it('outlives a restart: the task ends when its lease does', () => {
    given(...LEASED, cancelTask({ reason: REASON }), restart(), at(END_MS)).thenTask('task', CANCELLED);
  });

  it('outlives a restore, which ends the lease and the task with it', () => {
    given(...LEASED, cancelTask({ reason: REASON }), restore())
      .thenTask('task', { ...CANCELLED, leases: [{ end: 'restored' }] })
      .when(leaseTasks())
      .thenLeases();
  });

  it('serves no worker that waits for the task', () => {
    const story = given(...LEASED, cancelTask());
    story.when(leaseTasks({ workerId: 'second', waitMs: 60_000 }));
    story.when(releaseTask()).thenRecords('TaskReleased', 'TaskDead');
  });

  it('is no news about a task that was cancelled before, in either way', () => {
    given(createTask(), cancelTask())
      .when(cancelTask())
      .thenAnswers({ state: 'DEAD', seq: 3, duplicate: true })
      .thenRecordsNothing();
    given(...LEASED, cancelTask(), releaseTask())
      .when(cancelTask())
      .thenAnswers({ state: 'DEAD', seq: 6, duplicate: true })
      .thenRecordsNothing();
  });

  it('does not take a kill with the word CANCELLED for a cancellation', () => {
    given(createTask(), killTask({ reason: 'CANCELLED' }))
      .when(cancelTask())
      .thenRefuses('TASK_TERMINAL');
  });

  it('is refused for a task of a system queue, as are the other operations on it', () => {
    const story = given(createTask({ queue: 'system:q' }));
    for (const command of [cancelTask(), changeTask({ priority: 1 }), checkpointTask()])
      story.when(command).thenRefuses('FORBIDDEN').thenRecordsNothing();
  });
});

describe('saving a checkpoint', () => {
  it('keeps the last one, and gives it to the next attempt', () => {
    given(...LEASED, checkpointTask({ value: 'one' }))
      .when(checkpointTask({ value: 'three' }))
      .thenAnswers({ taskId: 'task', leaseSeq: 3, seq: 5 })
      .thenRecordsEntry({ type: 'TaskCheckpointed', leaseSeq: 3 })
      .given(releaseTask())
      .when(leaseTasks())
      .thenAnswers({ leases: [{ attempt: 2, checkpoint: { length: 5 } }] });
  });

  it('is over with the completion of the task', () => {
    given(...LEASED, checkpointTask(), completeTask()).thenTask('task', { checkpoint: null });
  });

  it('leaves it with a task that ends otherwise', () => {
    given(...LEASED, checkpointTask(), killTask()).thenTask('task', { checkpoint: { length: 7 } });
  });

  it('outlives a restore', () => {
    given(...LEASED, checkpointTask(), restore())
      .when(leaseTasks())
      .thenAnswers({ leases: [{ checkpoint: { length: 7 } }] });
  });

  it('is refused when the lease is over: by time, or otherwise', () => {
    given(...LEASED)
      .when(checkpointTask(), { atMs: END_MS })
      .thenRefuses('LEASE_EXPIRED')
      .thenRecords('LeaseExpired');
    given(...LEASED, releaseTask())
      .when(checkpointTask())
      .thenRefuses('LEASE_NOT_CURRENT')
      .thenRecordsNothing();
  });

  it('is refused to a holder whose task has another one by now', () => {
    given(...LEASED, at(END_MS), leaseTasks({ workerId: 'second' }))
      .when(checkpointTask({ leaseSeq: 3 }))
      .thenRefuses('LEASE_EXPIRED')
      .thenTask('task', { checkpoint: null });
  });
});

describe('changing a task', () => {
  it('records where it stands from now on', () => {
    given(createTask())
      .when(changeTask({ queue: 'other', priority: 3, delayMs: 50 }))
      .thenAnswers({ taskId: 'task', queue: 'other', priority: 3, dueAtMs: START_MS + 50, seq: 3 })
      .thenRecordsEntry({ type: 'TaskChanged', queue: 'other', priority: 3, dueAtMs: START_MS + 50 })
      .thenTask('task', { queue: 'other', priority: 3, dueAtMs: START_MS + 50 });
  });

  it('leaves alone what is not named', () => {
    given(createTask({ priority: 7, delayMs: 100 }))
      .when(changeTask({ queue: 'other' }))
      .thenTask('task', { queue: 'other', priority: 7, dueAtMs: START_MS + 100 });
  });

  it('records nothing when nothing changes', () => {
    given(createTask())
      .when(changeTask({ queue: 'default', priority: 0 }))
      .thenAnswers({ seq: 2 })
      .thenRecordsNothing();
  });

  it('wakes a delayed task, and puts a task that is due to sleep', () => {
    const story = given(createTask({ delayMs: 1_000 }), changeTask({ delayMs: 0 }));
    story.when(leaseTasks()).thenAnswers({ leases: [{ taskId: 'task' }] });
    given(createTask(), changeTask({ delayMs: 10 }), later(9))
      .when(leaseTasks())
      .thenLeases();
  });

  it('keeps the age of the task: it goes before younger ones of the new queue', () => {
    const other = { taskId: 'younger', queue: 'other' };
    given(createTask(), createTask(other), changeTask({ queue: 'other' }))
      .when(leaseTasks({ queues: ['other'] }))
      .thenAnswers({ leases: [{ taskId: 'task' }] });
  });

  it('takes the dedup key along, unless it is taken there', () => {
    const moved = given(createTask({ dedupKey: 'd' }), changeTask({ queue: 'other' }));
    moved.when(createTask({ taskId: 'new', dedupKey: 'd' })).thenAnswers({ duplicate: false });
    moved
      .when(createTask({ taskId: 'newer', queue: 'other', dedupKey: 'd' }))
      .thenAnswers({ taskId: 'task', duplicate: true });
    given(createTask({ dedupKey: 'd' }), createTask({ taskId: 'two', queue: 'other', dedupKey: 'd' }))
      .when(changeTask({ queue: 'other' }))
      .thenRefuses('TASK_ID_CONFLICT')
      .thenRecordsNothing();
  });

  it('is refused into a system queue', () => {
    given(createTask())
      .when(changeTask({ queue: 'system:q' }))
      .thenRefuses('FORBIDDEN');
  });

  it('forgets a queue that is left empty', () => {
    const { state } = given(createTask(), changeTask({ queue: 'other' }));
    expect([...state.tasks.queues.keys()]).toEqual(['other']);
  });
});
