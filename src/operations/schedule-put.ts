/** `schedule.put`: set a schedule, new or not. */
import { type Static, Type } from '@sinclair/typebox';
import { faultOfCron, isTimeZone } from '../authority/calendar.ts';
import type { SetSchedule } from '../core/commands.ts';
import { invalid, isRefusal } from '../core/decision.ts';
import type { Refusal } from '../core/refusals.ts';
import { instantMs } from '../protocol/instant.ts';
import { Json } from '../protocol/json.ts';
import { DEFAULT_MAX_BACKOFF_MS, LIMITS } from '../protocol/limits.ts';
import { PAYLOAD } from './example-story.ts';
import { At, Count, fields, note, Opaque, Priority, Queue, ScheduleName, TaskGroup } from './fields.ts';
import { wrap } from './opaque-values.ts';
import { change } from './operation.ts';
import { Flag } from './reply-fields.ts';
import { CATCH_UPS, OVERLAPS, SCHEDULE, ScheduleRecord, scheduleRecord } from './schedule-records.ts';
import { RetryPolicy } from './task-create.ts';

const REQUEST = fields({
  name: ScheduleName,
  cron: Type.Optional(
    Type.String({
      maxLength: LIMITS.nameBytes,
      description:
        'When it is due: five fields (minute, hour, day of month, month, day of week), six with seconds first, or a word such as @daily. ' +
        'This or every_ms.',
    }),
  ),
  every_ms: Type.Optional(
    Type.Integer({
      minimum: LIMITS.everyMinMs,
      maximum: LIMITS.delayMaxMs,
      description: 'The interval, counted from starts_at, else from when the schedule was set.',
    }),
  ),
  timezone: Type.Optional(
    Type.String({
      maxLength: LIMITS.nameBytes,
      description: 'The time zone of the cron pattern, such as Europe/Berlin; UTC by default.',
    }),
  ),
  queue: note(Queue, 'The queue to put its tasks into.'),
  payload: note(Opaque, 'The input of each task.'),
  priority: Type.Optional(note(Priority, 'Higher first; 0 by default.')),
  retry: Type.Optional(RetryPolicy),
  max_attempts: Type.Optional(
    note(Count, 'How many leases a task may have before it is DEAD; 100 by default.'),
  ),
  key: Type.Optional(note(TaskGroup, 'The key of its tasks, for limits and turns.')),
  overlap: Type.Optional(
    Type.Union(
      OVERLAPS.map((word) => Type.Literal(word)),
      { description: 'skip (by default): a due time is skipped while a task of the schedule has not ended.' },
    ),
  ),
  catch_up: Type.Optional(
    Type.Union(
      CATCH_UPS.map((word) => Type.Literal(word)),
      {
        description: 'Which missed due times fire: the latest one (by default), none, or all, at most 1000.',
      },
    ),
  ),
  jitter_ms: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: LIMITS.jitterMaxMs,
      description: 'Each due time fires up to this much later; 0 by default.',
    }),
  ),
  starts_at: Type.Optional(note(At, 'No due time before this instant.')),
  ends_at: Type.Optional(note(At, 'No due time at or after this instant.')),
  paused: Type.Optional(Type.Boolean({ description: 'Whether it is paused; false by default.' })),
  applied: Type.Optional(
    Type.Boolean({
      description:
        'true: a program applies its own definitions. A schedule that was set without `applied` is not changed, and an ' +
        'existing schedule stays paused if it is.',
    }),
  ),
});

export const putSchedule = change({
  name: 'schedule.put',
  method: 'PUT',
  path: '/v1/schedules/{name}',
  scope: 'v1:write',
  status: 201,
  retry: 'safe',
  refusedWhenFull: true,
  does: 'Set a schedule. A known name: the schedule is replaced (200).',
  details: `Each due time creates the task \`{name}@{due_at}\` once, with a copy of the payload. A schedule that is new or changed is
due only after its entry. The same request again changes nothing, and due times stay as they are. Where clocks go forward, a
time that does not exist is due at the next instant that does; where they go back, a time that exists twice is due once. A due
time is missed when it passes while no server runs, or while the server stands still for more than a minute. Due times
that wait because the disk is full fire when there is room. With \`applied\`, what an operator has set is
kept (\`kept\`) until it is deleted.`,
  request: REQUEST,
  reply: Type.Object({
    ...ScheduleRecord.properties,
    created: note(Flag, 'whether it is new'),
    kept: Type.Optional(
      Type.Literal(true, { description: 'an operator had set it by hand; nothing was changed' }),
    ),
  }),
  refusals: ['FORBIDDEN', 'DISK_FULL'],
  example: {
    request: {
      name: SCHEDULE.name,
      cron: '0 3 * * *',
      timezone: 'Europe/Berlin',
      queue: SCHEDULE.queue,
      payload: PAYLOAD,
    },
    reply: { ...SCHEDULE, last_due_at: null, last_task_id: null, seq: 50, created: true },
  },
  command(request): SetSchedule | Refusal {
    const fault = faultOf(request);
    if (fault !== null) return invalid(fault);
    const payload = wrap('payload', request.payload);
    if (isRefusal(payload)) return payload;
    const { retry } = request;
    return {
      type: 'SetSchedule',
      name: request.name,
      cron: request.cron ?? null,
      everyMs: request.every_ms ?? null,
      timezone: request.timezone ?? 'UTC',
      queue: request.queue,
      payload,
      priority: request.priority ?? 0,
      maxFailures: retry?.max_failures ?? 5,
      backoffMs: retry?.backoff_ms ?? 1_000,
      maxBackoffMs: retry?.max_backoff_ms ?? DEFAULT_MAX_BACKOFF_MS,
      maxAttempts: request.max_attempts ?? 100,
      groupKey: request.key ?? null,
      overlap: request.overlap ?? 'skip',
      catchUp: request.catch_up ?? 'one',
      jitterMs: request.jitter_ms ?? 0,
      startsAtMs: request.starts_at === undefined ? null : instantMs(request.starts_at),
      endsAtMs: request.ends_at === undefined ? null : instantMs(request.ends_at),
      paused: request.paused ?? false,
      applied: request.applied ?? false,
    };
  },
  body({ schedule, seq, isNew, isKept }) {
    const bytes = schedule.payload?.bytes ?? null;
    return {
      ok: true,
      ...scheduleRecord(schedule, bytes === null ? null : new Json(bytes)),
      seq,
      created: isNew,
      ...(isKept ? { kept: true as const } : {}),
    };
  },
});

/** What the schema cannot say. */
function faultOf({ cron, every_ms, timezone, starts_at, ends_at }: Static<typeof REQUEST>): string | null {
  if ((cron === undefined) === (every_ms === undefined)) {
    return 'A schedule has either the field cron or the field every_ms.';
  }
  const fault = cron === undefined ? null : faultOfCron(cron);
  if (fault !== null) return `The field cron is wrong: ${fault}.`;
  if (timezone !== undefined && !isTimeZone(timezone)) {
    return `The field timezone is wrong: there is no time zone ${timezone}.`;
  }
  const isEmpty =
    starts_at !== undefined && ends_at !== undefined && instantMs(ends_at) <= instantMs(starts_at);
  return isEmpty ? 'The field ends_at must be later than starts_at.' : null;
}
