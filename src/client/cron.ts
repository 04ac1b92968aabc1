/** When a schedule is due, as definitions and `schedules.put` say it, and as the wire has it. */
import type { Requests } from '../operations/table.ts';
import { type Duration, durationMs } from './durations.ts';
import { given } from './queries.ts';
import { refuseUnknown } from './unknown-options.ts';

/** When a schedule is due, and what becomes of due times that overlap or were missed. */
export type Cron = (
  | {
      /** Five fields, six with seconds first, or a word such as `@daily`. */
      readonly cron: string;
      /** Such as `Europe/Berlin`; UTC by default. */
      readonly timeZone?: string;
    }
  | { readonly every: Duration }
) & {
  /** `skip`, by default: no due time fires while a task of the schedule has not ended. */
  readonly overlap?: 'skip' | 'allow';
  /** Which missed due times fire: the latest one by default. */
  readonly catchUp?: 'none' | 'one' | 'all';
  /** Each due time fires up to so much later. */
  readonly jitter?: Duration;
  readonly startsAt?: Date;
  /** No due time at or after it. */
  readonly endsAt?: Date;
};

export const CRON_OPTIONS = [
  'cron',
  'timeZone',
  'every',
  'overlap',
  'catchUp',
  'jitter',
  'startsAt',
  'endsAt',
  'input',
];
/** What is wrong with a schedule is reported where it was written, not where it is first used. */
export function checkSchedule(schedule: object, what: string): void {
  refuseUnknown(schedule, CRON_OPTIONS, what);
  timesOf(schedule as Cron);
}

export function timesOf(schedule: Cron): Omit<Requests['schedule.put'], 'name' | 'queue' | 'payload'> {
  const { overlap, catchUp, jitter, startsAt, endsAt } = schedule;
  return {
    ...('cron' in schedule
      ? { cron: schedule.cron, ...given('timezone', schedule.timeZone) }
      : { every_ms: durationMs(schedule.every, 'every') }),
    ...given('overlap', overlap),
    ...given('catch_up', catchUp),
    ...given('jitter_ms', jitter === undefined ? undefined : durationMs(jitter, 'jitter')),
    ...given('starts_at', startsAt?.toISOString()),
    ...given('ends_at', endsAt?.toISOString()),
  };
}
