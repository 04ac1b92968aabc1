/**
 * What a handler is given. Everything may be taken out of it by destructuring; what costs something to make is
 * made when it is first asked for.
 */
import { Json } from '../protocol/json.ts';
import { Deadline, momentOf } from '../seams/deadline.ts';
import { type Duration, durationMs } from './durations.ts';
import { LeaseholdError } from './error.ts';
import type { TaskRun } from './task-run.ts';
import type { Transport } from './transport.ts';
import type { ClientWorld } from './world.ts';

/** A lease that a fenced write presents: a handle, or a reply of `lease.acquire`. */
export type PresentedLease =
  | { readonly leaseSeq: number; readonly holder?: string }
  | { readonly lease_seq: number; readonly holder?: string };

export interface TaskContext<Input> {
  readonly input: Input;
  /** The input as it travelled, byte for byte. */
  readonly payload: Json;
  readonly taskId: string;
  readonly queue: string;
  /** Counts the leases granted for this task: 1 the first time. */
  readonly attempt: number;
  /** The fencing number of this lease. */
  readonly leaseSeq: number;
  /** Aborts when the lease is lost (LEASE_LOST, with the cause), its time is up (TaskTimeout) or the worker stops (WorkerStopping). */
  readonly signal: AbortSignal;
  /** Milliseconds until the lease is over by our own clocks, if nothing renews it. */
  readonly remaining: () => number;
  /** Throws LEASE_LOST once the lease is over; synchronous, so it tells the truth after a blocked event loop too. */
  readonly assertHeld: () => void;
  /** Makes the lease last at least this long from now: for work that lets nothing else run. Throws LEASE_LOST. */
  readonly extend: (ttl: Duration) => Promise<void>;
  /** Adds a fenced write to the completion: all of them and the result in one entry, or nothing. */
  readonly write: (objectId: string, value: unknown, lease: PresentedLease) => void;
}

export class HandlerContext implements TaskContext<unknown> {
  readonly input: unknown;
  readonly #run: TaskRun;
  readonly #transport: Transport;
  readonly #world: ClientWorld;

  constructor(input: unknown, run: TaskRun, transport: Transport, world: ClientWorld) {
    this.input = input;
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

  get extend(): (ttl: Duration) => Promise<void> {
    return (ttl) => extendLease(this.#run, durationMs(ttl, 'ttl'), this.#transport, this.#world);
  }

  get write(): (objectId: string, value: unknown, lease: PresentedLease) => void {
    const run = this.#run;
    return (objectId, value, lease) => {
      if (run.isSettling) throw new TypeError('The task is done; nothing can be added to its completion.');
      if (typeof lease !== 'object' || lease === null)
        throw new TypeError('write takes the id of an object, its value, and the lease to write it under.');
      const leaseSeq = 'leaseSeq' in lease ? lease.leaseSeq : lease.lease_seq;
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
  if (reply.ok) {
    run.renewed(new Deadline(sent, reply.remaining_ms));
    return;
  }
  if (reply.code !== 'LEASE_EXPIRED' && reply.code !== 'LEASE_NOT_CURRENT') throw LeaseholdError.of(reply);
  run.lose(reply.code === 'LEASE_EXPIRED' ? 'expired' : 'ended');
  throw run.loss ?? LeaseholdError.of(reply);
}
