/** Schedules as replies show them, and the example that all operations on schedules share. */
import { type Static, Type } from '@sinclair/typebox';
import { calendar } from '../authority/calendar.ts';
import { scheduleTimes } from '../authority/schedule-reads.ts';
import type { Schedule } from '../core/schedules/schedule-table.ts';
import { instant } from '../protocol/instant.ts';
import type { Json } from '../protocol/json.ts';
import { PAYLOAD, RETRY } from './example-story.ts';
import { note } from './fields.ts';
import type { Plain } from './operation.ts';
import { Flag, Instant, Kept, Key, Seq, Text, Whole } from './reply-fields.ts';

/** How many due times a record shows. */
const SHOWN = 5;

export const OVERLAPS = ['skip', 'allow'] as const;
export const CATCH_UPS = ['one', 'none', 'all'] as const;

const InstantOrNull = Type.Union([Instant, Type.Null()]);

export const ScheduleRecord = Type.Object({
  name: note(Text, 'the name of the schedule'),
  cron: Type.Optional(note(Text, 'its cron pattern')),
  every_ms: Type.Optional(note(Whole, 'its interval')),
  timezone: note(Text, 'the time zone of its cron pattern'),
  queue: note(Text, 'the queue of its tasks'),
  payload: Kept,
  priority: Type.Integer({ description: 'the priority of its tasks' }),
  retry: Type.Object({
    max_failures: note(Whole, 'how many failures make a task FAILED'),
    backoff_ms: note(Whole, 'the pause after the first failure'),
    max_backoff_ms: note(Whole, 'the longest pause'),
  }),
  max_attempts: note(Whole, 'how many leases a task may have before it is DEAD'),
  key: Key,
  overlap: Type.Union(OVERLAPS.map((word) => Type.Literal(word))),
  catch_up: Type.Union(CATCH_UPS.map((word) => Type.Literal(word))),
  jitter_ms: Whole,
  starts_at: Type.Optional(Instant),
  ends_at: Type.Optional(Instant),
  paused: note(Flag, 'whether it is paused'),
  applied: note(Flag, 'whether a program set it with `applied`, and not an operator by hand'),
  next_at: note(InstantOrNull, 'the next due time; null while paused, and when none is left'),
  next_fires_at: note(InstantOrNull, 'the next due time with its jitter'),
  next_five: Type.Array(Instant, { description: 'the next five due times' }),
  last_due_at: note(InstantOrNull, 'the newest due time that fired or was skipped'),
  last_task_id: Type.Union([Text, Type.Null()], { description: 'the newest task it created' }),
  created_at: Instant,
  seq: note(Seq, 'the newest entry about it'),
});

export const SCHEDULE: Plain<Static<typeof ScheduleRecord>> = {
  name: 'nightly-report',
  cron: '0 3 * * *',
  timezone: 'Europe/Berlin',
  queue: 'reports',
  payload: PAYLOAD,
  priority: 0,
  retry: RETRY,
  max_attempts: 100,
  overlap: 'skip',
  catch_up: 'one',
  jitter_ms: 0,
  paused: false,
  applied: false,
  next_at: '2026-01-07T02:00:00.000Z',
  next_fires_at: '2026-01-07T02:00:00.000Z',
  next_five: [
    '2026-01-07T02:00:00.000Z',
    '2026-01-08T02:00:00.000Z',
    '2026-01-09T02:00:00.000Z',
    '2026-01-10T02:00:00.000Z',
    '2026-01-11T02:00:00.000Z',
  ],
  last_due_at: '2026-01-06T02:00:00.000Z',
  last_task_id: 'nightly-report@2026-01-06T02:00:00.000Z',
  created_at: '2026-01-05T08:00:00.000Z',
  seq: 53,
};

export function scheduleRecord(schedule: Schedule, payload: Json | null): Static<typeof ScheduleRecord> {
  const { cron, everyMs, groupKey, startsAtMs, endsAtMs, lastDueAtMs } = schedule;
  return {
    name: schedule.name,
    ...(cron === null ? {} : { cron }),
    ...(everyMs === null ? {} : { every_ms: everyMs }),
    timezone: schedule.timezone,
    queue: schedule.queue,
    payload,
    priority: schedule.priority,
    retry: {
      max_failures: schedule.maxFailures,
      backoff_ms: schedule.backoffMs,
      max_backoff_ms: schedule.maxBackoffMs,
    },
    max_attempts: schedule.maxAttempts,
    ...(groupKey === null ? {} : { key: groupKey }),
    overlap: schedule.overlap,
    catch_up: schedule.catchUp,
    jitter_ms: schedule.jitterMs,
    ...(startsAtMs === null ? {} : { starts_at: instant(startsAtMs) }),
    ...(endsAtMs === null ? {} : { ends_at: instant(endsAtMs) }),
    paused: schedule.paused,
    applied: schedule.applied,
    next_at: instantOrNull(schedule.nextDueAtMs),
    next_fires_at: instantOrNull(schedule.nextFiresAtMs),
    next_five: scheduleTimes(schedule, SHOWN, calendar).map(instant),
    last_due_at: lastDueAtMs === 0 ? null : instant(lastDueAtMs),
    last_task_id: schedule.lastTaskId === '' ? null : schedule.lastTaskId,
    created_at: instant(schedule.createdAtMs),
    seq: schedule.lastSeq,
  };
}

export function instantOrNull(ms: number | null): string | null {
  return ms === null ? null : instant(ms);
}
