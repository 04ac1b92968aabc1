/**
 * `defineTask`: what producers and workers of a task share, and nothing else. Its name is the queue, its input the
 * payload, the handler's return value the result, all as plain JSON: an HTTP client sees the same task. Values are sent
 * as given; the receiver gets them as its schema transforms them.
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

/** How often and when a failed task is retried. */
export interface RetryPolicy {
  /** The number of failures after which the task is FAILED; default 5. */
  readonly maxFailures?: number;
  /**
   * The delay before the second attempt, doubled with every further failure up to `maxBackoff`; default one second. For more
   * than five minutes pass `maxBackoff` too.
   */
  readonly backoff?: Duration;
  /** The maximum delay between attempts, the first included; default five minutes. */
  readonly maxBackoff?: Duration;
}

export interface TaskPolicy<Input = unknown> {
  /** How long a worker's lease lasts without renewal; the worker's own option takes precedence. */
  readonly ttl?: Duration;
  /** How long a handler may take before the attempt fails; no limit by default. The worker's own option takes precedence. */
  readonly timeout?: Duration;
  readonly retry?: RetryPolicy;
  /** The maximum number of attempts, so that a task that crashes its workers ends. */
  readonly maxAttempts?: number;
  /** −128 … 127; higher runs first. */
  readonly priority?: number;
  /** The customer or subject the task is for. Tasks can be searched by key, and limits can apply per key. */
  key?(input: NoInfer<Input>): string;
  /** At most one unfinished task of the queue has a given dedup key; enqueueing another returns the existing one. */
  dedupKey?(input: NoInfer<Input>): string;
  /** Creates a task with this input at each due time. Set by `lh.apply`; the schedule has the name of the task. */
  readonly schedule?: Cron & { readonly input: NoInfer<Input> };
  /** The concurrency and rate limits of the queue. Set by `lh.apply`, and by a worker before its first lease. */
  readonly limits?: Limits;
}

/**
 * `Input` is what `enqueue` takes and `Output` what `result` returns; `Accepted` is what the handler receives and
 * `Returned` what it returns. They differ only where a schema transforms. `Checkpoint` is what the handler saves.
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

/** A task definition of any type. */
export type AnyTask = TaskDefinition<unknown, unknown>;

/** A definition with this output. */
export type TaskOf<Output> = TaskDefinition<unknown, Output, unknown, unknown>;

/** The input type of a definition: `InputOf<typeof mail>`. */
export type InputOf<Definition> =
  Definition extends TaskDefinition<infer Input, infer _Output, infer _Accepted, infer _Returned>
    ? Input
    : never;

/** The output type of a definition. */
export type OutputOf<Definition> =
  Definition extends TaskDefinition<infer _Input, infer Output, infer _Accepted, infer _Returned>
    ? Output
    : never;

/** The schemas of a definition, all optional. */
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

/** A bare name has no `name` property, so its tasks would go to a queue that no worker reads. */
export function assertDefinition(definition: unknown): void {
  if (typeof definition === 'object' && typeof (definition as { name?: unknown } | null)?.name === 'string')
    return;
  throw new TypeError('Pass the definition that defineTask returned, not a task name or anything else.');
}

/** Without schemas, values are typed as declared and not checked at run time. */
export function defineTask<Input, Output = unknown, Checkpoint = unknown>(
  name: string,
  options?: TaskPolicy<Input> & { readonly [Side in keyof TaskSchemas]?: never },
): TaskDefinition<Input, Output, Input, Output, Checkpoint>;
/** With schemas, types are inferred and values are checked. */
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
  // Reports an invalid duration where it is defined rather than where it is first used.
  const { ttl, timeout, retry } = options;
  for (const duration of [ttl, timeout, retry?.backoff, retry?.maxBackoff]) {
    if (duration !== undefined) durationMs(duration);
  }
  return Object.freeze({ ...options, name }) as TaskDefinition<never, never>;
}
