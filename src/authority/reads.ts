/**
 * Reads of the state, each as one step in line with the changes: first the ends that are due for what is
 * named, then the look. A list looks at a bounded number of rows and gives a cursor to go on from.
 */

import type { SessionState } from '../core/entries.ts';
import type { NameImage, TaskImage, TaskState } from '../core/image.ts';
import type { Machine } from '../core/machine.ts';
import { ORCHESTRATOR_GUARD } from '../core/reserved-names.ts';
import { taskOpaques } from '../core/row-columns.ts';
import type { NameRow, TaskRow } from '../core/row-types.ts';
import type { SessionCommands } from '../core/sessions/session-commands.ts';
import { type Why, whyNotRunning } from '../core/why.ts';
import { countSessions } from './sessions/session-reads.ts';

const ROWS_A_PAGE = 10_000;

/** What a read needs: the machine of the writer, or the state of a standby, which has nothing to write. */
export type ReadView = Pick<
  Machine,
  'state' | 'batchAtMs' | 'expireTask' | 'expireTaskRow' | 'expireName' | 'expireNameRow'
> & {
  readonly lines: { readonly size: number };
  readonly sessions: Pick<SessionCommands, 'find'>;
};

export interface Page<T> {
  readonly items: readonly T[];
  /** Where to go on; null at the end. */
  readonly next: number | null;
}

export interface QueueCounts {
  readonly queue: string;
  readonly paused: boolean;
  readonly counts: Readonly<Record<TaskState, number>>;
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

export function readWhy(machine: ReadView, taskId: string): Why | null {
  machine.expireTask(taskId);
  const row = machine.state.tasks.find(taskId);
  return row === 0 ? null : whyNotRunning(machine.state, row, machine.batchAtMs);
}

export function listTasks(
  machine: ReadView,
  state: TaskState | null,
  queue: string | null,
  limit: number,
  after: number,
): Page<TaskImage> {
  const { tasks } = machine.state;
  const matches = (row: number): row is TaskRow => {
    if (!tasks.inUse(row) || (queue !== null && tasks.queueOf(row).name !== queue)) return false;
    machine.expireTaskRow(row);
    return state === null || tasks.stateOf(row) === state;
  };
  return page(tasks.rows.used, after, limit, matches, (row) => tasks.image(row), taskBytes);
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

export function listLeases(machine: ReadView, prefix: string, limit: number, after: number): Page<NameImage> {
  const { names } = machine.state;
  const matches = (row: number): row is NameRow => {
    if (!names.inUse(row) || !names.isLive(row) || !names.nameOf(row).startsWith(prefix)) return false;
    machine.expireNameRow(row);
    return names.isLive(row);
  };
  const bytesOf = ({ metadata }: NameImage): number => metadata?.length ?? 0;
  return page(names.rows.used, after, limit, matches, (row) => names.image(row), bytesOf);
}

/** By name, because a replay meets them in another order than they came in. */
export function listQueues(machine: ReadView): QueueCounts[] {
  const queues = [...machine.state.tasks.queues.values()].map(({ name, paused, counts }) => ({
    queue: name,
    paused,
    counts: { ...counts },
  }));
  return queues.sort((a, b) => (a.queue < b.queue ? -1 : 1));
}

/** How many live leases each worker has. */
export function leasesByWorker({ state: { tasks } }: ReadView): Map<string, number> {
  const counts = new Map<string, number>();
  for (const row of tasks.expiring.all()) {
    const worker = tasks.leases.workerOf(tasks.lease.get(row));
    counts.set(worker, (counts.get(worker) ?? 0) + 1);
  }
  return counts;
}

export function guardHolder(machine: ReadView): string | null {
  return liveGuard(machine)?.holder ?? null;
}

/** The orchestrator's guard, if anybody holds it. */
export function liveGuard(machine: ReadView): NameImage | null {
  const name = readName(machine, ORCHESTRATOR_GUARD);
  return name?.end === 'live' ? name : null;
}

export function countAll(machine: ReadView): Counts {
  const tasks = { WAITING: 0, LEASED: 0, COMPLETED: 0, FAILED: 0, DEAD: 0 };
  for (const { counts } of machine.state.tasks.queues.values()) {
    for (const state of Object.keys(tasks) as TaskState[]) tasks[state] += counts[state];
  }
  const { names } = machine.state;
  return {
    tasks,
    leases: names.expiring.size,
    names: names.rows.live,
    waiters: machine.lines.size,
    sessions: countSessions(machine),
  };
}

/** A page ends early once what it shows has this size: all of it is in memory at once. */
export const BYTES_A_PAGE = 4 * 1024 * 1024;

function page<Row extends number, T>(
  used: number,
  after: number,
  limit: number,
  matches: (row: number) => row is Row,
  show: (row: Row) => T,
  bytesOf: (item: T) => number,
): Page<T> {
  const items: T[] = [];
  let bytes = 0;
  const last = Math.min(used, after + ROWS_A_PAGE);
  for (let row = after + 1; row <= last; row++) {
    if (!matches(row)) continue;
    const item = show(row);
    items.push(item);
    bytes += bytesOf(item);
    if (items.length === limit || bytes >= BYTES_A_PAGE) return { items, next: row < used ? row : null };
  }
  return { items, next: last < used ? last : null };
}
