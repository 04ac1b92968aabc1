/**
 * `defineTask`: what producers and workers of a task agree on, and nothing else. Its name is the queue, its
 * input the payload, the handler's return value the result, all as plain JSON: an HTTP client sees the
 * same task. What travels is the value as it was given; who receives it gets it as the schema gives it out.
 */
import { type Cron, checkSchedule } from './cron.ts';
import { type Duration, durationMs } from './durations.ts';
import { type Limits, wireLimits } from './limits.ts';
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
  /** Whom or what it is for: tasks can be found by it, and limits count by it. */
  key?(input: NoInfer<Input>): string;
  /** While a task of this queue with the same key has not ended, there is no second one. */
  dedupKey?(input: NoInfer<Input>): string;
  /** Creates a task with this input at each of its due times. Set by `lh.apply`; its name is that of the task. */
  readonly schedule?: Cron & { readonly input: NoInfer<Input> };
  /** How much of it runs at once and in a given time. Set by `lh.apply`, and by a worker before its first lease. */
  readonly limits?: Limits;
}

/**
 * `Input` is what `enqueue` takes and `Output` what `result` gives; `Accepted` is what the handler gets and
 * `Returned` what it returns. They differ only where a schema transforms. `Checkpoint` is what the handler saves on its way.
 */
export interface TaskDefinition<
  Input = unknown,
  Output = unknown,
  Accepted = Input,
  Returned = Output,
  Checkpoint = unknown,
> extends TaskPolicy<Input> {
  readonly name: string;
  readonly input?: StandardSchema<Input, Accepted>;
  readonly output?: StandardSchema<Returned, Output>;
  readonly checkpoint?: StandardSchema<unknown, Checkpoint>;
}

/** Any definition. */
export type AnyTask = TaskDefinition<unknown, unknown>;

/** One whose result is this. */
export type TaskOf<Output> = TaskDefinition<unknown, Output, unknown, unknown>;

/** What `enqueue` takes for a definition: `InputOf<typeof mail>`. */
export type InputOf<Definition> =
  Definition extends TaskDefinition<infer Input, infer _Output, infer _Accepted, infer _Returned>
    ? Input
    : never;

/** What its receipts give. */
export type OutputOf<Definition> =
  Definition extends TaskDefinition<infer _Input, infer Output, infer _Accepted, infer _Returned>
    ? Output
    : never;

/** The schemas of a definition, each of which may be left out. */
export interface TaskSchemas<
  I extends StandardSchema = StandardSchema,
  O extends StandardSchema = StandardSchema,
  C extends StandardSchema = StandardSchema,
> {
  readonly input?: I;
  readonly output?: O;
  readonly checkpoint?: C;
}

const SCHEMAS = ['input', 'output', 'checkpoint'] as const;
const KEYS = ['key', 'dedupKey'] as const;
const OPTIONS = [
  ...SCHEMAS,
  ...KEYS,
  'ttl',
  'timeout',
  'retry',
  'maxAttempts',
  'priority',
  'schedule',
  'limits',
];
export const RETRY_OPTIONS = ['maxFailures', 'backoff', 'maxBackoff'];

/** A name alone would be taken for a definition without one, and its tasks would go to a queue that no worker reads. */
export function assertDefinition(definition: unknown): void {
  if (typeof definition === 'object' && typeof (definition as { name?: unknown } | null)?.name === 'string')
    return;
  throw new TypeError('A task is named by what defineTask gives, not by a text or anything else.');
}

/** Without schemas, the types are what the program says and are not checked. */
export function defineTask<Input, Output = unknown, Checkpoint = unknown>(
  name: string,
  options?: TaskPolicy<Input> & { readonly [Side in keyof TaskSchemas]?: never },
): TaskDefinition<Input, Output, Input, Output, Checkpoint>;
/** With schemas, types come from them. */
export function defineTask<
  I extends StandardSchema = StandardSchema,
  O extends StandardSchema = StandardSchema,
  C extends StandardSchema = StandardSchema,
>(
  name: string,
  options: TaskPolicy<SchemaInput<I>> & TaskSchemas<I, O, C>,
): TaskDefinition<SchemaInput<I>, SchemaOutput<O>, SchemaOutput<I>, SchemaInput<O>, SchemaOutput<C>>;
export function defineTask(
  name: string,
  options: Omit<TaskPolicy<never>, 'schedule'> & TaskSchemas & { readonly schedule?: object } = {},
): TaskDefinition<never, never> {
  if (typeof name !== 'string' || name === '') throw new TypeError('A task needs a name: it is its queue.');
  refuseUnknown(options, OPTIONS, `task ${name}`);
  refuseUnknown(options.retry ?? {}, RETRY_OPTIONS, `task ${name}`);
  for (const side of SCHEMAS) {
    const schema = options[side];
    if (schema !== undefined && !isStandardSchema(schema)) {
      throw new TypeError(`The ${side} of task ${name} is not a Standard Schema.`);
    }
  }
  for (const key of KEYS) {
    if (options[key] !== undefined && typeof options[key] !== 'function') {
      throw new TypeError(`The ${key} of task ${name} must be a function of its input.`);
    }
  }
  if (options.schedule !== undefined) checkSchedule(options.schedule, `the schedule of task ${name}`);
  if (options.limits !== undefined) wireLimits(options.limits, `task ${name}`);
  // An invalid duration is reported where it was written, not where it is first used.
  const { ttl, timeout, retry } = options;
  for (const duration of [ttl, timeout, retry?.backoff, retry?.maxBackoff]) {
    if (duration !== undefined) durationMs(duration);
  }
  return Object.freeze({ ...options, name }) as TaskDefinition<never, never>;
}
