/** `schedule.get`, `schedule.list`, `schedule.delete`, `schedule.pause`, `schedule.resume`, `schedule.fire`. */
import { Type } from '@sinclair/typebox';
import { listSchedules, readSchedule } from '../authority/schedule-reads.ts';
import type { SwitchedSchedule } from '../core/answers.ts';
import type { FireSchedule, PauseSchedule, RemoveSchedule, ResumeSchedule } from '../core/commands.ts';
import { invalid } from '../core/decision.ts';
import type { Schedule } from '../core/schedules/schedule-table.ts';
import { isScheduleNameText } from '../protocol/texts.ts';
import type { ReadContext } from './contexts.ts';
import { cursorOf, fields, Limit, Name, note, ScheduleName, stale } from './fields.ts';
import { openAll } from './opening.ts';
import { change, stateRead } from './operation.ts';
import { Duplicate, Flag, Instant, NextCursor, Seq, Text } from './reply-fields.ts';
import { instantOrNull, SCHEDULE, ScheduleRecord, scheduleRecord } from './schedule-records.ts';

export const getSchedule = stateRead({
  name: 'schedule.get',
  path: '/v1/schedules/{name}',
  long: 'record',
  does: 'Show a schedule, with its next five due times.',
  request: fields({ name: ScheduleName, stale }),
  reply: ScheduleRecord,
  refusals: ['SCHEDULE_NOT_FOUND'],
  example: { request: { name: SCHEDULE.name }, reply: SCHEDULE },
  async look({ name }, context) {
    const found = await context.source.read((view) => readSchedule(view, name));
    if (found === null) return { refused: 'SCHEDULE_NOT_FOUND' };
    const [record] = await records(context, [found]);
    return { ok: true, ...record! };
  },
});

export const listAllSchedules = stateRead({
  name: 'schedule.list',
  path: '/v1/schedules',
  long: 'list',
  does: 'List schedules by name, page by page.',
  request: fields({
    limit: Type.Optional(Limit),
    cursor: Type.Optional(cursorOf('^[0-9A-Za-z_-]{1,300}$')),
    stale,
  }),
  reply: Type.Object({ schedules: Type.Array(ScheduleRecord), next_cursor: NextCursor }),
  refusals: [],
  example: { request: { limit: 100 }, reply: { schedules: [SCHEDULE] } },
  async look({ limit = 100, cursor }, context) {
    const after = cursor === undefined ? null : Buffer.from(cursor, 'base64url').toString();
    if (after !== null && (cursorOfName(after) !== cursor || !isScheduleNameText(after))) return NO_CURSOR;
    const { items, next } = await context.source.read((view) => listSchedules(view, limit, after));
    const schedules = await records(context, items);
    return { ok: true, schedules, ...(next === null ? {} : { next_cursor: cursorOfName(next) }) };
  },
});

const NO_CURSOR = invalid('The field cursor must be the next_cursor of the page before.');

function cursorOfName(name: string): string {
  return Buffer.from(name).toString('base64url');
}

async function records({ source }: ReadContext, schedules: readonly Schedule[]) {
  const open = await openAll(
    source.log,
    schedules.map(({ payload }) => payload),
  );
  return schedules.map((schedule) => scheduleRecord(schedule, open(schedule.payload!)));
}

export const deleteSchedule = change({
  name: 'schedule.delete',
  method: 'DELETE',
  path: '/v1/schedules/{name}',
  scope: 'v1:write',
  status: 200,
  retry: 'safe',
  refusedWhenFull: true,
  does: 'Remove a schedule. Its tasks stay.',
  request: fields({ name: ScheduleName }),
  reply: Type.Object({ name: note(Text, 'the name of the schedule'), seq: Seq }),
  refusals: ['SCHEDULE_NOT_FOUND', 'DISK_FULL'],
  example: { request: { name: SCHEDULE.name }, reply: { name: SCHEDULE.name, seq: 56 } },
  command: ({ name }): RemoveSchedule => ({ type: 'RemoveSchedule', name }),
  body: ({ name, seq }) => ({ ok: true, name, seq }),
});

const Switched = Type.Object({
  name: note(Text, 'the name of the schedule'),
  paused: note(Flag, 'whether it is paused now'),
  next_at: Type.Union([Instant, Type.Null()], { description: 'the next due time' }),
  seq: Seq,
});

function switched({ name, paused, nextDueAtMs, seq }: SwitchedSchedule) {
  return { ok: true as const, name, paused, next_at: instantOrNull(nextDueAtMs), seq };
}

export const pauseSchedule = change({
  name: 'schedule.pause',
  method: 'POST',
  path: '/v1/schedules/{name}/pause',
  scope: 'v1:write',
  status: 200,
  retry: 'safe',
  refusedWhenFull: true,
  does: 'Pause a schedule: nothing is due until it is resumed, and due times missed meanwhile never fire.',
  request: fields({ name: ScheduleName }),
  reply: Switched,
  refusals: ['SCHEDULE_NOT_FOUND', 'DISK_FULL'],
  example: {
    request: { name: SCHEDULE.name },
    reply: { name: SCHEDULE.name, paused: true, next_at: null, seq: 54 },
  },
  command: ({ name }): PauseSchedule => ({ type: 'PauseSchedule', name }),
  body: (answer) => switched(answer),
});

export const resumeSchedule = change({
  name: 'schedule.resume',
  method: 'POST',
  path: '/v1/schedules/{name}/resume',
  scope: 'v1:write',
  status: 200,
  retry: 'safe',
  refusedWhenFull: true,
  does: 'Resume a schedule from its first due time after now.',
  request: fields({ name: ScheduleName }),
  reply: Switched,
  refusals: ['SCHEDULE_NOT_FOUND', 'DISK_FULL'],
  example: {
    request: { name: SCHEDULE.name },
    reply: { name: SCHEDULE.name, paused: false, next_at: SCHEDULE.next_at, seq: 55 },
  },
  command: ({ name }): ResumeSchedule => ({ type: 'ResumeSchedule', name }),
  body: (answer) => switched(answer),
});

export const fireSchedule = change({
  name: 'schedule.fire',
  method: 'POST',
  path: '/v1/schedules/{name}/fire',
  scope: 'v1:write',
  status: 200,
  retry: { fills: 'request_id' }, // The authority recognises the last 16 of them.
  refusedWhenFull: true,
  does: 'Create a task of a schedule now, even if another one runs or the schedule is paused.',
  details: `The task is \`{name}!{seq}\`. Due times stay as they are. The same \`request_id\` again returns the same task, for the last
16 requests.`,
  request: fields({
    name: ScheduleName,
    request_id: Type.Optional(note(Name, 'Makes the call safe to retry.')),
  }),
  reply: Type.Object({
    name: note(Text, 'the name of the schedule'),
    task_id: note(Text, 'the id of the task'),
    seq: Seq,
    duplicate: Duplicate,
  }),
  refusals: ['SCHEDULE_NOT_FOUND', 'TASK_ID_CONFLICT', 'PAYLOAD_DAMAGED', 'DISK_FULL'],
  example: {
    request: { name: SCHEDULE.name, request_id: 'r-1' },
    reply: { name: SCHEDULE.name, task_id: 'nightly-report!57', seq: 57 },
  },
  command: ({ name, request_id }): FireSchedule => ({
    type: 'FireSchedule',
    name,
    requestId: request_id ?? null,
  }),
  body: ({ name, taskId, seq, duplicate }) => ({
    ok: true,
    name,
    task_id: taskId,
    seq,
    ...(duplicate ? { duplicate: true as const } : {}),
  }),
});
