/**
 * Reads of the state, each as one step, queued with the changes: first the due expiries of the named subjects are
 * written, then the state is read. A list examines a bounded number of rows and returns a cursor to continue from.
 */

import type { SessionState } from '../core/entries.ts';
import type { NameImage, ObjectImage, TaskImage, TaskState } from '../core/image.ts';
import type { Limits } from '../core/limits.ts';
import { type ListOrder, matchesFilter, type TaskFilter, walkTasks } from '../core/list-tasks.ts';
import type { Machine } from '../core/machine.ts';
import type { Opaque } from '../core/opaque.ts';
import { ORCHESTRATOR_GUARD } from '../core/reserved-names.ts';
import { taskOpaques } from '../core/row-columns.ts';
import type { Seq } from '../core/row-types.ts';
import type { SessionCommands } from '../core/sessions/session-commands.ts';
import { isTerminal } from '../core/task-table.ts';
import { type Why, whyNotRunning } from '../core/why.ts';
import { countSessions } from './sessions/session-reads.ts';

const ROWS_A_PAGE = 10_000;

/** What a read needs: the machine of the writer, or the state of a standby, which writes no expiries. */
export type ReadView = Pick<
  Machine,
  'state' | 'batchAtMs' | 'expireTask' | 'expireTaskRow' | 'expireName' | 'expireNameRow'
> & {
  readonly lines: { readonly size: number };
  readonly sessions: Pick<SessionCommands, 'find'>;
};

export interface Page<T> {
  readonly items: readonly T[];
  /** Where to continue; null at the end. */
  readonly next: number | null;
}

export interface QueueCounts {
  readonly queue: string;
  readonly paused: boolean;
  readonly counts: Readonly<Record<TaskState, number>>;
  readonly limits: Limits | null;
}

export interface Counts {
  readonly tasks: Readonly<Record<TaskState, number>>;
  readonly leases: number;
  readonly names: number;
  readonly waiters: number;
  readonly sessions: Readonly<Record<SessionState, number>>;
}

export function readTask(machine: ReadView, taskId: string): TaskImage | null {
  machine.expireTask(taskId);
  const row = machine.state.tasks.find(taskId);
  return row === 0 ? null : machine.state.tasks.image(row);
}

/** The payload and the creation of a task that can be requeued; null for any other task. */
export function requeueOrigin(
  machine: ReadView,
  taskId: string,
): { readonly createdSeq: Seq; readonly payload: Opaque } | null {
  machine.expireTask(taskId);
  const { tasks } = machine.state;
  const row = tasks.find(taskId);
  if (row === 0 || !isTerminal(tasks.stateOf(row)) || tasks.requeuedAs.get(row) !== null) return null;
  return { createdSeq: tasks.createdSeq.get(row), payload: tasks.payload.get(row)! };
}

export function readWhy(machine: ReadView, taskId: string): Why | null {
  machine.expireTask(taskId);
  const row = machine.state.tasks.find(taskId);
  return row === 0 ? null : whyNotRunning(machine.state, row, machine.batchAtMs);
}

/** In the order of creation; the cursor is the position at which the last task of a page was created. */
export function listTasks(
  machine: ReadView,
  filter: TaskFilter,
  order: ListOrder,
  limit: number,
  after: number | null,
): Page<TaskImage> {
  const { state } = machine;
  return page({
    after,
    limit,
    walk: (position) => walkTasks(state, filter, order, position),
    positionOf: (row) => state.tasks.createdSeq.get(row),
    matches(row) {
      machine.expireTaskRow(row);
      return matchesFilter(state, row, filter);
    },
    show: (row) => state.tasks.image(row),
    bytesOf: taskBytes,
  });
}

function taskBytes(task: TaskImage): number {
  return taskOpaques(task).reduce((sum, opaque) => sum + (opaque?.length ?? 0), 0);
}

/** The record of a name: its newest lease, live or not, and its object. */
export function readName(machine: ReadView, name: string): NameImage | null {
  machine.expireName(name);
  const row = machine.state.names.find(name);
  return row === 0 ? null : machine.state.names.image(row);
}

/** In the order of their rows, which is not promised; the cursor is the row of the last name of a page. */
export function listLeases(
  machine: ReadView,
  prefix: string,
  holder: string | null,
  limit: number,
  after: number | null,
): Page<NameImage> {
  const { names } = machine.state;
  return page({
    after,
    limit,
    walk: (row) => (holder === null ? names.allRows(row ?? 0) : names.heldNames(holder, row ?? 0)),
    positionOf: (row) => row,
    matches(row) {
      if (!names.isLive(row) || !names.nameOf(row).startsWith(prefix)) return false;
      machine.expireNameRow(row);
      return names.isLive(row) && (holder === null || names.heldBy(row, holder));
    },
    show: (row) => names.image(row),
    bytesOf: ({ metadata }) => metadata?.length ?? 0,
  });
}

/** Names that have an object, in the order of their rows; the cursor is the row of the last one of a page. */
export function listObjects(
  machine: ReadView,
  prefix: string,
  limit: number,
  after: number | null,
): Page<NameImage & { readonly object: ObjectImage }> {
  const { names } = machine.state;
  return page({
    after,
    limit,
    walk: (row) => names.allRows(row ?? 0),
    positionOf: (row) => row,
    matches(row) {
      if (names.objectOf(row) === null || !names.nameOf(row).startsWith(prefix)) return false;
      machine.expireNameRow(row);
      return true;
    },
    show: (row) => names.image(row) as NameImage & { readonly object: ObjectImage },
    bytesOf: () => 0,
  });
}

/** By name, because a replay creates queues in another order. */
export function listQueues(machine: ReadView): QueueCounts[] {
  const queues = [...machine.state.tasks.queues.values()].map(({ name, paused, lists, limits }) => ({
    queue: name,
    paused,
    counts: lists.counts,
    limits,
  }));
  return queues.sort((a, b) => (a.queue < b.queue ? -1 : 1));
}

/** How many live leases each worker has. */
export function leasesByWorker({ state: { tasks } }: ReadView): Map<string, number> {
  return new Map(tasks.leases.byWorker.counts());
}

/** The ids of the tasks that a worker has leased, the oldest first. */
export function tasksOfWorker({ state: { tasks } }: ReadView, workerId: string, max: number): string[] {
  const ids: string[] = [];
  for (const row of tasks.leases.byWorker.of(workerId)?.ascending(0) ?? []) {
    if (ids.length === max) break;
    ids.push(tasks.idOf(row));
  }
  return ids;
}

export function guardHolder(machine: ReadView): string | null {
  return liveGuard(machine)?.holder ?? null;
}

/** The orchestrator's guard, if it is held. */
export function liveGuard(machine: ReadView): NameImage | null {
  const name = readName(machine, ORCHESTRATOR_GUARD);
  return name?.end === 'live' ? name : null;
}

export function countAll(machine: ReadView): Counts {
  const { tasks, names } = machine.state;
  return {
    tasks: tasks.lists.counts,
    leases: names.expiring.size,
    names: names.rows.live,
    waiters: machine.lines.size,
    sessions: countSessions(machine),
  };
}

/** A page ends early once its items have this size, because all of them are in memory at once. */
export const BYTES_A_PAGE = 4 * 1024 * 1024;

interface PageOf<Row extends number, T> {
  /** The cursor; null for the first page. */
  readonly after: number | null;
  readonly limit: number;
  /** Candidates behind a position, in order. */
  readonly walk: (position: number | null) => Generator<Row>;
  readonly positionOf: (row: Row) => number;
  /** May write due expiries, and so change the lists that are walked. */
  readonly matches: (row: Row) => boolean;
  readonly show: (row: Row) => T;
  readonly bytesOf: (item: T) => number;
  /** A page ends once its items have this size; 4 MiB by default. */
  readonly bytesMax?: number;
}

/** Collects a batch of candidates before examining them, because `matches` may change the list they come from. */
export function page<Row extends number, T>(of: PageOf<Row, T>): Page<T> {
  const { limit, walk, positionOf, matches, show, bytesOf, bytesMax = BYTES_A_PAGE } = of;
  const items: T[] = [];
  let bytes = 0;
  let position = of.after;
  for (let examined = 0; examined < ROWS_A_PAGE; ) {
    const rows = firstOf(walk(position), Math.min(limit, ROWS_A_PAGE - examined));
    if (rows.length === 0) return { items, next: null };
    examined += rows.length;
    for (const row of rows) {
      position = positionOf(row);
      if (!matches(row)) continue;
      const item = show(row);
      items.push(item);
      bytes += bytesOf(item);
      if (items.length < limit && bytes < bytesMax) continue;
      return { items, next: walk(position).next().done ? null : position };
    }
  }
  return { items, next: position };
}

function firstOf<T>(walk: Generator<T>, count: number): T[] {
  const items: T[] = [];
  for (const item of walk) {
    items.push(item);
    if (items.length === count) break;
  }
  return items;
}
