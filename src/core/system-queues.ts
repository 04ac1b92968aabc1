/**
 * Refusals for queues that begin with `system:`. The only such queue holds start tasks: each starts a session and has its
 * id, is created by an intent, and ends with the start of its session. `sessions/session-commands.ts` checks which caller
 * may lease start tasks.
 */
import type { CreateTask } from './commands.ts';
import type { Refusal } from './refusals.ts';
import { isSystemQueue, START_QUEUE, SYSTEM_QUEUES } from './reserved-names.ts';
import type { TaskRow } from './row-types.ts';
import type { State } from './state.ts';
import type { TaskCommand } from './verdicts.ts';

const INTENTS_ONLY: Refusal = {
  refused: 'FORBIDDEN',
  detail: `Only an intent puts tasks into ${START_QUEUE}.`,
};

const LEFT_ALONE: Refusal = {
  refused: 'FORBIDDEN',
  detail: `Tasks in queues that begin with ${SYSTEM_QUEUES} are not cancelled, checkpointed or changed.`,
};

const GUARDED: Refusal = {
  refused: 'GUARD_NOT_HELD',
  detail: 'A start task ends with the start of its session, for which only the holder of the guard can ask.',
};

/** Why a task may not be created, because its queue or its id belongs to sessions; else null. */
export function refuseCreation({ tasks, sessions }: State, { queue, taskId }: CreateTask): Refusal | null {
  if (queue === START_QUEUE) return INTENTS_ONLY;
  const isOfSession = taskId !== null && sessions.find(taskId) !== undefined && tasks.find(taskId) === 0;
  return isOfSession ? { refused: 'TASK_ID_CONFLICT' } : null;
}

/** Why a command does not apply to a task of a system queue, or may not move one there; else null. A kill always applies. */
export function refuseSystemTask({ tasks }: State, row: TaskRow, command: TaskCommand): Refusal | null {
  const queue = tasks.queueNameOf(row);
  switch (command.type) {
    case 'KillTask':
      return null;
    case 'CancelTask':
    case 'CheckpointTask':
      return isSystemQueue(queue) ? LEFT_ALONE : null;
    case 'ChangeTask':
      return isSystemQueue(queue) || isSystemQueue(command.queue ?? '') ? LEFT_ALONE : null;
    case 'ReleaseTask':
      // The authority itself releases a start task whose caller has gone.
      return queue === START_QUEUE && command.isUndelivered !== true ? GUARDED : null;
    case 'ExtendLease':
    case 'CompleteTask':
    case 'FailTask':
      // The worker may have been deposed as guard.
      return queue === START_QUEUE ? GUARDED : null;
  }
}
