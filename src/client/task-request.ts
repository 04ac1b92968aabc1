/**
 * A task by its definition, as it is sent: `enqueue` sends it to the authority, `enqueueIn` of leasehold/postgres writes it
 * into an outbox. The input is checked as the worker will see it, after its way through JSON.
 */

import type { Requests } from '../operations/table.ts';
import { Json } from '../protocol/json.ts';
import { type AnyTask, assertDefinition, RETRY_OPTIONS, type RetryPolicy } from './define-task.ts';
import { type Duration, durationMs } from './durations.ts';
import { invalidTask, parseBy } from './standard-schema.ts';
import { refuseUnknown } from './unknown-options.ts';

/** Where a program is in a trace, as W3C Trace Context has it. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string;
}

export interface EnqueueOptions {
  /** The same id with the same input makes no second task, from wherever it comes. */
  readonly taskId?: string;
  readonly delay?: Duration;
  /** The trace that the task belongs to; with OpenTelemetry the current one by default. */
  readonly trace?: TraceContext;
  /** Gives up waiting for the answer; the task may have been made. */
  readonly signal?: AbortSignal;
  /** These five stand before what the definition says. */
  readonly key?: string;
  readonly dedupKey?: string;
  readonly priority?: number;
  readonly retry?: RetryPolicy;
  readonly maxAttempts?: number;
}

export const NO_OPTIONS: EnqueueOptions = {};
const OPTIONS = ['taskId', 'key', 'dedupKey', 'delay', 'signal', 'priority', 'retry', 'maxAttempts', 'trace'];

/** A task that is checked and can be sent. */
export interface CheckedTask {
  readonly request: Requests['task.create'];
  readonly options: EnqueueOptions;
}

export async function checkedTask(
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
  if (options.trace !== undefined) request.trace = { ...options.trace };
  return { request, options };
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
