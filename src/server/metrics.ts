/**
 * The metrics, as Prometheus text. The numbers are counted elsewhere, in plain integers, and read only when the page is
 * requested. The help of each metric says what it is and when to worry; `docs/metrics.md` is generated from it.
 */
import { Authority } from '../authority/authority.ts';
import type { Buckets } from '../authority/buckets.ts';
import { lookAtQueues, type QueueFigures } from '../authority/queue-figures.ts';
import { type Counts, countAll } from '../authority/reads.ts';
import { RefusedReadError } from '../authority/refused-read.ts';
import type { Standby } from '../authority/standby.ts';
import { UnavailableError } from '../authority/unavailable.ts';
import type { CommandType } from '../core/commands.ts';
import type { LogPosition } from '../engines/log.ts';
import type { Timers } from '../seams/clock.ts';
import type { HttpCounts } from './http-counts.ts';
import { bucketSamples, METRICS_TYPE, type Metric, metricsText, type Sample } from './metrics-text.ts';
import { processMetrics } from './process-metrics.ts';
import { exposeQueues } from './queue-metrics.ts';
import { exposeSessions, SessionClaims, type SessionFigures } from './session-metrics.ts';

/** Measures how late the event loop was since the last call; the real one is in `src/world`. */
export interface LoopLag {
  watch(): void;
  take(): { readonly meanMs: number; readonly p99Ms: number; readonly maxMs: number };
}

/** Sources of metrics besides the authority. The metrics of a missing source are left out. */
export interface MetricsParts {
  readonly hub?: { readonly size: number; readonly cuts: number };
  readonly longPolls?: { readonly size: number };
  readonly loopLag?: LoopLag;
  /** Free bytes on the file system of the log. */
  readonly freeBytes?: () => Promise<number>;
  /** With timers, a log that hangs costs the metrics of the state and not the whole answer. */
  readonly timers?: Timers;
  /** Called when an invariant is broken. */
  readonly warn?: (fields: object, says: string) => void;
}

export type Look = Metric['look'];

interface StateCounts {
  readonly all: Counts;
  readonly sessions: SessionFigures;
  readonly queues: QueueFigures;
}

/** The operation of each command. */
const OPERATIONS: Readonly<Record<CommandType, string>> = {
  CreateTask: 'task.create',
  LeaseTasks: 'task.lease',
  ExtendLease: 'task.extend',
  CompleteTask: 'task.complete',
  FailTask: 'task.fail',
  ReleaseTask: 'task.release',
  KillTask: 'task.kill',
  RequeueTask: 'task.requeue',
  CancelTask: 'task.cancel',
  CheckpointTask: 'task.checkpoint',
  ChangeTask: 'task.change',
  BulkTasks: 'task.bulk',
  Heartbeat: 'worker.heartbeat',
  AcquireNames: 'lease.acquire',
  RenewName: 'lease.renew',
  ReleaseName: 'lease.release',
  BreakName: 'lease.break',
  WipeNames: 'lease.wipe',
  WriteObject: 'object.write',
  DeleteObject: 'object.delete',
  PauseQueue: 'queue.pause',
  ResumeQueue: 'queue.resume',
  LimitQueue: 'queue.limit',
  AcceptIntent: 'intent.accept',
  StopSession: 'session.stop',
  HeartbeatSession: 'session.heartbeat',
  StartSession: 'session.start',
  ChangeSession: 'session.change',
  RenewSessions: 'session.renew',
  SetSchedule: 'schedule.put',
  RemoveSchedule: 'schedule.delete',
  PauseSchedule: 'schedule.pause',
  ResumeSchedule: 'schedule.resume',
  FireSchedule: 'schedule.fire',
};

const STATE_WAIT_MS = 1_000;
const FREE_KEPT_MS = 5_000;
const MS = 1_000;

export class Metrics {
  readonly contentType = METRICS_TYPE;
  private readonly metrics: Metric[] = [];
  private readonly authority: Authority | null;
  private readonly timers: Timers | null;
  private readonly claims: SessionClaims;
  /** The newest counts of the state; null while it cannot be read. */
  private state: StateCounts | null = null;
  private readonly freeBytes: (() => Promise<number>) | null;
  /** The newest free bytes, and when they were requested. */
  private free: { readonly bytes: number; readonly atMs: number } | null = null;

  /** A standby decides nothing and has no counts; it shows how far it has read. */
  constructor(subject: Authority | Standby, http: HttpCounts, parts: MetricsParts = {}) {
    this.authority = subject instanceof Authority ? subject : null;
    this.timers = parts.timers ?? null;
    this.freeBytes = parts.freeBytes ?? null;
    this.claims = new SessionClaims(parts.warn ?? (() => undefined));
    this.exposePosition(subject);
    if (this.authority !== null) {
      this.exposeWork(this.authority);
      exposeQueues(this, this.authority.stats.tasks, () => this.state?.queues ?? null);
      this.exposeState();
      exposeSessions(this, this.authority.stats.sessions, this.claims, () => {
        const { state } = this;
        return state === null ? null : { ...state.sessions, counts: state.all.sessions };
      });
      this.exposeLog(this.authority);
    }
    this.exposeHttp(http, parts);
    if (parts.loopLag !== undefined) this.exposeLoopLag(parts.loopLag);
    this.metrics.push(...processMetrics());
  }

  async text(): Promise<string> {
    await this.lookAtDisk();
    // Last, and nothing is waited for after it: the next batch is counted while it is written.
    this.state = await this.lookAtState();
    return metricsText(this.metrics);
  }

  /** Adds a metric; `look` is called for each scrape. */
  expose(name: string, type: Metric['type'], help: string, look: Look): void {
    this.metrics.push({ name, type, help, look });
  }

  private exposePosition(subject: Authority | Standby): void {
    const isServing = (): boolean => subject instanceof Authority && !subject.hasEnded;
    const position = (): LogPosition => (subject instanceof Authority ? subject.log : subject).position;
    this.expose(
      'leasehold_serving',
      'gauge',
      '1 while changes can be made; of several servers one has 1. 0 on a single server: end the process, check the disk, start it.',
      () => one(Number(isServing())),
    );
    this.expose(
      'leasehold_log_seq',
      'gauge',
      'The newest durable position. Its rate is entries a second.',
      () => one(position().lastSeq),
    );
    this.expose('leasehold_log_first_seq', 'gauge', 'The oldest position that can still be read.', () =>
      one(position().firstSeq),
    );
  }

  private exposeWork(authority: Authority): void {
    const { stats } = authority;
    this.expose(
      'leasehold_operations_total',
      'counter',
      'Answered changes, by operation, outcome (ok, cancelled: a late verdict, refused) and code. Many cancelled, LEASE_EXPIRED or WRITE_STALE_FENCE: holders stall. Any OVERLOADED or DISK_FULL: act.',
      () =>
        [...stats.answers()].map(({ command, outcome, count }) => ({
          value: count,
          labels: { operation: OPERATIONS[command], ...outcomeLabels(outcome) },
        })),
    );
    this.expose('leasehold_reads_total', 'counter', 'Answered reads of the state.', () => one(stats.reads));
    this.expose('leasehold_reads_refused_total', 'counter', 'Reads refused as OVERLOADED.', () =>
      one(stats.readsRefused),
    );
    this.expose(
      'leasehold_calls_waiting',
      'gauge',
      'Calls that wait to be decided. At 100 000 ordinary calls are refused.',
      () => one(authority.waiting),
    );
    this.exposeBuckets(
      'leasehold_batch_calls',
      'Calls per durable batch. Grows with the load.',
      stats.batchCalls,
      1,
    );
    this.exposeBuckets(
      'leasehold_commit_seconds',
      'Time to make a batch durable, the minimum for every answer.',
      stats.commitMs,
      MS,
    );
    this.expose(
      'leasehold_expiries_total',
      'counter',
      'Expired leases, by subject (task, name). Rising: holders die or stall.',
      () => [
        { value: stats.taskExpiries, labels: { subject: 'task' } },
        { value: stats.nameExpiries, labels: { subject: 'name' } },
      ],
    );
    const late =
      'Time from the end of a lease until its entry was written, for ends while this process ran. The 99th percentile stays below 0.05 on a machine that keeps up.';
    this.exposeBuckets('leasehold_expiry_lateness_seconds', late, stats.lateMs, MS);
  }

  private exposeState(): void {
    const counted =
      (pick: (all: Counts) => number): Look =>
      () =>
        this.state === null ? [] : one(pick(this.state.all));
    this.expose(
      'leasehold_leases',
      'gauge',
      'Live named leases.',
      counted(({ leases }) => leases),
    );
    this.expose(
      'leasehold_names',
      'gauge',
      'Names in memory, idle ones included.',
      counted(({ names }) => names),
    );
    this.expose(
      'leasehold_waiters',
      'gauge',
      'Callers in a waiting line, for names and for tasks.',
      counted(({ waiters }) => waiters),
    );
  }

  private exposeLog({ log, stats, clock }: Authority): void {
    this.expose(
      'leasehold_log_epoch',
      'gauge',
      'Writers so far, one more with every start; on Postgres it may skip numbers. A fast rise: a process that keeps dying.',
      () => one(log.epoch),
    );
    this.expose(
      'leasehold_log_bytes',
      'gauge',
      'Bytes in use, checkpoints included. Falls after a compaction. Only grows: compaction fails.',
      () => one(log.size.bytes),
    );
    this.expose('leasehold_log_files', 'gauge', 'Files of the log.', () => one(log.size.files));
    this.expose(
      'leasehold_disk_full',
      'gauge',
      '1 while there is no space for the next segment and nothing new is taken. Act now.',
      () => one(Number(log.full)),
    );
    if (this.freeBytes !== null) {
      this.expose(
        'leasehold_disk_free_bytes',
        'gauge',
        'Free bytes on the file system of the data directory, at most five seconds old. Only for a log in files. Below 1 GiB: make room before the disk is full.',
        () => (this.free === null ? [] : one(this.free.bytes)),
      );
    }
    this.expose(
      'leasehold_clock_off_seconds',
      'gauge',
      'The time of the server less the wall clock. Beyond a minute: see Time in the docs.',
      () => one(clock.aheadMs() / 1_000),
    );
    this.expose('leasehold_compactions_total', 'counter', 'Checkpoints that replaced older files.', () =>
      one(stats.compactions),
    );
    this.expose(
      'leasehold_compaction_faults_total',
      'counter',
      'Failed compactions; each is retried after a minute. Rising: the log only grows, and the server logs why.',
      () => one(stats.compactionFaults),
    );
    this.expose(
      'leasehold_replay_seconds',
      'gauge',
      'Time to verify and replay the log at the start. On Postgres: the first replay, and the rest when this server took the guard.',
      () => one(stats.replayMs / MS),
    );
  }

  private exposeHttp(http: HttpCounts, { hub, longPolls }: MetricsParts): void {
    this.expose(
      'leasehold_http_requests_total',
      'counter',
      'Answered requests, by operation and class of status. A batch is one.',
      () =>
        [...http.requests()].map(({ operation, status, count }) => ({
          value: count,
          labels: { operation, status },
        })),
    );
    this.expose('leasehold_http_refusals_total', 'counter', 'Answered problems, by code.', () =>
      [...http.refusals()].map(({ code, count }) => ({ value: count, labels: { code } })),
    );
    this.expose(
      'leasehold_http_early_refusals_total',
      'counter',
      'Connections closed before a request was complete: broken or slow clients, and those beyond the limit.',
      () => one(http.early),
    );
    this.expose(
      'leasehold_http_requests_in_flight',
      'gauge',
      'Requests in flight, long polls and followers included.',
      () => one(http.inFlight),
    );
    this.expose('leasehold_http_connections', 'gauge', 'Open connections.', () => one(http.connections));
    if (longPolls !== undefined) {
      this.expose('leasehold_http_waits', 'gauge', 'Pending long polls.', () => one(longPolls.size));
    }
    if (hub !== undefined) {
      this.expose('leasehold_followers', 'gauge', 'Followers of the log.', () => one(hub.size));
      this.expose(
        'leasehold_followers_cut_total',
        'counter',
        'Followers cut after reading nothing for two minutes. They resume from their seq.',
        () => one(hub.cuts),
      );
    }
  }

  private exposeLoopLag(loopLag: LoopLag): void {
    loopLag.watch();
    const help =
      'How late the event loop was since the last scrape, by figure (mean, p99, max). Two scrapers share the figures.';
    this.expose('leasehold_event_loop_lag_seconds', 'gauge', help, () => {
      const { meanMs, p99Ms, maxMs } = loopLag.take();
      return [
        { value: meanMs / MS, labels: { figure: 'mean' } },
        { value: p99Ms / MS, labels: { figure: 'p99' } },
        { value: maxMs / MS, labels: { figure: 'max' } },
      ];
    });
  }

  exposeBuckets(name: string, help: string, buckets: Buckets, unit: number): void {
    this.expose(name, 'histogram', help, () => bucketSamples(name, buckets, unit));
  }

  /** Queued with the changes like every read, so it never counts what is not durable. */
  private async lookAtState(): Promise<StateCounts | null> {
    if (this.authority === null) return null;
    const { stats } = this.authority;
    const read = this.authority.read((machine) => ({
      all: countAll(machine),
      queues: lookAtQueues(machine, stats.tasks),
      sessions: this.claims.look(machine),
    }));
    try {
      return await this.inTime(read);
    } catch (fault) {
      // A full queue refuses reads too.
      if (!(fault instanceof UnavailableError || fault instanceof RefusedReadError)) throw fault;
      return null;
    }
  }

  /** A file system that does not answer leaves its metric out of the page. */
  private async lookAtDisk(): Promise<void> {
    const { authority, freeBytes } = this;
    if (authority === null || freeBytes === null) return;
    const atMs = authority.clock.nowMs();
    if (this.free !== null && Math.abs(atMs - this.free.atMs) < FREE_KEPT_MS) return;
    const bytes = await this.inTime(freeBytes().catch(() => null));
    this.free = bytes === null ? null : { bytes, atMs };
  }

  private inTime<T>(read: Promise<T>): Promise<T | null> {
    const { timers } = this;
    if (timers === null) return read;
    return new Promise((resolve, reject) => {
      const timer = timers.after(STATE_WAIT_MS, () => resolve(null));
      read.finally(() => timer.cancel()).then(resolve, reject);
    });
  }
}

function one(value: number): Sample[] {
  return [{ value }];
}

function outcomeLabels(outcome: string): Record<string, string> {
  return outcome === 'ok' || outcome === 'cancelled' ? { outcome } : { outcome: 'refused', code: outcome };
}
