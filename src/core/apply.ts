/**
 * Applies an entry to the state. Pure and total: it accepts every entry that the rules can produce in this state and
 * throws on any other, because an entry that does not fit means a bug or a damaged log, which must not spread.
 * It makes no choice and reads no clock.
 */
import * as name from './apply-names.ts';
import * as task from './apply-tasks.ts';
import { check } from './check.ts';
import type { Entry, EpochStarted, Forgotten } from './entries.ts';
import type { Seq } from './row-types.ts';
import * as schedule from './schedules/apply-schedules.ts';
import * as session from './sessions/apply-sessions.ts';
import type { State } from './state.ts';
import { CANCELLED } from './task-table.ts';

export function apply(state: State, entry: Entry, seq: Seq, atMs: number): void {
  check(seq > state.lastSeq, entry, seq, 'its position is not new');
  check(seq === state.lastSeq + 1 || isRestore(entry), entry, seq, 'a position was left out');
  check(atMs >= state.lastAtMs, entry, seq, 'time went backwards');
  takeEffect(state, entry, seq, atMs);
  state.lastSeq = seq;
  state.lastAtMs = atMs;
}

function takeEffect(state: State, entry: Entry, seq: Seq, atMs: number): void {
  switch (entry.type) {
    case 'TaskCreated':
      return task.created(state, entry, seq, atMs);
    case 'LeaseGranted':
      return task.granted(state, entry, seq, atMs);
    case 'LeaseExtended':
      return task.extended(state, entry, seq, atMs);
    case 'LeaseExpired':
      return task.expired(state, entry, seq, atMs);
    case 'TaskCompleted':
      return task.completed(state, entry, seq, atMs);
    case 'TaskCancelled':
      return task.cancelled(state, entry, seq);
    case 'TaskFailed':
      return task.failed(state, entry, seq, atMs);
    case 'TaskReleased':
      return task.released(state, entry, seq, atMs);
    case 'TaskDead':
      return task.dead(state, entry, seq, atMs);
    case 'TaskCancelRequested':
      return task.cancelRequested(state, entry, seq, atMs);
    case 'TaskCheckpointed':
      return task.checkpointed(state, entry, seq, atMs);
    case 'TaskChanged':
      return task.changed(state, entry, seq, atMs);
    case 'QueuePaused':
      return task.queuePaused(state, entry);
    case 'QueueResumed':
      return task.queueResumed(state, entry);
    case 'QueueLimited':
      return task.queueLimited(state, entry, atMs);
    case 'NameLeased':
      return name.leased(state, entry, seq, atMs);
    case 'NameRenewed':
      return name.renewed(state, entry, seq, atMs);
    case 'NameReleased':
      return name.released(state, entry, seq, atMs);
    case 'NameExpired':
      return name.expired(state, entry, seq, atMs);
    case 'NameBroken':
      return name.broken(state, entry, seq, atMs);
    case 'NamesWiped':
      return name.wiped(state, entry, seq, atMs);
    case 'ObjectWritten':
      return name.writeObject(state, entry, entry, seq, atMs);
    case 'ObjectDeleted':
      return name.deleted(state, entry, seq, atMs);
    case 'IntentAccepted':
      return session.acceptIntent(state, entry, seq, atMs);
    case 'SessionChanged':
      return session.changeSession(state, entry, seq, atMs);
    case 'ScheduleSet':
      return schedule.set(state, entry, seq, atMs);
    case 'ScheduleRemoved':
      return schedule.removed(state, entry, seq);
    case 'ScheduleFired':
      return schedule.fired(state, entry, seq, atMs);
    case 'EpochStarted':
      return startEpoch(state, entry, seq, atMs);
    case 'Forgotten':
      return forget(state, entry, seq);
    default:
      throw new Error(`INV-APPLY: unknown entry ${(entry satisfies never as Entry).type} at seq ${seq}.`);
  }
}

function isRestore(entry: Entry): boolean {
  return entry.type === 'EpochStarted' && entry.restored;
}

function startEpoch(state: State, entry: EpochStarted, seq: Seq, atMs: number): void {
  check(entry.epoch > state.epoch, entry, seq, 'the epoch is not new');
  state.epoch = entry.epoch;
  state.epochStartedAtMs = atMs;
  if (!entry.restored) return;
  const { tasks, names } = state;
  // In the order of rows: the order of a heap depends on how it was built.
  for (const row of [...tasks.expiring.all()].sort(byNumber)) {
    tasks.leave(row);
    tasks.leases.end(tasks.lease.get(row), 'restored', seq, 0);
    tasks.countedAttempts.set(row, tasks.countedAttempts.get(row) - 1);
    tasks.dueAtMs.set(row, atMs);
    tasks.lastSeq.set(row, seq);
    const cancelReason = tasks.cancelReason.get(row);
    if (cancelReason !== null) {
      tasks.reason.set(row, CANCELLED);
      tasks.reasonDetail.set(row, cancelReason);
      tasks.endedSeq.set(row, seq);
      tasks.endedAtMs.set(row, atMs);
    }
    tasks.enter(row, cancelReason === null ? 'WAITING' : 'DEAD', atMs);
  }
  for (const row of [...names.expiring.all()].sort(byNumber)) {
    names.end(row, 'restored');
    names.endedSeq.set(row, seq);
    names.endedAtMs.set(row, atMs);
    names.lastSeq.set(row, seq);
    if (names.isIdle(row)) names.becomeIdle(row);
  }
  session.endRunningSessions(state, seq, atMs);
}

function byNumber(a: number, b: number): number {
  return a - b;
}

function forget(state: State, entry: Forgotten, seq: Seq): void {
  const { tasks, names } = state;
  for (const key of entry.tasks) {
    const row = tasks.at(key);
    check(row !== 0, entry, seq, 'the task is unknown');
    check(tasks.endedSeq.get(row) !== 0, entry, seq, 'the task has not ended');
    state.forgottenThroughMs = Math.max(state.forgottenThroughMs, tasks.endedAtMs.get(row));
    tasks.leave(row);
    tasks.forget(row);
  }
  for (const forgotten of entry.names) {
    const row = names.find(forgotten);
    check(row !== 0 && names.isIdle(row), entry, seq, 'the name is not idle');
    names.forget(row);
  }
  session.forgetSessions(state, entry, seq);
}
