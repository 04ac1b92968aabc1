/**
 * Forgetting, as facts. Tasks and sessions that ended long enough ago and names that have been idle long enough leave
 * the state, oldest first; so do those beyond a number, so that memory has a bound. A forgotten name
 * loses nothing: its next grant is above every earlier one anyway.
 */
import type { TaskKey } from './entries.ts';
import type { Commit } from './expiry.ts';
import type { State } from './state.ts';

export interface Retention {
  readonly endedTasksMs: number;
  readonly endedTasksMax: number;
  readonly idleNamesMs: number;
  readonly idleNamesMax: number;
  readonly endedSessionsMs: number;
  readonly endedSessionsMax: number;
}

export const DEFAULT_RETENTION: Retention = {
  endedTasksMs: 24 * 3_600_000,
  endedTasksMax: 1_000_000,
  idleNamesMs: 600_000,
  idleNamesMax: 65_536,
  endedSessionsMs: 24 * 3_600_000,
  endedSessionsMax: 100_000,
};

const FORGOTTEN_AN_ENTRY = 1_000;

/**
 * One entry a batch of each kind, and one more for every thousand calls of the batch before: so forgetting
 * keeps up with whatever the calls leave behind, and never makes a batch long by itself.
 */
export function forgetDue(
  state: State,
  nowMs: number,
  retention: Retention,
  callsBefore: number,
  commit: Commit,
): void {
  const entriesMax = 1 + Math.ceil(callsBefore / FORGOTTEN_AN_ENTRY);
  for (let entry = 0; entry < entriesMax; entry++) {
    const tasks = tasksToForget(state, nowMs, retention);
    if (tasks.length > 0) commit({ type: 'Forgotten', tasks, names: [], sessions: [] });
    const names = namesToForget(state, nowMs, retention);
    if (names.length > 0) commit({ type: 'Forgotten', tasks: [], names, sessions: [] });
    const sessions = sessionsToForget(state, nowMs, retention);
    if (sessions.length > 0) commit({ type: 'Forgotten', tasks: [], names: [], sessions });
    if (Math.max(tasks.length, names.length, sessions.length) < FORGOTTEN_AN_ENTRY) return;
  }
}

export function nextForgettingMs({ tasks, names, sessions }: State, retention: Retention): number {
  const task = tasks.ended.first;
  const name = names.idle.first;
  if (tasks.ended.size > retention.endedTasksMax || names.idle.size > retention.idleNamesMax) return 0;
  if (sessions.ended.size > retention.endedSessionsMax) return 0;
  const session = sessions.firstEnded;
  return Math.min(
    session === undefined ? Number.POSITIVE_INFINITY : session.updatedAtMs + retention.endedSessionsMs,
    task === 0 ? Number.POSITIVE_INFINITY : tasks.endedAtMs.get(task) + retention.endedTasksMs,
    name === 0 ? Number.POSITIVE_INFINITY : names.endedAtMs.get(name) + retention.idleNamesMs,
  );
}

function tasksToForget({ tasks }: State, nowMs: number, retention: Retention): TaskKey[] {
  const keys: TaskKey[] = [];
  let surplus = tasks.ended.size - retention.endedTasksMax;
  for (
    let row = tasks.ended.first;
    row !== 0 && keys.length < FORGOTTEN_AN_ENTRY;
    row = tasks.ended.next(row)
  ) {
    if (surplus <= 0 && tasks.endedAtMs.get(row) + retention.endedTasksMs > nowMs) break;
    keys.push(tasks.key(row));
    surplus -= 1;
  }
  return keys;
}

function namesToForget({ names }: State, nowMs: number, retention: Retention): string[] {
  const forgotten: string[] = [];
  let surplus = names.idle.size - retention.idleNamesMax;
  for (
    let row = names.idle.first;
    row !== 0 && forgotten.length < FORGOTTEN_AN_ENTRY;
    row = names.idle.next(row)
  ) {
    if (surplus <= 0 && names.endedAtMs.get(row) + retention.idleNamesMs > nowMs) break;
    forgotten.push(names.nameOf(row));
    surplus -= 1;
  }
  return forgotten;
}

function sessionsToForget({ sessions }: State, nowMs: number, retention: Retention): number[] {
  const forgotten: number[] = [];
  let surplus = sessions.ended.size - retention.endedSessionsMax;
  for (const { seq, updatedAtMs } of sessions.ended.values()) {
    if (forgotten.length === FORGOTTEN_AN_ENTRY) break;
    if (surplus <= 0 && updatedAtMs + retention.endedSessionsMs > nowMs) break;
    forgotten.push(seq);
    surplus -= 1;
  }
  return forgotten;
}
