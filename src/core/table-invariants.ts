/** The invariants of the tables of one state: indexes, lists, rows, strings, past leases and past tokens. */
import { leasesOf, nameRows, taskRows } from './invariant-rows.ts';
import type { Fail } from './invariants.ts';
import type { NameRow, TaskRow } from './row-types.ts';
import type { State } from './state.ts';
import { TASK_STATES } from './state-lists.ts';
import type { OrderedRows } from './tables/ordered-rows.ts';
import { isTerminal } from './task-table.ts';

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
    // Rows whose list is missing stay in `expected`.
    if (list === null) return;
    const found = [...list.ascending(0)];
    const real = expected.get(list) ?? [];
    if (found.length !== list.size || found.join() !== real.join())
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
  for (let key = 1; key <= tasks.keys.rows.used; key++)
    if (tasks.keys.inUse(key) && tasks.keys.text.has(key)) strings += 1;
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
