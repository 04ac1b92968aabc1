/**
 * Time, as facts. A lease is valid while now < its end; at its end it is over, and that is written before
 * anybody is told. The heaps keep the earliest time a lease could end: a renewal only moves the lease, and
 * the heap finds out when the old time comes.
 */
import type { Entry } from './entries.ts';
import type { NameRow, TaskRow } from './row-types.ts';
import type { State } from './state.ts';
import { deathDue } from './verdicts.ts';

/** `dueMs` is when the fact fell due, if it is one that time brought. */
export type Commit = (entry: Entry, dueMs?: number) => void;

/**
 * Writes the ends of the leases that are due, oldest first. `max` bounds the work, not the entries: a
 * million renewed leases whose old time has come must not hold up the next renewal either.
 */
export function expireDue(state: State, nowMs: number, max: number, commit: Commit): void {
  const { tasks, names } = state;
  for (let done = 0; done < max; done++) {
    const taskMs = tasks.expiring.topKey();
    const nameMs = names.expiring.topKey();
    if (Math.min(taskMs, nameMs) > nowMs) return;
    // One that was renewed goes back to its place first, even if that is due too: the order is that of the ends.
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

/** No lease ends before this; it may be that none does even then. */
export function nextExpiryMs({ tasks, names }: State): number {
  return Math.min(tasks.expiring.topKey(), names.expiring.topKey());
}

/** An end that fell due while the authority was down is no attempt of anybody's. */
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
