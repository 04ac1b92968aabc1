/**
 * `schedules`: tasks of a definition, created at given times. The input is checked as `enqueue` checks it, once, when
 * the schedule is set; every task gets a copy of it.
 */
import type { Requests } from '../operations/table.ts';
import type { Json } from '../protocol/json.ts';
import { CRON_OPTIONS, type Cron, timesOf } from './cron.ts';
import type { AnyTask, TaskDefinition } from './define-task.ts';
import type { Listing, PageOptions } from './listing.ts';
import { ask, askFor, checkFilter, given, pages } from './queries.ts';
import { checkedTask, NO_OPTIONS } from './task-request.ts';
import type { Transport } from './transport.ts';
import { refuseUnknown } from './unknown-options.ts';

export interface Schedule {
  readonly name: string;
  readonly cron?: string;
  readonly everyMs?: number;
  readonly timezone: string;
  readonly queue: string;
  readonly payload: Json | null;
  readonly priority: number;
  readonly retry: {
    readonly maxFailures: number;
    readonly backoffMs: number;
    readonly maxBackoffMs: number;
  };
  readonly maxAttempts: number;
  readonly key?: string;
  readonly overlap: 'skip' | 'allow';
  readonly catchUp: 'none' | 'one' | 'all';
  readonly jitterMs: number;
  readonly startsAt?: string;
  readonly endsAt?: string;
  readonly paused: boolean;
  /** True when set by `apply`, false when set by hand. */
  readonly applied: boolean;
  /** The next due time; null while paused, and when none is left. */
  readonly nextAt: string | null;
  /** The next due time including jitter. */
  readonly nextFiresAt: string | null;
  readonly nextFive: readonly string[];
  /** The newest due time that fired or was skipped. */
  readonly lastDueAt: string | null;
  readonly lastTaskId: string | null;
  readonly createdAt: string;
  readonly seq: number;
}

export type ScheduleOptions<Input> = Cron & {
  readonly task: TaskDefinition<Input, unknown, unknown, unknown>;
  readonly input: NoInfer<Input>;
  readonly paused?: boolean;
};

export interface Schedules {
  /** Creates or replaces a schedule. Repeating the call changes nothing. */
  put<Input>(name: string, schedule: ScheduleOptions<Input>): Promise<Schedule>;
  /** Null when it does not exist. */
  get(name: string): Promise<Schedule | null>;
  /** All schedules, ordered by name. */
  list(options?: PageOptions): Listing<Schedule>;
  /** Stops the schedule until it is resumed. Due times missed while paused are not caught up. */
  pause(name: string): Promise<void>;
  resume(name: string): Promise<void>;
  /** Deletes the schedule; its tasks stay. False when it did not exist. */
  delete(name: string): Promise<boolean>;
  /** Creates one of its tasks now, even if it is paused or another task of it is running. */
  fire(name: string): Promise<{ readonly taskId: string }>;
}

const PUT_OPTIONS = [...CRON_OPTIONS, 'task', 'paused'];

export function schedulesOf(transport: Transport): Schedules {
  return {
    async put(name, schedule) {
      refuseUnknown(schedule, PUT_OPTIONS, 'schedules.put');
      const { task, input, paused, ...cron } = schedule;
      const request = await scheduleRequest(name, task as AnyTask, cron as Cron, input);
      const { created: _, ...set } = await ask(transport, 'schedule.put', {
        ...request,
        ...given('paused', paused),
      });
      return set;
    },
    get: (name) => askFor(transport, 'schedule.get', { name }, 'SCHEDULE_NOT_FOUND'),
    list(options = {}) {
      checkFilter(options, [], 'list');
      return pages(
        transport,
        'schedule.list',
        {},
        options,
        ({ schedules }): readonly Schedule[] => schedules,
      );
    },
    async pause(name) {
      await ask(transport, 'schedule.pause', { name });
    },
    async resume(name) {
      await ask(transport, 'schedule.resume', { name });
    },
    delete: async (name) =>
      (await askFor(transport, 'schedule.delete', { name }, 'SCHEDULE_NOT_FOUND')) !== null,
    async fire(name) {
      const { taskId } = await ask(transport, 'schedule.fire', { name });
      return { taskId };
    },
  };
}

export async function scheduleRequest(
  name: string,
  task: AnyTask,
  schedule: Cron,
  input: unknown,
): Promise<Requests['schedule.put']> {
  const { request } = await checkedTask(task, input, NO_OPTIONS);
  const { payload, queue = task.name, priority, retry, max_attempts, key } = request;
  return {
    name,
    ...timesOf(schedule),
    queue,
    payload,
    ...given('priority', priority),
    ...given('retry', retry),
    ...given('max_attempts', max_attempts),
    ...given('key', key),
  };
}
