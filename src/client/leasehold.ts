/**
 * What `connect` and `open` give a process. `task`, `lease`, `object` and `session` hold the operations as the wire has
 * them; the methods of the handle itself are made for programs: they hold leases, renew them, tell when they are lost,
 * and run tasks.
 */
import { Client } from './client.ts';
import type { AnyTask, TaskDefinition } from './define-task.ts';
import { type EnqueueOptions, type EnqueueReceipt, enqueue } from './enqueue.ts';
import { Guard, type Guarded, type GuardOptions } from './guard.ts';
import { Receipt, type TaskReceipt } from './receipt.ts';
import { type SessionHandle, sessionHandle } from './session-handle.ts';
import type { Transport } from './transport.ts';
import type { TaskWorker } from './worker.ts';
import type { HandlerOf, Job, TaskHandler, WorkerOptions } from './worker-options.ts';
import { startWorker } from './worker-start.ts';
import type { ClientWorld } from './world.ts';

export class Leasehold extends Client {
  readonly session: SessionHandle;

  constructor(transport: Transport, world: ClientWorld) {
    super(transport, world);
    this.session = sessionHandle(transport, (options) => this.follow(options));
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
    if (!Array.isArray(jobs) || !jobs.every((job) => Array.isArray(job))) {
      throw new TypeError('worker takes options and a list of pairs, each a definition and its handler.');
    }
    const pairs = jobs.map(([definition, handler]) => ({ definition, handler }) as Job);
    return startWorker(transport, world, closing.signal, options, pairs);
  }
}
