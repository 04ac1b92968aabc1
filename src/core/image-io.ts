/** A state written out as image records, and read back. The order is fixed: head, queues, tasks, names, sessions, free rows. */
import type { ImageRecord, NameImage, SessionImage, TaskImage } from './image.ts';
import type { LeaseRow, NameRow, TaskRow } from './row-types.ts';
import type { Session } from './sessions/session-table.ts';
import type { State } from './state.ts';
import type { Rows } from './tables/rows.ts';
import { isTerminal } from './task-table.ts';

const FREE_ROWS_A_RECORD = 4096;

export function* imageOf(state: State): Generator<ImageRecord> {
  const { tasks, names, sessions } = state;
  yield {
    kind: 'head',
    lastSeq: state.lastSeq,
    lastAtMs: state.lastAtMs,
    epoch: state.epoch,
    epochStartedAtMs: state.epochStartedAtMs,
    taskRows: tasks.rows.used,
    nameRows: names.rows.used,
  };
  // By name, because the order in which queues came is no part of the state.
  const paused = [...tasks.queues.values()].filter((queue) => queue.paused).map(({ name }) => name);
  for (const queue of paused.sort()) yield { kind: 'queue', queue, paused: true };
  for (let row = 1; row <= tasks.rows.used; row++) {
    if (tasks.inUse(row) && !isTerminal(tasks.stateOf(row))) yield taskImage(state, row);
  }
  // Ended tasks in the order of their end, which is the order in which they are forgotten.
  for (let row: TaskRow | 0 = tasks.ended.first; row !== 0; row = tasks.ended.next(row))
    yield taskImage(state, row);
  for (let row = 1; row <= names.rows.used; row++) {
    if (names.inUse(row) && !names.isIdle(row)) yield nameImage(state, row);
  }
  for (let row: NameRow | 0 = names.idle.first; row !== 0; row = names.idle.next(row))
    yield nameImage(state, row);
  for (const session of sessions.open.values()) yield sessionImage(session);
  for (const session of sessions.ended.values()) yield sessionImage(session);
  yield* freeRows('tasks', tasks.rows);
  yield* freeRows('names', names.rows);
}

export function restoreImage(state: State, record: ImageRecord): void {
  const { tasks, names } = state;
  switch (record.kind) {
    case 'head':
      state.lastSeq = record.lastSeq;
      state.lastAtMs = record.lastAtMs;
      state.epoch = record.epoch;
      state.epochStartedAtMs = record.epochStartedAtMs;
      tasks.rows.extend(record.taskRows);
      names.rows.extend(record.nameRows);
      return;
    case 'queue':
      tasks.openQueue(record.queue).paused = record.paused;
      return;
    case 'free':
      for (const row of record.rows) (record.table === 'tasks' ? tasks : names).rows.restoreFree(row);
      return;
    case 'task':
      return restoreTask(state, record);
    case 'name':
      return restoreName(state, record);
    case 'session': {
      const { kind: _, ...session } = record;
      state.sessions.enter(session);
      return;
    }
  }
}

export function taskImage({ tasks }: State, row: TaskRow): TaskImage {
  const leases = [];
  for (let lease = tasks.lease.get(row); lease !== 0; lease = tasks.leases.older.get(lease)) {
    leases.push(tasks.leases.image(lease));
  }
  return {
    kind: 'task',
    row,
    task: tasks.key(row),
    createdSeq: tasks.createdSeq.get(row),
    createdAtMs: tasks.createdAtMs.get(row),
    queue: tasks.queueOf(row).name,
    priority: tasks.priorityOf(row),
    state: tasks.stateOf(row),
    attempt: tasks.attempt.get(row),
    countedAttempts: tasks.countedAttempts.get(row),
    failures: tasks.failures.get(row),
    maxFailures: tasks.maxFailures.get(row),
    backoffMs: tasks.backoffMs.get(row),
    maxBackoffMs: tasks.maxBackoffMs.get(row),
    maxAttempts: tasks.maxAttempts.get(row),
    dedupKey: tasks.dedupKeyOf(row),
    payload: tasks.payload.get(row)!,
    dueAtMs: tasks.dueAtMs.get(row),
    reason: tasks.reasonOf(row),
    result: tasks.result.get(row),
    endedSeq: tasks.endedSeq.get(row),
    endedAtMs: tasks.endedAtMs.get(row),
    lastSeq: tasks.lastSeq.get(row),
    leases,
  };
}

export function nameImage({ names }: State, row: NameRow): NameImage {
  const value = names.value.get(row);
  return {
    kind: 'name',
    row,
    name: names.nameOf(row),
    leaseSeq: names.leaseSeq.get(row),
    end: names.endOf(row),
    holder: names.holderOf(row),
    tokenHash: names.tokens.hashOf(row),
    acquiredAtMs: names.acquiredAtMs.get(row),
    expiresAtMs: names.expiresAtMs.get(row),
    metadata: names.metadata.get(row),
    endedSeq: names.endedSeq.get(row),
    endedAtMs: names.endedAtMs.get(row),
    version: names.version.get(row),
    object:
      value === null
        ? null
        : {
            value,
            version: names.version.get(row),
            leaseSeq: names.valueLeaseSeq.get(row),
            seq: names.valueSeq.get(row),
          },
    lastSeq: names.lastSeq.get(row),
    pastTokens: names.tokens.pastOf(row),
  };
}

/** In the order of the image, which the state hash depends on. */
function sessionImage(session: Session): SessionImage {
  const { seq, intent, serviceName, key, state, reason, reasonDetail, slot, leaseSeq } = session;
  const { createdAtMs, updatedAtMs, lastSeq } = session;
  const { type, target, profileId, startMs } = intent;
  return {
    kind: 'session',
    seq,
    intent: { type, target, profileId, startMs },
    serviceName,
    key,
    state,
    reason,
    reasonDetail,
    slot,
    leaseSeq,
    createdAtMs,
    updatedAtMs,
    lastSeq,
  };
}

function restoreTask(state: State, image: TaskImage): void {
  const { tasks } = state;
  const row = image.row as TaskRow;
  tasks.rows.restoreLive();
  tasks.create(row, image.task, image.createdSeq, image.queue, image.priority, image.dedupKey);
  tasks.createdAtMs.set(row, image.createdAtMs);
  tasks.attempt.set(row, image.attempt);
  tasks.countedAttempts.set(row, image.countedAttempts);
  tasks.failures.set(row, image.failures);
  tasks.maxFailures.set(row, image.maxFailures);
  tasks.backoffMs.set(row, image.backoffMs);
  tasks.maxBackoffMs.set(row, image.maxBackoffMs);
  tasks.maxAttempts.set(row, image.maxAttempts);
  tasks.payload.set(row, image.payload);
  tasks.result.set(row, image.result);
  tasks.dueAtMs.set(row, image.dueAtMs);
  tasks.endedSeq.set(row, image.endedSeq);
  tasks.endedAtMs.set(row, image.endedAtMs);
  tasks.lastSeq.set(row, image.lastSeq);
  if (image.reason !== null) tasks.setReason(row, image.reason);
  let older: LeaseRow | 0 = 0;
  for (let index = image.leases.length - 1; index >= 0; index--) {
    older = tasks.leases.restore(row, image.leases[index]!, older);
  }
  tasks.lease.set(row, older);
  tasks.enter(row, image.state, state.lastAtMs);
}

function restoreName(state: State, image: NameImage): void {
  const { names } = state;
  const row = image.row as NameRow;
  names.rows.restoreLive();
  names.create(row, image.name);
  names.tokens.restore(row, '', image.pastTokens);
  if (image.end === 'live') {
    names.grant(row, image.leaseSeq, image.holder, image.tokenHash, image.expiresAtMs);
  } else {
    names.tokens.restore(row, image.tokenHash, []);
    names.setHolder(row, image.holder);
    names.leaseSeq.set(row, image.leaseSeq);
    names.expiresAtMs.set(row, image.expiresAtMs);
    names.setEnd(row, image.end);
  }
  names.acquiredAtMs.set(row, image.acquiredAtMs);
  names.metadata.set(row, image.metadata);
  names.endedSeq.set(row, image.endedSeq);
  names.endedAtMs.set(row, image.endedAtMs);
  names.version.set(row, image.version);
  names.lastSeq.set(row, image.lastSeq);
  if (image.object !== null) {
    names.value.set(row, image.object.value);
    names.valueLeaseSeq.set(row, image.object.leaseSeq);
    names.valueSeq.set(row, image.object.seq);
  }
  if (names.isIdle(row)) names.becomeIdle(row);
}

function* freeRows(table: 'tasks' | 'names', rows: Rows): Generator<ImageRecord> {
  const free = Int32Array.from(rows.freeRows()).reverse();
  for (let from = 0; from < free.length; from += FREE_ROWS_A_RECORD) {
    yield { kind: 'free', table, rows: Array.from(free.subarray(from, from + FREE_ROWS_A_RECORD)) };
  }
}
