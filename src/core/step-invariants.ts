/**
 * The invariants of two neighbouring states: what an observer has seen is never undone. The observer keeps a
 * summary, because the state itself changes in place.
 */
import type { SessionReason, SessionState } from './entries.ts';
import type { LeaseEnd, NameEnd, TaskState } from './image.ts';
import type { Fail } from './invariants.ts';
import { type QueueSummary, summaryOfQueues } from './limit-invariants.ts';
import type { NameRow, Seq, TaskRow } from './row-types.ts';
import { hasEnded } from './sessions/session-table.ts';
import type { State } from './state.ts';
import { isTerminal } from './task-table.ts';

interface LeaseSummary {
  /** 0 when there never was one. */
  readonly leaseSeq: Seq;
  readonly live: boolean;
  readonly end: LeaseEnd | NameEnd;
  readonly expiresAtMs: number;
}

export interface TaskSummary extends LeaseSummary {
  readonly queue: string;
  readonly key: string | null;
  readonly priority: number;
  readonly state: TaskState;
  readonly createdSeq: Seq;
  readonly attempt: number;
  /** Its cancellation was asked for while it was leased. */
  readonly isCancelled: boolean;
  readonly endedSeq: Seq;
  readonly requeuedAs: string | null;
}

interface NameSummary extends LeaseSummary {
  readonly version: number;
  readonly valueSeq: Seq;
  readonly valueLeaseSeq: Seq;
}

interface SessionSummary {
  readonly state: SessionState;
  readonly hasEnded: boolean;
  readonly reason: SessionReason | null;
  readonly lastSeq: Seq;
}

interface ScheduleSummary {
  readonly createdSeq: Seq;
  readonly lastDueAtMs: number;
}

export interface StateSummary {
  readonly lastSeq: Seq;
  readonly lastAtMs: number;
  readonly epoch: number;
  readonly tasks: ReadonlyMap<string, TaskSummary>;
  readonly queues: ReadonlyMap<string, QueueSummary>;
  readonly names: ReadonlyMap<string, NameSummary>;
  readonly sessions: ReadonlyMap<Seq, SessionSummary>;
  readonly schedules: ReadonlyMap<string, ScheduleSummary>;
}

export function summaryOf(state: State): StateSummary {
  const { lastSeq, lastAtMs, epoch } = state;
  const tasks = new Map<string, TaskSummary>();
  for (let row = 1; row <= state.tasks.rows.used; row++) {
    if (state.tasks.inUse(row)) tasks.set(state.tasks.idOf(row), taskSummary(state, row));
  }
  const names = new Map<string, NameSummary>();
  for (let row = 1; row <= state.names.rows.used; row++) {
    if (state.names.inUse(row)) names.set(state.names.nameOf(row), nameSummary(state, row));
  }
  const sessions = new Map<Seq, SessionSummary>();
  for (const kept of [state.sessions.open, state.sessions.ended]) {
    for (const session of kept.values()) {
      const { seq, reason } = session;
      sessions.set(seq, {
        state: session.state,
        hasEnded: hasEnded(session),
        reason,
        lastSeq: session.lastSeq,
      });
    }
  }
  const schedules = new Map<string, ScheduleSummary>();
  for (const { name, createdSeq, lastDueAtMs } of state.schedules.all()) {
    schedules.set(name, { createdSeq, lastDueAtMs });
  }
  return { lastSeq, lastAtMs, epoch, tasks, queues: summaryOfQueues(state), names, sessions, schedules };
}

function taskSummary({ tasks }: State, row: TaskRow): TaskSummary {
  const lease = tasks.lease.get(row);
  const end = lease === 0 ? 'none' : tasks.leases.endOf(lease);
  return {
    leaseSeq: lease === 0 ? 0 : tasks.leases.seq.get(lease),
    live: end === 'live',
    end,
    expiresAtMs: lease === 0 ? 0 : tasks.leases.expiresAtMs.get(lease),
    queue: tasks.queueNameOf(row),
    key: tasks.groupKey.get(row),
    priority: tasks.priorityOf(row),
    state: tasks.stateOf(row),
    createdSeq: tasks.createdSeq.get(row),
    attempt: tasks.attempt.get(row),
    isCancelled: tasks.cancelReason.get(row) !== null,
    endedSeq: tasks.endedSeq.get(row),
    requeuedAs: tasks.requeuedAs.get(row),
  };
}

function nameSummary({ names }: State, row: NameRow): NameSummary {
  return {
    leaseSeq: names.leaseSeq.get(row),
    live: names.isLive(row),
    end: names.endOf(row),
    expiresAtMs: names.expiresAtMs.get(row),
    version: names.version.get(row),
    valueSeq: names.valueSeq.get(row),
    valueLeaseSeq: names.valueLeaseSeq.get(row),
  };
}

export function checkFencesGrow(before: StateSummary, after: StateSummary, fail: Fail): void {
  for (const [name, { leaseSeq }] of after.names) {
    const known = before.names.get(name)?.leaseSeq;
    if (leaseSeq !== known && leaseSeq <= before.lastSeq) fail(`${name} went from ${known} to ${leaseSeq}`);
  }
  for (const [id, { leaseSeq }] of after.tasks) {
    const known = before.tasks.get(id)?.leaseSeq ?? 0;
    if (leaseSeq !== known && leaseSeq <= before.lastSeq) fail(`${id} went from ${known} to ${leaseSeq}`);
  }
}

export function checkTerminalStays(before: StateSummary, after: StateSummary, fail: Fail): void {
  for (const [id, task] of before.tasks) {
    const now = after.tasks.get(id);
    if (!isTerminal(task.state) || now === undefined || now.createdSeq !== task.createdSeq) continue;
    if (now.state !== task.state || now.attempt !== task.attempt || now.endedSeq !== task.endedSeq) {
      fail(`${id} went from ${task.state} to ${now.state}`);
    }
    if (task.requeuedAs !== null && now.requeuedAs !== task.requeuedAs)
      fail(`${id} had the successor ${task.requeuedAs} and now ${now.requeuedAs}`);
  }
}

export function checkCancelledStay(before: StateSummary, after: StateSummary, fail: Fail): void {
  for (const [id, task] of before.tasks) {
    const now = after.tasks.get(id);
    if (!task.isCancelled || now === undefined || now.createdSeq !== task.createdSeq) continue;
    if (!now.isCancelled) fail(`${id} is not cancelled any more`);
    if (now.leaseSeq !== task.leaseSeq) fail(`${id} went from lease ${task.leaseSeq} to ${now.leaseSeq}`);
  }
}

export function checkSessionsStay(before: StateSummary, after: StateSummary, fail: Fail): void {
  for (const [seq, then] of before.sessions) {
    const now = after.sessions.get(seq);
    if (now === undefined) {
      if (!then.hasEnded) fail(`the session of ${seq} is gone`);
      continue;
    }
    const isSame = now.state === then.state && now.lastSeq === then.lastSeq;
    if (then.hasEnded && !isSame) fail(`the session of ${seq} went from ${then.state} to ${now.state}`);
    if (then.reason !== null && now.reason !== then.reason)
      fail(`the session of ${seq} ended for ${then.reason} and now for ${now.reason}`);
  }
}

/** A schedule that was removed and set again begins anew, with due times after its entry. */
export function checkDueTimesPass(before: StateSummary, after: StateSummary, fail: Fail): void {
  for (const [name, now] of after.schedules) {
    const then = before.schedules.get(name);
    if (then !== undefined && then.createdSeq === now.createdSeq && now.lastDueAtMs < then.lastDueAtMs)
      fail(`${name} went from ${then.lastDueAtMs} back to ${now.lastDueAtMs}`);
    const isNews = now.lastDueAtMs !== (then?.lastDueAtMs ?? 0);
    if (isNews && now.lastDueAtMs > after.lastAtMs) fail(`${name} fired ${now.lastDueAtMs} before its time`);
  }
}

export function checkAttemptsGrow(before: StateSummary, after: StateSummary, fail: Fail): void {
  for (const [id, task] of before.tasks) {
    const now = after.tasks.get(id);
    if (now === undefined || now.createdSeq !== task.createdSeq) continue;
    if (now.attempt < task.attempt) fail(`${id} went from ${task.attempt} to ${now.attempt}`);
    const granted = now.leaseSeq !== task.leaseSeq;
    if (now.attempt > task.attempt !== granted) fail(`${id} went to ${now.attempt} by lease ${now.leaseSeq}`);
  }
}

function* sameLeases(before: StateSummary, after: StateSummary) {
  for (const kind of ['tasks', 'names'] as const) {
    for (const [id, then] of before[kind]) {
      const now = after[kind].get(id);
      if (now !== undefined && then.leaseSeq !== 0 && now.leaseSeq === then.leaseSeq) yield { id, then, now };
    }
  }
}

export function checkNotShortened(before: StateSummary, after: StateSummary, fail: Fail): void {
  for (const { id, then, now } of sameLeases(before, after)) {
    if (now.expiresAtMs < then.expiresAtMs) fail(`${id} went from ${then.expiresAtMs} to ${now.expiresAtMs}`);
    const grew = now.expiresAtMs > then.expiresAtMs;
    if (grew && then.expiresAtMs <= after.lastAtMs) fail(`${id} was prolonged after its end`);
  }
}

export function checkNotResurrected(before: StateSummary, after: StateSummary, fail: Fail): void {
  for (const { id, then, now } of sameLeases(before, after)) {
    if (now.live && !then.live) fail(`${id} lives again`);
    if (!then.live && now.end !== then.end) fail(`${id} had ended as ${then.end} and now as ${now.end}`);
  }
}

/** Holds for neighbours only: over many entries a lease may have written and ended. */
export function checkWrites(before: StateSummary, after: StateSummary, fail: Fail): void {
  if (after.lastSeq !== before.lastSeq + 1) return;
  for (const [name, now] of after.names) {
    const then = before.names.get(name);
    if (now.version === (then?.version ?? 0)) continue;
    if (then === undefined || !then.live || then.leaseSeq !== now.leaseSeq) fail(`${name} was not held`);
    if (then.expiresAtMs <= after.lastAtMs) fail(`${name} had run out at ${then.expiresAtMs}`);
    const byItself = now.valueSeq === then.valueSeq || now.valueLeaseSeq === now.leaseSeq;
    if (!byItself) fail(`${name} was written by ${now.valueLeaseSeq}`);
  }
}

export function checkForward(before: StateSummary, after: StateSummary, fail: Fail): void {
  if (after.lastSeq < before.lastSeq) fail(`position ${after.lastSeq} follows ${before.lastSeq}`);
  if (after.lastAtMs < before.lastAtMs) fail(`time ${after.lastAtMs} follows ${before.lastAtMs}`);
  if (after.epoch < before.epoch) fail(`epoch ${after.epoch} follows ${before.epoch}`);
}
