/**
 * Lists of tasks, in the order of their creation. The filter decides which list is walked: the tasks of a worker, of a key,
 * of a state in a queue, of a queue, of a state, or all; the shortest of those that apply. The remaining conditions are
 * checked row by row; without any, a page costs what it returns.
 */
import type { TaskState } from './image.ts';
import type { Seq, TaskRow } from './row-types.ts';
import type { State } from './state.ts';
import { type StateLists, TASK_STATES } from './state-lists.ts';
import type { SortedRows } from './tables/ordered-rows.ts';
import { isTerminal } from './task-table.ts';

export interface TaskFilter {
  readonly queue: string | null;
  readonly state: TaskState | null;
  readonly key: string | null;
  /** Tasks that this worker has leased. */
  readonly workerId: string | null;
  /** Neither bound is included. */
  readonly createdAfterMs: number | null;
  readonly createdBeforeMs: number | null;
  /** The reason of its newest failure or of its end, compared exactly. */
  readonly reason: string | null;
  /** Ended tasks only. Neither bound is included. */
  readonly endedAfterMs: number | null;
  readonly endedBeforeMs: number | null;
}

export type ListOrder = 'oldest' | 'newest';

/** Rows of the walked list after a position, until the time range ends. */
export function* walkTasks(
  { tasks }: State,
  filter: TaskFilter,
  order: ListOrder,
  after: Seq | null,
): Generator<TaskRow> {
  const { createdSeq, createdAtMs } = tasks;
  const sets = shortest(listsOf(tasks, filter));
  const isOldest = order === 'oldest';
  const fromMs = isOldest ? filter.createdAfterMs : filter.createdBeforeMs;
  const toMs = isOldest ? filter.createdBeforeMs : filter.createdAfterMs;
  const open = (rows: SortedRows<TaskRow>): Generator<TaskRow> => {
    if (after === null && fromMs !== null)
      return isOldest ? rows.ascending(fromMs, createdAtMs) : rows.descending(fromMs, createdAtMs);
    return isOldest ? rows.ascending(after ?? 0) : rows.descending(after ?? Number.POSITIVE_INFINITY);
  };
  const comesFirst = (a: TaskRow, b: TaskRow): boolean => createdSeq.get(a) < createdSeq.get(b) === isOldest;
  for (const row of merge(sets.map(open), comesFirst)) {
    if (toMs !== null) {
      const atMs = createdAtMs.get(row);
      if (isOldest ? atMs >= toMs : atMs <= toMs) return;
    }
    yield row;
  }
}

/** Whether a row of the walked list is one the filter asks for. */
export function matchesFilter({ tasks }: State, row: TaskRow, filter: TaskFilter): boolean {
  const { queue, state, key, workerId, reason } = filter;
  if (state !== null && tasks.stateOf(row) !== state) return false;
  if (queue !== null && tasks.queueOf(row).name !== queue) return false;
  if (key !== null && tasks.groupKey.get(row) !== key) return false;
  if (!isWithin(filter.createdAfterMs, tasks.createdAtMs.get(row), filter.createdBeforeMs)) return false;
  if (reason !== null && !tasks.reason.equals(row, reason)) return false;
  if (isOfEnded(filter)) {
    if (!isTerminal(tasks.stateOf(row))) return false;
    if (!isWithin(filter.endedAfterMs, tasks.endedAtMs.get(row), filter.endedBeforeMs)) return false;
  }
  if (workerId === null) return true;
  return tasks.stateOf(row) === 'LEASED' && tasks.leases.workerOf(tasks.lease.get(row)) === workerId;
}

function isWithin(afterMs: number | null, atMs: number, beforeMs: number | null): boolean {
  return (afterMs === null || atMs > afterMs) && (beforeMs === null || atMs < beforeMs);
}

/** Whether only an ended task can match. */
function isOfEnded({ endedAfterMs, endedBeforeMs }: TaskFilter): boolean {
  return endedAfterMs !== null || endedBeforeMs !== null;
}

/** A list, possibly made of several disjoint ones. */
type ListParts = readonly SortedRows<TaskRow>[];

/** Every list that contains all matching tasks. */
function listsOf(tasks: State['tasks'], filter: TaskFilter): ListParts[] {
  const { queue, state, key, workerId } = filter;
  const lists: StateLists | undefined = queue === null ? tasks.lists : tasks.queues.get(queue)?.lists;
  if (lists === undefined) return [[]];
  const states = state !== null ? [state] : isOfEnded(filter) ? TASK_STATES.filter(isTerminal) : TASK_STATES;
  const all = [present(states.map((each) => lists.of(each)))];
  if (key !== null) all.push(present([tasks.byKey.of(key)]));
  if (workerId !== null) all.push(present([tasks.leases.byWorker.of(workerId)]));
  return all;
}

function shortest(lists: readonly ListParts[]): ListParts {
  return lists.reduce((best, list) => (sizeOf(list) <= sizeOf(best) ? list : best));
}

function sizeOf(parts: ListParts): number {
  return parts.reduce((sum, { size }) => sum + size, 0);
}

function present(items: readonly (SortedRows<TaskRow> | null)[]): SortedRows<TaskRow>[] {
  return items.filter((item) => item !== null);
}

/** Merges a few sorted walks. */
function* merge(
  walks: readonly Generator<TaskRow>[],
  comesFirst: (a: TaskRow, b: TaskRow) => boolean,
): Generator<TaskRow> {
  if (walks.length === 1) {
    yield* walks[0]!;
    return;
  }
  const heads = walks.map((walk) => ({ walk, row: nextOf(walk) }));
  for (;;) {
    let best: (typeof heads)[number] | null = null;
    for (const head of heads) {
      if (head.row !== 0 && (best === null || comesFirst(head.row, best.row as TaskRow))) best = head;
    }
    if (best === null) return;
    yield best.row as TaskRow;
    best.row = nextOf(best.walk);
  }
}

function nextOf(walk: Generator<TaskRow>): TaskRow | 0 {
  const { done, value } = walk.next();
  return done ? 0 : value;
}
