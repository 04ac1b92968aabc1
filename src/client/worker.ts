/**
 * A worker: leases tasks up to its concurrency, runs their handlers, renews their leases together, and sends their
 * verdicts. It stops in three steps, each of which ends it as soon as no task is left:
 *
 *   working ──drain──▶ finishing ──grace is over──▶ aborting ──a second──▶ releasing ──a second──▶ ended
 *                      no new tasks                 signals abort          what is left is handed back
 *
 * A permanent fault (a token without the needed scope, for example) is reported to `onFault` and stops it the same way;
 * then `done` rejects.
 */

import type { TaskLeaseRecord } from '../operations/records.ts';
import { LeaseholdError, type Loss } from '../protocol/leasehold-error.ts';
import { ChurnMap } from '../seams/churn-map.ts';
import type { Timer } from '../seams/clock.ts';
import { Deadline, type Moment, momentOf } from '../seams/deadline.ts';
import { TaskTimeout, WorkerStopping } from './task-errors.ts';
import { failure, handle, type TaskEnd } from './task-handling.ts';
import { lossBy, TaskRun } from './task-run.ts';
import type { NoticeListener, Transport } from './transport.ts';
import { WorkerIntake } from './worker-intake.ts';
import type { WorkerSettings } from './worker-options.ts';
import { WorkerRenewal } from './worker-renewal.ts';
import { type Answer, sendVerdict, verdictOf } from './worker-verdicts.ts';
import type { ClientWorld } from './world.ts';

/** How long a handler may take to heed its signal, and how long last verdicts may take to be answered. */
const LAST_MS = 1_000;

export interface WorkerCounts {
  /** Leases granted. */
  readonly leased: number;
  /** Handlers running. */
  readonly running: number;
  /** Committed verdicts, by verb. */
  readonly completed: number;
  readonly failed: number;
  readonly released: number;
  /** Verdicts that came too late. */
  readonly late: number;
  /** Verdicts on tasks or leases that the authority does not know. */
  readonly rejected: number;
  /** Verdicts that the authority had not answered when the worker ended. */
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
  /** By fencing number, from the grant until the verdict is answered. */
  private readonly runs = new ChurnMap<TaskRun>();
  private readonly renewal: WorkerRenewal;
  private readonly intake: WorkerIntake;
  private finished: TaskRun[] = [];
  private isFlushing = false;
  private stage: 'working' | 'finishing' | 'aborting' | 'releasing' | 'ended' = 'working';
  private timer: Timer | null = null;
  private readonly hold: Timer;
  /** Aborts when verdicts are no longer retried. */
  private readonly retryEnd = new AbortController();
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
      stopped: () => this.endIfIdle(),
      isIdle: () => this.runs.size === 0,
      outOfWork: () => this.stop(),
    });
    const unlisten = transport.listen?.(this.onNotice);
    if (unlisten !== undefined) this.unhooks.push(unlisten);
    this.hold = world.timers.hold();
    this.done = new Promise((resolve, reject) => {
      this.settleDone = { resolve, reject };
    });
    // Faults go to `onFault`, so an unawaited rejection must not end the process.
    this.done.catch(() => undefined);
  }

  start(): this {
    this.intake.poll();
    return this;
  }

  /** A notice from the authority arrives before the next heartbeat would report the loss. */
  private readonly onNotice: NoticeListener = ([type, notice]) => {
    const run = type === 'asked' ? undefined : this.runs.get(notice.lease_seq);
    if (type === 'cancel') run?.cancel();
    else if (type === 'lost') run?.lose(lossBy(notice.cause));
    return run !== undefined;
  };

  /** Calls `unhook` when the worker ends, to undo what was registered for it elsewhere. */
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

  /** The handle is being closed: requests the release of every task before this returns. */
  abandon(): void {
    this.stop();
    this.abortRuns();
    this.releaseRuns();
    this.flush();
  }

  /** Backpressure: when more verdicts are unanswered than handlers may run, no more tasks are leased. */
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
      // A repeated answer may list tasks that are running already.
      if (this.runs.has(lease.lease_seq)) continue;
      // Usually all leases last equally long and share one deadline; an old one gets its deadline from the renewal.
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
   * The age of a grant after a wait is unknown. Handlers start only after one renewal was answered; the deadline then
   * counts from before that renewal was sent.
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

  /** A handler that ignores its signal keeps running, but its task ends and its slot becomes free. */
  private limit(run: TaskRun, timeoutMs: number): void {
    const { timers } = this.world;
    run.timer = timers.after(timeoutMs, () => {
      const fault = new TaskTimeout(run.lease.task_id, timeoutMs);
      run.abort(fault);
      run.timer = timers.after(LAST_MS, () => this.finish(run, failure(fault)));
    });
  }

  private readonly finish = (run: TaskRun, end: TaskEnd): void => {
    // A task that was handed back while its handler kept running has ended already.
    if (run.isSettling) return;
    run.end = end;
    run.timer?.cancel();
    this.counts.running -= 1;
    this.finished.push(run);
    if (this.isFlushing) return;
    this.isFlushing = true;
    queueMicrotask(this.flush);
  };

  /** Sends all verdicts of this turn together, followed by the request for more tasks. */
  private readonly flush = (): void => {
    this.isFlushing = false;
    const { finished } = this;
    this.finished = [];
    for (const run of finished) void this.conclude(run);
    this.intake.refill();
  };

  private async conclude(run: TaskRun): Promise<void> {
    try {
      const answer = await sendVerdict(run, this.transport, this.world, this.retryEnd.signal);
      // After the end of the worker the verdict was already counted as unanswered.
      if (this.stage === 'ended') return;
      this.count(run.end!, answer);
      this.report(run, answer);
    } catch (fault) {
      if (this.stage === 'ended') return;
      if (this.retryEnd.signal.aborted && isNoAnswer(fault)) this.counts.unanswered += 1;
      else this.fail(fault);
    } finally {
      for (const giveBack of run.lent ?? []) giveBack();
    }
    this.runs.delete(run.lease.lease_seq);
    if (this.stage === 'working') this.intake.poll();
    else this.endIfIdle();
  }

  private report(run: TaskRun, answer: Answer): void {
    const { onVerdict, onRetry } = this.settings;
    if (onVerdict === null && onRetry === null) return;
    const verdict = verdictOf(run, answer);
    onVerdict?.(verdict);
    const { verb, outcome } = verdict;
    if (verb === 'fail' && outcome === 'COMMITTED' && verdict.state === 'WAITING') onRetry?.(verdict);
  }

  /** An exception in `onLost` stops the worker, as one in `onVerdict` does. */
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
    const reason = new WorkerStopping('The worker is stopping, and its grace period is over.');
    this.retryEnd.abort(reason);
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

/** The signal's reason, or the fault of the last attempt; the transport may be closed by then. */
function isNoAnswer(fault: unknown): boolean {
  return fault instanceof LeaseholdError;
}
