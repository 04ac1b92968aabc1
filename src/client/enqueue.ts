/**
 * `enqueue`: makes a task by its definition. The input is checked as the worker will see it, after its way
 * through JSON; one that does not fit makes no task. The client chooses the id, so a lost reply is asked for
 * again and one call makes one task.
 */

import type { Requests } from '../operations/table.ts';
import { Json } from '../protocol/json.ts';
import { assertDefinition, RETRY_OPTIONS, type RetryPolicy, type TaskDefinition } from './define-task.ts';
import { type Duration, durationMs } from './durations.ts';
import { LeaseholdError } from './error.ts';
import { Receipt, type TaskReceipt } from './receipt.ts';
import { parseBy } from './standard-schema.ts';
import type { Transport } from './transport.ts';
import { refuseUnknown } from './unknown-options.ts';
import type { ClientWorld } from './world.ts';

export interface EnqueueOptions {
  /** The same id with the same input makes no second task, from wherever it comes. */
  readonly taskId?: string;
  /** While a task of this queue with the same key has not ended, there is no second one. */
  readonly dedupKey?: string;
  readonly delay?: Duration;
  /** These three stand before what the definition says. */
  readonly priority?: number;
  readonly retry?: RetryPolicy;
  readonly maxAttempts?: number;
}

export interface EnqueueReceipt<Output> extends TaskReceipt<Output> {
  /** Where in the log the task stands; it is durable. */
  readonly seq: number;
  /** The task was there already, by its id or its dedup key. */
  readonly duplicate: boolean;
}

class Enqueued<Output> extends Receipt<Output> implements EnqueueReceipt<Output> {
  readonly seq: number;
  readonly duplicate: boolean;

  constructor(
    transport: Transport,
    world: ClientWorld,
    definition: TaskDefinition<unknown, Output, unknown, unknown>,
    created: { readonly taskId: string; readonly seq: number; readonly duplicate: boolean },
  ) {
    super(transport, world, definition, created.taskId);
    this.seq = created.seq;
    this.duplicate = created.duplicate;
  }
}

const NO_OPTIONS: EnqueueOptions = {};
const OPTIONS = ['taskId', 'dedupKey', 'delay', 'priority', 'retry', 'maxAttempts'];

export async function enqueue<Input, Output>(
  transport: Transport,
  world: ClientWorld,
  definition: TaskDefinition<Input, Output, unknown, unknown>,
  input: Input,
  options: EnqueueOptions = NO_OPTIONS,
): Promise<EnqueueReceipt<Output>> {
  assertDefinition(definition);
  if (options !== NO_OPTIONS) {
    refuseUnknown(options, OPTIONS, 'enqueue');
    refuseUnknown(options.retry ?? {}, RETRY_OPTIONS, 'enqueue');
  }
  const payload = payloadOf(definition, input);
  if (definition.input !== undefined) {
    await parseBy(definition.input, payload.parse(), `The input of task ${definition.name}`);
  }
  const reply = await transport.call('task.create', requestOf(definition, payload, options));
  if (!reply.ok) throw LeaseholdError.of(reply);
  const { task_id: taskId, seq, duplicate = false } = reply;
  return new Enqueued(transport, world, definition, { taskId, seq, duplicate });
}

/** Made at once: what the caller does to its object afterwards is no longer part of the task. */
function payloadOf({ name }: TaskDefinition, input: unknown): Json {
  if (input instanceof Json) return input;
  try {
    return Json.of(input === undefined ? null : input);
  } catch (cause) {
    throw new LeaseholdError('INVALID_TASK', `The input of task ${name} has no JSON form.`, { cause });
  }
}

function requestOf(
  definition: TaskDefinition,
  payload: Json,
  options: EnqueueOptions,
): Requests['task.create'] {
  const request: Requests['task.create'] = { payload, queue: definition.name };
  if (options.taskId !== undefined) request.task_id = options.taskId;
  const priority = options.priority ?? definition.priority;
  const maxAttempts = options.maxAttempts ?? definition.maxAttempts;
  if (priority !== undefined) request.priority = priority;
  if (maxAttempts !== undefined) request.max_attempts = maxAttempts;
  if (definition.retry !== undefined || options.retry !== undefined)
    request.retry = retryOf({ ...definition.retry, ...options.retry });
  if (options.delay !== undefined) request.delay_ms = durationMs(options.delay, 'delay');
  if (options.dedupKey !== undefined) request.dedup_key = options.dedupKey;
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
