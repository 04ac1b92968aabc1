/** The invariants of queues and of the keys in them, in one state. */
import { taskRows } from './invariant-rows.ts';
import type { Fail } from './invariants.ts';
import type { Queue } from './queue.ts';
import type { KeyRow, TaskRow } from './row-types.ts';
import type { State } from './state.ts';

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

/** Tasks that stand in a lane and that no limit keeps from being leased. */
function* servable({ tasks }: State, queue: Queue): Generator<TaskRow> {
  if (queue.isAtLimit) return;
  yield* queue.allWithoutKey();
  if (queue.isShortOfRoom) return;
  for (const [row, , of] of tasks.keys.waiting()) {
    const key = tasks.keyOf(row) as KeyRow;
    if (of === queue && !tasks.keys.isHeldBack(key)) yield row;
  }
}

export function checkQueueOrder(state: State, fail: Fail): void {
  const { tasks } = state;
  for (const queue of tasks.queues.values()) {
    const first = queue.next();
    const rows = [...servable(state, queue)];
    if (first === 0) {
      if (rows.length > 0) fail(`${tasks.idOf(rows[0]!)} is not next`);
      continue;
    }
    if (!rows.includes(first)) fail(`${tasks.idOf(first)} is next and must not be`);
    for (const row of rows) {
      const ahead = tasks.priorityOf(row) - tasks.priorityOf(first);
      const isSameKey = tasks.groupKey.get(row) === tasks.groupKey.get(first);
      const isEarlier = isSameKey && tasks.createdSeq.get(row) < tasks.createdSeq.get(first);
      if (ahead > 0 || (ahead === 0 && isEarlier))
        fail(`${tasks.idOf(first)} goes before ${tasks.idOf(row)}`);
    }
  }
}

export function checkKeys(state: State, fail: Fail): void {
  const { tasks } = state;
  const { keys } = tasks;
  const members = new Map<KeyRow, number>();
  const leased = new Map<KeyRow, number>();
  for (const row of taskRows(state)) {
    const key = tasks.keyOf(row);
    const text = tasks.endedSeq.get(row) === 0 ? tasks.groupKey.get(row) : null;
    if (keys.text.get(key) !== text)
      fail(`${tasks.idOf(row)} has the key ${text}, not ${keys.text.get(key)}`);
    if (key === 0) continue;
    if (keys.queueOf(key) !== tasks.queueOf(row)) fail(`the key of ${tasks.idOf(row)} is of another queue`);
    members.set(key, (members.get(key) ?? 0) + 1);
    if (tasks.stateOf(row) === 'LEASED') leased.set(key, (leased.get(key) ?? 0) + 1);
  }
  let known = 0;
  const heldBack = new Map<Queue, number>();
  for (const queue of tasks.queues.values()) {
    for (const key of keys.of(queue)) {
      known += 1;
      checkKey(state, queue, key, members.get(key) ?? 0, leased.get(key) ?? 0, fail);
    }
  }
  if (known !== keys.rows.live) fail(`${keys.rows.live} are kept, and ${known} are of a queue`);
  const inLine = new Map<Queue, number>();
  for (const [row, line, queue] of keys.waiting()) {
    const key = tasks.keyOf(row) as KeyRow;
    const isHeldBack = keys.isHeldBack(key);
    if (keys.lines.isInRing(line) === isHeldBack) fail(`${keys.text.get(key)} is in the turns or not`);
    const counts = isHeldBack ? heldBack : inLine;
    counts.set(queue, (counts.get(queue) ?? 0) + 1);
  }
  for (const queue of tasks.queues.values()) {
    if (queue.heldBack !== (heldBack.get(queue) ?? 0))
      fail(`${queue.name} counts ${queue.heldBack} held back`);
    if (queue.keyed !== (inLine.get(queue) ?? 0)) fail(`${queue.name} counts ${queue.keyed} in turns`);
  }
}

function checkKey(
  { tasks, lastAtMs }: State,
  queue: Queue,
  key: KeyRow,
  members: number,
  leased: number,
  fail: Fail,
): void {
  const { keys } = tasks;
  const { maxLeasedPerKey = null, rate = null } = queue.limits ?? {};
  const text = keys.text.get(key);
  const isQueue = key === queue.window;
  if (text === null ? !isQueue : keys.find(queue, text) !== key)
    fail(`${text} of ${queue.name} is not found`);
  if (keys.membersOf(key) !== (isQueue ? 1 : members)) fail(`${text} counts ${keys.membersOf(key)} tasks`);
  if (keys.leased.get(key) !== leased) fail(`${text} counts ${keys.leased.get(key)} leases, not ${leased}`);
  const isClosed = keys.windows.isClosed(key);
  const isAtLimit = maxLeasedPerKey !== null && leased >= maxLeasedPerKey;
  if (keys.isHeldBack(key) !== (!isQueue && (isAtLimit || isClosed))) fail(`${text} is held back or not`);
  const instants = keys.windows.instantsOf(key, Number.NEGATIVE_INFINITY);
  if (instants.length > 0 && rate === null) fail(`${text} remembers grants without a rate`);
  if (isClosed && instants.length < rate!.count) fail(`${text} is closed after ${instants.length} grants`);
  for (const [at, atMs] of instants.entries())
    if (atMs > lastAtMs || atMs < (instants[at - 1] ?? 0)) fail(`${text} was granted at ${atMs}`);
}
