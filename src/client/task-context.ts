/**
 * What a handler is given. Everything may be taken out of it by destructuring; what costs something to make is
 * made when it is first asked for.
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

/** The lease that a fenced write presents: one on the name of the object, or its numbers alone. The lease on a task is none. */
export type PresentedLease = Pick<Held, 'leaseSeq'> & { readonly holder?: string; readonly taskId?: never };

/**
 * `signal` also aborts when the task is cancelled (LEASE_LOST, `details.loss` is `cancelled`: the lease is still held, and a
 * result still counts), its time is up (TASK_TIMEOUT) or the worker stops (WORKER_STOPPING). The worker renews the
 * lease; `extend` is for work that lets nothing else run.
 */
export interface TaskContext<Input, Checkpoint = unknown> extends Held {
  readonly input: Input;
  /** The input as it travelled, byte for byte. */
  readonly payload: Json;
  readonly taskId: string;
  readonly queue: string;
  /** Whom or what the task is for, if it was created with a key. */
  readonly key: string | null;
  /** The trace context of the program that created the task, as W3C Trace Context has it. */
  readonly traceparent: string | null;
  /** Counts the leases granted for this task: 1 the first time. */
  readonly attempt: number;
  /** What an earlier attempt saved last. */
  readonly lastCheckpoint: Checkpoint | undefined;
  /**
   * Saves how far the work has come, for the next attempt: durable once it resolves. It need not be awaited:
   * then at most one a second is sent, the newest. A call whose value was replaced resolves with the newer one. Throws INVALID_TASK and LEASE_LOST.
   */
  checkpoint(value: Checkpoint): Promise<void>;
  /**
   * Adds a fenced write to the completion: all of them and the result in one entry, or nothing. The lease is one on the object's name
   * that the handler has acquired; releasing it then takes effect when the authority has answered.
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
