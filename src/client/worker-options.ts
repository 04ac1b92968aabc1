/** What a worker is told: its options as people write them, and as the worker uses them, checked before anything is leased. */
import { LIMITS } from '../protocol/limits.ts';
import { type AnyTask, assertDefinition, type TaskDefinition } from './define-task.ts';
import { type Duration, durationMs } from './durations.ts';
import type { TaskContext } from './task-context.ts';
import type { TaskVerdict } from './task-verdict.ts';
import { refuseUnknown } from './unknown-options.ts';
import type { ClientWorld, DrainSignal } from './world.ts';

const DEFAULT_TTL = '30s';
const DEFAULT_GRACE = '10s';
const DEFAULT_WAIT = '30s';
/** The authority's own limit for one `task.lease`. */
const QUEUES_MAX = 100;

export interface WorkerOptions {
  /** How many tasks are worked on at once; 1 unless told. */
  readonly concurrency?: number;
  /** Who this is, in `GET /v1/workers` and in the history of tasks; made up unless told. */
  readonly workerId?: string;
  /** How long a lease lasts without renewal: after a crash, that long until somebody else gets the task. 30 s unless told. */
  readonly ttl?: Duration;
  /** How long a handler may take, whatever its definition says; then its signal aborts, and a second later the task has failed. */
  readonly timeout?: Duration;
  /** How long running handlers may go on once the worker is to stop; 10 s unless told. */
  readonly grace?: Duration;
  /** Drains the worker when it aborts. */
  readonly signal?: AbortSignal;
  /** The signals to the process that drain the worker: SIGTERM and SIGINT unless told. A second SIGINT ends the process. */
  readonly drainOn?: readonly DrainSignal[];
  /** Told of every verdict, in the order in which they are known. */
  readonly onVerdict?: (verdict: TaskVerdict) => void;
  /** Told once why the worker cannot go on. Unless given, that of `connect` is told, else it is written to stderr. */
  readonly onFault?: (fault: unknown) => void;
  /** Ends the worker once its queues have nothing for it and its own tasks are done; delayed ones are not waited for. */
  readonly stopWhenEmpty?: boolean;
  /** How long one poll waits for a task; 30 s unless told. @deprecated since 0.2, gone in 0.3: there is no need to choose it. */
  readonly wait?: Duration;
  /** @deprecated since 0.2, gone in 0.3: `drainOn`; false is an empty list. */
  readonly handleSignals?: boolean;
}

export type TaskHandler<Accepted, Returned> = (task: TaskContext<Accepted>) => Returned | Promise<Returned>;

/** A definition with what does the work; `job` makes one. */
export interface Job {
  readonly definition: AnyTask;
  readonly handler: TaskHandler<unknown, unknown>;
}

/** A definition and its handler, for `work` with several kinds of tasks. */
export function job<Accepted, Returned>(
  // biome-ignore lint/suspicious/noExplicitAny: what producers give and get does not matter to the handler.
  definition: TaskDefinition<any, any, Accepted, Returned>,
  handler: TaskHandler<Accepted, NoInfer<Returned>>,
): Job {
  return { definition, handler: handler as Job['handler'] };
}

/** The same as a worker has it. */
export interface TimedJob extends Job {
  /** How long the handler may take; null: as long as it likes. */
  readonly timeoutMs: number | null;
}

export interface WorkerSettings {
  readonly workerId: string;
  readonly concurrency: number;
  readonly ttlMs: number;
  readonly graceMs: number;
  readonly waitMs: number;
  readonly stopWhenEmpty: boolean;
  readonly onVerdict: ((verdict: TaskVerdict) => void) | null;
  readonly onFault: (fault: unknown) => void;
  readonly drainOn: readonly DrainSignal[];
  readonly jobs: ReadonlyMap<string, TimedJob>;
}

const OPTIONS = [
  'concurrency',
  'workerId',
  'ttl',
  'timeout',
  'grace',
  'signal',
  'drainOn',
  'onVerdict',
  'onFault',
  'stopWhenEmpty',
  'wait',
  'handleSignals',
];
const DRAIN_SIGNALS: readonly DrainSignal[] = ['SIGTERM', 'SIGINT'];
/** Timers take no more than 2^31 milliseconds. */
export const TIMEOUT_MAX_MS = 24 * 86_400_000;

export function settingsOf(options: WorkerOptions, jobs: readonly Job[], world: ClientWorld): WorkerSettings {
  refuseUnknown(options, OPTIONS, 'a worker');
  if (!jobs.every((each) => typeof each === 'object' && each !== null)) {
    throw new TypeError('The jobs of a worker are a list of what job gives.');
  }
  for (const { definition } of jobs) assertDefinition(definition);
  const { concurrency = 1 } = options;
  if (!Number.isSafeInteger(concurrency) || concurrency < 1) {
    throw new TypeError(`The concurrency ${String(concurrency)} is no whole number above zero.`);
  }
  const { signal, onVerdict, onFault } = options;
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new TypeError('The option signal must be an AbortSignal.');
  }
  for (const [name, call] of Object.entries({ onVerdict, onFault })) {
    if (call !== undefined && typeof call !== 'function') {
      throw new TypeError(`The option ${name} must be a function.`);
    }
  }
  return {
    workerId: options.workerId ?? `${world.label ?? 'worker'}:${world.newToken()}`,
    concurrency,
    ttlMs: bounded(options.ttl ?? shortestTtl(jobs) ?? DEFAULT_TTL, 'ttl', LIMITS.ttlMinMs, LIMITS.ttlMaxMs),
    graceMs: durationMs(options.grace ?? DEFAULT_GRACE, 'grace'),
    waitMs: bounded(options.wait ?? DEFAULT_WAIT, 'wait', 1, LIMITS.waitMaxMs),
    stopWhenEmpty: options.stopWhenEmpty ?? false,
    onVerdict: onVerdict ?? null,
    onFault: onFault ?? ((fault) => world.onFault?.(fault)),
    drainOn: drainOnOf(options),
    jobs: byQueue(jobs, options.timeout),
  };
}

function drainOnOf({ drainOn, handleSignals = true }: WorkerOptions): readonly DrainSignal[] {
  const signals = drainOn ?? (handleSignals ? DRAIN_SIGNALS : []);
  if (Array.isArray(signals) && signals.every((name) => DRAIN_SIGNALS.includes(name))) return signals;
  throw new TypeError(`The option drainOn must be a list of ${DRAIN_SIGNALS.join(' and ')}.`);
}

function byQueue(jobs: readonly Job[], timeout: Duration | undefined): ReadonlyMap<string, TimedJob> {
  const found = new Map<string, TimedJob>();
  for (const job of jobs) {
    const { name } = job.definition;
    if (typeof job.handler !== 'function') throw new TypeError(`Task ${name} has no function to handle it.`);
    if (found.has(name)) throw new TypeError(`Task ${name} has two handlers.`);
    const limit = timeout ?? job.definition.timeout;
    const timeoutMs = limit === undefined ? null : bounded(limit, 'timeout', 1, TIMEOUT_MAX_MS);
    found.set(name, { ...job, timeoutMs });
  }
  if (found.size === 0) throw new TypeError('A worker needs at least one task.');
  if (found.size > QUEUES_MAX)
    throw new TypeError(`A worker can have ${QUEUES_MAX} tasks, not ${found.size}.`);
  return found;
}

/** One call leases for all of them, so the shortest counts; renewals make up for it. */
function shortestTtl(jobs: readonly Job[]): Duration | undefined {
  let shortest: Duration | undefined;
  for (const {
    definition: { ttl },
  } of jobs) {
    if (ttl === undefined) continue;
    if (shortest === undefined || durationMs(ttl, 'ttl') < durationMs(shortest, 'ttl')) shortest = ttl;
  }
  return shortest;
}

function bounded(duration: Duration, what: string, minMs: number, maxMs: number): number {
  const ms = durationMs(duration, what);
  if (ms < minMs || ms > maxMs) {
    throw new TypeError(`The ${what} ${String(duration)} is not between ${minMs} and ${maxMs} ms.`);
  }
  return ms;
}
