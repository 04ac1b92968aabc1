/**
 * `enqueue` and `enqueueMany`: make tasks by their definition. The input is checked as the worker will see it, after its
 * way through JSON; one that does not fit makes no task. The client chooses the id, so a lost reply is retried
 * safely and one call makes one task.
 */

import type { Requests } from '../operations/table.ts';
import { Json } from '../protocol/json.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import {
  type AnyTask,
  assertDefinition,
  RETRY_OPTIONS,
  type RetryPolicy,
  type TaskDefinition,
  type TaskOf,
} from './define-task.ts';
import { type Duration, durationMs } from './durations.ts';
import type { TaskState } from './infos.ts';
import { type Receipt, TaskReceipt } from './receipt.ts';
import { invalidTask, parseBy } from './standard-schema.ts';
import type { Transport } from './transport.ts';
import { refuseUnknown } from './unknown-options.ts';
import type { ClientWorld } from './world.ts';

export interface EnqueueOptions {
  /** The same id with the same input makes no second task, from wherever it comes. */
  readonly taskId?: string;
  readonly delay?: Duration;
  /** Gives up waiting for the answer; the task may have been made. */
  readonly signal?: AbortSignal;
  /** These five stand before what the definition says. */
  readonly key?: string;
  readonly dedupKey?: string;
  readonly priority?: number;
  readonly retry?: RetryPolicy;
  readonly maxAttempts?: number;
}

/** One of several tasks of the same kind. */
export type EnqueueItem<Input> = EnqueueOptions & { readonly input: Input };

export interface EnqueueReceipt<Output> extends Receipt<Output> {
  /** Where in the log the task stands; it is durable. */
  readonly seq: number;
  /** The task was there already, by its id or its dedup key. */
  readonly duplicate: boolean;
  /** WAITING, unless it was there already: then as it was when the call was answered. */
  readonly state: TaskState;
  /** Why it ended, of a duplicate that is FAILED or DEAD; `tasks.requeue` runs it again. */
  readonly reason?: string;
}

/** What the authority said. */
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

const NO_OPTIONS: EnqueueOptions = {};
const OPTIONS = ['taskId', 'key', 'dedupKey', 'delay', 'signal', 'priority', 'retry', 'maxAttempts'];

/** A task that is checked and can be sent. */
interface CheckedTask {
  readonly request: Requests['task.create'];
  readonly options: EnqueueOptions;
}

export async function enqueue<Input, Output>(
  transport: Transport,
  world: ClientWorld,
  definition: TaskDefinition<Input, Output, unknown, unknown>,
  input: Input,
  options: EnqueueOptions = NO_OPTIONS,
): Promise<EnqueueReceipt<Output>> {
  return send(transport, world, definition, await checkedTask(definition, input, options));
}

/** Inputs are all checked before anything is sent. Every task is judged on its own; the first refusal is thrown once all are. */
export async function enqueueMany<Input, Output>(
  transport: Transport,
  world: ClientWorld,
  definition: TaskDefinition<Input, Output, unknown, unknown>,
  items: Iterable<EnqueueItem<Input>>,
): Promise<readonly EnqueueReceipt<Output>[]> {
  const tasks = await Promise.all(
    Array.from(items, ({ input, ...options }) => checkedTask(definition, input, options)),
  );
  const sent = await Promise.allSettled(tasks.map((task) => send(transport, world, definition, task)));
  return sent.map((each) => {
    if (each.status === 'rejected') throw each.reason;
    return each.value;
  });
}

async function checkedTask(
  definition: AnyTask,
  input: unknown,
  options: EnqueueOptions,
): Promise<CheckedTask> {
  assertDefinition(definition);
  if (options !== NO_OPTIONS) {
    refuseUnknown(options, OPTIONS, 'enqueue');
    refuseUnknown(options.retry ?? {}, RETRY_OPTIONS, 'enqueue');
  }
  const payload = payloadOf(definition, input);
  const shown = (): unknown => (input instanceof Json ? input.parse() : input);
  const key = options.key ?? definition.key?.(shown());
  const dedupKey = options.dedupKey ?? definition.dedupKey?.(shown());
  if (definition.input !== undefined) {
    await parseBy(definition.input, payload.parse(), `The input of task ${definition.name}`);
  }
  const request = requestOf(definition, payload, options);
  if (key !== undefined) request.key = key;
  if (dedupKey !== undefined) request.dedup_key = dedupKey;
  return { request, options };
}

async function send<Output>(
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

/** Made at once: what the caller does to its object afterwards is no longer part of the task. */
function payloadOf({ name }: AnyTask, input: unknown): Json {
  if (input instanceof Json) return input;
  try {
    return Json.of(input === undefined ? null : input);
  } catch (cause) {
    throw invalidTask(`The input of task ${name} has no JSON form.`, { cause });
  }
}

function requestOf(definition: AnyTask, payload: Json, options: EnqueueOptions): Requests['task.create'] {
  const request: Requests['task.create'] = { payload, queue: definition.name };
  if (options.taskId !== undefined) request.task_id = options.taskId;
  const priority = options.priority ?? definition.priority;
  const maxAttempts = options.maxAttempts ?? definition.maxAttempts;
  if (priority !== undefined) request.priority = priority;
  if (maxAttempts !== undefined) request.max_attempts = maxAttempts;
  if (definition.retry !== undefined || options.retry !== undefined)
    request.retry = retryOf({ ...definition.retry, ...options.retry });
  if (options.delay !== undefined) request.delay_ms = durationMs(options.delay, 'delay');
  return request;
}

function retryOf({
  maxFailures,
  backoff,
  maxBackoff,
}: RetryPolicy): NonNullable<Requests['task.create']['retry']> {
  return {
    ...(maxFailures === undefined ? {} : { max_failures: maxFailures }),
    ...(backoff === undefined ? {} : { backoff_ms: durationMs(backoff, 'backoff') }),
    ...(maxBackoff === undefined ? {} : { max_backoff_ms: durationMs(maxBackoff, 'maxBackoff') }),
  };
}
