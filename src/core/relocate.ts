/**
 * After a compaction has copied opaque bytes, the references of the state are updated, some rows at a time.
 * Only positions change, and no answer depends on them.
 */
import type { State } from './state.ts';
import type { Move } from './tables/opaque-column.ts';

/** How many rows there are to look at; rows taken into use later refer to no old file. */
export function rowsToRelocate({ tasks, names, schedules }: State): number {
  return Math.max(tasks.rows.used, names.rows.used, schedules.size);
}

export function relocateRows({ tasks, names, schedules }: State, from: number, to: number, move: Move): void {
  // Few enough to go with the first rows.
  if (from === 1) {
    for (const { payload } of schedules.all()) if (payload !== null) payload.at = move(payload.at);
  }
  for (let row = from; row < to; row++) {
    if (row <= tasks.rows.used && tasks.inUse(row)) {
      tasks.relocate(row, move);
      for (let lease = tasks.lease.get(row); lease !== 0; lease = tasks.leases.older.get(lease)) {
        tasks.leases.relocate(lease, move);
      }
    }
    if (row <= names.rows.used && names.inUse(row)) names.relocate(row, move);
  }
}
