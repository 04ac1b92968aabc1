/** Why a task is not running, as a code and a sentence. */
import { NO_LIMITS } from './limits.ts';
import type { TaskRow } from './row-types.ts';
import { spanText } from './span-text.ts';
import type { State } from './state.ts';

export const WHY_CODES = [
  'DELAYED',
  'BACKOFF',
  'WAITING_FOR_WORKER',
  'QUEUE_PAUSED',
  'LIMITED_BY_QUEUE',
  'LIMITED_BY_KEY',
  'RATE_LIMITED',
  'LEASED',
  'COMPLETED',
  'FAILED',
  'DEAD',
] as const;
export type WhyCode = (typeof WHY_CODES)[number];

export interface Why {
  readonly code: WhyCode;
  readonly says: string;
  readonly queue: string;
  /** When its delay or backoff ends; null unless it has one. */
  readonly dueAtMs: number | null;
  /** When the rate allows the next task of its window; null when that is unknown, or the task does not wait for a rate. */
  readonly opensAtMs: number | null;
  /** How many due tasks of its queue come before it; more than AHEAD_MAX are not counted. Null unless it is due and waits. */
  readonly ahead: number | null;
}

/** Tasks ahead are counted exactly up to this number. */
export const AHEAD_MAX = 10_000;

/** How many leased tasks are examined to find those of a key, and how many of them are named. */
const LOOKED_AT_MAX = 10_000;
const NAMED_MAX = 3;

export function whyNotRunning(state: State, row: TaskRow, nowMs: number): Why {
  const { tasks } = state;
  const isWaiting = tasks.stateOf(row) === 'WAITING';
  const dueAtMs = tasks.dueAtMs.get(row);
  const isDue = isWaiting && dueAtMs <= nowMs;
  const queue = tasks.queueOf(row);
  return {
    opensAtMs: null,
    ...reasonFor(state, row, nowMs),
    queue: queue.name,
    dueAtMs: isWaiting && !isDue ? dueAtMs : null,
    // One more than is reported, to tell exactly AHEAD_MAX from more. A task that is due and still stands
    // among the delayed moves into its lane with the next batch.
    ahead:
      isDue && !tasks.isDelayed(row)
        ? queue.countAhead(row, tasks.priorityOf(row), tasks.keyOf(row), AHEAD_MAX + 1)
        : null,
  };
}

type Reason = Pick<Why, 'code' | 'says'> & { readonly opensAtMs?: number | null };

function reasonFor({ tasks }: State, row: TaskRow, nowMs: number): Reason {
  const state = tasks.stateOf(row);
  const queue = tasks.queueOf(row);
  const reason = tasks.reason.get(row);
  switch (state) {
    case 'LEASED': {
      const lease = tasks.lease.get(row);
      const worker = tasks.leases.workerOf(lease);
      // A standby may read a lease that is over and whose expiry is not written yet.
      const remainingMs = Math.max(0, tasks.leases.expiresAtMs.get(lease) - nowMs);
      const heldMs = heldForMs(tasks, row, nowMs);
      const since = heldMs === null ? '' : ` for ${spanText(heldMs)} now`;
      return {
        code: 'LEASED',
        says: `It is running: ${worker} has it${since}, attempt ${tasks.attempt.get(row)}; the lease ends in ${spanText(remainingMs)} unless it is extended.`,
      };
    }
    case 'COMPLETED':
      return { code: 'COMPLETED', says: 'It has been completed.' };
    case 'FAILED': {
      const failures = tasks.failures.get(row);
      const times = failures === 1 ? 'once,' : `${failures} times, the last time`;
      return { code: 'FAILED', says: `It failed ${times} with: ${reason}` };
    }
    case 'DEAD':
      return { code: 'DEAD', says: `It is dead: ${reason}${detailOf(tasks, row)}` };
    case 'WAITING': {
      const waitMs = tasks.dueAtMs.get(row) - nowMs;
      if (waitMs > 0 && tasks.failures.get(row) > 0 && lastEnd(tasks, row) === 'fail') {
        return {
          code: 'BACKOFF',
          says: `It is tried again in ${spanText(waitMs)}, after it failed with: ${reason}`,
        };
      }
      if (waitMs > 0) return { code: 'DELAYED', says: `It is not due for another ${spanText(waitMs)}.` };
      if (queue.paused) return { code: 'QUEUE_PAUSED', says: `The queue ${queue.name} is paused.` };
      const limit = limitOn(tasks, row, nowMs);
      if (limit !== null) return limit;
      return {
        code: 'WAITING_FOR_WORKER',
        says: `It is due, and waits for a worker to ask the queue ${queue.name}.`,
      };
    }
  }
}

/** The limit that keeps a due task from being leased; null when none does. */
function limitOn(tasks: State['tasks'], row: TaskRow, nowMs: number): Reason | null {
  const { keys } = tasks;
  const queue = tasks.queueOf(row);
  const key = tasks.keyOf(row);
  const { maxLeased, maxLeasedPerKey, rate } = queue.limits ?? NO_LIMITS;
  if (maxLeased !== null && queue.lists.count('LEASED') >= maxLeased) {
    return {
      code: 'LIMITED_BY_QUEUE',
      says: `The queue ${queue.name} has ${maxLeased} leased, as many as its limit allows.`,
    };
  }
  if (key !== 0 && maxLeasedPerKey !== null && keys.leased.get(key) >= maxLeasedPerKey) {
    return {
      code: 'LIMITED_BY_KEY',
      says: `Its key ${keys.text.get(key)} has ${maxLeasedPerKey} leased, as many as the limit of the queue ${queue.name} allows${runningOf(tasks, row, nowMs)}.`,
    };
  }
  const window = queue.windowOf(key);
  if (rate === null || window === 0) return null;
  const what = rate.perKey ? `Its key ${keys.text.get(key)}` : `The queue ${queue.name}`;
  const opensAtMs = keys.windows.opensAtMs(window, rate);
  if (opensAtMs > nowMs) {
    return {
      code: 'RATE_LIMITED',
      says: `${what} has used up its rate of ${rate.count} in ${spanText(rate.perMs)}; the next one may be leased in ${spanText(opensAtMs - nowMs)}.`,
      opensAtMs,
    };
  }
  if (keys.hasRoom()) return null;
  return { code: 'RATE_LIMITED', says: `${what} waits until the grants of other keys no longer count.` };
}

/** How long its worker has had it; null where the grant lies before the checkpoint that the state was restored from. */
function heldForMs({ leases, lease }: State['tasks'], row: TaskRow, nowMs: number): number | null {
  const grantedAtMs = leases.grantedAtMs.get(lease.get(row));
  return grantedAtMs === 0 ? null : Math.max(0, nowMs - grantedAtMs);
}

/** `t-7 for 12 min 3 s`. */
function heldText(tasks: State['tasks'], row: TaskRow, nowMs: number): string {
  const heldMs = heldForMs(tasks, row, nowMs);
  return `${tasks.idOf(row)}${heldMs === null ? '' : ` for ${spanText(heldMs)}`}`;
}

/** The oldest task that a worker has, and how many more; null when it has none. */
export function heldBy({ tasks }: State, workerId: string, nowMs: number): string | null {
  const held = tasks.leases.byWorker.of(workerId);
  const [row] = held?.ascending(0) ?? [];
  if (held === null || row === undefined) return null;
  const more = held.size - 1;
  return `${heldText(tasks, row, nowMs)}${more === 0 ? '' : ` and ${more} more`}`;
}

/** Leased tasks of its key, searched among the oldest of its queue. */
function runningOf(tasks: State['tasks'], row: TaskRow, nowMs: number): string {
  const key = tasks.groupKey.get(row);
  const found: string[] = [];
  let looked = 0;
  for (const other of tasks.queueOf(row).lists.of('LEASED')?.ascending(0) ?? []) {
    if (looked === LOOKED_AT_MAX || found.length === NAMED_MAX) break;
    looked += 1;
    if (tasks.groupKey.get(other) === key) found.push(heldText(tasks, other, nowMs));
  }
  return found.length === 0 ? '' : `: ${found.join(', ')}`;
}

/** The text of the caller that cancelled it. */
function detailOf(tasks: State['tasks'], row: TaskRow): string {
  const detail = tasks.reasonDetail.get(row);
  return detail === null ? '' : `: ${detail}`;
}

function lastEnd(tasks: State['tasks'], row: TaskRow): string {
  const lease = tasks.lease.get(row);
  return lease === 0 ? 'none' : tasks.leases.endOf(lease);
}
