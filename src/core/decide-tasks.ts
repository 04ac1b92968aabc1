/** Creating a task, running one again, leasing the next one, pausing a queue. What happens to a task later is in `verdicts.ts`. */
import type { GrantedTask, GrantedTasks, QueueSwitched, RequeuedTask, TaskCreation } from './answers.ts';
import type { CreateTask, LeaseTasks, RequeueTask, Trace } from './commands.ts';
import { append, type Decision, refuse, unchanged } from './decision.ts';
import type { LeaseGranted, TaskCreated } from './entries.ts';
import { seqOfSessionId, seqOfTaskId, taskIdOfSeq } from './ids.ts';
import type { Opaque } from './opaque.ts';
import { isSystemQueue } from './reserved-names.ts';
import type { TaskRow } from './row-types.ts';
import type { State } from './state.ts';
import { isTerminal } from './task-table.ts';

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
    if (isOurs(state, taskId)) return refuseOurs('task_id', taskId);
  }
  if (dedupKey !== null) {
    const row = tasks.findByDedup(queue, dedupKey);
    if (row !== 0) return unchanged(existing(state, row, null));
  }
  const entry: TaskCreated = {
    type: 'TaskCreated',
    task: taskId ?? state.lastSeq + 1,
    payload: command.payload,
    queue,
    priority: command.priority,
    dueAtMs: nowMs + command.delayMs,
    maxFailures: command.maxFailures,
    backoffMs: command.backoffMs,
    maxBackoffMs: command.maxBackoffMs,
    maxAttempts: command.maxAttempts,
    dedupKey,
    groupKey: command.groupKey,
    traceparent: command.trace?.traceparent ?? null,
    tracestate: command.trace?.tracestate ?? null,
    requeuedFrom: null,
    requeueReason: null,
  };
  return append(entry, creation(state, entry, nowMs));
}

/** An id of the generated form whose position is after the end of the log: the server would generate it again later. */
function isOurs({ lastSeq }: State, taskId: string): boolean {
  return Math.max(seqOfTaskId(taskId), seqOfSessionId(taskId)) > lastSeq;
}

function refuseOurs(field: string, taskId: string): Decision<never> {
  return refuse('INVALID_ARGUMENT', {
    detail: `The ${field} ${taskId} has the form of ids that the server generates.`,
  });
}

function creation({ lastSeq }: State, entry: TaskCreated, nowMs: number): TaskCreation {
  const seq = lastSeq + 1;
  return {
    taskId: typeof entry.task === 'string' ? entry.task : taskIdOfSeq(seq),
    seq,
    state: 'WAITING',
    attempt: 0,
    queue: entry.queue,
    priority: entry.priority,
    createdAtMs: nowMs,
    dueAtMs: entry.dueAtMs,
    duplicate: false,
    reason: null,
    known: null,
  };
}

/**
 * The payload was read before this decision, together with the task. If the task has changed since, the answer is the
 * one for that earlier moment, which also lies between call and answer.
 */
export function requeueTask(state: State, command: RequeueTask, nowMs: number): Decision<RequeuedTask> {
  const { tasks, sessions } = state;
  const { origin, newTaskId } = command;
  const row = tasks.find(command.taskId);
  if (row === 0) return refuse('TASK_NOT_FOUND');
  const queue = command.queue ?? tasks.queueNameOf(row);
  if (isSystemQueue(tasks.queueNameOf(row)) || isSystemQueue(queue)) {
    return refuse('FORBIDDEN', { detail: 'Tasks of queues that begin with system: are not requeued.' });
  }
  if (!isTerminal(tasks.stateOf(row))) return refuse('TASK_NOT_ENDED');
  const known = tasks.requeuedAs.get(row);
  if (known !== null) {
    if (newTaskId === null || newTaskId === known) return unchanged(requeuedBefore(state, row, known));
    return refuse('TASK_ID_CONFLICT', { detail: `The task was requeued as ${known}.` });
  }
  if (origin === null) return refuse('TASK_NOT_ENDED');
  if (origin.createdSeq !== tasks.createdSeq.get(row)) return refuse('TASK_NOT_FOUND');
  if (origin.payload === null) return refuse('PAYLOAD_DAMAGED');
  if (newTaskId !== null) {
    const isTaken = tasks.find(newTaskId) !== 0 || sessions.find(newTaskId) !== undefined;
    if (isTaken) return refuse('TASK_ID_CONFLICT', { detail: `There is another task ${newTaskId}.` });
    if (isOurs(state, newTaskId)) return refuseOurs('task_id_new', newTaskId);
  }
  const requeuedFrom = tasks.idOf(row);
  const entry: TaskCreated = {
    type: 'TaskCreated',
    task: newTaskId ?? state.lastSeq + 1,
    payload: origin.payload,
    queue,
    priority: command.priority ?? tasks.priorityOf(row),
    dueAtMs: nowMs + command.delayMs,
    maxFailures: tasks.maxFailures.get(row),
    backoffMs: tasks.backoffMs.get(row),
    maxBackoffMs: tasks.maxBackoffMs.get(row),
    maxAttempts: tasks.maxAttempts.get(row),
    dedupKey: null,
    groupKey: tasks.groupKey.get(row),
    traceparent: null,
    tracestate: null,
    requeuedFrom,
    requeueReason: command.reason,
  };
  const successor = creation(state, entry, nowMs);
  const { taskId, seq } = successor;
  return append(entry, { requeuedFrom, taskId, seq, successor, duplicate: false });
}

function requeuedBefore(state: State, row: TaskRow, taskId: string): RequeuedTask {
  const { tasks } = state;
  const found = tasks.successorOf(row);
  const successor = found === 0 ? null : existing(state, found, null);
  // The position of a forgotten successor is unknown; it is at or before the newest entry about its origin.
  const seq = successor?.seq ?? tasks.lastSeq.get(row);
  return { requeuedFrom: tasks.idOf(row), taskId, seq, successor, duplicate: true };
}

function existing({ tasks }: State, row: TaskRow, known: Opaque | null): TaskCreation {
  const state = tasks.stateOf(row);
  return {
    taskId: tasks.idOf(row),
    seq: tasks.createdSeq.get(row),
    state,
    attempt: tasks.attempt.get(row),
    queue: tasks.queueOf(row).name,
    priority: tasks.priorityOf(row),
    createdAtMs: tasks.createdAtMs.get(row),
    dueAtMs: tasks.dueAtMs.get(row),
    duplicate: true,
    reason: state === 'FAILED' || state === 'DEAD' ? tasks.reason.get(row) : null,
    known,
  };
}

/** The next task for this worker, or null when none of its queues has one. One call, one grant. */
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
      checkpoint: tasks.checkpoint.get(row),
      queue: tasks.queueOf(row).name,
      groupKey: tasks.groupKey.get(row),
      trace: traceOf(state, row),
      expiresAtMs,
      remainingMs: command.ttlMs,
    },
  ];
}

/** Across the queues: highest priority first, then order of creation. */
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

/** The answer to a worker whose queues have nothing for it. */
export function noTasks({ tasks, lastSeq }: State, { queues }: LeaseTasks): GrantedTasks {
  let limited = 0;
  for (const name of new Set(queues)) {
    const queue = tasks.queues.get(name);
    if (queue !== undefined && !queue.paused) limited += queue.limited;
  }
  return { leases: [], seq: lastSeq, duplicate: false, limited };
}

/** The live leases that an earlier request with the same id was granted, so that a lost reply costs no attempt. */
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
      checkpoint: tasks.checkpoint.get(row),
      queue: tasks.queueOf(row).name,
      groupKey: tasks.groupKey.get(row),
      trace: traceOf(state, row),
      expiresAtMs,
      remainingMs: expiresAtMs - nowMs,
    };
  });
}

function traceOf({ tasks }: State, row: TaskRow): Trace | null {
  const traceparent = tasks.traceparent.get(row);
  return traceparent === null ? null : { traceparent, tracestate: tasks.tracestate.get(row) };
}

export function switchQueue(state: State, queue: string, paused: boolean): Decision<QueueSwitched> {
  const known = state.tasks.queues.get(queue)?.paused ?? false;
  if (known === paused) return unchanged({ queue, paused, seq: state.lastSeq });
  const type = paused ? 'QueuePaused' : 'QueueResumed';
  return append({ type, queue }, { queue, paused, seq: state.lastSeq + 1 });
}
