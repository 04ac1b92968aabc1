/** The effect of each fact about a schedule. A firing creates its task. */
import { check } from '../check.ts';
import type { ScheduleFired, ScheduleRemoved, ScheduleSet } from '../entries.ts';
import { PLAIN_TASK } from '../plain-task.ts';
import type { Seq } from '../row-types.ts';
import type { State } from '../state.ts';
import { type Schedule, scheduleAfter } from './schedule-table.ts';

/** How many requests that fired a schedule by hand are remembered, to recognise repeats. */
const REQUESTS_MAX = 16;

export function set({ schedules }: State, entry: ScheduleSet, seq: Seq, atMs: number): void {
  const before = schedules.find(entry.name);
  const { nextDueAtMs, nextFiresAtMs } = entry;
  check((entry.cron === null) !== (entry.everyMs === null), entry, seq, 'it needs a pattern or an interval');
  check(!entry.paused || nextDueAtMs === null, entry, seq, 'what is paused is not due');
  check((nextDueAtMs === null) === (nextFiresAtMs === null), entry, seq, 'what is due fires');
  check(nextDueAtMs === null || nextDueAtMs > atMs, entry, seq, 'it fires only times after its entry');
  check(entry.payload !== null || before !== undefined, entry, seq, 'a new schedule needs a payload');
  schedules.put(scheduleAfter(before, entry, seq, atMs));
}

export function removed(state: State, entry: ScheduleRemoved, seq: Seq): void {
  state.schedules.remove(known(state, entry, seq).name);
}

function known({ schedules }: State, entry: ScheduleRemoved | ScheduleFired, seq: Seq): Schedule {
  const schedule = schedules.find(entry.name);
  check(schedule !== undefined, entry, seq, 'the schedule is unknown');
  return schedule;
}

export function fired(state: State, entry: ScheduleFired, seq: Seq, atMs: number): void {
  const { tasks, schedules } = state;
  const schedule = known(state, entry, seq);
  const { dueAtMs, throughMs, task } = entry;
  check((task === null) === (entry.skipped !== null), entry, seq, 'it fired, or was skipped');
  if (dueAtMs !== null) {
    const lastMs = throughMs ?? dueAtMs;
    check(dueAtMs === schedule.nextDueAtMs, entry, seq, 'it is not the next due time');
    check(dueAtMs > schedule.lastDueAtMs && lastMs >= dueAtMs, entry, seq, 'a due time fires once');
    check(lastMs <= atMs && entry.firesAtMs <= atMs, entry, seq, 'it is not due yet');
    check(entry.nextDueAtMs === null || entry.nextDueAtMs > lastMs, entry, seq, 'due times go forward');
    schedule.lastDueAtMs = lastMs;
    schedule.nextDueAtMs = entry.nextDueAtMs;
    schedule.nextFiresAtMs = entry.nextFiresAtMs;
    schedules.changed();
  }
  schedule.lastSeq = seq;
  if (entry.requestId !== null) {
    schedule.requestIds = [...schedule.requestIds, entry.requestId].slice(-REQUESTS_MAX);
    schedule.requestSeqs = [...schedule.requestSeqs, seq].slice(-REQUESTS_MAX);
  }
  if (task === null) return;
  check(tasks.find(task) === 0, entry, seq, 'the task exists');
  check(entry.payload !== null, entry, seq, 'the task needs a payload');
  const { priority, maxFailures, backoffMs, maxBackoffMs, maxAttempts, groupKey } = schedule;
  tasks.create(
    {
      task,
      payload: entry.payload,
      queue: entry.queue,
      priority,
      dueAtMs: atMs,
      maxFailures,
      backoffMs,
      maxBackoffMs,
      maxAttempts,
      ...PLAIN_TASK,
      groupKey,
    },
    seq,
    atMs,
    schedule.name,
  );
  schedule.lastTaskId = task;
}
