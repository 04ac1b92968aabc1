/**
 * A worker: leases tasks up to its concurrency, runs their handlers, renews their leases together, and says how
 * each one ended. It stops when it is told to, in three steps, each of which ends it once nothing is left:
 *
 *   working ──drain──▶ finishing ──grace is over──▶ aborting ──a second──▶ releasing ──a second──▶ ended
 *                      no new tasks                 signals abort          what is left is handed back
 *
 * A fault that cannot pass (a token that is not good enough, say) is told to `onFault` and stops it the same way; then
 * `done` rejects.
 */

import type { TaskLeaseRecord } from '../operations/records.ts';
import { LeaseholdError, type Loss } from '../protocol/leasehold-error.ts';
import { ChurnMap } from '../seams/churn-map.ts';
import type { Timer } from '../seams/clock.ts';
import { Deadline, type Moment, momentOf } from '../seams/deadline.ts';
import { TaskTimeout, WorkerStopping } from './task-errors.ts';
import { failure, handle, type TaskEnd } from './task-handling.ts';
import { lossBy, TaskRun } from './task-run.ts';
import type { Hear, Transport } from './transport.ts';
import { WorkerIntake } from './worker-intake.ts';
import type { WorkerSettings } from './worker-options.ts';
import { WorkerRenewal } from './worker-renewal.ts';
import { type Answer, say, verdictOf } from './worker-verdicts.ts';
import type { ClientWorld } from './world.ts';

/** How long a handler has to heed its signal, and a last word to be answered. */
const LAST_MS = 1_000;

export interface WorkerCounts {
  /** Leases granted, and handlers at work. */
  readonly leased: number;
  readonly running: number;
  /** Verdicts that count, by what was asked for. */
  readonly completed: number;
  readonly failed: number;
  readonly released: number;
  /** Verdicts that came too late, and those about what the authority does not know. */
  readonly late: number;
  readonly rejected: number;
  /** Ends that the authority had not answered when the worker ended. */
  readonly unanswered: number;
}

export interface Worker {
  readonly workerId: string;
  readonly counts: WorkerCounts;
  /** Resolves once the worker has stopped; rejects with the fault that stopped it. It need not be awaited: see `onFault`. */
  readonly done: Promise<void>;
  /** Takes no more tasks, lets running handlers finish within the grace period, hands back what is left. */
  drain(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

class Counts implements WorkerCounts {
  leased = 0;
  running = 0;
  completed = 0;
  failed = 0;
  released = 0;
  late = 0;
  rejected = 0;
  unanswered = 0;
}

const COMMITTED = { complete: 'completed', fail: 'failed', release: 'released' } as const;

export class RunningWorker implements Worker {
  readonly workerId: string;
  readonly counts = new Counts();
  readonly done: Promise<void>;
  private readonly transport: Transport;
  private readonly world: ClientWorld;
  private readonly settings: WorkerSettings;
  /** By fencing number, from the grant to the answer to the verdict. */
  private readonly runs = new ChurnMap<TaskRun>();
  private readonly renewal: WorkerRenewal;
  private readonly intake: WorkerIntake;
  private finished: TaskRun[] = [];
  private isFlushing = false;
  private stage: 'working' | 'finishing' | 'aborting' | 'releasing' | 'ended' = 'working';
  private timer: Timer | null = null;
  private readonly hold: Timer;
  /** Aborted when verdicts are no longer repeated. */
  private readonly lastWord = new AbortController();
  private readonly unhooks: (() => void)[] = [];
  private fault: { readonly why: unknown } | null = null;
  private settleDone: { resolve(): void; reject(why: unknown): void } | null = null;

  constructor(transport: Transport, world: ClientWorld, settings: WorkerSettings) {
    this.transport = transport;
    this.world = world;
    this.settings = settings;
    this.workerId = settings.workerId;
    this.renewal = new WorkerRenewal(transport, world, this.runs, settings);
    this.intake = new WorkerIntake(transport, world, settings, {
      room: () => this.room(),
      take: (leases, sent) => this.take(leases, sent),
      fail: (why) => this.fail(why),
      rest: () => this.endIfIdle(),
      isIdle: () => this.runs.size === 0,
      empty: () => this.stop(),
    });
    const unlisten = transport.listen?.(this.hear);
    if (unlisten !== undefined) this.unhooks.push(unlisten);
    this.hold = world.timers.hold();
    this.done = new Promise((resolve, reject) => {
      this.settleDone = { resolve, reject };
    });
    // A fault is told below, so a promise that no one awaits must not end the process.
    this.done.catch(() => undefined);
  }

  start(): this {
    this.intake.poll();
    return this;
  }

  /** The authority tells sooner than the next heartbeat would. */
  private readonly hear: Hear = ([type, told]) => {
    const run = type === 'asked' ? undefined : this.runs.get(told.lease_seq);
    if (type === 'cancel') run?.cancel();
    else if (type === 'lost') run?.lose(lossBy(told.cause));
    return run !== undefined;
  };

  /** Takes back, at the end, what was arranged for this worker elsewhere. */
  whenEnded(unhook: () => void): void {
    if (this.stage === 'ended') unhook();
    else this.unhooks.push(unhook);
  }

  readonly drain = (): Promise<void> => {
    this.stop();
    return this.done;
  };

  [Symbol.asyncDispose](): Promise<void> {
    return this.drain();
  }

  /** The handle is being closed: everything is handed back before this returns, as far as that can be asked for. */
  abandon(): void {
    this.stop();
    this.abortRuns();
    this.releaseRuns();
    this.flush();
  }

  /** As many ends may wait for their answers as handlers may run; more would pile up while the server takes none. */
  private room(): number {
    const { concurrency } = this.settings;
    const { running } = this.counts;
    return this.runs.size - running > concurrency ? 0 : concurrency - running;
  }

  private take(leases: readonly TaskLeaseRecord[], sent: Moment): void {
    const { clock } = this.world;
    const { ttlMs, jobs } = this.settings;
    const now = momentOf(clock);
    const waitedMs = Math.max(now.monotonicMs - sent.monotonicMs, now.wallMs - sent.wallMs);
    const isOld = waitedMs > ttlMs / 3;
    const runs: TaskRun[] = [];
    let lastsMs = ttlMs;
    let deadline = new Deadline(isOld ? now : sent, ttlMs);
    for (const lease of leases) {
      // A repeated answer names what is being worked on already.
      if (this.runs.has(lease.lease_seq)) continue;
      // Mostly they all last equally long, and share one; of an old one the renewal tells.
      if (!isOld && lease.remaining_ms !== lastsMs) {
        lastsMs = lease.remaining_ms;
        deadline = new Deadline(sent, lastsMs);
      }
      const run = new TaskRun(lease, jobs.get(lease.queue)!, deadline);
      if (this.settings.onLost !== null) run.onLost = this.lost;
      this.runs.set(lease.lease_seq, run);
      runs.push(run);
    }
    this.counts.leased += runs.length;
    this.counts.running += runs.length;
    this.renewal.start();
    if (isOld) void this.confirm(runs);
    else for (const run of runs) this.begin(run);
  }

  /**
   * The age of a grant that was waited for is unknown. One renewal tells, and until its
   * answer has come no handler relies on the lease: from then on the deadline counts from before it was sent.
   */
  private async confirm(runs: readonly TaskRun[]): Promise<void> {
    const isConfirmed = await this.renewal.renew(runs);
    for (const run of runs) {
      if (isConfirmed && run.loss === null) this.begin(run);
      else this.finish(run, handedBack('The lease could not be confirmed.'));
    }
  }

  private begin(run: TaskRun): void {
    if (this.stage !== 'working') {
      this.finish(run, handedBack('The worker is stopping.'));
      return;
    }
    if (run.job.timeoutMs !== null) this.limit(run, run.job.timeoutMs);
    void handle(run, this.transport, this.world, this.finish);
  }

  /** A handler that ignores its signal keeps running; its task ends and its place is free without it. */
  private limit(run: TaskRun, timeoutMs: number): void {
    const { timers } = this.world;
    run.timer = timers.after(timeoutMs, () => {
      const fault = new TaskTimeout(run.lease.task_id, timeoutMs);
      run.abort(fault);
      run.timer = timers.after(LAST_MS, () => this.finish(run, failure(fault)));
    });
  }

  private readonly finish = (run: TaskRun, end: TaskEnd): void => {
    // What was handed back under a handler that would not stop has had its end.
    if (run.isSettling) return;
    run.end = end;
    run.timer?.cancel();
    this.counts.running -= 1;
    this.finished.push(run);
    if (this.isFlushing) return;
    this.isFlushing = true;
    queueMicrotask(this.flush);
  };

  /** Everything that finished in this turn is said in one go, and the next tasks are asked for behind it. */
  private readonly flush = (): void => {
    this.isFlushing = false;
    const { finished } = this;
    this.finished = [];
    for (const run of finished) void this.conclude(run);
    this.intake.refill();
  };

  private async conclude(run: TaskRun): Promise<void> {
    try {
      const answer = await say(run, this.transport, this.world, this.lastWord.signal);
      // An answer that comes after the end has been counted as none.
      if (this.stage === 'ended') return;
      this.count(run.end!, answer);
      this.tell(run, answer);
    } catch (fault) {
      if (this.stage === 'ended') return;
      if (this.lastWord.signal.aborted && isNoAnswer(fault)) this.counts.unanswered += 1;
      else this.fail(fault);
    } finally {
      for (const giveBack of run.lent ?? []) giveBack();
    }
    this.runs.delete(run.lease.lease_seq);
    if (this.stage === 'working') this.intake.poll();
    else this.endIfIdle();
  }

  private tell(run: TaskRun, answer: Answer): void {
    const { onVerdict, onRetry } = this.settings;
    if (onVerdict === null && onRetry === null) return;
    const verdict = verdictOf(run, answer);
    onVerdict?.(verdict);
    const { verb, outcome } = verdict;
    if (verb === 'fail' && outcome === 'COMMITTED' && verdict.state === 'WAITING') onRetry?.(verdict);
  }

  /** A program that throws here stops its worker, as one that throws in `onVerdict` does. */
  private readonly lost = ({ lease }: TaskRun, loss: Loss): void => {
    const { task_id: taskId, queue, lease_seq: leaseSeq, attempt } = lease;
    try {
      this.settings.onLost?.({ taskId, queue, leaseSeq, attempt, loss });
    } catch (fault) {
      this.fail(fault);
    }
  };

  private count({ verb }: TaskEnd, answer: Answer): void {
    if (answer === null) this.counts.late += 1;
    else if (!answer.ok) this.counts.rejected += 1;
    else if (answer.outcome === 'CANCELLED') this.counts.late += 1;
    else this.counts[COMMITTED[verb]] += 1;
  }

  private fail(why: unknown): void {
    if (this.fault === null) {
      this.fault = { why };
      this.settings.onFault(why);
    }
    this.stop();
  }

  private stop(): void {
    if (this.stage !== 'working') return;
    this.stage = 'finishing';
    this.intake.stop(new WorkerStopping('The worker is stopping.'));
    this.timer = this.world.timers.after(this.settings.graceMs, this.abortRuns);
    try {
      this.settings.onDrain?.();
    } catch (fault) {
      this.fail(fault);
    }
    this.endIfIdle();
  }

  private readonly abortRuns = (): void => {
    if (this.stage !== 'finishing') return;
    this.stage = 'aborting';
    const reason = new WorkerStopping('The worker is stopping, and the time it had for that is over.');
    this.lastWord.abort(reason);
    for (const run of this.runs.values()) if (!run.isSettling) run.abort(reason);
    this.timer?.cancel();
    this.timer = this.world.timers.after(LAST_MS, this.releaseRuns);
  };

  private readonly releaseRuns = (): void => {
    if (this.stage !== 'aborting') return;
    this.stage = 'releasing';
    for (const run of this.runs.values())
      this.finish(run, handedBack('The handler did not heed its signal.'));
    this.timer?.cancel();
    this.timer = this.world.timers.after(LAST_MS, this.end);
  };

  private endIfIdle(): void {
    if (this.stage !== 'working' && this.runs.size === 0 && this.intake.isIdle) this.end();
  }

  private readonly end = (): void => {
    if (this.stage === 'ended') return;
    this.stage = 'ended';
    this.counts.unanswered += this.runs.size;
    this.timer?.cancel();
    this.renewal.stop();
    this.hold.cancel();
    for (const unhook of this.unhooks) unhook();
    if (this.fault === null) this.settleDone?.resolve();
    else this.settleDone?.reject(this.fault.why);
  };
}

function handedBack(why: string): TaskEnd {
  return { verb: 'release', error: new WorkerStopping(why), delayMs: 0 };
}

/** The signal's reason, or the fault of the last attempt; the way to the authority may itself be closed by then. */
function isNoAnswer(fault: unknown): boolean {
  return fault instanceof LeaseholdError;
}
