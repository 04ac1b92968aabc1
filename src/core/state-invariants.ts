/**
 * The invariants of the tasks of one state, each as a function that reports why it does not hold. They scan the whole
 * state: they are for tests and for `wal verify`, not for the request path.
 */
import { leasesOf, nameRows, taskRows } from './invariant-rows.ts';
import type { Fail } from './invariants.ts';
import { START_QUEUE } from './reserved-names.ts';
import type { LeaseRow, Seq, TaskRow } from './row-types.ts';
import type { State } from './state.ts';
import { isTerminal } from './task-table.ts';

export function checkOneLease(state: State, fail: Fail): void {
  const { tasks } = state;
  for (const row of taskRows(state)) {
    const live = [...leasesOf(state, row)].filter((lease) => tasks.leases.endOf(lease) === 'live');
    if (live.length > 1) fail(`${tasks.idOf(row)} has ${live.length}`);
  }
}

export function checkLeaseOfOneTask(state: State, fail: Fail): void {
  const { tasks } = state;
  const seen = new Set<LeaseRow>();
  for (const row of taskRows(state)) {
    let newer = Number.POSITIVE_INFINITY;
    for (const lease of leasesOf(state, row)) {
      const seq = tasks.leases.seq.get(lease);
      if (seen.has(lease)) fail(`lease ${seq} belongs to two tasks`);
      if (tasks.leases.task.get(lease) !== row) fail(`lease ${seq} does not know its task`);
      if (seq >= newer) fail(`lease ${seq} stands behind the older one ${newer}`);
      seen.add(lease);
      newer = seq;
    }
  }
  if (seen.size !== tasks.leases.rows.live) fail(`${tasks.leases.rows.live - seen.size} leases have no task`);
}

export function checkWaiting(state: State, fail: Fail): void {
  const { tasks } = state;
  for (const row of taskRows(state)) {
    const lease = tasks.lease.get(row);
    if (tasks.stateOf(row) !== 'WAITING' || lease === 0) continue;
    if (tasks.leases.endOf(lease) === 'live') fail(`${tasks.idOf(row)} has one`);
  }
}

export function checkLeased(state: State, fail: Fail): void {
  const { tasks } = state;
  for (const row of taskRows(state)) {
    if (tasks.stateOf(row) !== 'LEASED') continue;
    const lease = tasks.lease.get(row);
    if (lease === 0 || tasks.leases.endOf(lease) !== 'live') fail(`${tasks.idOf(row)} has none`);
    if (tasks.leases.seq.get(lease) <= tasks.createdSeq.get(row))
      fail(`${tasks.idOf(row)} was leased unborn`);
  }
}

export function checkEnds(state: State, fail: Fail): void {
  const { tasks } = state;
  for (const row of taskRows(state)) {
    const ended = isTerminal(tasks.stateOf(row));
    if (ended !== tasks.endedSeq.get(row) > 0) fail(`${tasks.idOf(row)} is ${tasks.stateOf(row)}`);
    const lease = tasks.lease.get(row);
    if (ended && lease !== 0 && tasks.leases.endOf(lease) === 'live')
      fail(`${tasks.idOf(row)} is still leased`);
  }
}

export function checkEndedKinds(state: State, fail: Fail): void {
  const { tasks } = state;
  for (const [list, isFailedList] of [
    [tasks.completed, false],
    [tasks.failed, true],
  ] as const) {
    let endedSeq = 0;
    let size = 0;
    for (let row: TaskRow | 0 = list.first; row !== 0; row = list.next(row)) {
      const id = tasks.idOf(row);
      const isWanted = tasks.stateOf(row) === 'COMPLETED' || tasks.reason.get(row) === 'CANCELLED';
      const isFailed = !isWanted && tasks.queueNameOf(row) !== START_QUEUE;
      if (isFailed !== isFailedList) fail(`${id} is ${tasks.stateOf(row)} and kept among the others`);
      if (tasks.endedSeq.get(row) < endedSeq) fail(`${id} ended before the one before it`);
      endedSeq = tasks.endedSeq.get(row);
      size += 1;
    }
    if (size !== list.size) fail(`${list.size} are counted and ${size} there`);
  }
}

export function checkSuccessors(state: State, fail: Fail): void {
  const { tasks } = state;
  for (const row of taskRows(state)) {
    const id = tasks.idOf(row);
    if (tasks.requeuedAs.get(row) !== null && !isTerminal(tasks.stateOf(row)))
      fail(`${id} is ${tasks.stateOf(row)} and has one`);
    const origin = tasks.originOf(row);
    if (origin === 0) continue;
    const successor = tasks.requeuedAs.get(origin);
    if (successor !== id) fail(`${tasks.idOf(origin)} has ${successor}, and ${id} comes from it too`);
  }
}

export function checkPlaces(state: State, fail: Fail): void {
  const { tasks } = state;
  const places = new Map<TaskRow, string>();
  const put = (row: TaskRow, place: string): void => {
    if (places.has(row)) fail(`row ${row} is in ${places.get(row)} and in ${place}`);
    places.set(row, place);
  };
  for (const row of tasks.delayed.all()) put(row, 'WAITING');
  for (const queue of tasks.queues.values()) {
    for (const row of queue.allWithoutKey()) {
      put(row, 'WAITING');
      if (tasks.queueOf(row) !== queue) fail(`row ${row} stands in the lane of another queue`);
    }
  }
  for (const [row, , queue] of tasks.keys.waiting()) {
    put(row, 'WAITING');
    if (tasks.queueOf(row) !== queue) fail(`row ${row} stands in the line of another queue`);
  }
  for (const row of tasks.expiring.all()) put(row, 'LEASED');
  for (const row of tasks.inOrderOfEnd()) put(row, 'ended');
  for (const row of taskRows(state)) {
    const due = isTerminal(tasks.stateOf(row)) ? 'ended' : tasks.stateOf(row);
    if (places.get(row) !== due) fail(`${tasks.idOf(row)} is ${due} and stands in ${places.get(row)}`);
    places.delete(row);
  }
  if (places.size > 0) fail(`row ${[...places.keys()][0]} is free and still has a place`);
}

export function checkHeaps(state: State, fail: Fail): void {
  const { tasks, names } = state;
  const held = new Set(names.expiring.all());
  for (const row of nameRows(state)) {
    if (names.isLive(row) !== held.delete(row)) fail(`${names.nameOf(row)} is ${names.endOf(row)}`);
    if (names.isLive(row) && names.expiring.keyOf(row) > names.expiresAtMs.get(row)) {
      fail(`the end of ${names.nameOf(row)} would be noticed too late`);
    }
  }
  if (held.size > 0) fail(`row ${[...held][0]} is free`);
  for (const row of tasks.expiring.all()) {
    const late = tasks.expiring.keyOf(row) > tasks.leases.expiresAtMs.get(tasks.lease.get(row));
    if (late) fail(`the end of the lease on ${tasks.idOf(row)} would be noticed too late`);
  }
  for (const row of tasks.delayed.all()) {
    if (tasks.delayed.keyOf(row) !== tasks.dueAtMs.get(row))
      fail(`${tasks.idOf(row)} would wake at another time`);
  }
}

export function checkAttempts(state: State, fail: Fail): void {
  const { tasks } = state;
  for (const row of taskRows(state)) {
    const id = tasks.idOf(row);
    const attempt = tasks.attempt.get(row);
    const counted = tasks.countedAttempts.get(row);
    const failures = tasks.failures.get(row);
    if (counted > attempt || failures > attempt) fail(`${id} has ${attempt}, ${counted} and ${failures}`);
    if (counted > tasks.maxAttempts.get(row)) fail(`${id} was attempted ${counted} times`);
    if (failures > tasks.maxFailures.get(row)) fail(`${id} failed ${failures} times`);
    const known = [...leasesOf(state, row)].length;
    if (known > attempt) fail(`${id} had ${known} leases in ${attempt} attempts`);
  }
}

export function checkCheckpoints(state: State, fail: Fail): void {
  const { tasks } = state;
  for (const row of taskRows(state)) {
    if (tasks.stateOf(row) === 'COMPLETED' && tasks.checkpoint.get(row) !== null)
      fail(`${tasks.idOf(row)} has one`);
  }
}

export function checkTimes(state: State, fail: Fail): void {
  const { tasks, names, lastSeq, lastAtMs } = state;
  const seqs = (what: string, ...of: Seq[]): void => {
    for (const seq of of) if (!(seq >= 0 && seq <= lastSeq)) fail(`${what} has position ${seq}`);
  };
  const times = (what: string, ...of: number[]): void => {
    for (const atMs of of) if (!(atMs >= 0 && atMs <= lastAtMs)) fail(`${what} has time ${atMs}`);
  };
  for (const row of taskRows(state)) {
    const id = tasks.idOf(row);
    seqs(id, tasks.createdSeq.get(row), tasks.endedSeq.get(row), tasks.lastSeq.get(row));
    times(id, tasks.createdAtMs.get(row), tasks.endedAtMs.get(row));
    if (!Number.isFinite(tasks.dueAtMs.get(row))) fail(`${id} is due at ${tasks.dueAtMs.get(row)}`);
    for (const lease of leasesOf(state, row)) {
      const { seq, endedSeq, cancelledSeq } = tasks.leases;
      seqs(`a lease on ${id}`, seq.get(lease), endedSeq.get(lease), cancelledSeq.get(lease));
    }
  }
  for (const row of nameRows(state)) {
    const name = names.nameOf(row);
    seqs(
      name,
      names.leaseSeq.get(row),
      names.endedSeq.get(row),
      names.valueSeq.get(row),
      names.lastSeq.get(row),
    );
    times(name, names.acquiredAtMs.get(row), names.endedAtMs.get(row));
  }
  times('the epoch', state.epochStartedAtMs);
}
