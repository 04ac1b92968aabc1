/**
 * A state written out as image records, and read back. The order is fixed: head, queues with their grants, tasks, names,
 * sessions, schedules, free rows.
 */
import type { ImageRecord } from './image.ts';
import { limitsOf, storedLimits } from './limits.ts';
import type { Queue } from './queue.ts';
import { scheduleImage, scheduleOf, sessionImage, sessionOf } from './row-objects.ts';
import type { KeyRow, NameRow } from './row-types.ts';
import type { State } from './state.ts';
import type { Rows } from './tables/rows.ts';
import { isTerminal } from './task-table.ts';

const NUMBERS_A_RECORD = 4096;

export function* imageOf(state: State): Generator<ImageRecord> {
  const { tasks, names, sessions, schedules } = state;
  yield {
    kind: 'head',
    lastSeq: state.lastSeq,
    lastAtMs: state.lastAtMs,
    epoch: state.epoch,
    epochStartedAtMs: state.epochStartedAtMs,
    taskRows: tasks.rows.used,
    nameRows: names.rows.used,
    forgottenThroughMs: state.forgottenThroughMs,
  };
  // By name, because the order in which queues were created is not part of the state.
  const kept = [...tasks.queues.values()].filter(({ paused, limits }) => paused || limits !== null);
  for (const queue of kept.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    yield { kind: 'queue', queue: queue.name, paused: queue.paused, ...storedLimits(queue.limits) };
    yield* grantsOf(state, queue);
  }
  for (let row = 1; row <= tasks.rows.used; row++) {
    if (tasks.inUse(row) && !isTerminal(tasks.stateOf(row))) yield tasks.image(row);
  }
  // Ended tasks in the order of their end, which is the order in which they are forgotten.
  for (const row of tasks.inOrderOfEnd()) yield tasks.image(row);
  for (let row = 1; row <= names.rows.used; row++) {
    if (names.inUse(row) && !names.isIdle(row)) yield names.image(row);
  }
  for (let row: NameRow | 0 = names.idle.first; row !== 0; row = names.idle.next(row)) yield names.image(row);
  for (const session of sessions.open.values()) yield sessionImage(session);
  for (const session of sessions.ended.values()) yield sessionImage(session);
  for (const schedule of schedules.sorted()) yield scheduleImage(schedule);
  yield* freeRows('tasks', tasks.rows);
  yield* freeRows('names', names.rows);
}

export function restoreImage(state: State, record: ImageRecord): void {
  const { tasks, names, sessions, schedules } = state;
  switch (record.kind) {
    case 'head':
      state.lastSeq = record.lastSeq;
      state.lastAtMs = record.lastAtMs;
      state.epoch = record.epoch;
      state.epochStartedAtMs = record.epochStartedAtMs;
      tasks.rows.extend(record.taskRows);
      names.rows.extend(record.nameRows);
      state.forgottenThroughMs = record.forgottenThroughMs;
      return;
    case 'queue': {
      const queue = tasks.openQueue(record.queue);
      queue.paused = record.paused;
      const limits = limitsOf(record);
      if (limits !== null) tasks.keys.setLimits(queue, limits, state.lastAtMs);
      return;
    }
    case 'grants':
      return tasks.keys.restoreGrants(tasks.openQueue(record.queue), record.key, record.atMs, state.lastAtMs);
    case 'free':
      for (const row of record.rows) (record.table === 'tasks' ? tasks : names).rows.restoreFree(row);
      return;
    case 'task':
      return tasks.restore(record, state.lastAtMs);
    case 'name':
      return names.restore(record);
    case 'session':
      return sessions.enter(sessionOf(record));
    case 'schedule':
      return schedules.put(scheduleOf(record));
  }
}

/** Leaves out grants that have aged by the end of the log, whether or not they are still in memory. */
function* grantsOf({ tasks, lastAtMs }: State, queue: Queue): Generator<ImageRecord> {
  const rate = queue.limits?.rate ?? null;
  if (rate === null) return;
  const { windows, text } = tasks.keys;
  for (let key: KeyRow | 0 = queue.windows.first; key !== 0; key = queue.windows.next(key)) {
    const instants = windows.instantsOf(key, lastAtMs - rate.perMs);
    for (let from = 0; from < instants.length; from += NUMBERS_A_RECORD) {
      const atMs = instants.slice(from, from + NUMBERS_A_RECORD);
      yield { kind: 'grants', queue: queue.name, key: text.get(key), atMs };
    }
  }
}

function* freeRows(table: 'tasks' | 'names', rows: Rows): Generator<ImageRecord> {
  const free = Int32Array.from(rows.freeRows()).reverse();
  for (let from = 0; from < free.length; from += NUMBERS_A_RECORD) {
    yield { kind: 'free', table, rows: Array.from(free.subarray(from, from + NUMBERS_A_RECORD)) };
  }
}
