/**
 * Expiry. A lease is valid while now < its end. At its end it is over, and the expiry is written before any
 * caller learns of it. The heaps keep the earliest time at which a lease could end: a renewal only changes the
 * lease, and the heap is corrected when the old time comes.
 */
import type { Entry } from './entries.ts';
import type { NameRow, TaskRow } from './row-types.ts';
import type { State } from './state.ts';
import { deathDue } from './verdicts.ts';

/** `dueMs`: when an expiry fell due. */
export type Commit = (entry: Entry, dueMs?: number) => void;

/**
 * Writes the expiries that are due, oldest first. `max` bounds the work, not the entries: a million renewed
 * leases whose old time has come must not delay the next renewal either.
 */
export function expireDue(state: State, nowMs: number, max: number, commit: Commit): void {
  const { tasks, names } = state;
  for (let done = 0; done < max; done++) {
    const taskMs = tasks.expiring.topKey();
    const nameMs = names.expiring.topKey();
    if (Math.min(taskMs, nameMs) > nowMs) return;
    // A renewed lease first goes back to the heap, even if it is due there too: expiries are written in order of their end.
    if (taskMs <= nameMs) {
      const row = tasks.expiring.topRow();
      const expiresAtMs = tasks.leases.expiresAtMs.get(tasks.lease.get(row));
      if (expiresAtMs > taskMs) tasks.expiring.postponeTop(expiresAtMs);
      else expireTask(state, row, commit);
    } else {
      const row = names.expiring.topRow();
      const expiresAtMs = names.expiresAtMs.get(row);
      if (expiresAtMs > nameMs) names.expiring.postponeTop(expiresAtMs);
      else expireName(state, row, commit);
    }
  }
}

/** Ends this task's lease if it is due, however many others are due before it. */
export function expireTaskIfDue(state: State, row: TaskRow | 0, nowMs: number, commit: Commit): void {
  const { tasks } = state;
  if (row === 0 || tasks.stateOf(row) !== 'LEASED') return;
  if (tasks.leases.expiresAtMs.get(tasks.lease.get(row)) <= nowMs) expireTask(state, row, commit);
}

export function expireNameIfDue(state: State, row: NameRow | 0, nowMs: number, commit: Commit): void {
  const { names } = state;
  if (row !== 0 && names.isLive(row) && names.expiresAtMs.get(row) <= nowMs) expireName(state, row, commit);
}

/** A lower bound: no lease expires before this time. */
export function nextExpiryMs({ tasks, names }: State): number {
  return Math.min(tasks.expiring.topKey(), names.expiring.topKey());
}

/** An expiry that fell due while the authority was down is not counted as a failed attempt. */
function expireTask(state: State, row: TaskRow, commit: Commit): void {
  const { tasks } = state;
  const lease = tasks.lease.get(row);
  const task = tasks.key(row);
  const expiresAtMs = tasks.leases.expiresAtMs.get(lease);
  const counted = expiresAtMs > state.epochStartedAtMs;
  commit({ type: 'LeaseExpired', task, leaseSeq: tasks.leases.seq.get(lease), counted }, expiresAtMs);
  const death = deathDue(state, row);
  if (death !== null) commit(death);
}

function expireName(state: State, row: NameRow, commit: Commit): void {
  const { names } = state;
  const expiresAtMs = names.expiresAtMs.get(row);
  commit({ type: 'NameExpired', name: names.nameOf(row), leaseSeq: names.leaseSeq.get(row) }, expiresAtMs);
}
