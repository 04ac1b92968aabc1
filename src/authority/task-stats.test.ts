/** What the metrics cannot show through a server: counting on a state that comes from a checkpoint. */
import { describe, expect, it } from 'vitest';
import { createTask, leaseTasks, newestLease } from '../../test/support/commands.ts';
import { given, later, restoredFrom } from '../../test/support/scenario.ts';
import type { Entry } from '../core/entries.ts';
import type { State } from '../core/state.ts';
import { TaskStats } from './task-stats.ts';

/** The running time that a release after another 500 ms adds. */
function observed(state: State): [count: number, sum: number] {
  const stats = new TaskStats();
  const leaseSeq = newestLease(state, 'task');
  const released: Entry = { type: 'TaskReleased', task: 'task', leaseSeq, dueAtMs: 0 };
  stats.note(state, released, state.lastAtMs + 500);
  const { count, sum } = new Map(stats.all()).get('default')!.runMs;
  return [count, sum];
}

describe('the running time of a task', () => {
  it('is not observed when its lease was restored from a checkpoint, which has no time of the grant', () => {
    const { state } = given(createTask(), later(100), leaseTasks());
    expect(observed(state)).toEqual([1, 500]);
    expect(observed(restoredFrom(state))).toEqual([0, 0]);
  });
});
