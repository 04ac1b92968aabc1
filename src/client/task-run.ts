/**
 * One leased task in a worker, from its grant to the answer to its verdict: the lease, until when it may be
 * relied on, the writes collected for its completion, and the signal, which is created on first use,
 * because a signal costs as much as a short task.
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

/** How the authority says that the lease on a task ended; a verdict of ours that was answered gives it back. */
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
  /** What the worker says about the task; null while the handler runs. */
  end: TaskEnd | null = null;
  /** Why the lease was lost, as the signal says it. */
  loss: LeaseLostError | null = null;
  writes: FencedWrite[] | null = null;
  /** Give back the leases that the writes are made under. */
  lent: (() => void)[] | null = null;
  /** Made with the first checkpoint. */
  checkpoints: TaskCheckpoints | null = null;
  private controller: AbortController | null = null;
  abortReason: Error | null = null;
  /** Told once why the handler can no longer rely on the lease, if the program listens. */
  onLost: ((run: TaskRun, loss: Loss) => void) | null = null;
  /** Rings when the handler has taken as long as it may. */
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

  /** The handler is done: what becomes of the lease no longer concerns it. */
  get isSettling(): boolean {
    return this.end !== null;
  }

  /** Why nothing may rely on the lease any more: it was lost, or the task has had its end; null while it may. */
  get over(): LeaseLostError | null {
    if (this.loss !== null || this.end === null) return this.loss;
    return this.lossOf('released');
  }

  private lossOf(loss: Loss, cause?: unknown): LeaseLostError {
    const { task_id: taskId, lease_seq: leaseSeq } = this.lease;
    return new LeaseLostError({ loss, leaseSeq, taskId }, { cause });
  }

  /** The first reason stays. */
  abort(reason: Error): void {
    if (this.abortReason !== null) return;
    this.abortReason = reason;
    this.controller?.abort(reason);
  }

  /** The lease is gone; the handler is told, unless it is done. */
  lose(loss: Loss, cause?: unknown): void {
    if (this.isSettling || this.loss !== null) return;
    this.loss = this.lossOf(loss, cause);
    this.abort(this.loss);
    this.onLost?.(this, loss);
  }

  /** The task is to end. Its lease is held for now: it is renewed, and whatever the handler says counts. */
  cancel(): void {
    if (this.isSettling || this.abortReason !== null) return;
    this.abort(this.lossOf('cancelled'));
    this.onLost?.(this, 'cancelled');
  }

  get isCancelled(): boolean {
    return this.abortReason instanceof LeaseLostError && this.abortReason.details.loss === 'cancelled';
  }

  /** Renewals only ever lengthen a lease, so of two answers the later deadline is true, in whatever order they come. */
  renewed(deadline: Deadline): void {
    if (deadline.monotonicMs > this.deadline.monotonicMs) this.deadline = deadline;
  }

  /** True from the deadline on, even when nothing has had the time to notice it. */
  isOver(clock: Clock): boolean {
    return this.loss !== null || this.deadline.isOver(clock);
  }
}
