/** One action on many tasks, each judged by its own rule. */
import { describe, expect, it } from 'vitest';
import {
  acceptIntent,
  bulkTasks,
  cancelTask,
  completeTask,
  createTask,
  killTask,
  leaseTasks,
  requeueTask,
} from '../../test/support/commands.ts';
import { at, given, later, restart, START_MS, scenario } from '../../test/support/scenario.ts';
import { START_QUEUE } from './reserved-names.ts';

const task = (taskId: string, more: Parameters<typeof createTask>[0] = {}) => createTask({ taskId, ...more });

/** One task in each state: waiting, leased, completed, dead. */
const everyState = () =>
  given(
    task('completed'),
    leaseTasks(),
    completeTask({ taskId: 'completed' }),
    task('leased'),
    leaseTasks(),
    task('dead'),
    killTask({ taskId: 'dead', reason: 'broken' }),
    task('waiting'),
  );

describe('a bulk action', () => {
  it('cancels what waits, asks the holders of what is leased, and tells what has ended', () => {
    everyState()
      .when(bulkTasks({ action: 'cancel' }))
      .thenRecords('TaskCancelRequested', 'TaskDead')
      .thenAnswers({
        matched: 4,
        taskIds: ['leased', 'waiting'],
        refusals: [
          { taskId: 'completed', code: 'TASK_TERMINAL' },
          { taskId: 'dead', code: 'TASK_TERMINAL' },
        ],
      })
      .thenTask('waiting', { state: 'DEAD', reason: 'CANCELLED', reasonDetail: 'all of them' })
      .thenTask('leased', { state: 'LEASED', cancelReason: 'all of them' });
  });

  it('kills, changes, purges and requeues by the rules for one task', () => {
    everyState()
      .when(bulkTasks({ action: 'change', filter: { state: 'WAITING' }, queue: 'b', priority: 3 }))
      .thenRecords('TaskChanged')
      .thenTask('waiting', { queue: 'b', priority: 3 })
      .when(bulkTasks({ action: 'requeue', filter: { reason: 'broken' }, queue: 'b' }))
      .thenRecords('TaskCreated')
      .thenRecordsEntry({
        type: 'TaskCreated',
        requeuedFrom: 'dead',
        requeueReason: 'all of them',
        queue: 'b',
      })
      .when(bulkTasks({ action: 'kill', filter: { queue: 'default', state: 'LEASED' } }))
      .thenRecords('TaskDead')
      .thenTask('leased', { state: 'DEAD', reason: 'all of them' })
      .when(bulkTasks({ action: 'purge', filter: { queue: 'default' } }))
      .thenRecords('Forgotten', 'Forgotten', 'Forgotten')
      .thenAnswers({ matched: 3, taskIds: ['completed', 'leased', 'dead'], refusals: [] });
  });

  it('refuses to purge or requeue what has not ended, and changes only what waits', () => {
    const story = everyState();
    for (const action of ['purge', 'requeue'] as const) {
      const refusals = [{ taskId: 'leased', code: 'TASK_NOT_ENDED' }];
      story.when(bulkTasks({ action, filter: { state: 'LEASED' } })).thenAnswers({ matched: 1, refusals });
    }
    const refusals = [{ taskId: 'dead', code: 'TASK_NOT_WAITING' }];
    story
      .when(bulkTasks({ action: 'change', filter: { state: 'DEAD' }, priority: 1 }))
      .thenRecordsNothing()
      .thenAnswers({ matched: 1, refusals });
  });

  it('decides all the same in a dry run, and writes nothing', () => {
    everyState()
      .when(bulkTasks({ action: 'cancel', dryRun: true }))
      .thenRecordsNothing()
      .thenAnswers({ matched: 4, taskIds: ['leased', 'waiting'] });
  });

  it('does not requeue what has a successor, and leaves out what needs no change', () => {
    given(task('old'), killTask({ taskId: 'old' }), requeueTask({ taskId: 'old', newTaskId: 'new' }))
      .when(bulkTasks({ action: 'requeue', filter: { state: 'DEAD' } }))
      .thenRecordsNothing()
      .thenAnswers({ matched: 0, taskIds: [], refusals: [] })
      .given(cancelTask({ taskId: 'new' }))
      .when(bulkTasks({ action: 'cancel', filter: { reason: 'CANCELLED' } }))
      .thenRecordsNothing()
      .thenAnswers({ matched: 1, taskIds: [], refusals: [] });
  });

  it('leaves tasks of system queues alone', () => {
    given(task('ours', { queue: 'system:q' }), acceptIntent())
      .when(bulkTasks({ action: 'kill' }))
      .thenRecordsNothing()
      .thenAnswers({ matched: 0 })
      .when(bulkTasks({ action: 'purge', filter: { queue: START_QUEUE } }))
      .thenAnswers({ matched: 0 });
  });

  it('ends a lease that is over before it judges the task', () => {
    given(task('late'), leaseTasks({ ttlMs: 10 }))
      .when(bulkTasks({ action: 'cancel', filter: { state: 'WAITING' } }), { atMs: START_MS + 10 })
      .thenRecords('LeaseExpired', 'TaskDead')
      .thenAnswers({ matched: 1, taskIds: ['late'] });
  });

  it('leaves out what has changed since the tasks were looked for', () => {
    const story = given(task('a'), task('b'));
    const command = bulkTasks({ action: 'kill', filter: { state: 'WAITING' } })(story.state);
    story
      .given(
        leaseTasks(),
        killTask({ taskId: 'b' }),
        bulkTasks({ action: 'purge', filter: { state: 'DEAD' } }),
      )
      .given(task('b'))
      .when(() => command)
      .thenRecordsNothing()
      .thenAnswers({ matched: 0 });
  });

  it('moves one of two tasks with the same dedup key, and refuses the other', () => {
    given(task('a', { queue: 'a', dedupKey: 'd' }), task('b', { queue: 'b', dedupKey: 'd' }))
      .when(bulkTasks({ action: 'change', queue: 'c' }))
      .thenRecords('TaskChanged')
      .thenAnswers({ taskIds: ['a'], refusals: [{ taskId: 'b', code: 'TASK_ID_CONFLICT' }] });
  });

  it('chooses by the time of the end, without its bounds', () => {
    const story = scenario().given(task('a'), killTask({ taskId: 'a' }), at(START_MS + 10));
    story.given(task('b'), killTask({ taskId: 'b' }), task('waiting'));
    const matched = (filter: object) => {
      story.when(bulkTasks({ action: 'purge', dryRun: true, filter }));
      return (story.answer as { taskIds: readonly string[] }).taskIds;
    };
    expect(matched({ endedAfterMs: START_MS })).toEqual(['b']);
    expect(matched({ endedBeforeMs: START_MS + 10 })).toEqual(['a']);
    expect(matched({ endedAfterMs: START_MS - 1, endedBeforeMs: START_MS + 11 })).toEqual(['a', 'b']);
    expect(matched({ createdAfterMs: START_MS, endedAfterMs: 0 })).toEqual(['b']);
  });

  it('feeds workers that wait, and is the same after a restart', () => {
    given(task('dead'), killTask({ taskId: 'dead' }))
      .given(leaseTasks({ waitMs: 1_000 }))
      .when(bulkTasks({ action: 'requeue', filter: { state: 'DEAD' } }))
      .given(later(1), restart())
      .thenTask('dead', { state: 'DEAD' });
  });
});
