/** Reads of schedules: one, a page of them by name, and their next due times. */
import type { Schedule, ScheduleTable } from '../core/schedules/schedule-table.ts';
import { type Calendar, dueAfter } from '../core/schedules/schedule-times.ts';
import { BYTES_A_PAGE, type ReadView } from './reads.ts';

/** A copy: the schedule changes in place. */
export function readSchedule({ state }: ReadView, name: string): Schedule | null {
  const found = state.schedules.find(name);
  return found === undefined ? null : { ...found };
}

export interface SchedulePage {
  readonly items: readonly Schedule[];
  /** The name to continue after; null at the end. */
  readonly next: string | null;
}

export function listSchedules({ state }: ReadView, limit: number, after: string | null): SchedulePage {
  const items: Schedule[] = [];
  let bytes = 0;
  for (const schedule of behind(state.schedules, after)) {
    if (items.length === limit || bytes >= BYTES_A_PAGE) return { items, next: items.at(-1)!.name };
    items.push({ ...schedule });
    bytes += schedule.payload?.length ?? 0;
  }
  return { items, next: null };
}

function behind(schedules: ScheduleTable, after: string | null): Schedule[] {
  const sorted = schedules.sorted();
  return after === null ? sorted : sorted.filter(({ name }) => name > after);
}

/** The next due times, beginning with the one that was recorded. */
export function scheduleTimes(schedule: Schedule, max: number, calendar: Calendar): number[] {
  const times: number[] = [];
  let dueMs = schedule.nextDueAtMs;
  while (dueMs !== null && times.length < max) {
    times.push(dueMs);
    dueMs = dueAfter(schedule, dueMs, calendar);
  }
  return times;
}
