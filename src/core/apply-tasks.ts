/** The effect of each entry about a task or a queue, with the preconditions of seed 002 as checks. */
import { writeObject } from './apply-names.ts';
import { check } from './check.ts';
import type {
  LeaseExpired,
  LeaseExtended,
  LeaseGranted,
  QueueLimited,
  QueuePaused,
  QueueResumed,
  TaskCancelled,
  TaskCancelRequested,
  TaskChanged,
  TaskCheckpointed,
  TaskCompleted,
  TaskCreated,
  TaskDead,
  TaskFailed,
  TaskReleased,
} from './entries.ts';
import { taskIdOfKey } from './entry-json.ts';
import type { LeaseEnd, TaskState } from './image.ts';
import { limitsOf } from './limits.ts';
import type { Seq, TaskRow } from './row-types.ts';
import type { State } from './state.ts';
import { isTerminal } from './task-table.ts';

export function created(state: State, entry: TaskCreated, seq: Seq, atMs: number): void {
  const { tasks } = state;
  check(tasks.at(entry.task) === 0, entry, seq, 'the task exists');
  check(typeof entry.task === 'string' || entry.task === seq, entry, seq, 'its id is not its position');
  const isFree = entry.dedupKey === null || tasks.findByDedup(entry.queue, entry.dedupKey) === 0;
  check(isFree, entry, seq, 'the dedup key is taken');
  if (entry.requeuedFrom !== null) requeued(state, entry, seq);
  tasks.create(entry, seq, atMs);
}

/** Records the new task as successor of the ended one, whose state stays. */
function requeued({ tasks }: State, entry: TaskCreated, seq: Seq): void {
  const origin = tasks.find(entry.requeuedFrom!);
  check(origin !== 0, entry, seq, 'its origin is unknown');
  check(isTerminal(tasks.stateOf(origin)), entry, seq, 'its origin has not ended');
  check(tasks.requeuedAs.get(origin) === null, entry, seq, 'its origin has a successor');
  tasks.requeuedAs.set(origin, taskIdOfKey(entry.task));
  tasks.lastSeq.set(origin, seq);
}

/** The only entry that makes a task LEASED. */
export function granted({ tasks }: State, entry: LeaseGranted, seq: Seq, atMs: number): void {
  const row = tasks.at(entry.task);
  check(row !== 0, entry, seq, 'the task is unknown');
  check(tasks.stateOf(row) === 'WAITING', entry, seq, 'the task is not WAITING');
  check(tasks.cancelReason.get(row) === null, entry, seq, 'the task is cancelled');
  check(entry.attempt === tasks.attempt.get(row) + 1, entry, seq, 'the attempt is not the next one');
  const queue = tasks.queueOf(row);
  const key = tasks.keyOf(row);
  if (queue.limits !== null) {
    const forbidden = tasks.keys.forbids(queue, key, atMs);
    check(forbidden === null, entry, seq, forbidden ?? '');
  }
  tasks.leave(row);
  const older = tasks.lease.get(row);
  tasks.leases.trim(older);
  const { workerId, requestId, expiresAtMs } = entry;
  const lease = tasks.leases.grant(row, seq, workerId, requestId, expiresAtMs, older);
  tasks.leases.grantedAtMs.set(lease, atMs);
  tasks.lease.set(row, lease);
  tasks.attempt.set(row, entry.attempt);
  tasks.countedAttempts.set(row, tasks.countedAttempts.get(row) + 1);
  tasks.lastSeq.set(row, seq);
  tasks.enter(row, 'LEASED', atMs);
  if (queue.limits !== null) tasks.keys.countGrant(queue, key, atMs);
  if (queue.rings > 0) queue.endTurn(tasks.priorityOf(row), key);
}

/** Entries that name the current lease of a task. */
type HolderEntry =
  | LeaseExtended
  | TaskCompleted
  | TaskFailed
  | TaskReleased
  | TaskCheckpointed
  | TaskCancelRequested;

/** The row of a task whose current lease is the one named. Any other lease fails the check. */
function leased({ tasks }: State, entry: HolderEntry | LeaseExpired, seq: Seq): TaskRow {
  const row = tasks.at(entry.task);
  check(row !== 0, entry, seq, 'the task is unknown');
  check(tasks.stateOf(row) === 'LEASED', entry, seq, 'the task is not LEASED');
  check(
    tasks.leases.seq.get(tasks.lease.get(row)) === entry.leaseSeq,
    entry,
    seq,
    'the lease is not current',
  );
  return row;
}

/** As `leased`, and the lease has not expired: only then can its holder still decide about the task. */
function held(state: State, entry: HolderEntry, seq: Seq, atMs: number): TaskRow {
  const row = leased(state, entry, seq);
  const { tasks } = state;
  check(atMs < tasks.leases.expiresAtMs.get(tasks.lease.get(row)), entry, seq, 'the lease has run out');
  return row;
}

/** Moves a task to its next state and ends its current lease, if any. */
function move(
  { tasks }: State,
  row: TaskRow,
  seq: Seq,
  atMs: number,
  to: TaskState,
  end: LeaseEnd,
  dueAtMs: number,
): void {
  const wasLeased = tasks.stateOf(row) === 'LEASED';
  tasks.leave(row);
  if (wasLeased) tasks.leases.end(tasks.lease.get(row), end, seq, dueAtMs);
  if (to === 'WAITING') tasks.dueAtMs.set(row, dueAtMs);
  if (isTerminal(to)) {
    tasks.endedSeq.set(row, seq);
    tasks.endedAtMs.set(row, atMs);
  }
  tasks.lastSeq.set(row, seq);
  tasks.enter(row, to, atMs);
}

export function extended(state: State, entry: LeaseExtended, seq: Seq, atMs: number): void {
  const row = held(state, entry, seq, atMs);
  const { tasks } = state;
  const lease = tasks.lease.get(row);
  const isLonger = entry.expiresAtMs > tasks.leases.expiresAtMs.get(lease);
  check(isLonger, entry, seq, 'an extension never shortens');
  // The heap keeps the earlier time and corrects it when that time comes, so that an extension stays cheap.
  tasks.leases.expiresAtMs.set(lease, entry.expiresAtMs);
  tasks.lastSeq.set(row, seq);
}

export function expired(state: State, entry: LeaseExpired, seq: Seq, atMs: number): void {
  const row = leased(state, entry, seq);
  const { tasks } = state;
  check(tasks.leases.expiresAtMs.get(tasks.lease.get(row)) <= atMs, entry, seq, 'the lease has not run out');
  if (!entry.counted) tasks.countedAttempts.set(row, tasks.countedAttempts.get(row) - 1);
  move(state, row, seq, atMs, 'WAITING', 'expired', atMs);
}

export function completed(state: State, entry: TaskCompleted, seq: Seq, atMs: number): void {
  const row = held(state, entry, seq, atMs);
  const { tasks } = state;
  for (const write of entry.writes) writeObject(state, entry, write, seq, atMs);
  tasks.result.set(row, entry.result);
  tasks.checkpoint.set(row, null);
  move(state, row, seq, atMs, 'COMPLETED', 'complete', 0);
}

/** The state of the task stays. The lease remembers that its worker got CANCELLED. */
export function cancelled({ tasks }: State, entry: TaskCancelled, seq: Seq): void {
  const row = tasks.at(entry.task);
  check(row !== 0, entry, seq, 'the task is unknown');
  let lease = tasks.lease.get(row);
  while (lease !== 0 && tasks.leases.seq.get(lease) !== entry.leaseSeq) lease = tasks.leases.older.get(lease);
  check(lease !== 0, entry, seq, 'the task never had this lease');
  check(tasks.leases.endOf(lease) !== 'live', entry, seq, 'the lease is live');
  check(tasks.leases.cancelledSeq.get(lease) === 0, entry, seq, 'it is recorded once');
  tasks.leases.cancelledSeq.set(lease, seq);
  tasks.leases.lateResult.set(lease, entry.result);
  tasks.lastSeq.set(row, seq);
}

export function failed(state: State, entry: TaskFailed, seq: Seq, atMs: number): void {
  const row = held(state, entry, seq, atMs);
  const { tasks } = state;
  const isExhausted = tasks.countedAttempts.get(row) >= tasks.maxAttempts.get(row);
  const isCancelled = tasks.cancelReason.get(row) !== null;
  check(entry.nextState !== 'DEAD' || isExhausted || isCancelled, entry, seq, 'it has attempts left');
  tasks.failures.set(row, tasks.failures.get(row) + 1);
  tasks.reason.set(row, entry.reason);
  // Its TaskDead is the next entry of the same batch; until then it waits.
  const to = entry.nextState === 'DEAD' ? 'WAITING' : entry.nextState;
  move(state, row, seq, atMs, to, 'fail', entry.dueAtMs);
}

export function released(state: State, entry: TaskReleased, seq: Seq, atMs: number): void {
  const row = held(state, entry, seq, atMs);
  const { tasks } = state;
  tasks.countedAttempts.set(row, tasks.countedAttempts.get(row) - 1);
  move(state, row, seq, atMs, 'WAITING', 'release', entry.dueAtMs);
}

export function dead(state: State, entry: TaskDead, seq: Seq, atMs: number): void {
  const { tasks } = state;
  const row = tasks.at(entry.task);
  check(row !== 0, entry, seq, 'the task is unknown');
  check(!isTerminal(tasks.stateOf(row)), entry, seq, 'the task has ended');
  const current = tasks.stateOf(row) === 'LEASED' ? tasks.leases.seq.get(tasks.lease.get(row)) : 0;
  check(entry.leaseSeq === current, entry, seq, 'the lease is not current');
  tasks.reason.set(row, entry.reason);
  tasks.reasonDetail.set(row, entry.detail);
  move(state, row, seq, atMs, 'DEAD', 'killed', 0);
}

export function cancelRequested(state: State, entry: TaskCancelRequested, seq: Seq, atMs: number): void {
  const row = held(state, entry, seq, atMs);
  const { tasks } = state;
  check(tasks.cancelReason.get(row) === null, entry, seq, 'it is recorded once');
  tasks.cancelReason.set(row, entry.reason);
  tasks.lastSeq.set(row, seq);
}

export function checkpointed(state: State, entry: TaskCheckpointed, seq: Seq, atMs: number): void {
  const row = held(state, entry, seq, atMs);
  state.tasks.checkpoint.set(row, entry.value);
  state.tasks.lastSeq.set(row, seq);
}

export function changed({ tasks }: State, entry: TaskChanged, seq: Seq, atMs: number): void {
  const row = tasks.at(entry.task);
  check(row !== 0, entry, seq, 'the task is unknown');
  check(tasks.stateOf(row) === 'WAITING', entry, seq, 'the task is not WAITING');
  const dedupKey = tasks.dedupKey.get(row);
  const other = dedupKey === null ? 0 : tasks.findByDedup(entry.queue, dedupKey);
  check(other === 0 || other === row, entry, seq, 'the dedup key is taken');
  tasks.change(row, entry, atMs);
  tasks.lastSeq.set(row, seq);
}

export function queuePaused({ tasks }: State, entry: QueuePaused): void {
  tasks.openQueue(entry.queue).paused = true;
}

export function queueResumed({ tasks }: State, entry: QueueResumed): void {
  const queue = tasks.openQueue(entry.queue);
  queue.paused = false;
  tasks.dropIfIdle(queue);
}

export function queueLimited({ tasks }: State, entry: QueueLimited, atMs: number): void {
  const queue = tasks.openQueue(entry.queue);
  tasks.keys.setLimits(queue, limitsOf(entry), atMs);
  tasks.dropIfIdle(queue);
}
