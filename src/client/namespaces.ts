/** The namespaces `tasks`, `queues`, `leases`, `objects` and `workers` of the handle. */
import type { RefusalCode } from '../core/refusals.ts';
import type { Entry } from '../protocol/entry-shapes.ts';
import {
  type Bulk,
  type BulkFilter,
  type CancelManyOptions,
  cancelMany,
  type RequeueManyOptions,
  requeueMany,
  type TaskIds,
} from './bulk.ts';
import type {
  LeaseInfo,
  ObjectInfo,
  QueueInfo,
  RefusedWrite,
  Task,
  TaskState,
  Why,
  WorkerInfo,
} from './infos.ts';
import { type Limits, shownLimits, wireLimits } from './limits.ts';
import { type Listing, listing, type PageOptions } from './listing.ts';
import { ask, askFor, checkFilter, given, pages } from './queries.ts';
import {
  type Cancelled,
  type CancelOptions,
  cancelTask,
  type Requeued,
  type RequeueOptions,
  requeueTask,
} from './task-operating.ts';
import type { Transport } from './transport.ts';
import { refuseUnknown } from './unknown-options.ts';

export interface TaskFilter extends PageOptions {
  readonly state?: TaskState;
  readonly queue?: string;
  readonly key?: string;
  /** Only tasks leased by this worker. */
  readonly workerId?: string;
  /** Both bounds are exclusive; a string is an instant in the format of `Task.createdAt`. */
  readonly createdAfter?: Date | string;
  readonly createdBefore?: Date | string;
  /** The order of creation; oldest first by default. */
  readonly order?: 'oldest' | 'newest';
}

export interface LeaseFilter extends PageOptions {
  readonly prefix?: string;
}

/** The options of `tasks.history` and `leases.history`. */
export interface HistoryOptions extends PageOptions {
  /** The first log position to search. */
  readonly from?: number;
}

export interface RefusalFilter {
  readonly objectId?: string;
  readonly code?: RefusalCode;
  readonly limit?: number;
}

export interface Tasks {
  /** Reads a task. Throws TASK_NOT_FOUND. */
  get(taskId: string): Promise<Task>;
  /** Explains why the task is not running. */
  why(taskId: string): Promise<Why>;
  /** Every log entry about the task, oldest first, as far back as the log reaches. */
  history(taskId: string, options?: HistoryOptions): Listing<Entry>;
  /**
   * Tasks in the order of their creation. Without a filter, and by queue, state, queue and state, key or workerId, the
   * lookup is indexed. With other combinations a page may have few tasks or none although more follow.
   */
  find(filter?: TaskFilter): Listing<Task>;
  /**
   * Runs an ended task again as a new task; the old one stays as it is. Repeating the call returns the same new task.
   * Throws TASK_NOT_ENDED.
   */
  requeue(taskId: string, options?: RequeueOptions): Promise<Requeued>;
  /**
   * Cancels a task: a waiting one ends now; a running one has its signal aborted and is never leased again. Throws
   * TASK_TERMINAL.
   */
  cancel(taskId: string, options?: CancelOptions): Promise<Cancelled>;
  /**
   * Runs many ended tasks again, each as a new task. With a filter this needs the scope `v1:admin`. Completed tasks match a
   * filter too unless its `state` says otherwise: for failed work pass `state: 'FAILED'`, and `'DEAD'` in a second call.
   */
  requeueMany(which: BulkFilter | TaskIds, options?: RequeueManyOptions): Bulk;
  /** Cancels many tasks. With a filter this needs the scope `v1:admin`. */
  cancelMany(which: BulkFilter | TaskIds, options?: CancelManyOptions): Bulk;
}

export interface Queues {
  list(): Promise<readonly QueueInfo[]>;
  /** Stops leasing tasks of the queue until it is resumed; existing leases continue. */
  pause(queue: string): Promise<void>;
  resume(queue: string): Promise<void>;
  /** Replaces all limits of the queue: an absent limit is removed, and null removes all. */
  setLimits(queue: string, limits: Limits | null): Promise<void>;
}

export interface Leases {
  /** The lease on the name; null when it is free. */
  get(name: string): Promise<LeaseInfo | null>;
  list(filter?: LeaseFilter): Listing<LeaseInfo>;
  /** Every log entry about the name or its object, oldest first, as far back as the log reaches. */
  history(name: string, options?: HistoryOptions): Listing<Entry>;
  /** Asks the holder to give way: its `lease.asked` aborts. True when the request reached the holder. Throws LEASE_NOT_FOUND. */
  ask(name: string, options: { readonly reason: string }): Promise<boolean>;
  /** Ends the lease of another holder; with `leaseSeq`, only if that is still the current lease. */
  break(name: string, options: { readonly reason: string; readonly leaseSeq?: number }): Promise<void>;
}

export interface Objects {
  /** Null when it does not exist. */
  get(objectId: string): Promise<ObjectInfo | null>;
  /** Writes refused by fences, newest first, as far as the leader remembers them. */
  refusals(filter?: RefusalFilter): Listing<RefusedWrite>;
}

export interface Workers {
  /** The workers seen recently. In memory only: empty after a server restart. */
  list(): Promise<readonly WorkerInfo[]>;
}

const HISTORY_OPTIONS = ['from'];
const TASK_FILTERS = ['state', 'queue', 'key', 'workerId', 'createdAfter', 'createdBefore', 'order'];

export function tasksOf(transport: Transport): Tasks {
  return {
    get: (taskId) => ask(transport, 'task.get', { task_id: taskId }),
    why: (taskId) => ask(transport, 'task.why', { task_id: taskId }),
    history(taskId, options = {}) {
      checkFilter(options, HISTORY_OPTIONS, 'history');
      const request = { task_id: taskId, ...given('from', options.from) };
      return pages(transport, 'task.history', request, options, entriesOf);
    },
    find(filter = {}) {
      checkFilter(filter, TASK_FILTERS, 'find');
      const request = {
        ...given('state', filter.state),
        ...given('queue', filter.queue),
        ...given('key', filter.key),
        ...given('worker_id', filter.workerId),
        ...given('created_after', instantOf(filter.createdAfter)),
        ...given('created_before', instantOf(filter.createdBefore)),
        ...given('order', filter.order),
      };
      return pages(transport, 'task.list', request, filter, ({ tasks }): readonly Task[] => tasks);
    },
    requeue: (taskId, options) => requeueTask(transport, taskId, options),
    cancel: (taskId, options) => cancelTask(transport, taskId, options),
    requeueMany: (which, options) => requeueMany(transport, which, options),
    cancelMany: (which, options) => cancelMany(transport, which, options),
  };
}

export function queuesOf(transport: Transport): Queues {
  return {
    async list() {
      const { queues } = await ask(transport, 'queue.list', {});
      return queues.map(({ limits, ...queue }) => ({
        ...queue,
        ...(limits === undefined ? {} : { limits: shownLimits(limits) }),
      }));
    },
    async pause(queue) {
      await ask(transport, 'queue.pause', { queue });
    },
    async resume(queue) {
      await ask(transport, 'queue.resume', { queue });
    },
    async setLimits(queue, limits) {
      await ask(transport, 'queue.limit', { queue, ...wireLimits(limits, `queue ${queue}`) });
    },
  };
}

export function leasesOf(transport: Transport): Leases {
  return {
    get: (name) => askFor(transport, 'lease.get', { name }, 'LEASE_NOT_FOUND'),
    list(filter = {}) {
      checkFilter(filter, ['prefix'], 'list');
      const request = given('prefix', filter.prefix);
      return pages(transport, 'lease.list', request, filter, ({ leases }): readonly LeaseInfo[] => leases);
    },
    history(name, options = {}) {
      checkFilter(options, HISTORY_OPTIONS, 'history');
      return pages(transport, 'lease.history', { name, ...given('from', options.from) }, options, entriesOf);
    },
    async ask(name, options) {
      refuseUnknown(options, ['reason'], 'ask');
      return (await ask(transport, 'lease.ask', { name, reason: options.reason })).told;
    },
    async break(name, options) {
      refuseUnknown(options, ['reason', 'leaseSeq'], 'break');
      const { reason, leaseSeq } = options;
      await ask(transport, 'lease.break', { name, reason, ...given('lease_seq', leaseSeq) });
    },
  };
}

export function objectsOf(transport: Transport): Objects {
  return {
    get: (objectId) => askFor(transport, 'object.get', { object_id: objectId }, 'OBJECT_NOT_FOUND'),
    refusals(filter = {}) {
      refuseUnknown(filter, ['objectId', 'code', 'limit'], 'refusals');
      const { objectId, code, limit } = filter;
      return listing(undefined, async () => {
        const { receipts } = await ask(transport, 'receipt.list', {
          ...given('object_id', objectId),
          // The authority checks the code, as for every caller.
          ...given('code', code as 'LEASE_EXPIRED' | undefined),
          ...given('limit', limit),
        });
        return { items: receipts as readonly RefusedWrite[], cursor: null };
      });
    },
  };
}

export function workersOf(transport: Transport): Workers {
  return { list: async () => (await ask(transport, 'worker.list', {})).workers };
}

function entriesOf({ entries }: { readonly entries: readonly unknown[] }): readonly Entry[] {
  return entries as readonly Entry[];
}

function instantOf(given: Date | string | undefined): string | undefined {
  return typeof given === 'object' ? given.toISOString() : given;
}
