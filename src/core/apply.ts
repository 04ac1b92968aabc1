/**
 * Applies an entry to the state. Pure and total: it accepts every entry that the rules can produce in this state and
 * throws on any other, because an entry that does not fit means a bug or a damaged log, which must not spread.
 * It makes no choice and reads no clock.
 */
import { applyNameEntry, isNameEntry } from './apply-names.ts';
import { applyTaskEntry } from './apply-tasks.ts';
import { check } from './check.ts';
import type { Entry, EpochStarted, Forgotten } from './entries.ts';
import type { Seq } from './row-types.ts';
import { applyScheduleEntry, isScheduleEntry } from './schedules/apply-schedules.ts';
import {
  acceptIntent,
  changeSession,
  endRunningSessions,
  forgetSessions,
} from './sessions/apply-sessions.ts';
import type { State } from './state.ts';
import { CANCELLED } from './task-table.ts';

export function apply(state: State, entry: Entry, seq: Seq, atMs: number): void {
  check(seq > state.lastSeq, entry, seq, 'its position is not new');
  check(seq === state.lastSeq + 1 || isRestore(entry), entry, seq, 'a position was left out');
  check(atMs >= state.lastAtMs, entry, seq, 'time went backwards');
  if (entry.type === 'EpochStarted') startEpoch(state, entry, seq, atMs);
  else if (entry.type === 'Forgotten') forget(state, entry, seq);
  else if (entry.type === 'IntentAccepted') acceptIntent(state, entry, seq, atMs);
  else if (entry.type === 'SessionChanged') changeSession(state, entry, seq, atMs);
  else if (isNameEntry(entry)) applyNameEntry(state, entry, seq, atMs);
  else if (isScheduleEntry(entry)) applyScheduleEntry(state, entry, seq, atMs);
  else applyTaskEntry(state, entry, seq, atMs);
  state.lastSeq = seq;
  state.lastAtMs = atMs;
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
  endRunningSessions(state, seq, atMs);
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
  for (const name of entry.names) {
    const row = names.find(name);
    check(row !== 0 && names.isIdle(row), entry, seq, 'the name is not idle');
    names.forget(row);
  }
  forgetSessions(state, entry, seq);
}
