/**
 * One leased task in a worker, from its grant to the answer to its verdict: the lease and its deadline, the writes
 * collected for its completion, and the signal. The signal is created on first use, because it costs as much as a short
 * task.
 */

import type { TaskLeaseRecord } from '../operations/records.ts';
import type { Requests } from '../operations/table.ts';
import type { Loss } from '../protocol/leasehold-error.ts';
import type { Clock, Timer } from '../seams/clock.ts';
import type { Deadline } from '../seams/deadline.ts';
import { LeaseLostError } from './lease-loss.ts';
import type { TaskCheckpoints } from './task-checkpoints.ts';
import type { TaskEnd } from './task-handling.ts';
import type { TimedJob } from './worker-options.ts';

export type FencedWrite = NonNullable<Requests['task.complete']['writes']>[number];

/**
 * The loss for each end of a task's lease as the authority names it; after a verdict of this worker it is `released`.
 */
const ENDS: Readonly<Record<string, Loss>> = {
  killed: 'killed',
  restored: 'restored',
  complete: 'released',
  completed: 'released',
  fail: 'released',
  failed: 'released',
  release: 'released',
  released: 'released',
};

export function lossBy(end: string | undefined): Loss {
  return ENDS[end ?? ''] ?? 'expired';
}

export class TaskRun {
  readonly lease: TaskLeaseRecord;
  readonly job: TimedJob;
  deadline: Deadline;
  /** The verdict of the worker; null while the handler runs. */
  end: TaskEnd | null = null;
  /** Why the lease was lost; the reason of the signal. */
  loss: LeaseLostError | null = null;
  writes: FencedWrite[] | null = null;
  /** Functions that end the loans of the leases that the writes present. */
  lent: (() => void)[] | null = null;
  /** Created with the first checkpoint. */
  checkpoints: TaskCheckpoints | null = null;
  private controller: AbortController | null = null;
  abortReason: Error | null = null;
  /** Called once when the handler can no longer rely on the lease, if the program listens. */
  onLost: ((run: TaskRun, loss: Loss) => void) | null = null;
  /** Fires at the handler's timeout. */
  timer: Timer | null = null;

  constructor(lease: TaskLeaseRecord, job: TimedJob, deadline: Deadline) {
    this.lease = lease;
    this.job = job;
    this.deadline = deadline;
  }

  get signal(): AbortSignal {
    if (this.controller === null) {
      this.controller = new AbortController();
      if (this.abortReason !== null) this.controller.abort(this.abortReason);
    }
    return this.controller.signal;
  }

  /** The handler is done; a loss of the lease no longer affects it. */
  get isSettling(): boolean {
    return this.end !== null;
  }

  /** Why the lease can no longer be relied on: it was lost, or the task has ended; null while it can. */
  get over(): LeaseLostError | null {
    if (this.loss !== null || this.end === null) return this.loss;
    return this.lossOf('released');
  }

  private lossOf(loss: Loss, cause?: unknown): LeaseLostError {
    const { task_id: taskId, lease_seq: leaseSeq } = this.lease;
    return new LeaseLostError({ loss, leaseSeq, taskId }, { cause });
  }

  /** The first reason wins. */
  abort(reason: Error): void {
    if (this.abortReason !== null) return;
    this.abortReason = reason;
    this.controller?.abort(reason);
  }

  /** The lease is lost; aborts the signal unless the handler is done. */
  lose(loss: Loss, cause?: unknown): void {
    if (this.isSettling || this.loss !== null) return;
    this.loss = this.lossOf(loss, cause);
    this.abort(this.loss);
    this.onLost?.(this, loss);
  }

  /** The task is cancelled. Its lease stays held and renewed, and the handler's verdict still counts. */
  cancel(): void {
    if (this.isSettling || this.abortReason !== null) return;
    this.abort(this.lossOf('cancelled'));
    this.onLost?.(this, 'cancelled');
  }

  get isCancelled(): boolean {
    return this.abortReason instanceof LeaseLostError && this.abortReason.details.loss === 'cancelled';
  }

  /** Renewals never shorten a lease, so the later deadline holds, in whatever order answers arrive. */
  renewed(deadline: Deadline): void {
    if (deadline.monotonicMs > this.deadline.monotonicMs) this.deadline = deadline;
  }

  /** True from the deadline on, even before any timer has run. */
  isOver(clock: Clock): boolean {
    return this.loss !== null || this.deadline.isOver(clock);
  }
}
