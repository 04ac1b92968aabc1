/**
 * `defineTask`: what producers and workers of a task agree on, and nothing else. Its name is the queue, its
 * input the payload, the handler's return value the result, all as plain JSON: an HTTP client sees the
 * same task. What travels is the value as it was given; who receives it gets it as the schema gives it out.
 */
import { type Duration, durationMs } from './durations.ts';
import {
  isStandardSchema,
  type SchemaInput,
  type SchemaOutput,
  type StandardSchema,
} from './standard-schema.ts';
import { refuseUnknown } from './unknown-options.ts';

/** What happens when a handler fails. */
export interface RetryPolicy {
  /** The failure that is final; default 5. */
  readonly maxFailures?: number;
  /** Before the second attempt, doubled with every further failure; default one second. */
  readonly backoff?: Duration;
  /** Default five minutes. */
  readonly maxBackoff?: Duration;
}

export interface TaskPolicy<Input = unknown> {
  /** How long a worker's lease lasts between renewals, unless the worker says otherwise. */
  readonly ttl?: Duration;
  /** How long a handler may take before the task has failed, unless the worker says otherwise; no limit by default. */
  readonly timeout?: Duration;
  readonly retry?: RetryPolicy;
  /** How often it may be started at all, so that a task that kills its workers ends. */
  readonly maxAttempts?: number;
  /** −128 … 127, higher first. */
  readonly priority?: number;
  /** While a task of this queue with the same key has not ended, there is no second one. */
  dedupKey?(input: Input): string;
}

/**
 * `Input` is what `enqueue` takes and `Output` what `result` gives; `Accepted` is what the handler gets and
 * `Returned` what it returns. They differ only where a schema transforms.
 */
export interface TaskDefinition<Input = unknown, Output = unknown, Accepted = Input, Returned = Output>
  extends TaskPolicy<Input> {
  readonly name: string;
  readonly input?: StandardSchema<Input, Accepted>;
  readonly output?: StandardSchema<Returned, Output>;
}

/** Any definition. */
export type AnyTask = TaskDefinition<unknown, unknown>;

/** One whose result is this. */
export type TaskOf<Output> = TaskDefinition<unknown, Output, unknown, unknown>;

type WithInput<I extends StandardSchema> = TaskPolicy<SchemaInput<I>> & {
  readonly input: I;
  readonly output?: undefined;
};
type WithOutput<O extends StandardSchema, Input> = TaskPolicy<Input> & {
  readonly input?: undefined;
  readonly output: O;
};
type WithBoth<I extends StandardSchema, O extends StandardSchema> = TaskPolicy<SchemaInput<I>> & {
  readonly input: I;
  readonly output: O;
};
type WithNeither<Input> = TaskPolicy<Input> & { readonly input?: undefined; readonly output?: undefined };

const OPTIONS = ['input', 'output', 'ttl', 'timeout', 'retry', 'maxAttempts', 'priority', 'dedupKey'];
export const RETRY_OPTIONS = ['maxFailures', 'backoff', 'maxBackoff'];

/** A name alone would be taken for a definition without one, and its tasks would go to a queue that no worker reads. */
export function assertDefinition(definition: unknown): void {
  if (typeof definition === 'object' && typeof (definition as { name?: unknown } | null)?.name === 'string')
    return;
  throw new TypeError('A task is named by what defineTask gives, not by a text or anything else.');
}

/** With schemas, types come from them. */
export function defineTask<I extends StandardSchema, O extends StandardSchema>(
  name: string,
  options: WithBoth<I, O>,
): TaskDefinition<SchemaInput<I>, SchemaOutput<O>, SchemaOutput<I>, SchemaInput<O>>;
export function defineTask<I extends StandardSchema, Output = unknown>(
  name: string,
  options: WithInput<I>,
): TaskDefinition<SchemaInput<I>, Output, SchemaOutput<I>>;
export function defineTask<O extends StandardSchema, Input = unknown>(
  name: string,
  options: WithOutput<O, Input>,
): TaskDefinition<Input, SchemaOutput<O>, Input, SchemaInput<O>>;
/** Without schemas, the types are what the program says and are not checked. */
export function defineTask<Input = unknown, Output = unknown>(
  name: string,
  options?: WithNeither<NoInfer<Input>>,
): TaskDefinition<Input, Output>;
export function defineTask(
  name: string,
  options: TaskPolicy<never> & {
    readonly input?: StandardSchema | undefined;
    readonly output?: StandardSchema | undefined;
  } = {},
): TaskDefinition<never, never> {
  if (typeof name !== 'string' || name === '') throw new TypeError('A task needs a name: it is its queue.');
  refuseUnknown(options, OPTIONS, `task ${name}`);
  refuseUnknown(options.retry ?? {}, RETRY_OPTIONS, `task ${name}`);
  for (const side of ['input', 'output'] as const) {
    const schema = options[side];
    if (schema !== undefined && !isStandardSchema(schema)) {
      throw new TypeError(`The ${side} of task ${name} is not a Standard Schema.`);
    }
  }
  if (options.dedupKey !== undefined && typeof options.dedupKey !== 'function') {
    throw new TypeError(`The dedupKey of task ${name} must be a function of its input.`);
  }
  // An invalid duration is reported where it was written, not where it is first used.
  const { ttl, timeout, retry } = options;
  for (const duration of [ttl, timeout, retry?.backoff, retry?.maxBackoff]) {
    if (duration !== undefined) durationMs(duration);
  }
  return Object.freeze({ ...options, name }) as TaskDefinition<never, never>;
}
