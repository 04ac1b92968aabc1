/**
 * One leased task in a worker, from its grant to the answer to its verdict: the lease, until when it may be
 * relied on, the writes collected for its completion, and the signal, which is made only when somebody asks
 * for it, because a signal costs as much as a short task.
 */

import type { TaskLeaseRecord } from '../operations/records.ts';
import type { Requests } from '../operations/table.ts';
import type { Clock, Timer } from '../seams/clock.ts';
import type { Deadline } from '../seams/deadline.ts';
import { LeaseholdError } from './error.ts';
import type { TaskEnd } from './task-handling.ts';
import type { TimedJob } from './worker-options.ts';

export type FencedWrite = NonNullable<Requests['task.complete']['writes']>[number];

/** As the authority tells them, and two of our own: 'expired' by our own clocks, 'unreachable' when no renewal got through. */
const LOSSES: Readonly<Record<string, string>> = {
  expired: 'has run out',
  killed: 'ended because the task was killed',
  restored: 'ended because the log was restored from a backup',
  unreachable: 'could not be renewed in time',
};

export class TaskRun {
  readonly lease: TaskLeaseRecord;
  readonly job: TimedJob;
  deadline: Deadline;
  /** What the worker says about the task; null while the handler runs. */
  end: TaskEnd | null = null;
  /** Why the lease was lost, as the signal says it. */
  loss: LeaseholdError | null = null;
  /** The same in the authority's word; what nobody has noticed has run out. */
  lossCause = 'expired';
  writes: FencedWrite[] | null = null;
  private controller: AbortController | null = null;
  abortReason: Error | null = null;
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
  get over(): LeaseholdError | null {
    if (this.loss !== null || this.end === null) return this.loss;
    const says = `The lease on task ${this.lease.task_id} is no longer the handler's: the end of the task has been said.`;
    return new LeaseholdError('LEASE_LOST', says, { cause: 'ended' });
  }

  /** The first reason stays. */
  abort(reason: Error): void {
    if (this.abortReason !== null) return;
    this.abortReason = reason;
    this.controller?.abort(reason);
  }

  /** The lease is gone; the handler is told, unless it is done. */
  lose(cause: string, fault?: unknown): void {
    if (this.isSettling || this.loss !== null) return;
    const says = LOSSES[cause] ?? `is over: ${cause}`;
    const { task_id: taskId } = this.lease;
    this.lossCause = cause;
    this.loss = new LeaseholdError('LEASE_LOST', `The lease on task ${taskId} ${says}.`, {
      cause: fault ?? cause,
    });
    this.abort(this.loss);
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
