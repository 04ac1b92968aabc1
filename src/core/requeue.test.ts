/** Running an ended task again, and the lists and leases that show what a task was created with. */
import { describe, expect, it } from 'vitest';
import {
  ANY_TASK,
  acceptIntent,
  completeTask,
  createTask,
  killTask,
  leaseTasks,
  opaqueOf,
  requeueTask,
  stopSession,
} from '../../test/support/commands.ts';
import { given, later, restart, scenario } from '../../test/support/scenario.ts';
import { walkTasks } from './list-tasks.ts';
import { START_QUEUE } from './reserved-names.ts';

const TRACE = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', tracestate: 'v=1' };

const ended = (more: Parameters<typeof createTask>[0] = {}) =>
  given(
    createTask({
      queue: 'a',
      priority: 3,
      groupKey: 'k',
      trace: TRACE,
      dedupKey: 'd',
      maxAttempts: 7,
      maxFailures: 2,
      backoffMs: 11,
      maxBackoffMs: 12,
      ...more,
    }),
    killTask(),
  );

describe('an ended task', () => {
  it('is run again as a new one with its policy and key, and without dedup key and trace', () => {
    ended()
      .when(requeueTask({ newTaskId: 'again', reason: 'mended', delayMs: 5 }))
      .thenRecords('TaskCreated')
      .thenRecordsEntry({ type: 'TaskCreated', requeuedFrom: 'task', requeueReason: 'mended' })
      .thenAnswers({ requeuedFrom: 'task', taskId: 'again', duplicate: false })
      .thenTask('again', {
        state: 'WAITING',
        attempt: 0,
        queue: 'a',
        priority: 3,
        groupKey: 'k',
        maxAttempts: 7,
        maxFailures: 2,
        backoffMs: 11,
        maxBackoffMs: 12,
        requeuedFrom: 'task',
        requeuedAs: null,
        dedupKey: null,
        traceparent: null,
        payload: { length: 'payload'.length },
      })
      .thenTask('task', { state: 'DEAD', requeuedAs: 'again', requeuedFrom: null });
  });

  it('goes into the queue and has the priority that are given', () => {
    ended()
      .when(requeueTask({ newTaskId: 'again', queue: 'b', priority: -4 }))
      .thenTask('again', { queue: 'b', priority: -4 });
  });

  it('has one successor: again gives the same, another id is refused', () => {
    const story = ended().given(requeueTask({ newTaskId: 'again' }));
    story.when(requeueTask()).thenRecordsNothing().thenAnswers({ taskId: 'again', duplicate: true });
    story
      .when(requeueTask({ newTaskId: 'again' }))
      .thenRecordsNothing()
      .thenAnswers({ taskId: 'again' });
    story.when(requeueTask({ newTaskId: 'third' })).thenRefuses('TASK_ID_CONFLICT');
  });

  it('reports a forgotten successor without its state, also when its id belongs to another task', () => {
    const story = scenario({ retention: { completedTasksMs: 10 } }).given(
      createTask(),
      killTask(),
      requeueTask({ newTaskId: 'again' }),
      leaseTasks(),
      completeTask({ taskId: 'again' }),
    );
    story.when(requeueTask()).thenAnswers({ successor: { state: 'COMPLETED' }, duplicate: true });
    story.given(later(10)).when(requeueTask()).thenAnswers({ taskId: 'again', successor: null });
    story
      .given(createTask({ taskId: 'again' }))
      .when(requeueTask())
      .thenAnswers({ successor: null });
  });

  it('may be a successor itself', () => {
    ended()
      .given(requeueTask({ newTaskId: 'again' }), killTask({ taskId: 'again' }))
      .when(requeueTask({ taskId: 'again', newTaskId: 'third' }))
      .thenTask('again', { requeuedFrom: 'task', requeuedAs: 'third' })
      .thenTask('third', { requeuedFrom: 'again', groupKey: 'k' });
  });

  it('is refused under an id that is taken, or has the form of ids to come', () => {
    const story = ended().given(createTask({ taskId: 'other' }));
    story.when(requeueTask({ newTaskId: 'other' })).thenRefuses('TASK_ID_CONFLICT');
    story.when(requeueTask({ newTaskId: 'task' })).thenRefuses('TASK_ID_CONFLICT');
    story.when(requeueTask({ newTaskId: 't0000000vvvv' })).thenRefuses('INVALID_ARGUMENT');
  });

  it('is refused when its payload is damaged, and not where it was requeued before that', () => {
    const damaged = { createdSeq: 2, payload: null };
    const story = ended();
    story.when(requeueTask({ origin: damaged })).thenRefuses('PAYLOAD_DAMAGED');
    story
      .given(requeueTask())
      .when(requeueTask({ origin: damaged }))
      .thenAnswers({ duplicate: true });
  });

  it('is another one than was looked at: unknown, as it was in between', () => {
    const other = { createdSeq: 1, payload: opaqueOf('of another task') };
    ended()
      .when(requeueTask({ origin: other }))
      .thenRefuses('TASK_NOT_FOUND');
  });

  it('had not ended when it was looked at', () => {
    ended()
      .when(requeueTask({ origin: null }))
      .thenRefuses('TASK_NOT_ENDED');
  });
});

describe('a task that is not requeued', () => {
  it('is unknown, has not ended, or belongs to the system', () => {
    const story = given(createTask(), acceptIntent(), stopSession());
    story.when(requeueTask({ taskId: 'nobody' })).thenRefuses('TASK_NOT_FOUND');
    story.when(requeueTask()).thenRefuses('TASK_NOT_ENDED');
    const start = story.state.tasks.queues.get(START_QUEUE)!.lists.of('DEAD')!.ascending(0).next().value;
    story.when(requeueTask({ taskId: story.state.tasks.idOf(start) })).thenRefuses('FORBIDDEN');
    story
      .given(killTask())
      .when(requeueTask({ queue: 'system:mine' }))
      .thenRefuses('FORBIDDEN');
  });
});

describe('key and trace', () => {
  it('come with the lease, the first time and when it is asked for again', () => {
    const story = given(createTask({ groupKey: 'k', trace: TRACE }));
    story
      .when(leaseTasks({ requestId: 'r' }))
      .thenAnswers({ leases: [expect.objectContaining({ groupKey: 'k', trace: TRACE })] });
    story
      .when(leaseTasks({ requestId: 'r' }))
      .thenAnswers({ leases: [expect.objectContaining({ groupKey: 'k', trace: TRACE })] });
  });

  it('are no part of what makes two tasks the same', () => {
    given(createTask({ trace: TRACE }))
      .when(createTask({ trace: null, groupKey: 'other' }))
      .thenAnswers({ duplicate: true })
      .thenTask('task', { traceparent: TRACE.traceparent, groupKey: null });
  });
});

describe('a list by key', () => {
  const ids = (
    story: ReturnType<typeof scenario>,
    key: string,
    more = {},
    order: 'oldest' | 'newest' = 'oldest',
  ) =>
    [...walkTasks(story.state, { ...ANY_TASK, key, ...more }, order, null)].map((row) =>
      story.state.tasks.idOf(row),
    );

  it('is in the order of creation, also where rows are used again and after a restart', () => {
    const story = scenario({ retention: { failedTasksMs: 1 } }).given(
      createTask({ taskId: 'gone', groupKey: 'x' }),
      createTask({ taskId: 'one', groupKey: 'k' }),
      killTask({ taskId: 'gone' }),
      later(1),
      createTask({ taskId: 'two', groupKey: 'k' }),
      createTask({ taskId: 'other' }),
      later(5),
      createTask({ taskId: 'three', groupKey: 'k', queue: 'b' }),
    );
    const look = () => [ids(story, 'k'), ids(story, 'k', {}, 'newest'), ids(story, 'x')];
    expect(look()).toEqual([['one', 'two', 'three'], ['three', 'two', 'one'], []]);
    story.given(restart());
    expect(look()).toEqual([['one', 'two', 'three'], ['three', 'two', 'one'], []]);
    const afterMs = story.task('two').createdAtMs;
    expect(ids(story, 'k', { createdAfterMs: afterMs })).toEqual(['three']);
    expect(ids(story, 'k', { createdBeforeMs: afterMs }, 'newest')).toEqual(['one']);
    expect(ids(story, 'k', { queue: 'b' })).toEqual(['three']);
  });
});
