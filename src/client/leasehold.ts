/**
 * What `connect` and `open` give. `task`, `lease` and `object` hold the operations as the wire has them;
 * the methods of the handle itself are made for programs: they hold leases, renew them and tell when they
 * are lost.
 */
import type { Reply } from '../protocol/problem.ts';
import type { Body, EntryRecord } from '../protocol/replies.ts';
import type { LogRequest } from '../protocol/requests.ts';
import type { AnyTask, TaskDefinition } from './define-task.ts';
import { type EnqueueOptions, type EnqueueReceipt, enqueue } from './enqueue.ts';
import { LeaseholdError } from './error.ts';
import { Guard, type Guarded, type GuardOptions } from './guard.ts';
import type { Lease, LeaseSet } from './lease-handle.ts';
import { type Acquired, type LeaseOptions, NamedLeases } from './named-leases.ts';
import {
  type LeaseOperations,
  leaseOperations,
  type ObjectOperations,
  objectOperations,
  type Run,
  run,
  type TaskOperations,
  taskOperations,
} from './operations.ts';
import { Receipt, type TaskReceipt } from './receipt.ts';
import type { EntryListing, Transport } from './transport.ts';
import type { TaskWorker } from './worker.ts';
import type { HandlerOf, Job, TaskHandler, WorkerOptions } from './worker-options.ts';
import { startWorker } from './worker-start.ts';
import type { ClientWorld } from './world.ts';

export class Leasehold implements AsyncDisposable {
  readonly task: TaskOperations;
  readonly lease: LeaseOperations;
  readonly object: ObjectOperations;
  /** Extends every listed lease and tells which are lost. */
  readonly heartbeat: Run<'worker.heartbeat'>;
  readonly pause: Run<'queue.pause'>;
  readonly resume: Run<'queue.resume'>;
  private readonly transport: Transport;
  private readonly world: ClientWorld;
  private readonly leases: NamedLeases;
  /** Aborted by `close`: whatever runs in the background ends. */
  private readonly closing = new AbortController();

  constructor(transport: Transport, world: ClientWorld) {
    this.transport = transport;
    this.world = world;
    this.leases = new NamedLeases(transport, world);
    this.task = taskOperations(transport);
    this.lease = leaseOperations(transport);
    this.object = objectOperations(transport);
    this.heartbeat = run(transport, 'worker.heartbeat');
    this.pause = run(transport, 'queue.pause');
    this.resume = run(transport, 'queue.resume');
  }

  /**
   * Runs `work` while it holds the lease, and gives it back in any case. Throws `LEASE_HELD` when it is not to be had
   * within `wait`. When it is lost, `lease.signal` aborts, `work` is awaited, and then `LEASE_LOST` is thrown.
   */
  withLease<T>(name: string, options: LeaseOptions, work: (lease: Lease) => Promise<T> | T): Promise<T> {
    return this.leases.withLease(name, options, work);
  }

  /** A lease that renews itself until it is released or lost; `LEASE_HELD` is thrown. */
  acquire(name: string, options?: LeaseOptions): Promise<Lease> {
    return this.leases.acquire(name, options);
  }

  /** The same, with every refusal as a result. */
  tryAcquire(name: string, options?: LeaseOptions): Promise<Acquired> {
    return this.leases.tryAcquire(name, options);
  }

  /** All of the names under one fencing number, or none. */
  acquireAll(names: readonly string[], options?: LeaseOptions): Promise<LeaseSet> {
    return this.leases.acquireAll(names, options);
  }

  /** Makes this process the only one of its kind while `main` runs, and ends it when that can no longer be proven. */
  guard<T>(options: GuardOptions, main: (guarded: Guarded) => Promise<T> | T): Promise<T> {
    return new Guard(this.transport, this.world, this.leases).run(options, main);
  }

  /** Makes a task. What does not fit its definition makes none and throws INVALID_TASK. */
  enqueue<Input, Output>(
    definition: TaskDefinition<Input, Output, unknown, unknown>,
    input: NoInfer<Input>,
    options?: EnqueueOptions,
  ): Promise<EnqueueReceipt<Output>> {
    return enqueue(this.transport, this.world, definition, input, options);
  }

  /** The receipt of a task that somebody else enqueued, or that was enqueued before a restart. */
  receipt<Output>(
    definition: TaskDefinition<unknown, Output, unknown, unknown>,
    taskId: string,
  ): TaskReceipt<Output> {
    return new Receipt(this.transport, this.world, definition, taskId);
  }

  /** Leases tasks of one kind and runs the handler for each, until the worker is drained. */
  work<Input, Output, Accepted, Returned>(
    definition: TaskDefinition<Input, Output, Accepted, Returned>,
    options: WorkerOptions,
    handler: TaskHandler<NoInfer<Accepted>, NoInfer<Returned>>,
  ): TaskWorker {
    return this.startWorker(options, [[definition, handler]]);
  }

  /** The same for several kinds, each with its handler; they share the concurrency. */
  worker<const Tasks extends readonly AnyTask[]>(
    options: WorkerOptions,
    jobs: { readonly [K in keyof Tasks]: readonly [Tasks[K], HandlerOf<Tasks[K]>] },
  ): TaskWorker {
    return this.startWorker(options, jobs);
  }

  private startWorker(options: WorkerOptions, jobs: readonly (readonly unknown[])[]): TaskWorker {
    const { transport, world, closing } = this;
    const pairs = jobs.map(([definition, handler]) => ({ definition, handler }) as Job);
    return startWorker(transport, world, closing.signal, options, pairs);
  }

  async queues(): Promise<Body<'queue.list'>> {
    return granted(await this.transport.call('queue.list', {}));
  }

  /** Who was heard of lately; soft state that starts empty. */
  async workers(): Promise<Body<'worker.list'>> {
    return granted(await this.transport.call('worker.list', {}));
  }

  async status(): Promise<Body<'status.get'>> {
    return granted(await this.transport.call('status.get', {}));
  }

  /** Durable entries from a position on; without one, from the first that is kept. */
  log(request: Omit<LogRequest, 'follow'> = {}): Promise<Reply<EntryListing>> {
    return this.transport.log(request);
  }

  /** Entries as they become durable, from a position on; without one, from now on. Ends with the signal or the handle. */
  follow(
    options: { readonly from?: number; readonly signal?: AbortSignal } = {},
  ): AsyncIterable<EntryRecord> {
    const { signal } = this.closing;
    const ends = options.signal === undefined ? signal : AbortSignal.any([signal, options.signal]);
    return this.transport.follow(options.from ?? null, ends);
  }

  /** Lets go of the connections, or of the data directory. */
  async close(): Promise<void> {
    this.closing.abort(new Error('The handle has been closed.'));
    this.leases.keeper.close();
    await this.transport.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** The body, for calls that only somebody without the right scope is refused. */
function granted<T extends { readonly ok: true }>(reply: Reply<T>): T {
  if (reply.ok) return reply;
  throw LeaseholdError.of(reply);
}
