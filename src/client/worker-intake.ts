/**
 * Where a worker's tasks come from. While no task is available one long poll waits; while there are many, every
 * flush of finished tasks is followed by one `task.lease` without a wait, in the same turn, so that completing
 * and leasing the next travel in one frame. An answer as large as one may be says that there is more; after any other the
 * poll finds out soonest. Every call has a `request_id`: a lost reply costs no attempt.
 */
import type { TaskLeaseRecord } from '../operations/records.ts';
import type { Requests } from '../operations/table.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import { type Moment, momentOf } from '../seams/deadline.ts';
import { applyForWorker } from './apply.ts';
import { retryUntilAnswered } from './backoff.ts';
import type { Transport } from './transport.ts';
import type { WorkerSettings } from './worker-options.ts';
import type { ClientWorld } from './world.ts';

/**
 * Fewer than one call may bring: all tasks of an answer are begun in one go, and while that lasts a server that has sent
 * a thousand of them has nothing to do.
 */
const LEASES_AT_ONCE = 256;

/** With `stopWhenEmpty`: how long a poll waits while tasks run or a limit holds some back, and so how late the worker may end. */
const LAST_POLL_MS = 500;

/** What an intake needs of its worker. */
export interface Taker {
  /** How many more tasks could be worked on, those already asked for not counted. */
  room(): number;
  /** `sent`: before the request left. */
  take(leases: readonly TaskLeaseRecord[], sent: Moment): void;
  /** A retry cannot help: the worker stops. */
  fail(fault: unknown): void;
  /** Nothing is under way any more. */
  rest(): void;
  /** Whether there is no task that is worked on or whose verdict is not answered. */
  isIdle(): boolean;
  /** There was no task, and none is worked on. Only told where the worker ends then. */
  empty(): void;
}

export class WorkerIntake {
  private readonly transport: Transport;
  private readonly world: ClientWorld;
  private readonly settings: WorkerSettings;
  private readonly queues: string[];
  private readonly taker: Taker;
  private readonly stopping = new AbortController();
  /** How many tasks the calls under way may bring. */
  private asked = 0;
  private isPolling = false;
  /** Whether the last empty answer told of tasks that only a limit holds back. */
  private isHeldBack = false;
  /** Whether the limits of its definitions are applied, if they have some. */
  private isPrepared: boolean;

  constructor(transport: Transport, world: ClientWorld, settings: WorkerSettings, taker: Taker) {
    this.transport = transport;
    this.world = world;
    this.settings = settings;
    this.queues = [...settings.jobs.keys()];
    this.taker = taker;
    this.isPrepared = [...settings.jobs.values()].every(({ definition }) => definition.limits === undefined);
  }

  get isIdle(): boolean {
    return this.asked === 0;
  }

  /** Waits for tasks, unless something is under way that would bring them. */
  poll(): void {
    if (this.asked === 0) this.ask(this.pollMs());
  }

  /** A worker that ends when there is nothing must not find that out by waiting. */
  private pollMs(): number {
    const { stopWhenEmpty, waitMs } = this.settings;
    if (!stopWhenEmpty) return waitMs;
    return this.taker.isIdle() && !this.isHeldBack ? 0 : Math.min(waitMs, LAST_POLL_MS);
  }

  /** Whether an answer without leases ends the worker: tasks that a limit holds back are work that is left. */
  private get isEndOfWork(): boolean {
    return this.settings.stopWhenEmpty && this.taker.isIdle() && !this.isHeldBack;
  }

  /** Asks at once for what there is. A poll that waits is the proof that there is nothing. */
  refill(): void {
    if (!this.isPolling) this.ask(0);
  }

  /** Takes no more; a poll that waits is called off. */
  stop(reason: Error): void {
    this.stopping.abort(reason);
  }

  private ask(waitMs: number): void {
    const max = Math.min(this.taker.room() - this.asked, LEASES_AT_ONCE);
    if (max <= 0 || this.stopping.signal.aborted) return;
    this.asked += max;
    this.isPolling = waitMs > 0;
    // Rejects only for a bug, which must not be swallowed.
    void this.lease(max, waitMs);
  }

  private async lease(max: number, waitMs: number): Promise<void> {
    const { signal } = this.stopping;
    const request = this.requestFor(max, waitMs);
    // Only a wait is called off: what is granted without one arrives, and is handed back if the worker stops.
    const options = waitMs > 0 ? { signal } : {};
    let sent = momentOf(this.world.clock);
    let leases: readonly TaskLeaseRecord[] = [];
    // When they were granted, at the earliest, where samples of the authority's clock tell.
    let granted: Moment | null = null;
    try {
      if (!this.isPrepared) await this.prepare();
      const reply = await retryUntilAnswered(this.world.timers, signal, () => {
        sent = momentOf(this.world.clock);
        return this.transport.call('task.lease', request, options);
      });
      if (!reply.ok) throw LeaseholdError.of(reply);
      leases = reply.leases;
      this.isHeldBack = (reply.limited ?? 0) > 0;
      granted = this.transport.earliestOf?.(reply) ?? null;
    } catch (fault) {
      const isCalledOff = signal.aborted && (fault === signal.reason || fault instanceof LeaseholdError);
      if (!isCalledOff) this.taker.fail(fault);
    }
    this.asked -= max;
    if (waitMs > 0) this.isPolling = false;
    if (leases.length > 0)
      this.taker.take(leases, granted !== null && granted.monotonicMs > sent.monotonicMs ? granted : sent);
    if (signal.aborted) this.taker.rest();
    else if (leases.length === LEASES_AT_ONCE) this.refill();
    else if (leases.length === 0 && this.isEndOfWork) this.taker.empty();
    else this.poll();
  }

  private async prepare(): Promise<void> {
    const { transport, world, settings } = this;
    const { signal } = this.stopping;
    await applyForWorker(
      [...settings.jobs.values()].map(({ definition }) => definition),
      (request) => retryUntilAnswered(world.timers, signal, () => transport.call('queue.limit', request)),
      () => retryUntilAnswered(world.timers, signal, () => transport.call('queue.list', {})),
    );
    this.isPrepared = true;
  }

  private requestFor(max: number, waitMs: number): Requests['task.lease'] {
    const { workerId, ttlMs } = this.settings;
    const request: Requests['task.lease'] = {
      worker_id: workerId,
      queues: this.queues,
      max,
      ttl_ms: ttlMs,
      request_id: this.world.newToken(),
    };
    if (waitMs > 0) request.wait_ms = waitMs;
    return request;
  }
}
