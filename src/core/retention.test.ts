/** Forgetting is a fact too. */
import { describe, expect, it } from 'vitest';
import {
  acceptIntent,
  acquireNames,
  completeTask,
  createTask,
  failTask,
  killTask,
  leaseTasks,
  releaseName,
  stopSession,
  TTL_MS,
  writeObject,
} from '../../test/support/commands.ts';
import {
  at,
  by,
  given,
  later,
  restart,
  restoredFrom,
  START_MS,
  scenario,
} from '../../test/support/scenario.ts';
import { taskIdOfSeq } from './ids.ts';
import { imageOf } from './image-io.ts';
import { DEFAULT_RETENTION } from './retention.ts';
import type { State } from './state.ts';

const KEPT_MS = 1_000;
const forgetful = () => scenario({ retention: { endedTasksMs: KEPT_MS, idleNamesMs: KEPT_MS } });

describe('a task that has ended', () => {
  it.each([
    ['completed', completeTask()],
    ['failed', failTask({ retry: false })],
    ['died', killTask()],
  ] as const)('is forgotten by an entry, its time after it %s, and not a millisecond before', (_, end) => {
    const story = forgetful().given(createTask({ dedupKey: 'key' }), leaseTasks(), end);
    story.when(at(START_MS + KEPT_MS - 1)).thenRecordsNothing();
    story.when(at(START_MS + KEPT_MS)).thenRecordsEntry({ type: 'Forgotten', tasks: ['task'], names: [] });
    expect(story.state.tasks.find('task')).toBe(0);
  });

  it('is unknown afterwards, and its id is free', () => {
    const story = forgetful().given(
      createTask({ payload: 'old' }),
      leaseTasks(),
      completeTask(),
      later(KEPT_MS),
    );
    story.when(completeTask({ leaseSeq: 3 })).thenRefuses('TASK_NOT_FOUND', { outcome: 'REJECTED' });
    story.when(killTask()).thenRefuses('TASK_NOT_FOUND');
    story
      .when(createTask({ payload: 'new' }))
      .thenAnswers({ duplicate: false, attempt: 0, state: 'WAITING' });
  });

  it('is unknown afterwards by the id it was given, too', () => {
    const story = forgetful().given(createTask({ taskId: null }));
    const taskId = taskIdOfSeq(2);
    story
      .given(killTask({ taskId }), later(KEPT_MS))
      .when(killTask({ taskId }))
      .thenRefuses('TASK_NOT_FOUND');
    expect(story.state.tasks.find(taskId)).toBe(0);
  });

  it('is kept while it has not ended, however old it is', () => {
    const story = forgetful().given(
      createTask({ taskId: 'waiting' }),
      createTask({ taskId: 'leased' }),
      later(100 * KEPT_MS),
    );
    story.thenTask('waiting', { state: 'WAITING' }).thenTask('leased', { state: 'WAITING' });
  });

  it('leaves nothing behind', () => {
    const story = forgetful().given(
      createTask({ dedupKey: 'key' }),
      leaseTasks({ requestId: 'r' }),
      completeTask(),
      later(KEPT_MS),
    );
    const { tasks } = story.state;
    expect([tasks.rows.live, tasks.leases.rows.live, tasks.strings.size, tasks.queues.size]).toEqual([
      0, 0, 0, 0,
    ]);
  });

  it('is forgotten oldest first when there are too many', () => {
    const story = scenario({ retention: { endedTasksMax: 2 } });
    for (const taskId of ['one', 'two', 'three', 'four'])
      story.given(createTask({ taskId }), killTask({ taskId }));
    story.given(later(1));
    expect(['one', 'two', 'three', 'four'].map((taskId) => story.state.tasks.find(taskId) !== 0)).toEqual([
      false,
      false,
      true,
      true,
    ]);
  });

  it('is forgotten by thousands, a thousand an entry', () => {
    const story = scenario({ watch: 'end', retention: { endedTasksMs: KEPT_MS } });
    for (let index = 0; index < 1_500; index++)
      story.given(createTask({ taskId: `t${index}` }), killTask({ taskId: `t${index}` }));
    story.when(later(KEPT_MS)).thenRecords('Forgotten');
    expect(story.state.tasks.rows.live).toBe(500);
    expect(story.machine.nextDueMs()).toBeLessThanOrEqual(START_MS + KEPT_MS);
    story.when(later(0)).thenRecords('Forgotten');
    expect(story.state.tasks.rows.live).toBe(0);
  });
});

describe('forgetting', () => {
  it('remembers the latest end of a forgotten task, over restarts and in checkpoints', () => {
    const story = scenario({ retention: { completedTasksMs: KEPT_MS, failedTasksMs: 5 * KEPT_MS } });
    expect(story.state.forgottenThroughMs).toBe(0);
    story.given(createTask({ taskId: 'failed' }), killTask({ taskId: 'failed' }));
    story.given(later(10), createTask(), leaseTasks(), completeTask(), later(KEPT_MS));
    expect(story.state.forgottenThroughMs).toBe(START_MS + 10);
    // The failed task ended earlier and is forgotten later: the latest end stays.
    story.given(later(5 * KEPT_MS), restart());
    expect(story.state.tasks.rows.live).toBe(0);
    expect(story.state.forgottenThroughMs).toBe(START_MS + 10);
    expect(restoredFrom(story.state).forgottenThroughMs).toBe(START_MS + 10);
  });

  it('keeps up with what the calls of a large batch leave behind', () => {
    const story = scenario({ watch: 'end', retention: { endedTasksMs: KEPT_MS } });
    for (let index = 0; index < 3_500; index++)
      story.given(createTask({ taskId: `t${index}` }), killTask({ taskId: `t${index}` }));
    story.machine.begin(START_MS + KEPT_MS, 2_000);
    expect(story.state.tasks.rows.live).toBe(500);
  });
});

describe('an idle name', () => {
  it('is forgotten by an entry, its time after its lease ended', () => {
    const story = forgetful().given(acquireNames(), releaseName());
    story.when(at(START_MS + KEPT_MS - 1)).thenRecordsNothing();
    story.when(at(START_MS + KEPT_MS)).thenRecordsEntry({ type: 'Forgotten', tasks: [], names: ['name'] });
    expect(story.state.names.find('name')).toBe(0);
  });

  it('loses nothing: any later grant is above every earlier one', () => {
    const story = forgetful().given(acquireNames(), releaseName(), later(KEPT_MS));
    story.when(acquireNames({ holder: 'next', token: 'next' }));
    expect(story.name('name').leaseSeq).toBeGreaterThan(2);
    story.when(writeObject({ lease: { leaseSeq: 2 } })).thenRefuses('WRITE_STALE_FENCE');
  });

  it('is kept while it is held or has an object', () => {
    const story = forgetful().given(
      acquireNames(),
      writeObject(),
      releaseName(),
      acquireNames({ names: ['held'], ttlMs: TTL_MS }),
    );
    story
      .given(later(10 * KEPT_MS))
      .thenName('name', { object: { version: 1 } })
      .thenName('held', { end: 'live' });
  });

  it('is not idle while a holder takes it again in time', () => {
    forgetful()
      .given(
        acquireNames(),
        releaseName(),
        later(KEPT_MS - 1),
        acquireNames({ token: 'new' }),
        later(KEPT_MS),
      )
      .thenName('name', { end: 'live' });
  });

  it('is forgotten oldest first when there are too many', () => {
    const story = scenario({ retention: { idleNamesMax: 1 } });
    for (const name of ['a', 'b', 'c'])
      story.given(acquireNames({ names: [name], token: name }), releaseName({ name, token: name }));
    expect(story.machine.nextDueMs()).toBe(0);
    story.given(later(0));
    expect(['a', 'b', 'c'].map((name) => story.state.names.find(name) !== 0)).toEqual([false, false, true]);
  });

  it('leaves nothing behind, not even in memory of tokens', () => {
    const story = forgetful();
    for (const token of ['1', '2', '3']) story.given(acquireNames({ token }));
    story.given(releaseName({ token: '3' }), later(KEPT_MS));
    const { names, tasks } = story.state;
    expect([names.rows.live, names.tokens.pastRows.live, tasks.strings.size, names.byName.size]).toEqual([
      0, 0, 0, 0,
    ]);
  });

  it('may be forgotten while a caller waits for it and another one', () => {
    forgetful()
      .given(acquireNames({ names: ['a'] }), releaseName({ name: 'a' }), acquireNames({ names: ['b'] }))
      .given(by('both', acquireNames({ names: ['a', 'b'], holder: 'both', token: 'both', waitMs: TTL_MS })))
      .given(later(KEPT_MS))
      .when(releaseName({ name: 'b' }))
      .thenServes('both', { leases: [{ name: 'a' }, { name: 'b' }] });
  });
});

describe('what has been forgotten', () => {
  it('stays so over a restart', () => {
    const story = forgetful().given(
      createTask(),
      killTask(),
      acquireNames(),
      releaseName(),
      later(KEPT_MS),
      restart(),
    );
    expect([story.state.tasks.rows.live, story.state.names.rows.live]).toEqual([0, 0]);
  });

  it('is, by default, tasks that ended a day ago, and failed ones after thirty', () => {
    expect(DEFAULT_RETENTION).toMatchObject({
      completedTasksMs: 86_400_000,
      completedTasksMax: 1_000_000,
      failedTasksMs: 30 * 86_400_000,
      failedTasksMax: 1_000_000,
    });
    given(createTask(), killTask());
  });
});

describe('ended tasks of two kinds', () => {
  const completed = (taskId: string) => [
    createTask({ taskId }),
    leaseTasks({ queues: ['default'] }),
    completeTask({ taskId }),
  ];
  const kept = (story: ReturnType<typeof scenario>) =>
    [...story.state.tasks.inOrderOfEnd()].map((row) => story.state.tasks.idOf(row));

  it('are kept by their own number: no completion costs a dead letter, and no dead letter a completion', () => {
    const story = scenario({ retention: { completedTasksMax: 1, failedTasksMax: 2 } }).given(
      ...['f1', 'f2', 'f3'].flatMap((taskId) => [createTask({ taskId }), killTask({ taskId })]),
      ...completed('c1'),
      ...completed('c2'),
      ...completed('c3'),
      later(1),
    );
    expect(kept(story)).toEqual(['f2', 'f3', 'c3']);
  });

  it('are kept by their own time', () => {
    const story = scenario({ retention: { completedTasksMs: 10, failedTasksMs: 100 } }).given(
      ...completed('c'),
      createTask({ taskId: 'f' }),
      killTask({ taskId: 'f' }),
      later(10),
    );
    expect(kept(story)).toEqual(['f']);
    story.given(later(89));
    expect(kept(story)).toEqual(['f']);
    story.given(later(1));
    expect(kept(story)).toEqual([]);
  });

  it('are told apart by reason and queue: cancelled ones and start tasks are no dead letters', () => {
    const story = scenario({ retention: { completedTasksMs: 10, failedTasksMs: 100 } }).given(
      createTask({ taskId: 'cancelled' }),
      killTask({ taskId: 'cancelled', reason: 'CANCELLED' }),
      createTask({ taskId: 'nearly' }),
      killTask({ taskId: 'nearly', reason: 'CANCELLED?' }),
      acceptIntent(),
      stopSession(),
    );
    expect(kept(story)).toHaveLength(3);
    story.given(later(10));
    expect(kept(story)).toEqual(['nearly']);
  });

  it('keep both orders over an image, and in an image of before they were two', () => {
    const story = given(
      ...completed('c1'),
      createTask({ taskId: 'f1' }),
      killTask({ taskId: 'f1' }),
      ...completed('c2'),
      createTask({ taskId: 'f2' }),
      killTask({ taskId: 'f2' }),
    );
    const restored = restoredFrom(story.state);
    const lists = ({ tasks }: State) =>
      [tasks.completed, tasks.failed].map((list) => {
        const ids: string[] = [];
        for (let row = list.first; row !== 0; row = list.next(row)) ids.push(tasks.idOf(row));
        return ids;
      });
    expect(lists(restored)).toEqual([
      ['c1', 'c2'],
      ['f1', 'f2'],
    ]);
    // One order of all ends, as it was written then.
    expect(
      [...imageOf(story.state)].flatMap((record) => (record.kind === 'task' ? [record.task] : [])),
    ).toEqual(['c1', 'f1', 'c2', 'f2']);
  });
});
