/**
 * `enqueue` and `enqueueMany`: create tasks from a definition. An input that does not fit its schema creates no task.
 * The client generates the id, so a lost reply is retried safely and one call creates one task.
 */

import { LeaseholdError } from '../protocol/leasehold-error.ts';
import type { AnyTask, TaskDefinition, TaskOf } from './define-task.ts';
import type { TaskState } from './infos.ts';
import { type Receipt, TaskReceipt } from './receipt.ts';
import {
  type CheckedTask,
  checkedTask,
  delayFields,
  type EnqueueOptions,
  NO_OPTIONS,
} from './task-request.ts';
import type { Transport } from './transport.ts';
import type { ClientWorld } from './world.ts';

/** One task of an `enqueueMany` call. */
export type EnqueueItem<Input> = EnqueueOptions & { readonly input: Input };

export interface EnqueueReceipt<Output> extends Receipt<Output> {
  /** The position in the log at which the task is durable. */
  readonly seq: number;
  /** A task with the same id or dedup key already existed. */
  readonly duplicate: boolean;
  /** WAITING for a new task; for a duplicate its state when the call was answered. */
  readonly state: TaskState;
  /** Why a duplicate is FAILED or DEAD; `tasks.requeue` runs it again. */
  readonly reason?: string;
}

/** The authority's answer. */
type Created = Pick<EnqueueReceipt<unknown>, 'taskId' | 'seq' | 'duplicate' | 'state' | 'reason'>;

class Enqueued<Output> extends TaskReceipt<Output> implements EnqueueReceipt<Output> {
  readonly seq: number;
  readonly duplicate: boolean;
  readonly state: TaskState;
  declare readonly reason?: string;

  constructor(transport: Transport, world: ClientWorld, definition: TaskOf<Output>, created: Created) {
    super(transport, world, definition, created.taskId);
    this.seq = created.seq;
    this.duplicate = created.duplicate;
    this.state = created.state;
    if (created.reason !== undefined) this.reason = created.reason;
  }
}

export async function enqueue<Input, Output>(
  transport: Transport,
  world: ClientWorld,
  definition: TaskDefinition<Input, Output, unknown, unknown>,
  input: Input,
  options: EnqueueOptions = NO_OPTIONS,
): Promise<EnqueueReceipt<Output>> {
  return send(transport, world, definition, await checked(world, definition, input, options));
}

/**
 * All inputs are checked before anything is sent. Each task is accepted or refused by itself; the first refusal is
 * thrown after all are answered.
 */
export async function enqueueMany<Input, Output>(
  transport: Transport,
  world: ClientWorld,
  definition: TaskDefinition<Input, Output, unknown, unknown>,
  items: Iterable<EnqueueItem<Input>>,
): Promise<readonly EnqueueReceipt<Output>[]> {
  const tasks = await Promise.all(
    Array.from(items, ({ input, ...options }) => checked(world, definition, input, options)),
  );
  const sent = await Promise.allSettled(tasks.map((task) => send(transport, world, definition, task)));
  return sent.map((each) => {
    if (each.status === 'rejected') throw each.reason;
    return each.value;
  });
}

async function checked(
  { clock }: ClientWorld,
  definition: AnyTask,
  input: unknown,
  options: EnqueueOptions,
): Promise<CheckedTask> {
  const task = await checkedTask(definition, input, options);
  Object.assign(task.request, delayFields(options, clock.wallMs()));
  return task;
}

async function send<Output>(
  transport: Transport,
  world: ClientWorld,
  definition: TaskOf<Output>,
  task: CheckedTask,
): Promise<EnqueueReceipt<Output>> {
  const { request } = task;
  if (world.traces === undefined || request.trace !== undefined)
    return create(transport, world, definition, task);
  return world.traces.sending({ queue: definition.name, taskId: request.task_id }, (trace) => {
    if (trace !== undefined) request.trace = trace;
    return create(transport, world, definition, task);
  });
}

async function create<Output>(
  transport: Transport,
  world: ClientWorld,
  definition: TaskOf<Output>,
  { request, options: { signal } }: CheckedTask,
): Promise<EnqueueReceipt<Output>> {
  const reply = await transport.call('task.create', request, signal === undefined ? undefined : { signal });
  if (!reply.ok) throw LeaseholdError.of(reply);
  const { task_id: taskId, duplicate = false } = reply;
  return new Enqueued(transport, world, definition, { ...reply, taskId, duplicate });
}
