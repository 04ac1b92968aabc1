/** The timing of a schedule, as given to definitions and `schedules.put` and as sent on the wire. */
import type { Requests } from '../operations/table.ts';
import { type Duration, durationMs } from './durations.ts';
import { given } from './queries.ts';
import { refuseUnknown } from './unknown-options.ts';

/** When a schedule is due, and what happens when due times overlap or were missed. */
export type Cron = (
  | {
      /** Five fields, six with seconds first, or a word such as `@daily`. */
      readonly cron: string;
      /** An IANA time zone such as `Europe/Berlin`; UTC by default. */
      readonly timeZone?: string;
    }
  | { readonly every: Duration }
) & {
  /** `skip` (default): a due time does not fire while an earlier task of the schedule has not ended. */
  readonly overlap?: 'skip' | 'allow';
  /** Which missed due times fire; `one` (default) fires the latest. */
  readonly catchUp?: 'none' | 'one' | 'all';
  /** Delays each due time by a random time up to this. */
  readonly jitter?: Duration;
  readonly startsAt?: Date;
  /** The schedule has no due times at or after this instant. */
  readonly endsAt?: Date;
};

/** Its fields, as any caller may combine them. */
type Given = Partial<Extract<Cron, { cron: string }> & Extract<Cron, { every: Duration }>>;

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
/** Reports an invalid schedule where it is defined rather than where it is first used. */
export function checkSchedule(schedule: object, what: string): void {
  refuseUnknown(schedule, CRON_OPTIONS, what);
  timesOf(schedule as Cron);
}

export function timesOf(schedule: Cron): Omit<Requests['schedule.put'], 'name' | 'queue' | 'payload'> {
  const { cron, every, timeZone, overlap, catchUp, jitter, startsAt, endsAt }: Given = schedule;
  // The compiler accepts an object that has both.
  if ((cron === undefined) === (every === undefined))
    throw new TypeError('A schedule has either cron or every.');
  return {
    ...given('cron', cron),
    ...given('every_ms', every === undefined ? undefined : durationMs(every, 'every')),
    ...given('timezone', timeZone),
    ...given('overlap', overlap),
    ...given('catch_up', catchUp),
    ...given('jitter_ms', jitter === undefined ? undefined : durationMs(jitter, 'jitter')),
    ...given('starts_at', startsAt?.toISOString()),
    ...given('ends_at', endsAt?.toISOString()),
  };
}
