/** The rows that invariants are about: all that are in use. */
import type { LeaseRow, NameRow, TaskRow } from './row-types.ts';
import type { State } from './state.ts';

export function* taskRows({ tasks }: State): Generator<TaskRow> {
  for (let row = 1; row <= tasks.rows.used; row++) if (tasks.inUse(row)) yield row;
}

/** Newest first. */
export function* leasesOf({ tasks }: State, row: TaskRow): Generator<LeaseRow> {
  for (let lease = tasks.lease.get(row); lease !== 0; lease = tasks.leases.older.get(lease)) yield lease;
}

export function* nameRows({ names }: State): Generator<NameRow> {
  for (let row = 1; row <= names.rows.used; row++) if (names.inUse(row)) yield row;
}
