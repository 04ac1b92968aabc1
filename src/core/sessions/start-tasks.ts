/**
 * Start tasks: each starts a session, has its id, and waits in a queue of its own. It is created by an intent and ends
 * with the start of its session. The machine checks here before it runs the rules of tasks, which know nothing of
 * sessions. `session-commands.ts` checks who may lease start tasks.
 */
import type { CreateTask } from '../commands.ts';
import type { Refusal } from '../refusals.ts';
import { START_QUEUE } from '../reserved-names.ts';
import type { State } from '../state.ts';
import type { TaskCommand } from '../verdicts.ts';

const FORBIDDEN: Refusal = {
  refused: 'FORBIDDEN',
  detail: `Only an intent puts tasks into ${START_QUEUE}.`,
};

const GUARDED: Refusal = {
  refused: 'GUARD_NOT_HELD',
  detail: 'A start task ends with the start of its session, for which only the holder of the guard can ask.',
};

/** Commands that a worker sends with its lease. */
const OF_WORKERS: ReadonlySet<TaskCommand['type']> = new Set([
  'ExtendLease',
  'CompleteTask',
  'FailTask',
  'ReleaseTask',
]);

/** Why a task may not be created, because its queue or its id belongs to sessions; else null. */
export function refuseCreation({ tasks, sessions }: State, { queue, taskId }: CreateTask): Refusal | null {
  if (queue === START_QUEUE) return FORBIDDEN;
  const isOfSession = taskId !== null && sessions.find(taskId) !== undefined && tasks.find(taskId) === 0;
  return isOfSession ? { refused: 'TASK_ID_CONFLICT' } : null;
}

/**
 * The refusal of a verdict on a start task, whose worker may have been deposed as guard; null for any other task. A
 * start task may be killed, and the authority may take it back from a caller that has gone. The rules of tasks refuse
 * what is refused in every system queue.
 */
export function refuseVerdict({ tasks }: State, command: TaskCommand): Refusal | null {
  // Usually there are no start tasks.
  if (!tasks.queues.has(START_QUEUE) || !OF_WORKERS.has(command.type)) return null;
  if (command.type === 'ReleaseTask' && command.isUntold === true) return null;
  const row = tasks.find(command.taskId);
  return row !== 0 && tasks.queueOf(row).name === START_QUEUE ? GUARDED : null;
}
