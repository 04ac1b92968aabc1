/**
 * The due times of a schedule. Intervals are computed here; those of a cron pattern depend on a time zone database, so a
 * `Calendar`, which is an argument, computes them. The results are recorded in entries: replay does not call it.
 */
import type { Schedule } from '../row-objects.ts';
import { hashOfString } from '../tables/hash-index.ts';

/** When cron patterns are due. Patterns and zones have been checked before. */
export interface Calendar {
  /** The first due time after an instant; null when there is none. */
  next(cron: string, timezone: string, afterMs: number): number | null;
  /** An instant as ids and JSON show it. */
  instant(ms: number): string;
}

/** For a machine without schedules. */
export const NO_CALENDAR: Calendar = { next: () => null, instant: String };

/** The fields that determine the due times. */
export type Rhythm = Pick<Schedule, 'cron' | 'everyMs' | 'anchorMs' | 'timezone' | 'startsAtMs' | 'endsAtMs'>;

/** No two due times of a schedule are closer than this. */
const APART_MIN_MS = 1_000;

/** The first due time after an instant, not before the start and before the end; null when there is none. */
export function dueAfter(rhythm: Rhythm, afterMs: number, calendar: Calendar): number | null {
  const { cron, everyMs, anchorMs, timezone, startsAtMs, endsAtMs } = rhythm;
  const fromMs = startsAtMs === null ? afterMs : Math.max(afterMs, startsAtMs - 1);
  const dueMs =
    cron === null
      ? anchorMs + Math.max(0, Math.floor((fromMs - anchorMs) / everyMs!) + 1) * everyMs!
      : calendar.next(cron, timezone, fromMs);
  return dueMs === null || (endsAtMs !== null && dueMs >= endsAtMs) ? null : dueMs;
}

/** The last `max` due times from one instant to another, both included, in order. */
export function lastDueTimes(
  rhythm: Rhythm,
  fromMs: number,
  toMs: number,
  max: number,
  calendar: Calendar,
): number[] {
  // A window that is twice as long has at most about twice as many.
  for (let windowMs = max * APART_MIN_MS; ; windowMs *= 2) {
    const beginMs = Math.max(fromMs, toMs - windowMs);
    const found: number[] = [];
    let dueMs = dueAfter(rhythm, beginMs - 1, calendar);
    while (dueMs !== null && dueMs <= toMs) {
      found.push(dueMs);
      dueMs = dueAfter(rhythm, dueMs, calendar);
    }
    if (found.length >= max || beginMs === fromMs) return found.slice(-max);
  }
}

/** When a due time fires: up to `jitterMs` later, by an amount derived from schedule and due time. */
export function withJitter({ name, jitterMs }: Pick<Schedule, 'name' | 'jitterMs'>, dueMs: number): number {
  if (jitterMs === 0) return dueMs;
  let hash = hashOfString(name, 0) ^ Math.floor(dueMs / APART_MIN_MS);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35);
  return dueMs + (((hash ^ (hash >>> 16)) >>> 0) % (jitterMs + 1));
}

/** The next due time of a schedule after an instant, as entries record it. */
export function nextOf(
  schedule: Rhythm & Pick<Schedule, 'name' | 'jitterMs' | 'paused'>,
  afterMs: number,
  calendar: Calendar,
): { readonly nextDueAtMs: number | null; readonly nextFiresAtMs: number | null } {
  const dueMs = schedule.paused ? null : dueAfter(schedule, afterMs, calendar);
  return { nextDueAtMs: dueMs, nextFiresAtMs: dueMs === null ? null : withJitter(schedule, dueMs) };
}
