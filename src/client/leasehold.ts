/**
 * The handle that `connect` and `open` return: leases, tasks, workers, guards and sessions, with camelCase fields,
 * durations and exceptions. Only `call` takes wire requests.
 */
import type { LogRequest } from '../operations/pages.ts';
import type { Reply } from '../protocol/problem.ts';
import { type Applied, apply } from './apply.ts';
import { Client, closingOf, endOf, namedLeasesOf, optionsAndWork, transportOf } from './client.ts';
import type { AnyTask, TaskDefinition } from './define-task.ts';
import {
  deprecatedOperations,
  deprecatedSession,
  type WireOperations,
  type WireSession,
} from './deprecated.ts';
import { type Duration, durationMs } from './durations.ts';
import { type EnqueueItem, type EnqueueReceipt, enqueue, enqueueMany } from './enqueue.ts';
import { Guard, type GuardedMain, type GuardOptions } from './guard.ts';
import { type Receipt, TaskReceipt } from './receipt.ts';
import { type Schedules, schedulesOf } from './schedules.ts';
import { type Sessions, sessionsOf } from './sessions.ts';
import { sleep } from './sleep.ts';
import type { EnqueueOptions } from './task-request.ts';
import type { EntryListing, Transport } from './transport.ts';
import { refuseUnknown } from './unknown-options.ts';
import type { Worker } from './worker.ts';
import type { HandlerOf, Job, TaskHandler, WorkerOptions } from './worker-options.ts';
import { startWorker } from './worker-start.ts';
import type { ClientWorld } from './world.ts';

export interface CloseOptions {
  /** How long workers may drain first. By default unfinished tasks are handed back at once. */
  readonly grace?: Duration;
}

export class Leasehold extends Client {
  readonly sessions: Sessions;
  readonly schedules: Schedules;
  readonly #world: ClientWorld;
  readonly #workers = new Set<Worker>();
  readonly #wire: WireOperations;

  constructor(transport: Transport, world: ClientWorld) {
    super(transport, world);
    this.#world = world;
    this.schedules = schedulesOf(transport);
    this.#wire = deprecatedOperations(transport);
    this.sessions = sessionsOf(transport, world, (signal) => endOf(this, signal));
  }

  /**
   * Makes this process the only one of its kind while `main` runs, and ends the process when the guard lease is lost.
   */
  guard<T>(name: string, main: GuardedMain<T>): Promise<T>;
  guard<T>(name: string, options: GuardOptions, main: GuardedMain<T>): Promise<T>;
  /** @deprecated since 0.2, gone in 0.3: the name comes first. */
  guard<T>(options: GuardOptions & { readonly name: string }, main: GuardedMain<T>): Promise<T>;
  async guard<T>(
    subject: string | (GuardOptions & { readonly name: string }),
    ...rest: [GuardedMain<T>] | [GuardOptions, GuardedMain<T>]
  ): Promise<T> {
    const guard = new Guard(transportOf(this), this.#world, namedLeasesOf(this));
    const [options, main] = optionsAndWork<GuardOptions, GuardedMain<T>>(rest);
    if (typeof subject === 'string') return guard.run(subject, options, main);
    const { name, ...old } = subject;
    return guard.run(name, old, main);
  }

  /** Creates a task. An input that does not fit the definition throws INVALID_TASK, and no task is created. */
  enqueue<Input, Output>(
    definition: TaskDefinition<Input, Output, unknown, unknown>,
    input: NoInfer<Input>,
    options?: EnqueueOptions,
  ): Promise<EnqueueReceipt<Output>> {
    return enqueue(transportOf(this), this.#world, definition, input, options);
  }

  /**
   * Creates several tasks; receipts are in the order of the items. All inputs are checked before anything is sent. Each
   * task is accepted or refused by itself: when one is refused, its error is thrown, and the others are still created.
   */
  enqueueMany<Input, Output>(
    definition: TaskDefinition<Input, Output, unknown, unknown>,
    items: Iterable<EnqueueItem<NoInfer<Input>>>,
  ): Promise<readonly EnqueueReceipt<Output>[]> {
    return enqueueMany(transportOf(this), this.#world, definition, items);
  }

  /** The receipt of a task enqueued elsewhere or before a restart. Sends nothing. */
  receipt<Output>(
    definition: TaskDefinition<unknown, Output, unknown, unknown>,
    taskId: string,
  ): Receipt<Output> {
    return new TaskReceipt(transportOf(this), this.#world, definition, taskId);
  }

  /** Starts a worker that leases tasks and runs the handler for each, until it is drained. Several jobs share its concurrency. */
  work(jobs: readonly Job[], options?: WorkerOptions): Worker;
  work<Accepted, Returned, Checkpoint>(
    definition: TaskDefinition<unknown, unknown, Accepted, Returned, Checkpoint>,
    handler: TaskHandler<NoInfer<Accepted>, NoInfer<Returned>, NoInfer<Checkpoint>>,
  ): Worker;
  work<Accepted, Returned, Checkpoint>(
    definition: TaskDefinition<unknown, unknown, Accepted, Returned, Checkpoint>,
    options: WorkerOptions,
    handler: TaskHandler<NoInfer<Accepted>, NoInfer<Returned>, NoInfer<Checkpoint>>,
  ): Worker;
  work(subject: object, ...rest: readonly unknown[]): Worker {
    if (Array.isArray(subject)) return this.#start(subject, (rest[0] ?? {}) as WorkerOptions);
    const [options, handler] = optionsAndWork<WorkerOptions, Job['handler']>(rest as [Job['handler']]);
    return this.#start([{ definition: subject as Job['definition'], handler }], options);
  }

  /**
   * Sets the schedules and limits of the definitions and reports what was done with each. What an operator has set by
   * hand stays until it is removed. Run it once per deployment.
   */
  apply(definitions: readonly AnyTask[]): Promise<readonly Applied[]> {
    return apply(transportOf(this), definitions);
  }

  #start(jobs: readonly Job[], options: WorkerOptions): Worker {
    const worker = startWorker(transportOf(this), this.#world, closingOf(this), options, jobs);
    this.#workers.add(worker);
    worker.whenEnded(() => this.#workers.delete(worker));
    return worker;
  }

  /** Closes the connections, or the data directory. With `grace`, workers drain first. */
  override async close(options: CloseOptions = {}): Promise<void> {
    refuseUnknown(options, ['grace'], 'close');
    const { grace } = options;
    if (grace !== undefined && this.#workers.size > 0) {
      const drained = Promise.allSettled([...this.#workers].map((worker) => worker.drain()));
      const over = new AbortController();
      void drained.then(() => over.abort());
      await sleep(this.#world.timers, durationMs(grace, 'grace'), over.signal);
    }
    await super.close();
  }

  /** @deprecated since 0.2, gone in 0.3: `work(jobs, options)` with `job(definition, handler)`. */
  worker<const Tasks extends readonly AnyTask[]>(
    options: WorkerOptions,
    pairs: { readonly [K in keyof Tasks]: readonly [Tasks[K], HandlerOf<Tasks[K]>] },
  ): Worker {
    const given: readonly unknown[] = pairs;
    if (!Array.isArray(given) || !given.every((pair) => Array.isArray(pair))) {
      throw new TypeError('worker takes options and a list of pairs, each a definition and its handler.');
    }
    const jobs = given.map(([definition, handler]) => ({ definition, handler }) as Job);
    return this.#start(jobs, options);
  }

  /** @deprecated since 0.2, gone in 0.3: `call('task.…', request)`. */
  get task(): WireOperations['task'] {
    return this.#wire.task;
  }

  /** @deprecated since 0.2, gone in 0.3: `call('lease.…', request)`. */
  get lease(): WireOperations['lease'] {
    return this.#wire.lease;
  }

  /** @deprecated since 0.2, gone in 0.3: `call('object.…', request)`, `call('receipt.list', request)`. */
  get object(): WireOperations['object'] {
    return this.#wire.object;
  }

  /** @deprecated since 0.2, gone in 0.3: `sessions`, or `call('session.…', request)`. */
  get session(): WireSession {
    const transport = transportOf(this);
    return deprecatedSession(transport, (signal) => endOf(this, signal));
  }

  /** @deprecated since 0.2, gone in 0.3: `call('worker.heartbeat', request)`. */
  get heartbeat(): WireOperations['heartbeat'] {
    return this.#wire.heartbeat;
  }

  /** @deprecated since 0.2, gone in 0.3: `queues.pause`. */
  get pause(): WireOperations['pause'] {
    return this.#wire.pause;
  }

  /** @deprecated since 0.2, gone in 0.3: `queues.resume`. */
  get resume(): WireOperations['resume'] {
    return this.#wire.resume;
  }

  /** @deprecated since 0.2, gone in 0.3: `entries`. */
  log(request: Omit<LogRequest, 'follow'> = {}): Promise<Reply<EntryListing>> {
    return transportOf(this).log(request);
  }
}
