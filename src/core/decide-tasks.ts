/** Creating a task, leasing the next one, pausing a queue. What happens to a task later is in `verdicts.ts`. */
import type { CreateTask, GrantedTask, LeaseTasks, QueueSwitched, TaskCreation } from './commands.ts';
import { append, type Decision, refuse, unchanged } from './decision.ts';
import type { LeaseGranted } from './entries.ts';
import { seqOfSessionId, seqOfTaskId, taskIdOfSeq } from './ids.ts';
import type { Opaque } from './opaque.ts';
import type { TaskRow } from './row-types.ts';
import type { State } from './state.ts';

export function createTask(state: State, command: CreateTask, nowMs: number): Decision<TaskCreation> {
  const { tasks } = state;
  const { taskId, queue, dedupKey } = command;
  if (taskId !== null) {
    const row = tasks.find(taskId);
    if (row !== 0) {
      const known = tasks.payload.get(row)!;
      const { length, crc } = command.payload;
      const mayBeSame = known.length === length && known.crc === crc;
      return mayBeSame ? unchanged(existing(state, row, known)) : refuse('TASK_ID_CONFLICT');
    }
    // An id of our own shape from the future could one day be given out a second time.
    if (Math.max(seqOfTaskId(taskId), seqOfSessionId(taskId)) > state.lastSeq) {
      return refuse('INVALID_ARGUMENT', {
        detail: `The task_id ${taskId} has the form of ids made by the server.`,
      });
    }
  }
  if (dedupKey !== null) {
    const row = tasks.findByDedup(queue, dedupKey);
    if (row !== 0) return unchanged(existing(state, row, null));
  }
  const seq = state.lastSeq + 1;
  const dueAtMs = nowMs + command.delayMs;
  return append(
    {
      type: 'TaskCreated',
      task: taskId ?? seq,
      payload: command.payload,
      queue,
      priority: command.priority,
      dueAtMs,
      maxFailures: command.maxFailures,
      backoffMs: command.backoffMs,
      maxBackoffMs: command.maxBackoffMs,
      maxAttempts: command.maxAttempts,
      dedupKey,
    },
    {
      taskId: taskId ?? taskIdOfSeq(seq),
      seq,
      state: 'WAITING',
      attempt: 0,
      queue,
      priority: command.priority,
      createdAtMs: nowMs,
      dueAtMs,
      duplicate: false,
      known: null,
    },
  );
}

function existing({ tasks }: State, row: TaskRow, known: Opaque | null): TaskCreation {
  return {
    taskId: tasks.idOf(row),
    seq: tasks.createdSeq.get(row),
    state: tasks.stateOf(row),
    attempt: tasks.attempt.get(row),
    queue: tasks.queueOf(row).name,
    priority: tasks.priorityOf(row),
    createdAtMs: tasks.createdAtMs.get(row),
    dueAtMs: tasks.dueAtMs.get(row),
    duplicate: true,
    known,
  };
}

/** The next task for this worker, or null when no queue of its has one. One call, one grant. */
export function leaseNext(
  state: State,
  command: LeaseTasks,
  nowMs: number,
): [LeaseGranted, GrantedTask] | null {
  const { tasks } = state;
  const row = nextTask(state, command.queues);
  if (row === 0) return null;
  const expiresAtMs = nowMs + command.ttlMs;
  const attempt = tasks.attempt.get(row) + 1;
  const { workerId, requestId } = command;
  return [
    { type: 'LeaseGranted', task: tasks.key(row), workerId, attempt, expiresAtMs, requestId },
    {
      taskId: tasks.idOf(row),
      leaseSeq: state.lastSeq + 1,
      attempt,
      payload: tasks.payload.get(row)!,
      queue: tasks.queueOf(row).name,
      expiresAtMs,
      remainingMs: command.ttlMs,
    },
  ];
}

/** Over several queues: highest priority first, then first come. */
function nextTask({ tasks }: State, queues: readonly string[]): TaskRow | 0 {
  let best: TaskRow | 0 = 0;
  for (const name of queues) {
    const queue = tasks.queues.get(name);
    if (queue === undefined || queue.paused) continue;
    const row = queue.next();
    if (row === 0) continue;
    if (best === 0) {
      best = row;
      continue;
    }
    const ahead = tasks.priorityOf(row) - tasks.priorityOf(best);
    if (ahead > 0 || (ahead === 0 && tasks.createdSeq.get(row) < tasks.createdSeq.get(best))) best = row;
  }
  return best;
}

/** The live leases an earlier request with the same id was given, so that a lost reply costs no attempt. */
export function leasesOfRequest(
  state: State,
  workerId: string,
  requestId: string,
  nowMs: number,
): GrantedTask[] {
  const { tasks } = state;
  return tasks.leases.findByRequest(workerId, requestId).map((lease) => {
    const row = tasks.leases.task.get(lease);
    const expiresAtMs = tasks.leases.expiresAtMs.get(lease);
    return {
      taskId: tasks.idOf(row),
      leaseSeq: tasks.leases.seq.get(lease),
      attempt: tasks.attempt.get(row),
      payload: tasks.payload.get(row)!,
      queue: tasks.queueOf(row).name,
      expiresAtMs,
      remainingMs: expiresAtMs - nowMs,
    };
  });
}

export function switchQueue(state: State, queue: string, paused: boolean): Decision<QueueSwitched> {
  const known = state.tasks.queues.get(queue)?.paused ?? false;
  if (known === paused) return unchanged({ queue, paused, seq: state.lastSeq });
  const type = paused ? 'QueuePaused' : 'QueueResumed';
  return append({ type, queue }, { queue, paused, seq: state.lastSeq + 1 });
}
