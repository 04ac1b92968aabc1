/**
 * Due times become entries: each fires once or is skipped by an entry with the reason. A due time is missed when it passed
 * while no authority ran, or while this one was stalled; `catch_up` decides what happens to missed ones. A due time that
 * only waited because the disk was full fires when there is room.
 */
import type { ScheduleFired, Skip } from '../entries.ts';
import type { Commit } from '../expiry.ts';
import { type Opaque, opaque } from '../opaque.ts';
import type { State } from '../state.ts';
import type { Schedule } from './schedule-table.ts';
import { type Calendar, dueAfter, lastDueTimes, nextOf, withJitter } from './schedule-times.ts';

/** How many missed or waiting due times of one schedule fire, at most. */
const CATCH_UP_MAX = 1_000;
/** More than `CATCH_UP_MAX` due times can wait only after this time. */
const CATCH_UP_MS = CATCH_UP_MAX * 1_000;

export interface Firing {
  readonly nowMs: number;
  /** Due times that were to fire before this instant were missed. */
  readonly attendedSinceMs: number;
  readonly calendar: Calendar;
  readonly commit: Commit;
}

/** How much one batch may still take. */
export interface FiringRoom {
  firings: number;
  bytes: number;
}

/** Fires all due schedules, earliest first, as far as there is room. */
export function fireDue(state: State, firing: Firing, room: FiringRoom): void {
  for (const { name } of state.schedules.due(firing.nowMs)) {
    fireSchedule(state, name, firing, room);
    if (!hasRoom(room)) return;
  }
}

/** Fires the due times of one schedule. */
export function fireSchedule(state: State, name: string, firing: Firing, room: FiringRoom): void {
  while (hasRoom(room)) {
    const schedule = state.schedules.find(name);
    if (!isDue(schedule, firing.nowMs)) return;
    const firesAtMs = schedule.nextFiresAtMs!;
    const isMissed = firesAtMs < firing.attendedSinceMs;
    const isOld = firesAtMs < firing.nowMs - CATCH_UP_MS;
    if (isMissed || isOld) catchUp(state, schedule, firing, room, isMissed);
    else fire(state, schedule, firing, room, null);
  }
}

export function isDue(schedule: Schedule | undefined, nowMs: number): schedule is Schedule {
  return schedule !== undefined && schedule.nextFiresAtMs !== null && schedule.nextFiresAtMs <= nowMs;
}

function hasRoom({ firings, bytes }: FiringRoom): boolean {
  return firings > 0 && bytes > 0;
}

function catchUp(
  state: State,
  schedule: Schedule,
  firing: Firing,
  room: FiringRoom,
  isMissed: boolean,
): void {
  const { nowMs, attendedSinceMs, calendar } = firing;
  const firstMs = schedule.nextDueAtMs!;
  const lastMs = lastBefore(schedule, isMissed ? attendedSinceMs : nowMs + 1, calendar);
  const policy = isMissed ? schedule.catchUp : 'all';
  const max = policy === 'none' ? 0 : policy === 'one' ? 1 : CATCH_UP_MAX;
  const kept = max === 0 ? [] : lastDueTimes(schedule, firstMs, lastMs, max, calendar);
  const [firstKept] = kept;
  if (firstKept === undefined) return skip(schedule, firing, room, lastMs, null);
  if (firstKept > firstMs) {
    const [throughMs] = lastDueTimes(schedule, firstMs, firstKept - 1, 1, calendar);
    skip(schedule, firing, room, throughMs!, firstKept);
  }
  for (let index = 0; index < kept.length && hasRoom(room); index++) {
    fire(state, schedule, firing, room, kept[index + 1] ?? null);
  }
}

/** The last of the due times that were to fire before an instant, if the next one was. */
function lastBefore(schedule: Schedule, beforeMs: number, calendar: Calendar): number {
  const { jitterMs } = schedule;
  const firstMs = schedule.nextDueAtMs!;
  const certain = lastDueTimes(schedule, firstMs, beforeMs - jitterMs - 1, 1, calendar);
  let lastMs = certain[0] ?? firstMs;
  for (let steps = 0; steps < CATCH_UP_MAX; steps++) {
    const dueMs = dueAfter(schedule, lastMs, calendar);
    if (dueMs === null || withJitter(schedule, dueMs) >= beforeMs) break;
    lastMs = dueMs;
  }
  return lastMs;
}

/** Skips every due time up to one. */
function skip(
  schedule: Schedule,
  firing: Firing,
  room: FiringRoom,
  lastMs: number,
  nextMs: number | null,
): void {
  const dueAtMs = schedule.nextDueAtMs!;
  const throughMs = lastMs === dueAtMs ? null : lastMs;
  room.firings -= 1;
  firing.commit({
    ...firedAt(schedule, firing, lastMs, nextMs),
    ...skippedFor('CATCH_UP'),
    throughMs,
  });
}

/** The next due time: its task, or why there is none. */
function fire(
  state: State,
  schedule: Schedule,
  firing: Firing,
  room: FiringRoom,
  nextMs: number | null,
): void {
  const { tasks } = state;
  const dueAtMs = schedule.nextDueAtMs!;
  const task = `${schedule.name}@${firing.calendar.instant(dueAtMs)}`;
  const payload = payloadCopy(schedule);
  const isRunning = schedule.overlap === 'skip' && tasks.unfinishedOf(schedule.name) > 0;
  let skipped: Skip | null = null;
  if (isRunning) skipped = 'OVERLAP';
  else if (tasks.find(task) !== 0) skipped = 'TASK_EXISTS';
  else if (payload === null) skipped = 'PAYLOAD_DAMAGED';
  const outcome = skipped === null ? { task, skipped, payload } : skippedFor(skipped);
  room.firings -= 1;
  room.bytes -= outcome.payload?.length ?? 0;
  firing.commit({ ...firedAt(schedule, firing, dueAtMs, nextMs), ...outcome });
}

function skippedFor(skipped: Skip): Pick<ScheduleFired, 'task' | 'skipped' | 'payload'> {
  return { task: null, skipped, payload: null };
}

/** The fields of every entry that fires the next due time. `nextMs`: the due time after `lastMs`, if known. */
function firedAt(
  schedule: Schedule,
  { calendar }: Firing,
  lastMs: number,
  nextMs: number | null,
): Omit<ScheduleFired, 'task' | 'skipped' | 'payload'> {
  const next =
    nextMs === null
      ? nextOf(schedule, lastMs, calendar)
      : { nextDueAtMs: nextMs, nextFiresAtMs: withJitter(schedule, nextMs) };
  return {
    type: 'ScheduleFired',
    name: schedule.name,
    dueAtMs: schedule.nextDueAtMs,
    firesAtMs: schedule.nextFiresAtMs!,
    throughMs: null,
    queue: schedule.queue,
    requestId: null,
    ...next,
  };
}

/** The payload for one task; null when its bytes could not be read from the log. */
export function payloadCopy({ payload }: Schedule): Opaque | null {
  const bytes = payload?.bytes ?? null;
  return bytes === null ? null : opaque(bytes, payload!.crc);
}
