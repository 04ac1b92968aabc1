/**
 * The invariants of one state, each as a function that reports why it does not hold. They scan the whole state:
 * they are for tests and for `wal verify`, not for the request path.
 */
import type { Fail } from './invariants.ts';
import { START_QUEUE } from './reserved-names.ts';
import type { LeaseRow, NameRow, Seq, TaskRow } from './row-types.ts';
import type { State } from './state.ts';
import { TASK_STATES } from './state-lists.ts';
import type { OrderedRows } from './tables/ordered-rows.ts';
import { isTerminal } from './task-table.ts';

// --- tasks ---------------------------------------------------------------------------------------

function* taskRows({ tasks }: State): Generator<TaskRow> {
  for (let row = 1; row <= tasks.rows.used; row++) if (tasks.inUse(row)) yield row;
}

/** Newest first. */
function* leasesOf({ tasks }: State, row: TaskRow): Generator<LeaseRow> {
  for (let lease = tasks.lease.get(row); lease !== 0; lease = tasks.leases.older.get(lease)) yield lease;
}

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
    for (const row of queue.all()) {
      put(row, 'WAITING');
      if (tasks.queueOf(row) !== queue) fail(`row ${row} stands in the lane of another queue`);
    }
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

export function checkQueueCounts(state: State, fail: Fail): void {
  const { tasks } = state;
  const counts = new Map<string, Record<string, number>>();
  for (const row of taskRows(state)) {
    const count = counts.get(tasks.queueOf(row).name) ?? {};
    const kinds: string[] = [tasks.stateOf(row)];
    if (tasks.isDelayed(row)) kinds.push(tasks.isBackingOff(row) ? 'backing off' : 'delayed');
    for (const kind of kinds) count[kind] = (count[kind] ?? 0) + 1;
    counts.set(tasks.queueOf(row).name, count);
  }
  for (const [name, queue] of tasks.queues) {
    if (queue.name !== name) fail(`${name} is called ${queue.name}`);
    if (queue.idle) fail(`${name} has nothing to keep it`);
    const { delayed, backingOff } = queue;
    const kept = { ...queue.lists.counts, delayed, 'backing off': backingOff };
    for (const [kind, count] of Object.entries(kept)) {
      const real = counts.get(name)?.[kind] ?? 0;
      if (count !== real) fail(`${name} counts ${count} ${kind} and has ${real}`);
    }
    counts.delete(name);
  }
  if (counts.size > 0) fail(`${[...counts.keys()][0]} has tasks and is not there`);
}

export function checkQueueOrder(state: State, fail: Fail): void {
  const { tasks } = state;
  for (const queue of tasks.queues.values()) {
    const first = queue.next() as TaskRow;
    for (const row of queue.all()) {
      const ahead = tasks.priorityOf(row) - tasks.priorityOf(first);
      const earlier = tasks.createdSeq.get(row) < tasks.createdSeq.get(first);
      if (ahead > 0 || (ahead === 0 && earlier)) fail(`${tasks.idOf(first)} goes before ${tasks.idOf(row)}`);
    }
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

// --- tables --------------------------------------------------------------------------------------

export function checkIndexes(state: State, fail: Fail): void {
  const { tasks, names } = state;
  let dedupKeys = 0;
  const requests = new Set<string>();
  for (const row of taskRows(state)) {
    const id = tasks.idOf(row);
    if (tasks.find(id) !== row || tasks.at(tasks.key(row)) !== row) fail(`${id} is not found by its id`);
    const dedupKey = tasks.dedupKey.get(row);
    if (dedupKey !== null && !isTerminal(tasks.stateOf(row))) {
      dedupKeys += 1;
      const found = tasks.findByDedup(tasks.queueOf(row).name, dedupKey);
      if (found !== row) fail(`${id} is not found by its dedup key`);
    }
    const lease = tasks.lease.get(row);
    if (tasks.stateOf(row) !== 'LEASED' || tasks.leases.requestId.get(lease) === null) continue;
    requests.add(JSON.stringify([tasks.leases.workerOf(lease), tasks.leases.requestId.get(lease)]));
    const found = tasks.leases.findByRequest(
      tasks.leases.workerOf(lease),
      tasks.leases.requestId.get(lease)!,
    );
    if (!found.includes(lease)) fail(`the lease on ${id} is not found by its request`);
  }
  let live = 0;
  for (const row of nameRows(state)) {
    if (names.find(names.nameOf(row)) !== row) fail(`${names.nameOf(row)} is not found`);
    if (!names.isLive(row)) continue;
    live += 1;
    if (!names.isLeaseLive(names.leaseSeq.get(row))) fail(`the lease of ${names.nameOf(row)} is not found`);
  }
  const sizes = [
    ['task ids', tasks.byId.size, tasks.rows.live],
    ['dedup keys', tasks.byDedup.size, dedupKeys],
    ['requests', tasks.leases.byRequest.size, requests.size],
    ['names', names.byName.size, names.rows.live],
    ['live leases', names.byLease.size, live],
  ] as const;
  for (const [what, size, real] of sizes)
    if (size !== real) fail(`there are ${real} ${what} and not ${size}`);
}

export function checkLists(state: State, fail: Fail): void {
  const { tasks, names } = state;
  const expected = new Map<unknown, number[]>();
  const put = (list: unknown, row: number): void => {
    const rows = expected.get(list);
    if (rows === undefined) expected.set(list, [row]);
    else rows.push(row);
  };
  const keyed = new Map<string, TaskRow[]>();
  const inOrder = [...taskRows(state)].sort((a, b) => tasks.createdSeq.get(a) - tasks.createdSeq.get(b));
  for (const row of inOrder) {
    const taskState = tasks.stateOf(row);
    put(tasks.lists.of(taskState), row);
    put(tasks.queueOf(row).lists.of(taskState), row);
    const key = tasks.groupKey.get(row);
    if (key !== null) keyed.set(key, [...(keyed.get(key) ?? []), row]);
    if (taskState === 'LEASED')
      put(tasks.leases.byWorker.of(tasks.leases.workerOf(tasks.lease.get(row))), row);
  }
  const compare = (what: string, list: OrderedRows<TaskRow> | null): void => {
    const found = list === null ? [] : [...list.ascending(0)];
    const real = expected.get(list) ?? [];
    if (found.length !== (list?.size ?? 0) || found.join() !== (list === null ? '' : real.join()))
      fail(`${what} lists rows ${found} and has ${real}`);
    expected.delete(list);
  };
  for (const each of TASK_STATES) {
    compare(each, tasks.lists.of(each));
    for (const queue of tasks.queues.values()) compare(`${queue.name} ${each}`, queue.lists.of(each));
  }
  for (const [workerId] of tasks.leases.byWorker.counts())
    compare(workerId, tasks.leases.byWorker.of(workerId));
  if (expected.size > 0) fail(`rows ${[...expected.values()][0]} are in no list`);
  for (const [key, rows] of keyed) {
    const list = tasks.byKey.of(key);
    const found = [...(list?.ascending(0) ?? [])];
    const back = [...(list?.descending(Number.POSITIVE_INFINITY) ?? [])].reverse();
    const isSame = list?.size === rows.length && found.join() === rows.join() && back.join() === rows.join();
    if (!isSame) fail(`the key ${key} has rows ${rows}, not ${found}`);
  }
  if (tasks.byKey.roots.size !== keyed.size) fail(`${tasks.byKey.roots.size} keys are not ${keyed.size}`);
  const held = new Map<string, NameRow[]>();
  for (const row of nameRows(state)) {
    if (names.isLive(row)) held.set(names.holderOf(row), [...(held.get(names.holderOf(row)) ?? []), row]);
  }
  for (const [holder, rows] of held) {
    const found = [...names.heldNames(holder, 0)];
    if (found.join() !== rows.join()) fail(`${holder} holds rows ${rows}, not ${found}`);
  }
  if (names.byHolder.roots.size !== held.size)
    fail(`${names.byHolder.roots.size} holders are not ${held.size}`);
}

export function checkRows({ tasks, names }: State, fail: Fail): void {
  for (const [what, { rows, inUse }] of [
    ['tasks', { rows: tasks.rows, inUse: (row: number) => tasks.inUse(row) }],
    ['names', { rows: names.rows, inUse: (row: number) => names.inUse(row) }],
  ] as const) {
    const free = new Set<number>();
    for (const row of rows.freeRows()) {
      if (free.has(row) || inUse(row) || row < 1 || row > rows.used) fail(`${what}: row ${row} is not free`);
      free.add(row);
    }
    for (let row = 1; row <= rows.used; row++) {
      if (!inUse(row) && !free.has(row)) fail(`${what}: row ${row} is lost`);
    }
    if (rows.live !== rows.used - free.size) fail(`${what}: ${rows.live} rows are not in use`);
  }
}

export function checkStrings(state: State, fail: Fail): void {
  const { tasks, names } = state;
  let strings = 0;
  for (const row of taskRows(state)) {
    if (typeof tasks.key(row) === 'string') strings += 1;
    strings += tasks.textCount(row);
    for (const lease of leasesOf(state, row)) strings += tasks.leases.textCount(lease);
  }
  for (const row of nameRows(state)) strings += names.textCount(row);
  if (tasks.strings.size !== strings) fail(`${tasks.strings.size} are kept for ${strings} fields`);
}

export function checkMemory(state: State, fail: Fail): void {
  const { tasks, names } = state;
  for (const row of taskRows(state)) {
    const past = [...leasesOf(state, row)].length - 1;
    if (past > 16) fail(`${tasks.idOf(row)} remembers ${past} before the newest`);
  }
  let tokens = 0;
  for (const row of nameRows(state)) {
    const past = names.tokens.pastOf(row).length;
    if (past > 16) fail(`${names.nameOf(row)} remembers ${past}`);
    tokens += past;
  }
  if (names.tokens.pastRows.live !== tokens)
    fail(`${names.tokens.pastRows.live} tokens are kept for ${tokens}`);
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

// --- names ---------------------------------------------------------------------------------------

function* nameRows({ names }: State): Generator<NameRow> {
  for (let row = 1; row <= names.rows.used; row++) if (names.inUse(row)) yield row;
}

export function checkHolders(state: State, fail: Fail): void {
  const { names } = state;
  for (const row of nameRows(state)) {
    const name = names.nameOf(row);
    if (!names.isLive(row)) {
      if (names.endedSeq.get(row) <= names.leaseSeq.get(row)) fail(`${name} ended before it began`);
      continue;
    }
    if (names.holderOf(row) === '' || names.tokens.hashOf(row) === '')
      fail(`${name} is held without holder or token`);
    if (names.endedSeq.get(row) !== 0) fail(`${name} is held and has ended`);
  }
}

export function checkIdle(state: State, fail: Fail): void {
  const { names } = state;
  const idle = new Set<NameRow>();
  let endedSeq = 0;
  for (let row: NameRow | 0 = names.idle.first; row !== 0; row = names.idle.next(row)) {
    if (idle.has(row) || !names.inUse(row)) fail(`row ${row} is idle twice or free`);
    idle.add(row);
    if (names.endedSeq.get(row) < endedSeq) fail(`${names.nameOf(row)} became so before the one before it`);
    endedSeq = names.endedSeq.get(row);
  }
  for (const row of nameRows(state)) {
    const bare = !names.isLive(row) && !names.value.has(row);
    if (bare !== idle.has(row)) fail(`${names.nameOf(row)} is ${names.endOf(row)}`);
  }
  if (names.idle.size !== idle.size) fail(`${names.idle.size} are counted and ${idle.size} there`);
}

export function checkLinked(state: State, fail: Fail): void {
  const { names } = state;
  const grants = new Map<Seq, string>();
  for (const row of nameRows(state)) {
    const leaseSeq = names.leaseSeq.get(row);
    if (leaseSeq === 0) continue;
    const grant = `${names.holderOf(row)} ${names.acquiredAtMs.get(row)} ${names.tokens.hashOf(row)}`;
    const other = grants.get(leaseSeq) ?? grant;
    if (other !== grant) fail(`lease ${leaseSeq} of ${names.nameOf(row)} belongs to another grant`);
    grants.set(leaseSeq, grant);
  }
}

export function checkFenced(state: State, fail: Fail): void {
  const { names } = state;
  for (const row of nameRows(state)) {
    if (!names.value.has(row)) continue;
    const fenced = names.valueLeaseSeq.get(row) > 0 && names.version.get(row) > 0;
    if (!fenced) fail(`${names.nameOf(row)} was`);
  }
}

export function checkNotStale(state: State, fail: Fail): void {
  const { names } = state;
  for (const row of nameRows(state)) {
    if (!names.value.has(row)) continue;
    const name = names.nameOf(row);
    const leaseSeq = names.valueLeaseSeq.get(row);
    if (leaseSeq > names.leaseSeq.get(row)) fail(`${name} was written by ${leaseSeq}, above its fence`);
    if (names.valueSeq.get(row) <= leaseSeq) fail(`${name} was written before its lease was granted`);
    const overtaken =
      leaseSeq < names.leaseSeq.get(row) && names.valueSeq.get(row) >= names.leaseSeq.get(row);
    if (overtaken) fail(`${name} was written by ${leaseSeq} after ${names.leaseSeq.get(row)} was granted`);
  }
}
