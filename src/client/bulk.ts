/**
 * Requeues or cancels many tasks: those that match a filter, or those with the given ids. Nothing is sent before the
 * result is awaited or iterated. With a filter the authority searches for the tasks, one call after the other; tasks
 * created after the first call never match.
 */
import type { ErrorCode } from '../protocol/leasehold-error.ts';
import { type Duration, durationMs } from './durations.ts';
import type { TaskState } from './infos.ts';
import { ask, given } from './queries.ts';
import { NO_REASON } from './task-operating.ts';
import type { Transport } from './transport.ts';
import { refuseUnknown } from './unknown-options.ts';

/** What happened to one task. */
export interface BulkOutcome {
  readonly taskId: string;
  readonly ok: boolean;
  /** Why it was refused. */
  readonly code?: ErrorCode;
}

export interface BulkTotals {
  readonly done: number;
  readonly refused: number;
}

/**
 * Await it to run to the end and get the totals. Iterate it to get one outcome at a time; breaking out stops after the
 * call in flight.
 */
export interface Bulk extends AsyncIterable<BulkOutcome>, PromiseLike<BulkTotals> {}

/**
 * At least one field is required. Time bounds are exclusive; a string is an instant in the format of `Task.createdAt`.
 */
export interface BulkFilter {
  readonly queue?: string;
  readonly state?: TaskState;
  readonly key?: string;
  /** Only tasks leased by this worker. */
  readonly workerId?: string;
  /** Only tasks with exactly this `reason`. */
  readonly reason?: string;
  readonly createdAfter?: Date | string;
  readonly createdBefore?: Date | string;
  readonly endedAfter?: Date | string;
  readonly endedBefore?: Date | string;
}

/** Task ids from any iterable, such as a file or a query. */
export type TaskIds = AsyncIterable<string> | Iterable<string>;

export interface CancelManyOptions {
  /** Recorded in the log. */
  readonly reason?: string;
  /** Stops after the call in flight; awaiting or iterating then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** The maximum number of tasks. */
  readonly limit?: number;
}

export interface RequeueManyOptions extends CancelManyOptions {
  readonly delay?: Duration;
  /** The queue and priority of the new tasks; by default those of the ended tasks. */
  readonly queue?: string;
  readonly priority?: number;
}

const FILTERS: Readonly<Record<keyof BulkFilter, string>> = {
  queue: 'queue',
  state: 'state',
  key: 'key',
  workerId: 'worker_id',
  reason: 'reason',
  createdAfter: 'created_after',
  createdBefore: 'created_before',
  endedAfter: 'ended_after',
  endedBefore: 'ended_before',
};
const CANCEL_OPTIONS = ['reason', 'signal', 'limit'];
const REQUEUE_OPTIONS = [...CANCEL_OPTIONS, 'delay', 'queue', 'priority'];
const A_CALL_MAX = 1_000;
/** How many single calls are sent together; the transport batches them. */
const TOGETHER = 128;

export function requeueMany(
  transport: Transport,
  which: BulkFilter | TaskIds,
  options: RequeueManyOptions = {},
): Bulk {
  refuseUnknown(options, REQUEUE_OPTIONS, 'requeueMany');
  return many(transport, 'requeue', which, options);
}

export function cancelMany(
  transport: Transport,
  which: BulkFilter | TaskIds,
  options: CancelManyOptions = {},
): Bulk {
  refuseUnknown(options, CANCEL_OPTIONS, 'cancelMany');
  return many(transport, 'cancel', which, options);
}

function many(
  transport: Transport,
  action: 'requeue' | 'cancel',
  which: BulkFilter | TaskIds,
  options: RequeueManyOptions,
): Bulk {
  const { limit = Number.POSITIVE_INFINITY } = options;
  if (!(limit > 0)) throw new TypeError('The option limit must be a positive number.');
  const outcomes = isIds(which)
    ? () => byId(transport, action, which, options, limit)
    : byFilter(transport, action, which, options, limit);
  return bulk(outcomes);
}

function isIds(which: BulkFilter | TaskIds): which is TaskIds {
  if (typeof which !== 'object' || which === null)
    throw new TypeError('Pass a filter, or an iterable of task ids.');
  return Symbol.asyncIterator in which || Symbol.iterator in which;
}

function bulk(outcomes: () => AsyncGenerator<BulkOutcome>): Bulk {
  const totals = async (): Promise<BulkTotals> => {
    let done = 0;
    let refused = 0;
    for await (const { ok } of outcomes()) {
      if (ok) done += 1;
      else refused += 1;
    }
    return { done, refused };
  };
  return {
    // biome-ignore lint/suspicious/noThenProperty: awaiting it runs it to the end.
    then: (resolve, reject) => totals().then(resolve, reject),
    [Symbol.asyncIterator]: outcomes,
  };
}

function byFilter(
  transport: Transport,
  action: 'requeue' | 'cancel',
  wanted: BulkFilter,
  options: RequeueManyOptions,
  limit: number,
): () => AsyncGenerator<BulkOutcome> {
  const filter = wireFilter(wanted, `${action}Many`);
  const { reason = NO_REASON, signal } = options;
  const set = wireSet(options);
  return async function* () {
    let left = limit;
    let cursor: string | undefined;
    do {
      const answer = await ask(
        transport,
        'task.bulk',
        {
          action,
          filter,
          reason,
          ...(Object.keys(set).length === 0 ? {} : { set }),
          max: Math.min(left, A_CALL_MAX),
          ...given('cursor', cursor),
        },
        given('signal', signal),
      );
      for (const taskId of answer.taskIds) yield { taskId, ok: true };
      for (const { taskId, code } of answer.refused) yield { taskId, ok: false, code: code as ErrorCode };
      left -= answer.matched;
      cursor = answer.nextCursor;
    } while (cursor !== undefined && left > 0);
  };
}

async function* byId(
  transport: Transport,
  action: 'requeue' | 'cancel',
  ids: TaskIds,
  options: RequeueManyOptions,
  limit: number,
): AsyncGenerator<BulkOutcome> {
  const { reason, signal } = options;
  const end = async (taskId: string): Promise<BulkOutcome> => {
    const call = given('signal', signal);
    const reply =
      action === 'cancel'
        ? await transport.call('task.cancel', { task_id: taskId, reason: reason ?? NO_REASON }, call)
        : await transport.call(
            'task.requeue',
            { task_id: taskId, ...given('reason', reason), ...wireSet(options) },
            call,
          );
    return reply.ok ? { taskId, ok: true } : { taskId, ok: false, code: reply.code };
  };
  let taken: string[] = [];
  let left = limit;
  for await (const taskId of ids) {
    taken.push(taskId);
    left -= 1;
    if (left > 0 && taken.length < TOGETHER) continue;
    yield* await Promise.all(taken.map(end));
    taken = [];
    if (left <= 0) return;
  }
  yield* await Promise.all(taken.map(end));
}

function wireFilter(filter: BulkFilter, what: string): Record<string, string> {
  refuseUnknown(filter, Object.keys(FILTERS), what);
  const wire: Record<string, string> = {};
  for (const [name, value] of Object.entries(filter) as [keyof BulkFilter, Date | string | undefined][]) {
    if (value !== undefined) wire[FILTERS[name]] = typeof value === 'object' ? value.toISOString() : value;
  }
  return wire;
}

function wireSet({ delay, queue, priority }: RequeueManyOptions): {
  delay_ms?: number;
  queue?: string;
  priority?: number;
} {
  return {
    ...given('delay_ms', delay === undefined ? undefined : durationMs(delay, 'delay')),
    ...given('queue', queue),
    ...given('priority', priority),
  };
}
