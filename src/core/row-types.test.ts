/**
 * Rows and positions do not stand in for each other. The compiler is what is tested: `npm run check` fails on an
 * `@ts-expect-error` line that compiles. At run time only the correct calls are made.
 */
import { describe, expect, it } from 'vitest';
import { createTask, leaseTasks } from '../../test/support/commands.ts';
import { Scenario } from '../../test/support/scenario.ts';
import { leaseIdOfSeq } from './ids.ts';
import type { LeaseRow, NameRow, TaskRow } from './row-types.ts';
import type { State } from './state.ts';
import { findLease } from './verdicts.ts';

/** Never called: only the compiler reads it. */
function doesNotCompile(state: State, task: TaskRow, lease: LeaseRow, name: NameRow): void {
  const { tasks, names } = state;

  // @ts-expect-error A lease is not a task.
  tasks.stateOf(lease);
  // @ts-expect-error A name is not a task.
  tasks.payload.get(name);
  // @ts-expect-error A plain number is not a row.
  tasks.stateOf(7);
  // @ts-expect-error Only a counted number may turn out to be a row.
  tasks.inUse(lease);
  // @ts-expect-error A lookup may have found nothing.
  tasks.stateOf(tasks.find('task'));

  // @ts-expect-error A task is not a lease.
  tasks.leases.endOf(task);
  // @ts-expect-error A task is not a lease, in a column either.
  tasks.leases.seq.get(task);
  // @ts-expect-error The column refers to leases.
  tasks.lease.set(task, task);
  // @ts-expect-error The column refers to tasks.
  tasks.leases.task.set(lease, lease);
  // @ts-expect-error The lease to be followed is no task.
  tasks.leases.grant(task, 1, 'worker', null, 0, task);

  // @ts-expect-error A task is not a name.
  names.isLive(task);
  // @ts-expect-error A task does not expire as a name.
  names.expiring.add(task, 0);
  // @ts-expect-error A lease does not wait in a queue.
  tasks.ended.append(lease);
  // @ts-expect-error A name is not found by a task's id.
  tasks.byId.add(0, name);
  // @ts-expect-error A lease is not freed as a task.
  tasks.rows.free(lease);

  // @ts-expect-error A lease is found by its position, not by its row.
  findLease(state, task, lease);
  // @ts-expect-error A row is not a position.
  leaseIdOfSeq(lease);
  // @ts-expect-error A lookup by id gives a row, found or not.
  state.lastSeq = tasks.find('task');
  // @ts-expect-error A position is not a row.
  tasks.stateOf(state.lastSeq);
  // @ts-expect-error The number of a lease is the position of its grant, not its row.
  tasks.leases.endOf(tasks.leases.seq.get(lease));
  // @ts-expect-error The column holds positions.
  tasks.createdSeq.set(task, task);
}

describe('row types', () => {
  it('are refused for one another by the compiler', () => {
    expect(doesNotCompile).toBeInstanceOf(Function);
  });

  it('are plain numbers at run time', () => {
    const { state } = new Scenario().given(createTask(), leaseTasks());
    const row = state.tasks.find('task');
    if (row === 0) throw new Error('the task was not found');
    const lease = state.tasks.lease.get(row);
    expect([row, lease]).toEqual([1, 1]);
    expect(findLease(state, row, state.tasks.leases.seq.get(lease))).toBe(lease);
  });
});
