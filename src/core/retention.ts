/**
 * Retention, as entries. Tasks and sessions that ended long enough ago and names that have been idle long enough are
 * forgotten, oldest first; so are those beyond a maximum number, to bound memory. Failed tasks have their own time and
 * number: completed ones do not displace them. A forgotten name loses nothing: its next grant is above every earlier one
 * anyway.
 */
import type { TaskKey } from './entries.ts';
import type { Commit } from './expiry.ts';
import type { TaskRow } from './row-types.ts';
import type { State } from './state.ts';
import type { RowList } from './tables/row-list.ts';

export interface Retention {
  /** COMPLETED, DEAD by `CANCELLED`, and start tasks. */
  readonly completedTasksMs: number;
  readonly completedTasksMax: number;
  /** FAILED, and DEAD for any other reason. */
  readonly failedTasksMs: number;
  readonly failedTasksMax: number;
  readonly idleNamesMs: number;
  readonly idleNamesMax: number;
  readonly endedSessionsMs: number;
  readonly endedSessionsMax: number;
}

export const DEFAULT_RETENTION: Retention = {
  completedTasksMs: 24 * 3_600_000,
  completedTasksMax: 1_000_000,
  failedTasksMs: 30 * 24 * 3_600_000,
  failedTasksMax: 1_000_000,
  idleNamesMs: 600_000,
  idleNamesMax: 65_536,
  endedSessionsMs: 24 * 3_600_000,
  endedSessionsMax: 100_000,
};

/** The options. `endedTasks…` is the default of both kinds of ended tasks. */
export type RetentionFigures = Partial<
  Retention & { readonly endedTasksMs: number; readonly endedTasksMax: number }
>;

export function retentionFrom(given: RetentionFigures = {}, otherwise = DEFAULT_RETENTION): Retention {
  const { endedTasksMs, endedTasksMax } = given;
  return {
    completedTasksMs: given.completedTasksMs ?? endedTasksMs ?? otherwise.completedTasksMs,
    completedTasksMax: given.completedTasksMax ?? endedTasksMax ?? otherwise.completedTasksMax,
    failedTasksMs: given.failedTasksMs ?? endedTasksMs ?? otherwise.failedTasksMs,
    failedTasksMax: given.failedTasksMax ?? endedTasksMax ?? otherwise.failedTasksMax,
    idleNamesMs: given.idleNamesMs ?? otherwise.idleNamesMs,
    idleNamesMax: given.idleNamesMax ?? otherwise.idleNamesMax,
    endedSessionsMs: given.endedSessionsMs ?? otherwise.endedSessionsMs,
    endedSessionsMax: given.endedSessionsMax ?? otherwise.endedSessionsMax,
  };
}

const FORGOTTEN_AN_ENTRY = 1_000;

/**
 * One entry of each kind per batch, and one more for every thousand calls of the batch before: so retention
 * keeps up with the calls and never makes a batch long by itself.
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
    const counts = keptTasks(state, retention).map((kept) => {
      const tasks = tasksToForget(state, nowMs, kept);
      if (tasks.length > 0) commit({ type: 'Forgotten', tasks, names: [], sessions: [] });
      return tasks.length;
    });
    const names = namesToForget(state, nowMs, retention);
    if (names.length > 0) commit({ type: 'Forgotten', tasks: [], names, sessions: [] });
    const sessions = sessionsToForget(state, nowMs, retention);
    if (sessions.length > 0) commit({ type: 'Forgotten', tasks: [], names: [], sessions });
    if (Math.max(...counts, names.length, sessions.length) < FORGOTTEN_AN_ENTRY) return;
  }
}

/** Ended tasks of one kind, and how long and how many of them are kept. */
interface KeptTasks {
  readonly list: RowList<TaskRow>;
  readonly ms: number;
  readonly max: number;
}

function keptTasks({ tasks }: State, retention: Retention): KeptTasks[] {
  return [
    { list: tasks.completed, ms: retention.completedTasksMs, max: retention.completedTasksMax },
    { list: tasks.failed, ms: retention.failedTasksMs, max: retention.failedTasksMax },
  ];
}

export function nextForgettingMs(state: State, retention: Retention): number {
  const { tasks, names, sessions } = state;
  const kept = keptTasks(state, retention);
  const name = names.idle.first;
  if (kept.some(({ list, max }) => list.size > max) || names.idle.size > retention.idleNamesMax) return 0;
  if (sessions.ended.size > retention.endedSessionsMax) return 0;
  const session = sessions.firstEnded;
  return Math.min(
    session === undefined ? Number.POSITIVE_INFINITY : session.updatedAtMs + retention.endedSessionsMs,
    ...kept.map(({ list: { first }, ms }) =>
      first === 0 ? Number.POSITIVE_INFINITY : tasks.endedAtMs.get(first) + ms,
    ),
    name === 0 ? Number.POSITIVE_INFINITY : names.endedAtMs.get(name) + retention.idleNamesMs,
  );
}

function tasksToForget({ tasks }: State, nowMs: number, { list, ms, max }: KeptTasks): TaskKey[] {
  const keys: TaskKey[] = [];
  let surplus = list.size - max;
  for (let row = list.first; row !== 0 && keys.length < FORGOTTEN_AN_ENTRY; row = list.next(row)) {
    if (surplus <= 0 && tasks.endedAtMs.get(row) + ms > nowMs) break;
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
