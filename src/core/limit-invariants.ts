/**
 * The invariants of limits, for two neighbouring states: lowering a limit revokes nothing, so the checks look only at the
 * state after a grant.
 */
import type { Fail } from './invariants.ts';
import type { Limits } from './limits.ts';
import type { State } from './state.ts';
import type { StateSummary, TaskSummary } from './step-invariants.ts';

export interface QueueSummary {
  readonly limits: Limits | null;
  /** Keys with tasks that may be leased, by priority, in the order of their turns; null for tasks without one. */
  readonly turns: ReadonlyMap<number, readonly (string | null)[]>;
  /** The instants of the grants that a rate counts, by key; null for the queue as a whole. */
  readonly grants: ReadonlyMap<string | null, readonly number[]>;
}

export function summaryOfQueues({ tasks }: State): ReadonlyMap<string, QueueSummary> {
  const { keys } = tasks;
  const queues = new Map<string, QueueSummary>();
  for (const queue of tasks.queues.values()) {
    const turns = new Map<number, (string | null)[]>();
    for (const [priority, key] of queue.turns())
      turns.set(priority, [...(turns.get(priority) ?? []), keys.text.get(key)]);
    const grants = new Map<string | null, readonly number[]>();
    for (const key of queue.limits?.rate ? keys.of(queue) : [])
      grants.set(keys.text.get(key), keys.windows.instantsOf(key, Number.NEGATIVE_INFINITY));
    queues.set(queue.name, { limits: queue.limits, turns, grants });
  }
  return queues;
}

/** Tasks that were leased in between, with their queues. Only for neighbours: over many entries a limit may have changed. */
function* granted(
  before: StateSummary,
  after: StateSummary,
): Generator<{ id: string; task: TaskSummary; queue: QueueSummary }> {
  if (after.lastSeq !== before.lastSeq + 1) return;
  for (const [id, task] of after.tasks)
    if (task.live && task.leaseSeq === after.lastSeq)
      yield { id, task, queue: after.queues.get(task.queue)! };
}

export function checkLeased(before: StateSummary, after: StateSummary, fail: Fail): void {
  for (const { id, task, queue } of granted(before, after)) {
    const { maxLeased = null, maxLeasedPerKey = null } = queue.limits ?? {};
    const live = [...after.tasks.values()].filter((other) => other.live && other.queue === task.queue);
    const ofKey = live.filter(({ key }) => key === task.key);
    if (maxLeased !== null && live.length > maxLeased)
      fail(`${id} is the lease ${live.length} of ${task.queue}`);
    if (task.key !== null && maxLeasedPerKey !== null && ofKey.length > maxLeasedPerKey)
      fail(`${id} is the lease ${ofKey.length} of ${task.key}`);
  }
}

export function checkRate(before: StateSummary, after: StateSummary, fail: Fail): void {
  for (const { id, task, queue } of granted(before, after)) {
    const rate = queue.limits?.rate ?? null;
    if (rate === null || (rate.perKey && task.key === null)) continue;
    const instants = queue.grants.get(rate.perKey ? task.key : null) ?? [];
    const counted = instants.filter((atMs) => atMs > after.lastAtMs - rate.perMs);
    if (counted.at(-1) !== after.lastAtMs) fail(`the grant of ${id} is not remembered`);
    if (counted.length > rate.count) fail(`${id} is the grant ${counted.length} in ${rate.perMs} ms`);
  }
}

export function checkTurns(before: StateSummary, after: StateSummary, fail: Fail): void {
  for (const { id, task, queue } of granted(before, after)) {
    const turns = queue.turns.get(task.priority) ?? [];
    const place = turns.indexOf(task.key);
    if (place !== -1 && place !== turns.length - 1)
      fail(`${task.key} is before others after ${id} was leased`);
  }
}
