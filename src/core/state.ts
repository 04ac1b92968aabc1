/**
 * The state: tasks, names, sessions, schedules and the end of the log. Derived from the log alone; `apply` is the only function
 * that changes it.
 */
import { NameTable } from './name-table.ts';
import type { Seq } from './row-types.ts';
import { ScheduleTable } from './schedules/schedule-table.ts';
import { SessionTable } from './sessions/session-table.ts';
import { StringSlab } from './tables/text-column.ts';
import { TaskTable } from './task-table.ts';

export interface State {
  readonly tasks: TaskTable;
  readonly names: NameTable;
  readonly sessions: SessionTable;
  readonly schedules: ScheduleTable;
  /** The newest entry applied; 0 before the first. */
  lastSeq: Seq;
  lastAtMs: number;
  epoch: number;
  /** When the present writer started; anything due earlier fell due while no authority ran. */
  epochStartedAtMs: number;
  /** The latest end of a forgotten task; 0 when none was forgotten. A task that ended later is not forgotten. */
  forgottenThroughMs: number;
}

/** `seed` only spreads hashes; it changes no answer. */
export function createState(seed = 0): State {
  const strings = new StringSlab();
  return {
    tasks: new TaskTable(strings, seed),
    names: new NameTable(strings, seed),
    sessions: new SessionTable(),
    schedules: new ScheduleTable(),
    lastSeq: 0,
    lastAtMs: 0,
    epoch: 0,
    epochStartedAtMs: 0,
    forgottenThroughMs: 0,
  };
}

/**
 * What every EpochStarted records about its log; a log of a newer version is refused by name. Raised with the first
 * entries that an older version does not know: 2 came with sessions, 3 with names that are recorded with them, 4
 * with tasks that can be operated, 5 with schedules and limits.
 */
export const LOG_FORMAT = 'leasehold';
export const LOG_VERSION = 5;
