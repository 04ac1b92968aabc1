/**
 * One action on many tasks. Each task is decided by the rule for a single task and gets its own entry; a refusal is
 * reported and stops no other task. The tasks were found by an earlier read: those that no longer match the filter are
 * skipped, so that the action never hits a task that the caller did not mean.
 */
import type { BulkOutcome } from './answers.ts';
import type { BulkAction, BulkTask, BulkTasks } from './commands.ts';
import { requeueTask } from './decide-tasks.ts';
import { append, type Decision, isRefusal, refuse } from './decision.ts';
import { matchesFilter, type TaskFilter } from './list-tasks.ts';
import type { Machine } from './machine.ts';
import { isSystemQueue } from './reserved-names.ts';
import type { TaskRow } from './row-types.ts';
import type { State } from './state.ts';
import { isTerminal } from './task-table.ts';
import { judge } from './verdicts.ts';

export function bulkTasks(
  machine: Pick<Machine, 'state' | 'batchAtMs' | 'expireTask' | 'enact'>,
  command: BulkTasks,
): BulkOutcome {
  const { tasks } = machine.state;
  const { action, filter, dryRun, from, next } = command;
  const taskIds: string[] = [];
  const refusals: BulkOutcome['refusals'][number][] = [];
  let matched = 0;
  for (const task of command.tasks) {
    const { taskId } = task;
    machine.expireTask(taskId);
    const row = tasks.find(taskId);
    if (row === 0 || tasks.createdSeq.get(row) !== task.createdSeq) continue;
    if (!isMeant(machine.state, row, action, filter)) continue;
    matched += 1;
    const decision = decide(machine.state, row, command, task, machine.batchAtMs);
    if (isRefusal(decision.answer)) refusals.push({ taskId, code: decision.answer.refused });
    else if (decision.entries.length > 0) taskIds.push(taskId);
    if (!dryRun) machine.enact(decision);
  }
  return { matched, taskIds, refusals, dryRun, from, next, seq: machine.state.lastSeq };
}

/** Whether the action applies to this task: a task has one successor, and system queues are left alone. */
export function isMeant(state: State, row: TaskRow, action: BulkAction, filter: TaskFilter): boolean {
  const { tasks } = state;
  if (isSystemQueue(tasks.queueNameOf(row))) return false;
  if (action === 'requeue' && tasks.requeuedAs.get(row) !== null) return false;
  return matchesFilter(state, row, filter);
}

function decide(
  state: State,
  row: TaskRow,
  command: BulkTasks,
  origin: BulkTask,
  nowMs: number,
): Decision<object> {
  const { taskId } = origin;
  const { reason, queue, priority, delayMs } = command;
  switch (command.action) {
    case 'requeue': {
      const again = { taskId, reason, queue, priority, delayMs: delayMs ?? 0, newTaskId: null, origin };
      return requeueTask(state, { type: 'RequeueTask', ...again }, nowMs);
    }
    case 'cancel':
      return judge(state, { type: 'CancelTask', taskId, reason }, nowMs);
    case 'kill':
      return judge(state, { type: 'KillTask', taskId, reason }, nowMs);
    case 'change':
      return judge(state, { type: 'ChangeTask', taskId, queue, priority, delayMs }, nowMs);
    case 'purge':
      return purge(state, row);
  }
}

/** Forgets an ended task before its retention is over. */
function purge({ tasks }: State, row: TaskRow): Decision<object> {
  if (!isTerminal(tasks.stateOf(row))) return refuse('TASK_NOT_ENDED');
  return append({ type: 'Forgotten', tasks: [tasks.key(row)], names: [], sessions: [] }, {});
}
