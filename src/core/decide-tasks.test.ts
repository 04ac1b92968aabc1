/** Creating tasks, who is leased next, repeated requests, pausing. */
import { describe, expect, it } from 'vitest';
import {
  completeTask,
  createTask,
  failTask,
  killTask,
  leaseTasks,
  opaqueOf,
  pauseQueue,
  releaseTask,
  resumeQueue,
  TTL_MS,
} from '../../test/support/commands.ts';
import {
  at,
  given,
  later,
  leasedTasks,
  restart,
  START_MS,
  type Step,
  scenario,
  times,
} from '../../test/support/scenario.ts';
import { taskIdOfSeq } from './ids.ts';

describe('creating a task', () => {
  it('makes it WAITING with attempt 0', () => {
    given()
      .when(createTask({ payload: '{"a":1}' }))
      .thenAnswers({
        taskId: 'task',
        seq: 2,
        state: 'WAITING',
        attempt: 0,
        duplicate: false,
        createdAtMs: START_MS,
      })
      .thenRecords('TaskCreated')
      .thenTask('task', { state: 'WAITING', attempt: 0, createdSeq: 2, payload: { length: 7 }, leases: [] });
  });

  it('makes an id from its position when none was chosen', () => {
    given()
      .when(createTask({ taskId: null }))
      .thenAnswers({ taskId: taskIdOfSeq(2), seq: 2 })
      .thenRecordsEntry({ type: 'TaskCreated', task: 2 })
      .thenTask(taskIdOfSeq(2), { task: 2 });
  });

  it('again with a known id and the same payload gives the task that is there', () => {
    given(createTask({ payload: 'same' }), leaseTasks())
      .when(createTask({ payload: 'same', queue: 'another', priority: 5 }))
      .thenAnswers({ taskId: 'task', seq: 2, state: 'LEASED', attempt: 1, queue: 'default', duplicate: true })
      .thenRecordsNothing();
  });

  it('with a known id and another payload is refused: TASK_ID_CONFLICT', () => {
    const story = given(createTask({ payload: 'first' }));
    story
      .when(createTask({ payload: 'other' }))
      .thenRefuses('TASK_ID_CONFLICT')
      .thenRecordsNothing();
    story.when(createTask({ payload: 'longer than the first' })).thenRefuses('TASK_ID_CONFLICT');
  });

  it('again leaves the comparison of the payload to the caller that can read it', () => {
    const { length, crc } = opaqueOf('same');
    given(createTask({ payload: 'same' }))
      .when(createTask({ payload: 'same' }))
      .thenAnswers({ duplicate: true, known: { bytes: null, at: expect.any(Number), length, crc } });
  });

  it('with a dedup key that is taken compares no payloads', () => {
    given(createTask({ taskId: null, payload: 'first', dedupKey: 'key' }))
      .when(createTask({ taskId: null, payload: 'other', dedupKey: 'key' }))
      .thenAnswers({ duplicate: true, known: null });
  });

  it('again with an id of our making compares the same', () => {
    const story = given(createTask({ taskId: null, payload: 'first' }));
    const taskId = taskIdOfSeq(2);
    story.when(createTask({ taskId, payload: 'first' })).thenAnswers({ taskId, duplicate: true });
    story.when(createTask({ taskId, payload: 'other' })).thenRefuses('TASK_ID_CONFLICT');
  });

  it('refuses a generated id whose position lies ahead, which would be generated again', () => {
    given()
      .when(createTask({ taskId: taskIdOfSeq(2) }))
      .thenRefuses('INVALID_ARGUMENT')
      .thenRecordsNothing();
  });

  it('keeps chosen ids and ids of our making apart', () => {
    const story = given(createTask({ taskId: null }), createTask({ taskId: 'chosen' }));
    expect([story.task(taskIdOfSeq(2)).task, story.task('chosen').task]).toEqual([2, 'chosen']);
  });

  it('keeps everything it was given', () => {
    given(
      createTask({
        queue: 'mail',
        priority: -128,
        delayMs: 7,
        maxFailures: 3,
        backoffMs: 11,
        maxBackoffMs: 13,
        maxAttempts: 17,
        dedupKey: 'key',
      }),
    ).thenTask('task', {
      queue: 'mail',
      priority: -128,
      dueAtMs: START_MS + 7,
      maxFailures: 3,
      backoffMs: 11,
      maxBackoffMs: 13,
      maxAttempts: 17,
      dedupKey: 'key',
    });
  });
});

describe('a dedup key', () => {
  const first = createTask({ taskId: 'first', dedupKey: 'key' });
  const second = createTask({ taskId: 'second', dedupKey: 'key' });

  it('gives the task that has it while that is not terminal', () => {
    const story = given(first);
    story.when(second).thenAnswers({ taskId: 'first', duplicate: true }).thenRecordsNothing();
    story.given(leaseTasks());
    story.when(second).thenAnswers({ taskId: 'first', state: 'LEASED', duplicate: true });
  });

  it.each([
    ['completed', completeTask({ taskId: 'first' })],
    ['failed', failTask({ taskId: 'first', retry: false })],
    ['killed', killTask({ taskId: 'first' })],
  ] as const)('is free again once its task has %s', (_, end) => {
    given(first, leaseTasks(), end)
      .when(second)
      .thenAnswers({ taskId: 'second', duplicate: false })
      .when(createTask({ taskId: 'third', dedupKey: 'key' }))
      .thenAnswers({ taskId: 'second', duplicate: true });
  });

  it('belongs to one queue', () => {
    given(first)
      .when(createTask({ taskId: 'second', dedupKey: 'key', queue: 'another' }))
      .thenAnswers({ taskId: 'second', duplicate: false });
  });

  it('yields to a known task id', () => {
    given(first, createTask({ taskId: 'other' }))
      .when(createTask({ taskId: 'other', dedupKey: 'key' }))
      .thenAnswers({ taskId: 'other', duplicate: true });
  });
});

describe('leasing', () => {
  const three: Step[] = ['one', 'two', 'three'].map((taskId) => createTask({ taskId }));

  it('makes the task LEASED, which is the only way a task becomes owned', () => {
    given(createTask({ payload: 'work' }))
      .when(leaseTasks({ workerId: 'w1', ttlMs: 500 }))
      .thenAnswers({
        leases: [
          {
            taskId: 'task',
            leaseSeq: 3,
            attempt: 1,
            payload: { length: 4 },
            queue: 'default',
            expiresAtMs: START_MS + 500,
            remainingMs: 500,
          },
        ],
        duplicate: false,
      })
      .thenRecordsEntry({ type: 'LeaseGranted', task: 'task', workerId: 'w1', attempt: 1 })
      .thenTask('task', { state: 'LEASED', attempt: 1, leases: [{ seq: 3, workerId: 'w1', end: 'live' }] });
  });

  it('is first come, first served', () => {
    given(...three)
      .when(leaseTasks({ max: 2 }))
      .thenLeases('one', 'two')
      .thenRecords('LeaseGranted', 'LeaseGranted');
  });

  it('gives no more than there are', () => {
    given(...three)
      .when(leaseTasks({ max: 9 }))
      .thenLeases('one', 'two', 'three');
    given().when(leaseTasks()).thenLeases().thenRecordsNothing();
  });

  it('prefers the higher priority, from −128 to 127', () => {
    given(
      createTask({ taskId: 'low', priority: -128 }),
      createTask({ taskId: 'middle', priority: 0 }),
      createTask({ taskId: 'high', priority: 127 }),
      createTask({ taskId: 'high too', priority: 127 }),
    )
      .when(leaseTasks({ max: 4 }))
      .thenLeases('high', 'high too', 'middle', 'low');
  });

  it('takes from several queues the highest priority, then the first that came', () => {
    given(
      createTask({ taskId: 'a1', queue: 'a' }),
      createTask({ taskId: 'b1', queue: 'b', priority: 1 }),
      createTask({ taskId: 'b2', queue: 'b' }),
      createTask({ taskId: 'a2', queue: 'a' }),
    )
      .when(leaseTasks({ queues: ['a', 'b', 'unknown'], max: 9 }))
      .thenLeases('b1', 'a1', 'b2', 'a2');
  });

  it('takes nothing from queues it was not asked about', () => {
    given(createTask({ queue: 'another' }))
      .when(leaseTasks())
      .thenLeases();
  });

  it('keeps the place of a task that was handed back', () => {
    given(...three, leaseTasks(), releaseTask({ taskId: 'one' }))
      .when(leaseTasks({ max: 3 }))
      .thenLeases('one', 'two', 'three');
  });

  it('leases a task again from the millisecond its lease ends', () => {
    given(createTask(), leaseTasks())
      .when(leaseTasks({ workerId: 'second' }), { atMs: START_MS + TTL_MS - 1 })
      .thenLeases()
      .when(leaseTasks({ workerId: 'second' }), { atMs: START_MS + TTL_MS })
      .thenLeases('task')
      .thenTask('task', { attempt: 2 });
  });

  it('numbers leases by their position in the log, over all tasks', () => {
    const story = given(...three).when(leaseTasks({ max: 3 }));
    expect(['one', 'two', 'three'].map((id) => story.task(id).leases[0]!.seq)).toEqual([5, 6, 7]);
  });
});

describe('a delay', () => {
  it('that ends for more tasks at once than one batch brings into line hides none of them', () => {
    const story = scenario({ watch: 'end' });
    for (let index = 0; index < 10_001; index++)
      story.given(createTask({ taskId: `crowd-${index}`, queue: 'crowd', delayMs: 100 }));
    story.given(createTask({ taskId: 'mine', queue: 'mine', delayMs: 100 }));
    story.when(leaseTasks({ queues: ['mine'] }), { atMs: START_MS + 100 }).thenLeases('mine');
  });

  it('keeps the task back until it is due', () => {
    given(createTask({ delayMs: 100 }))
      .when(leaseTasks(), { atMs: START_MS + 99 })
      .thenLeases()
      .when(leaseTasks(), { atMs: START_MS + 100 })
      .thenLeases('task');
  });

  it('does not cost the task its place among those that came later', () => {
    given(createTask({ taskId: 'delayed', delayMs: 100 }), createTask({ taskId: 'later' }), later(100))
      .when(leaseTasks({ max: 2 }))
      .thenLeases('delayed', 'later');
  });

  it('survives a restart', () => {
    given(createTask({ delayMs: 100 }), restart({ downMs: 99 }))
      .when(leaseTasks())
      .thenLeases()
      .when(leaseTasks(), { atMs: START_MS + 100 })
      .thenLeases('task');
  });
});

describe('the same worker and request_id again', () => {
  const request = leaseTasks({ requestId: 'r1', max: 2 });

  it('gets the same live leases and costs no attempt', () => {
    const story = given(
      ...['one', 'two', 'three'].map((taskId) => createTask({ taskId })),
      request,
      later(10),
    );
    story
      .when(request)
      .thenLeases('one', 'two')
      .thenAnswers({ duplicate: true, leases: [{ leaseSeq: 5, attempt: 1, remainingMs: TTL_MS - 10 }, {}] })
      .thenRecordsNothing();
  });

  it('gets them in the order in which they were granted, after a restart too', () => {
    const ids = ['one', 'two', 'three', 'four'];
    const all = leaseTasks({ requestId: 'r1', max: 4 });
    const story = given(...ids.map((taskId) => createTask({ taskId })), all);
    story.when(all).thenLeases(...ids);
    story
      .given(completeTask({ taskId: 'one' }), restart())
      .when(all)
      .thenLeases('two', 'three', 'four');
  });

  it('gets only those that are still live', () => {
    given(
      createTask({ taskId: 'one' }),
      createTask({ taskId: 'two' }),
      request,
      completeTask({ taskId: 'one' }),
    )
      .when(request)
      .thenLeases('two');
  });

  it('gets new ones when none is live any more', () => {
    given(createTask({ taskId: 'one' }), createTask({ taskId: 'two' }), request, later(TTL_MS))
      .when(request)
      .thenLeases('one', 'two')
      .thenAnswers({ duplicate: false });
  });

  it('is another request when worker or id differ', () => {
    const story = given(
      ...['one', 'two', 'three'].map((taskId) => createTask({ taskId })),
      leaseTasks({ requestId: 'r1' }),
    );
    story.when(leaseTasks({ requestId: 'r2' })).thenLeases('two');
    story.when(leaseTasks({ requestId: 'r1', workerId: 'another' })).thenLeases('three');
  });

  it('is still known after a restart', () => {
    given(createTask(), leaseTasks({ requestId: 'r1' }), restart())
      .when(leaseTasks({ requestId: 'r1' }))
      .thenLeases('task')
      .thenAnswers({ duplicate: true });
  });
});

describe('pausing a queue', () => {
  it('hands nothing out of it until it is resumed', () => {
    const story = given(createTask(), createTask({ taskId: 'other', queue: 'another' }));
    story
      .when(pauseQueue())
      .thenAnswers({ queue: 'default', paused: true, seq: 4 })
      .thenRecords('QueuePaused');
    story.when(leaseTasks({ queues: ['default', 'another'], max: 9 })).thenLeases('other');
    story.when(resumeQueue()).thenAnswers({ paused: false }).thenRecords('QueueResumed');
    story.when(leaseTasks()).thenLeases('task');
  });

  it('twice is once', () => {
    const story = given(pauseQueue());
    story.when(pauseQueue()).thenAnswers({ paused: true }).thenRecordsNothing();
    story.given(resumeQueue());
    story.when(resumeQueue()).thenAnswers({ paused: false }).thenRecordsNothing();
  });

  it('leaves running leases alone', () => {
    given(createTask(), leaseTasks(), pauseQueue()).when(completeTask()).thenCommits();
  });

  it('holds for a queue that has no task yet, and over a restart', () => {
    given(pauseQueue(), restart(), createTask())
      .when(leaseTasks())
      .thenLeases()
      .given(resumeQueue())
      .when(leaseTasks())
      .thenLeases('task');
  });

  it('keeps no queue that has neither tasks nor a pause', () => {
    const story = scenario({ retention: { endedTasksMs: 10 } });
    story.given(
      pauseQueue('empty'),
      resumeQueue('empty'),
      createTask({ queue: 'used' }),
      killTask(),
      later(10),
    );
    expect([...story.state.tasks.queues.keys()]).toEqual([]);
  });
});

describe('opaque payloads', () => {
  it('are kept by position, length and checksum, never by their bytes', () => {
    const { payload } = given(createTask({ payload: 'bytes' })).task('task');
    expect(payload).toEqual({ bytes: null, at: 1, length: 5, crc: opaqueOf('bytes').crc });
  });
});

describe('many tasks', () => {
  it('come in order through leases, releases and failures', () => {
    const story = scenario({ watch: 'end' });
    for (let index = 0; index < 300; index++)
      story.given(createTask({ taskId: `t-${index}`, priority: index % 3 }));
    story.given(
      leaseTasks({ max: 150 }),
      times(20, (state) => releaseTask({ taskId: firstLeased(state) })(state)),
      at(START_MS),
    );
    const order: number[] = [];
    for (;;) {
      story.when(leaseTasks());
      const [taskId] = leasedTasks(story.answer);
      if (taskId === undefined) break;
      order.push(Number(taskId.slice(2)));
    }
    const sorted = [...order].sort((a, b) => (b % 3) - (a % 3) || a - b);
    expect(order).toEqual(sorted);
    expect(order).toHaveLength(170);
  });
});

function firstLeased(state: Parameters<ReturnType<typeof releaseTask>>[0]): string {
  const [row] = state.tasks.expiring.all();
  return state.tasks.idOf(row!);
}
