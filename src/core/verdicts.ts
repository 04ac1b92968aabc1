/**
 * What a command from a worker or an operator does to a task: a table, state × command. A missing cell does
 * not compile. The expiry of the lease is written before a cell runs, if it is due, so a live lease in the
 * state has not expired.
 *
 *              extend   checkpoint  complete  fail   release  kill      cancel         change
 *   WAITING    tooLate  tooLate     late      late   late     kill      cancel         change
 *   LEASED     extend   checkpoint  complete  fail   release  kill      requestCancel  notWaiting
 *   COMPLETED  tooLate  tooLate     late      late   late     terminal  terminal       notWaiting
 *   FAILED     tooLate  tooLate     late      late   late     terminal  terminal       notWaiting
 *   DEAD       tooLate  tooLate     late      late   late     terminal  cancelAgain    notWaiting
 *
 * In row LEASED a lease that is not the current one is treated as in the other rows. Refusals for tasks of system queues
 * come before this table (`system-queues.ts`).
 */
import type { Cancelled, ChangedTask, Checkpointed, Extension, Killed, Verdict } from './answers.ts';
import type {
  CancelTask,
  ChangeTask,
  CheckpointTask,
  CompleteTask,
  ExtendLease,
  FailTask,
  KillTask,
  ReleaseTask,
} from './commands.ts';
import { append, type Decision, isRefusal, refuse, unchanged } from './decision.ts';
import type { FencedWrite, TaskDead, TaskFailed, TaskKey, TaskReleased, Verb } from './entries.ts';
import { checkWrite } from './fences.ts';
import type { TaskState } from './image.ts';
import { cancel, cancelAgain, cancellationDue, change, kill, requestCancel } from './operate-tasks.ts';
import type { LeaseRow, Seq, TaskRow } from './row-types.ts';
import type { State } from './state.ts';
import { refuseSystemTask } from './system-queues.ts';

export type TaskCommand =
  | ExtendLease
  | CheckpointTask
  | CompleteTask
  | FailTask
  | ReleaseTask
  | KillTask
  | CancelTask
  | ChangeTask;
export type TaskAnswer = Extension | Checkpointed | Verdict | Killed | Cancelled | ChangedTask;
type VerdictCommand = CompleteTask | FailTask | ReleaseTask;

interface Cells {
  readonly ExtendLease: (at: Presented, command: ExtendLease) => Decision<Extension>;
  readonly CheckpointTask: (at: Presented, command: CheckpointTask) => Decision<Checkpointed>;
  readonly CompleteTask: (at: Presented, command: CompleteTask) => Decision<Verdict>;
  readonly FailTask: (at: Presented, command: FailTask) => Decision<Verdict>;
  readonly ReleaseTask: (at: Presented, command: ReleaseTask) => Decision<Verdict>;
  readonly KillTask: (at: Presented<0>, command: KillTask) => Decision<Killed>;
  readonly CancelTask: (at: Presented<0>, command: CancelTask) => Decision<Cancelled>;
  readonly ChangeTask: (at: Presented<0>, command: ChangeTask) => Decision<ChangedTask>;
}

/** A task and the lease that was presented for it (0 for a command that presents none). */
export interface Presented<Lease extends LeaseRow | 0 = LeaseRow> {
  readonly state: State;
  readonly row: TaskRow;
  readonly lease: Lease;
  readonly nowMs: number;
}

const ENDED: Cells = {
  ExtendLease: tooLate,
  CheckpointTask: tooLate,
  CompleteTask: late,
  FailTask: late,
  ReleaseTask: late,
  KillTask: () => refuse('TASK_TERMINAL'),
  CancelTask: () => refuse('TASK_TERMINAL'),
  ChangeTask: () => refuse('TASK_NOT_WAITING'),
};

export const TASK_RULES: Record<TaskState, Cells> = {
  WAITING: { ...ENDED, KillTask: kill, CancelTask: cancel, ChangeTask: change },
  LEASED: {
    ExtendLease: (at, command) => (isCurrent(at) ? extend(at, command) : tooLate(at)),
    CheckpointTask: (at, command) => (isCurrent(at) ? checkpoint(at, command) : tooLate(at)),
    CompleteTask: (at, command) => (isCurrent(at) ? complete(at, command) : late(at, command)),
    FailTask: (at, command) => (isCurrent(at) ? fail(at, command) : late(at, command)),
    ReleaseTask: (at, command) => (isCurrent(at) ? release(at, command) : late(at, command)),
    KillTask: kill,
    CancelTask: requestCancel,
    ChangeTask: ENDED.ChangeTask,
  },
  COMPLETED: ENDED,
  FAILED: ENDED,
  DEAD: { ...ENDED, CancelTask: cancelAgain },
};

const VERBS: Record<VerdictCommand['type'], Verb> = {
  CompleteTask: 'complete',
  FailTask: 'fail',
  ReleaseTask: 'release',
};

const NO_WRITES: readonly FencedWrite[] = [];

export function judge(state: State, command: TaskCommand, nowMs: number): Decision<TaskAnswer> {
  const row = state.tasks.find(command.taskId);
  if (row === 0) return rejected(command, 'TASK_NOT_FOUND');
  const forbidden = refuseSystemTask(state, row, command);
  if (forbidden !== null) return { entries: [], answer: forbidden };
  const rules = TASK_RULES[state.tasks.stateOf(row)];
  if (command.type === 'KillTask') return rules.KillTask({ state, row, lease: 0, nowMs }, command);
  if (command.type === 'CancelTask') return rules.CancelTask({ state, row, lease: 0, nowMs }, command);
  if (command.type === 'ChangeTask') return rules.ChangeTask({ state, row, lease: 0, nowMs }, command);
  const lease = findLease(state, row, command.leaseSeq);
  if (lease === 0) return rejected(command, 'LEASE_UNKNOWN');
  const at: Presented = { state, row, lease, nowMs };
  switch (command.type) {
    case 'ExtendLease':
      return rules.ExtendLease(at, command);
    case 'CheckpointTask':
      return rules.CheckpointTask(at, command);
    case 'CompleteTask':
      return rules.CompleteTask(at, command);
    case 'FailTask':
      return rules.FailTask(at, command);
    case 'ReleaseTask':
      return rules.ReleaseTask(at, command);
  }
}

/** A row of the lease table: the task's current lease or one of those it remembers. */
export function findLease({ tasks }: State, row: TaskRow | 0, leaseSeq: Seq): LeaseRow | 0 {
  let lease = tasks.lease.get(row);
  while (lease !== 0 && tasks.leases.seq.get(lease) !== leaseSeq) lease = tasks.leases.older.get(lease);
  return lease;
}

function rejected(command: TaskCommand, code: 'TASK_NOT_FOUND' | 'LEASE_UNKNOWN'): Decision<never> {
  return refuse(code, command.type in VERBS ? { outcome: 'REJECTED' } : {});
}

function isCurrent({ state, row, lease }: Presented): boolean {
  return state.tasks.lease.get(row) === lease;
}

/** The task that a lease belongs to, as entries name both. */
function subject({ state, row, lease }: Presented): { task: TaskKey; leaseSeq: Seq } {
  return { task: state.tasks.key(row), leaseSeq: lease === 0 ? 0 : state.tasks.leases.seq.get(lease) };
}

/** A lease cannot be extended from the millisecond of its end on. */
function tooLate({ state, lease }: Presented): Decision<never> {
  return refuse(state.tasks.leases.endOf(lease) === 'expired' ? 'LEASE_EXPIRED' : 'LEASE_NOT_CURRENT');
}

function extend(at: Presented, command: ExtendLease): Decision<Extension> {
  const { state, row, lease, nowMs } = at;
  const { tasks } = state;
  const oldMs = tasks.leases.expiresAtMs.get(lease);
  const expiresAtMs = Math.max(oldMs, nowMs + command.ttlMs);
  const grows = expiresAtMs > oldMs;
  const { task, leaseSeq } = subject(at);
  const answer: Extension = {
    taskId: tasks.idOf(row),
    leaseSeq,
    expiresAtMs,
    remainingMs: expiresAtMs - nowMs,
    seq: grows ? state.lastSeq + 1 : tasks.lastSeq.get(row),
    cancelRequested: tasks.cancelReason.get(row) !== null,
  };
  return grows ? append({ type: 'LeaseExtended', task, leaseSeq, expiresAtMs }, answer) : unchanged(answer);
}

function checkpoint(at: Presented, { value }: CheckpointTask): Decision<Checkpointed> {
  const { task, leaseSeq } = subject(at);
  const taskId = at.state.tasks.idOf(at.row);
  return append(
    { type: 'TaskCheckpointed', task, leaseSeq, value },
    { taskId, leaseSeq, seq: at.state.lastSeq + 1 },
  );
}

/** The answer to a verdict of the current holder, with the state it gives the task. */
function committed(at: Presented, verb: Verb, state: TaskState, dueAtMs: number): Verdict {
  return {
    outcome: 'COMMITTED',
    taskId: at.state.tasks.idOf(at.row),
    verb,
    state,
    dueAtMs,
    seq: at.state.lastSeq + 1,
    cause: null,
    duplicate: false,
  };
}

function complete(at: Presented, command: CompleteTask): Decision<Verdict> {
  const writes = judgeWrites(at, command);
  if ('answer' in writes) return writes;
  const { task, leaseSeq } = subject(at);
  return append(
    { type: 'TaskCompleted', task, leaseSeq, result: command.result, writes },
    committed(at, 'complete', 'COMPLETED', 0),
  );
}

/** Fenced writes in the same entry, all or nothing: the first that fails is the refusal, and the task stays LEASED. */
function judgeWrites(at: Presented, command: CompleteTask): readonly FencedWrite[] | Decision<never> {
  if (command.writes.length === 0) return NO_WRITES;
  const writes: FencedWrite[] = [];
  for (const [index, { objectId, value, lease }] of command.writes.entries()) {
    const checked = checkWrite(at.state, objectId, lease);
    if (isRefusal(checked)) return { entries: [], answer: { ...checked, index } };
    const earlier = writes.filter((write) => write.objectId === objectId).length;
    writes.push({ objectId, leaseSeq: checked.leaseSeq, version: checked.version + 1 + earlier, value });
  }
  return writes;
}

function fail(at: Presented, command: FailTask): Decision<Verdict> {
  const { state, row, nowMs } = at;
  const { tasks } = state;
  const failures = tasks.failures.get(row) + 1;
  const isFinal = !command.retry || failures >= tasks.maxFailures.get(row);
  const death = isFinal ? null : deathDue(state, row);
  const nextState = isFinal ? 'FAILED' : death !== null ? 'DEAD' : 'WAITING';
  const delayMs = nextState === 'WAITING' ? (command.delayMs ?? backoffMs(at, failures)) : 0;
  const dueAtMs = isFinal ? 0 : nowMs + delayMs;
  const { reason } = command;
  const failed: TaskFailed = { type: 'TaskFailed', ...subject(at), reason, nextState, dueAtMs };
  return death === null
    ? append(failed, committed(at, 'fail', nextState, dueAtMs))
    : lastTurn(at, 'fail', failed, death);
}

/** Its holder's verdict ends the lease, and the task becomes DEAD with it. */
function lastTurn(
  at: Presented,
  verb: 'fail' | 'release',
  end: TaskFailed | TaskReleased,
  death: TaskDead,
): Decision<Verdict> {
  return { entries: [end, death], answer: committed(at, verb, 'DEAD', 0) };
}

/** Doubles with every failure up to the task's limit. */
function backoffMs({ state, row }: Presented, failures: number): number {
  const { tasks } = state;
  // Beyond 2^52 the limit has been reached; without the bound, 0 * Infinity would be NaN.
  const factor = 2 ** Math.min(failures - 1, 52);
  return Math.min(tasks.backoffMs.get(row) * factor, tasks.maxBackoffMs.get(row));
}

/** The entry that ends a task whose lease has failed or expired; null when the task may be leased again. */
export function deathDue(state: State, row: TaskRow): TaskDead | null {
  const cancellation = cancellationDue(state, row);
  if (cancellation !== null || !isExhausted(state, row)) return cancellation;
  const task = state.tasks.key(row);
  return { type: 'TaskDead', task, leaseSeq: 0, reason: 'ATTEMPTS_EXHAUSTED', detail: null };
}

/** A task that kills its workers must not be retried without end. */
function isExhausted({ tasks }: State, row: TaskRow): boolean {
  return tasks.countedAttempts.get(row) >= tasks.maxAttempts.get(row);
}

function release(at: Presented, command: ReleaseTask): Decision<Verdict> {
  const dueAtMs = at.nowMs + command.delayMs;
  const released: TaskReleased = { type: 'TaskReleased', ...subject(at), dueAtMs };
  const death = cancellationDue(at.state, at.row);
  return death === null
    ? append(released, committed(at, 'release', 'WAITING', dueAtMs))
    : lastTurn(at, 'release', released, death);
}

/** The lease is over. How it ended decides the answer to its holder. */
function late(at: Presented, command: VerdictCommand): Decision<Verdict> {
  // This command comes from the authority and not from a worker: there is no verdict to record.
  if (command.type === 'ReleaseTask' && command.isUndelivered === true) return refuse('LEASE_NOT_CURRENT');
  const { leases } = at.state.tasks;
  const end = leases.endOf(at.lease);
  const verb = VERBS[command.type];
  if (end === verb) return unchanged(firstAnswer(at, verb));
  if (end === 'complete' || end === 'fail' || end === 'release') {
    return refuse('LEASE_NOT_CURRENT', { outcome: 'REJECTED' });
  }
  const cancelledSeq = leases.cancelledSeq.get(at.lease);
  const { tasks, lastSeq } = at.state;
  const answer: Verdict = {
    outcome: 'CANCELLED',
    taskId: tasks.idOf(at.row),
    verb,
    state: tasks.stateOf(at.row),
    dueAtMs: 0,
    seq: cancelledSeq === 0 ? lastSeq + 1 : cancelledSeq,
    cause: end,
    duplicate: cancelledSeq !== 0,
  };
  if (cancelledSeq !== 0) return unchanged(answer);
  const result = command.type === 'CompleteTask' ? command.result : null;
  return append({ type: 'TaskCancelled', ...subject(at), verb, result }, answer);
}

/** The answer that the holder got when it ended the lease by this verb. */
function firstAnswer(at: Presented, verb: Verb): Verdict {
  const { state, row, lease } = at;
  const { tasks } = state;
  const seq = tasks.leases.endedSeq.get(lease);
  const dueAtMs = tasks.leases.dueAtMs.get(lease);
  // An operator may have killed the task in the next entry: then its attempts were not used up.
  const wasLast = (verb === 'fail' && isExhausted(state, row)) || cancellationDue(state, row) !== null;
  const diedThen = wasLast && tasks.endedSeq.get(row) === seq + 1;
  const ended: TaskState = verb === 'complete' ? 'COMPLETED' : 'FAILED';
  const became = diedThen ? 'DEAD' : dueAtMs === 0 ? ended : 'WAITING';
  return { ...committed(at, verb, became, diedThen ? 0 : dueAtMs), seq, duplicate: true };
}
