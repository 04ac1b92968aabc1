/**
 * The argument of a task handler. All members can be destructured; costly ones are created on first use.
 */
import { Json } from '../protocol/json.ts';
import { Deadline, momentOf } from '../seams/deadline.ts';
import { type Duration, durationMs } from './durations.ts';
import type { Held } from './held.ts';
import { lend } from './lease-handle.ts';
import { howToWrite } from './lease-writer.ts';
import { TaskCheckpoints } from './task-checkpoints.ts';
import { refusedFor } from './task-lease-refusal.ts';
import type { TaskRun } from './task-run.ts';
import type { Transport } from './transport.ts';
import type { ClientWorld } from './world.ts';

/**
 * The lease that a fenced write presents: a lease on the object's name, or just its numbers. The lease on a task does
 * not qualify.
 */
export type PresentedLease = Pick<Held, 'leaseSeq'> & { readonly holder?: string; readonly taskId?: never };

/**
 * The argument of a task handler. `signal` also aborts when the task is cancelled (LEASE_LOST with `details.loss`
 * `cancelled`: the lease is still held, and a result still counts), when the handler times out (TASK_TIMEOUT), and when
 * the worker stops (WORKER_STOPPING). The worker renews the lease; `extend` is for work that blocks the event loop.
 */
export interface TaskContext<Input, Checkpoint = unknown> extends Held {
  readonly input: Input;
  /** The input as sent, byte for byte. */
  readonly payload: Json;
  readonly taskId: string;
  readonly queue: string;
  /** The key of the task, if it was created with one. */
  readonly key: string | null;
  /** The W3C trace context of the program that created the task. */
  readonly traceparent: string | null;
  /** How many leases this task has been granted: 1 the first time. */
  readonly attempt: number;
  /** The last checkpoint of an earlier attempt. */
  readonly lastCheckpoint: Checkpoint | undefined;
  /**
   * Saves progress for the next attempt; durable once it resolves. Without `await`, at most one checkpoint a second is
   * sent, the newest. A call whose value was replaced resolves with the newer one. Throws INVALID_TASK and LEASE_LOST.
   */
  checkpoint(value: Checkpoint): Promise<void>;
  /**
   * Adds a fenced write to the completion: all writes and the result commit in one entry, or none do. `lease` is a
   * lease on the object's name that the handler has acquired; releasing it takes effect after the completion is
   * answered.
   */
  write(objectId: string, value: unknown, lease: PresentedLease): void;
}

export class HandlerContext implements TaskContext<unknown> {
  readonly input: unknown;
  readonly lastCheckpoint: unknown;
  readonly #run: TaskRun;
  readonly #transport: Transport;
  readonly #world: ClientWorld;

  constructor(
    { input, lastCheckpoint }: Pick<TaskContext<unknown>, 'input' | 'lastCheckpoint'>,
    run: TaskRun,
    transport: Transport,
    world: ClientWorld,
  ) {
    this.input = input;
    this.lastCheckpoint = lastCheckpoint;
    this.#run = run;
    this.#transport = transport;
    this.#world = world;
  }

  get payload(): Json {
    return this.#run.lease.payload;
  }

  get taskId(): string {
    return this.#run.lease.task_id;
  }

  get queue(): string {
    return this.#run.lease.queue;
  }

  get key(): string | null {
    return this.#run.lease.key ?? null;
  }

  get traceparent(): string | null {
    return this.#run.lease.trace?.traceparent ?? null;
  }

  get attempt(): number {
    return this.#run.lease.attempt;
  }

  get leaseSeq(): number {
    return this.#run.lease.lease_seq;
  }

  get signal(): AbortSignal {
    return this.#run.signal;
  }

  get remaining(): () => number {
    const run = this.#run;
    return () =>
      run.loss === null && !run.isSettling ? Math.max(0, run.deadline.remainingMs(this.#world.clock)) : 0;
  }

  get assertHeld(): () => void {
    const run = this.#run;
    return () => {
      if (run.isOver(this.#world.clock)) run.lose('expired');
      const { over } = run;
      if (over !== null) throw over;
    };
  }

  get extend(): (atLeast: Duration) => Promise<void> {
    return async (atLeast) =>
      extendLease(this.#run, durationMs(atLeast, 'time'), this.#transport, this.#world);
  }

  get checkpoint(): TaskContext<unknown>['checkpoint'] {
    const run = this.#run;
    run.checkpoints ??= new TaskCheckpoints(run, this.#transport, this.#world);
    return run.checkpoints.save;
  }

  get write(): TaskContext<unknown>['write'] {
    const run = this.#run;
    return (objectId, value, lease) => {
      if (run.isSettling) throw new TypeError('The task is done; nothing can be added to its completion.');
      if (typeof lease?.leaseSeq !== 'number')
        throw new TypeError('write takes the id of an object, its value, and the lease to write it under.');
      if ('taskId' in lease)
        throw new TypeError(`The lease on a task covers no object. ${howToWrite(objectId)}`);
      const { leaseSeq } = lease;
      const giveBack = lend(lease);
      if (giveBack !== null) run.lent = [...(run.lent ?? []), giveBack];
      const holder = lease.holder === undefined ? {} : { holder_id: lease.holder };
      const json = value instanceof Json ? value : Json.of(value);
      run.writes ??= [];
      run.writes.push({ object_id: objectId, value: json, lease: { lease_seq: leaseSeq, ...holder } });
    };
  }
}

async function extendLease(
  run: TaskRun,
  ttlMs: number,
  transport: Transport,
  { clock }: ClientWorld,
): Promise<void> {
  if (run.over !== null) throw run.over;
  const { task_id, lease_id } = run.lease;
  const sent = momentOf(clock);
  const request = { task_id, lease_id, ttl_ms: ttlMs };
  const reply = await transport.call('task.extend', request, { isRenewal: true });
  if (!reply.ok) throw await refusedFor(run, reply, transport);
  run.renewed(new Deadline(sent, reply.remaining_ms));
  if (reply.cancel_requested) run.cancel();
}
