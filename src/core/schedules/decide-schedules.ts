/** Setting, pausing, removing a schedule, and firing it by hand. Firing at due times is in `fire-schedules.ts`. */
import type { FiredByHand, RemovedSchedule, SetScheduleAnswer, SwitchedSchedule } from '../answers.ts';
import type { FireSchedule, SetSchedule } from '../commands.ts';
import { append, type Decision, refuse, unchanged } from '../decision.ts';
import type { ScheduleSet } from '../entries.ts';
import { isSystemQueue } from '../reserved-names.ts';
import type { State } from '../state.ts';
import { payloadCopy } from './fire-schedules.ts';
import { PAYLOADS_BYTES_MAX, type Schedule, scheduleAfter } from './schedule-table.ts';
import { type Calendar, nextOf } from './schedule-times.ts';

/** What a caller chooses; the rest follows from the time of the entry. */
const CHOSEN = [
  'cron',
  'everyMs',
  'timezone',
  'queue',
  'priority',
  'maxFailures',
  'backoffMs',
  'maxBackoffMs',
  'maxAttempts',
  'groupKey',
  'overlap',
  'catchUp',
  'jitterMs',
  'startsAtMs',
  'endsAtMs',
  'paused',
  'applied',
] as const;

/**
 * Repeating a request changes nothing, so that due times stay as they are. A program that applies its definitions neither
 * changes a schedule that an operator set by hand, nor pauses or resumes an existing one.
 */
export function setSchedule(
  { schedules, lastSeq }: State,
  command: SetSchedule,
  nowMs: number,
  calendar: Calendar,
): Decision<SetScheduleAnswer> {
  const before = schedules.find(command.name);
  const { payload, applied } = command;
  if (isSystemQueue(command.queue)) {
    return refuse('FORBIDDEN', { detail: 'Schedules put no tasks into queues that begin with system:.' });
  }
  if (applied && before !== undefined && !before.applied) {
    return unchanged({ schedule: { ...before }, seq: before.setSeq, isNew: false, isKept: true });
  }
  const bytes = schedules.payloadBytes - (before?.payload?.length ?? 0) + payload.length;
  if (bytes > PAYLOADS_BYTES_MAX) {
    const detail = `The payloads of all schedules may have ${PAYLOADS_BYTES_MAX} bytes together.`;
    return refuse('INVALID_ARGUMENT', { detail });
  }
  const chosen = { ...command, paused: applied && before !== undefined ? before.paused : command.paused };
  if (before !== undefined && isSame(before, chosen)) {
    return unchanged({ schedule: { ...before }, seq: before.setSeq, isNew: false, isKept: false });
  }
  const { type: _, ...plan } = { ...chosen, anchorMs: anchorOf(before, command, nowMs) };
  const entry: ScheduleSet = { type: 'ScheduleSet', ...plan, ...nextOf(plan, nowMs, calendar) };
  const seq = lastSeq + 1;
  const schedule = scheduleAfter(before, entry, seq, nowMs);
  return append(entry, { schedule, seq, isNew: before === undefined, isKept: false });
}

function isSame(before: Schedule, command: SetSchedule): boolean {
  const known = before.payload?.bytes ?? null;
  const { bytes } = command.payload;
  if (known === null || bytes === null || known.length !== bytes.length) return false;
  return CHOSEN.every((field) => before[field] === command[field]) && known.every((b, at) => b === bytes[at]);
}

/** Intervals are counted from the start of the schedule, else from the time at which the interval was set. */
function anchorOf(before: Schedule | undefined, command: SetSchedule, nowMs: number): number {
  if (command.everyMs === null) return 0;
  if (command.startsAtMs !== null) return command.startsAtMs;
  const isCounting = before?.everyMs === command.everyMs && before.startsAtMs === null;
  return isCounting ? before.anchorMs : nowMs;
}

export function switchSchedule(
  { schedules, lastSeq }: State,
  name: string,
  paused: boolean,
  nowMs: number,
  calendar: Calendar,
): Decision<SwitchedSchedule> {
  const schedule = schedules.find(name);
  if (schedule === undefined) return refuse('SCHEDULE_NOT_FOUND');
  const { nextDueAtMs } = schedule;
  if (schedule.paused === paused) return unchanged({ name, paused, nextDueAtMs, seq: schedule.setSeq });
  const plan = planOf(schedule);
  const next = nextOf({ ...plan, paused }, nowMs, calendar);
  const entry: ScheduleSet = { type: 'ScheduleSet', ...plan, payload: null, paused, ...next };
  return append(entry, { name, paused, nextDueAtMs: next.nextDueAtMs, seq: lastSeq + 1 });
}

function planOf(schedule: Schedule): Omit<ScheduleSet, 'type'> {
  const {
    createdSeq,
    createdAtMs,
    setSeq,
    lastSeq,
    lastDueAtMs,
    lastTaskId,
    requestIds,
    requestSeqs,
    ...plan
  } = schedule;
  return plan;
}

export function removeSchedule({ schedules, lastSeq }: State, name: string): Decision<RemovedSchedule> {
  if (schedules.find(name) === undefined) return refuse('SCHEDULE_NOT_FOUND');
  return append({ type: 'ScheduleRemoved', name }, { name, seq: lastSeq + 1 });
}

/** Fires regardless of overlap and pause. Due times stay as they are. */
export function fireByHand(
  { schedules, tasks, lastSeq }: State,
  { name, requestId }: FireSchedule,
  nowMs: number,
): Decision<FiredByHand> {
  const schedule = schedules.find(name);
  if (schedule === undefined) return refuse('SCHEDULE_NOT_FOUND');
  const known = requestId === null ? -1 : schedule.requestIds.lastIndexOf(requestId);
  if (known !== -1) {
    const seq = schedule.requestSeqs[known]!;
    return unchanged({ name, taskId: `${name}!${seq}`, seq, duplicate: true });
  }
  const seq = lastSeq + 1;
  const task = `${name}!${seq}`;
  if (tasks.find(task) !== 0)
    return refuse('TASK_ID_CONFLICT', { detail: `There is a task ${task} already.` });
  const payload = payloadCopy(schedule);
  if (payload === null) return refuse('PAYLOAD_DAMAGED');
  const { queue, nextDueAtMs, nextFiresAtMs } = schedule;
  return append(
    {
      type: 'ScheduleFired',
      name,
      dueAtMs: null,
      firesAtMs: nowMs,
      task,
      skipped: null,
      throughMs: null,
      queue,
      payload,
      nextDueAtMs,
      nextFiresAtMs,
      requestId,
    },
    { name, taskId: task, seq, duplicate: false },
  );
}
