/**
 * Leases tasks for a worker. While no task is available, one long poll waits. While there are many, every flush of
 * verdicts is followed by one `task.lease` without a wait, in the same turn, so that completions and the next lease
 * share a frame. After a full answer it asks again at once; after any other it polls. Every call has a `request_id`: a
 * lost reply costs no attempt.
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
 * Fewer than one call may return: all tasks of an answer are started in one go, and meanwhile a server that has sent a
 * thousand of them would be idle.
 */
const LEASES_AT_ONCE = 256;

/** With `stopWhenEmpty`: how long a poll waits while tasks run or a limit holds some back, and so how late the worker may end. */
const LAST_POLL_MS = 500;

/** What an intake needs from its worker. */
export interface Taker {
  /** How many more tasks the worker can take, regardless of those already requested. */
  room(): number;
  /** `sent` is a moment before the request was sent. */
  take(leases: readonly TaskLeaseRecord[], sent: Moment): void;
  /** A retry cannot help: the worker stops. */
  fail(fault: unknown): void;
  /** No request is in flight after a stop. */
  stopped(): void;
  /** Whether no task is running or has an unanswered verdict. */
  isIdle(): boolean;
  /** There was no task, and none is running. Called only with `stopWhenEmpty`. */
  outOfWork(): void;
}

export class WorkerIntake {
  private readonly transport: Transport;
  private readonly world: ClientWorld;
  private readonly settings: WorkerSettings;
  private readonly queues: string[];
  private readonly taker: Taker;
  private readonly stopping = new AbortController();
  /** How many tasks the requests in flight may return. */
  private asked = 0;
  private isPolling = false;
  /** Whether the last answer reported tasks that only a limit holds back. */
  private isHeldBack = false;
  /** Whether the limits of the definitions, if any, have been applied. */
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

  /** Starts a long poll, unless a request is in flight. */
  poll(): void {
    if (this.asked === 0) this.ask(this.pollMs());
  }

  /** A worker that is to end when its queues are empty does not wait to find out. */
  private pollMs(): number {
    const { stopWhenEmpty, waitMs } = this.settings;
    if (!stopWhenEmpty) return waitMs;
    return this.taker.isIdle() && !this.isHeldBack ? 0 : Math.min(waitMs, LAST_POLL_MS);
  }

  /** Whether an answer without leases ends the worker. Tasks that a limit holds back are still work to do. */
  private get isEndOfWork(): boolean {
    return this.settings.stopWhenEmpty && this.taker.isIdle() && !this.isHeldBack;
  }

  /** Requests available tasks at once. While a long poll waits, there are none. */
  refill(): void {
    if (!this.isPolling) this.ask(0);
  }

  /** Leases no more tasks and aborts a waiting poll. */
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
    // Only a wait is aborted: the answer of any other request arrives, and its tasks are handed back if the worker
    // stops.
    const options = waitMs > 0 ? { signal } : {};
    let sent = momentOf(this.world.clock);
    let leases: readonly TaskLeaseRecord[] = [];
    // The earliest moment of the grants, if samples of the authority's clock show it.
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
      const isAborted = signal.aborted && (fault === signal.reason || fault instanceof LeaseholdError);
      if (!isAborted) this.taker.fail(fault);
    }
    this.asked -= max;
    if (waitMs > 0) this.isPolling = false;
    if (leases.length > 0)
      this.taker.take(leases, granted !== null && granted.monotonicMs > sent.monotonicMs ? granted : sent);
    if (signal.aborted) this.taker.stopped();
    else if (leases.length === LEASES_AT_ONCE) this.refill();
    else if (leases.length === 0 && this.isEndOfWork) this.taker.outOfWork();
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
