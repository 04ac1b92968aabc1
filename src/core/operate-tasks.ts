/**
 * What an operator does to a task without holding a lease: kill it, cancel it, change its place in the queue.
 * The table in `verdicts.ts` says in which state each of them applies.
 */
import type { Cancelled, ChangedTask, Killed } from './answers.ts';
import type { CancelTask, ChangeTask, KillTask } from './commands.ts';
import { append, type Decision, refuse, unchanged } from './decision.ts';
import type { TaskDead } from './entries.ts';
import type { TaskRow } from './row-types.ts';
import type { State } from './state.ts';
import { CANCELLED } from './task-table.ts';
import type { Presented } from './verdicts.ts';

export function kill({ state, row }: Presented<0>, command: KillTask): Decision<Killed> {
  const { tasks } = state;
  const leaseSeq = tasks.stateOf(row) === 'LEASED' ? tasks.leases.seq.get(tasks.lease.get(row)) : 0;
  return append(
    { type: 'TaskDead', task: tasks.key(row), leaseSeq, reason: command.reason, detail: null },
    { taskId: tasks.idOf(row), state: 'DEAD', seq: state.lastSeq + 1 },
  );
}

/** A waiting task ends at once. */
export function cancel({ state, row }: Presented<0>, { reason }: CancelTask): Decision<Cancelled> {
  const answer = { taskId: state.tasks.idOf(row), seq: state.lastSeq + 1, duplicate: false };
  return append(cancelled(state, row, reason), { ...answer, state: 'DEAD' });
}

/** A leased task stays with its holder, which learns of the request with the next extension. */
export function requestCancel({ state, row }: Presented<0>, { reason }: CancelTask): Decision<Cancelled> {
  const { tasks } = state;
  const taskId = tasks.idOf(row);
  if (tasks.cancelReason.get(row) !== null)
    return unchanged({ taskId, state: 'LEASED', seq: tasks.lastSeq.get(row), duplicate: true });
  const leaseSeq = tasks.leases.seq.get(tasks.lease.get(row));
  return append(
    { type: 'TaskCancelRequested', task: tasks.key(row), leaseSeq, reason },
    { taskId, state: 'LEASED', seq: state.lastSeq + 1, duplicate: false },
  );
}

/** Cancelling a cancelled task repeats the answer; a task that died for another reason is refused. */
export function cancelAgain({ state, row }: Presented<0>): Decision<Cancelled> {
  const { tasks } = state;
  if (tasks.reasonDetail.get(row) === null) return refuse('TASK_TERMINAL');
  const seq = tasks.endedSeq.get(row);
  return unchanged({ taskId: tasks.idOf(row), state: 'DEAD', seq, duplicate: true });
}

/** The end of a task whose lease ends without completion, if its cancellation was requested; else null. */
export function cancellationDue(state: State, row: TaskRow): TaskDead | null {
  const detail = state.tasks.cancelReason.get(row);
  return detail === null ? null : cancelled(state, row, detail);
}

function cancelled({ tasks }: State, row: TaskRow, detail: string): TaskDead {
  return { type: 'TaskDead', task: tasks.key(row), leaseSeq: 0, reason: CANCELLED, detail };
}

export function change({ state, row, nowMs }: Presented<0>, command: ChangeTask): Decision<ChangedTask> {
  const { tasks } = state;
  const queue = command.queue ?? tasks.queueNameOf(row);
  const priority = command.priority ?? tasks.priorityOf(row);
  const dueAtMs = command.delayMs === null ? tasks.dueAtMs.get(row) : nowMs + command.delayMs;
  const isMoved = queue !== tasks.queueNameOf(row);
  const dedupKey = tasks.dedupKey.get(row);
  if (isMoved && dedupKey !== null && tasks.findByDedup(queue, dedupKey) !== 0) {
    const detail = `The queue ${queue} has a task with the same dedup_key.`;
    return refuse('TASK_ID_CONFLICT', { detail });
  }
  const isChanged = isMoved || priority !== tasks.priorityOf(row) || dueAtMs !== tasks.dueAtMs.get(row);
  const seq = isChanged ? state.lastSeq + 1 : tasks.lastSeq.get(row);
  const answer: ChangedTask = { taskId: tasks.idOf(row), queue, priority, dueAtMs, seq };
  if (!isChanged) return unchanged(answer);
  return append({ type: 'TaskChanged', task: tasks.key(row), queue, priority, dueAtMs }, answer);
}
