/**
 * Counts what happened to the tasks of each queue since this authority was opened, from the entries it writes. Soft
 * state, for the metrics. Queue names come from clients, so only the first `QUEUES_MAX` have counters of their own. The
 * others share the counters of the queue `other`.
 */
import type { Entry, TaskKey } from '../core/entries.ts';
import { START_QUEUE } from '../core/reserved-names.ts';
import type { TaskRow } from '../core/row-types.ts';
import type { State } from '../core/state.ts';
import { findLease } from '../core/verdicts.ts';
import { Buckets } from './buckets.ts';

/** The counters of a queue. */
export const TASK_EVENTS = [
  'created',
  'leased',
  'completed',
  'failed',
  'expired',
  'cancelled',
  'late',
  'dead',
] as const;

const QUEUES_MAX = 200;
const OTHER = 'other';
/** From a task that is leased at once to one that waits or runs for a day. */
const BOUNDS_MS = [
  5, 25, 100, 500, 1_000, 5_000, 15_000, 60_000, 300_000, 900_000, 3_600_000, 21_600_000, 86_400_000,
];

export class QueueStats {
  created = 0;
  leased = 0;
  completed = 0;
  failed = 0;
  expired = 0;
  cancelled = 0;
  late = 0;
  dead = 0;
  /** From the moment a task could be leased until it was. */
  readonly waitMs = new Buckets(BOUNDS_MS);
  /** From the grant of a lease until its end, however it ended. */
  readonly runMs = new Buckets(BOUNDS_MS);
}

export class TaskStats {
  private readonly queues = new Map<string, QueueStats>();

  /** Counts an entry that was just applied. */
  note(state: State, entry: Entry, atMs: number): void {
    switch (entry.type) {
      case 'TaskCreated':
        this.of(entry.queue).created += 1;
        return;
      case 'ScheduleFired':
        if (entry.task !== null) this.of(entry.queue).created += 1;
        return;
      case 'IntentAccepted':
        this.of(START_QUEUE).created += 1;
        return;
      case 'LeaseGranted':
        return this.leased(state, entry.task, atMs);
      case 'TaskCompleted':
        this.ended(state, entry.task, entry.leaseSeq, atMs).completed += 1;
        return;
      case 'TaskFailed':
        this.ended(state, entry.task, entry.leaseSeq, atMs).failed += 1;
        return;
      case 'TaskReleased':
        this.ended(state, entry.task, entry.leaseSeq, atMs);
        return;
      case 'LeaseExpired':
        this.ended(state, entry.task, entry.leaseSeq, atMs).expired += 1;
        return;
      case 'TaskCancelled':
        this.ofTask(state, state.tasks.at(entry.task)).late += 1;
        return;
      case 'TaskDead': {
        const stats = this.ended(state, entry.task, entry.leaseSeq, atMs);
        if (entry.reason === 'CANCELLED') stats.cancelled += 1;
        else stats.dead += 1;
      }
    }
  }

  all(): Iterable<[queue: string, stats: QueueStats]> {
    return this.queues;
  }

  /** The name that the metrics show for a queue. */
  nameOf(queue: string): string {
    this.of(queue);
    return this.queues.has(queue) ? queue : OTHER;
  }

  /** Once all counters are taken, frees those of queues that no longer exist. */
  reuse({ tasks }: State): void {
    if (!this.isFull) return;
    for (const queue of this.queues.keys())
      if (queue !== OTHER && !tasks.queues.has(queue)) this.queues.delete(queue);
  }

  private leased(state: State, task: TaskKey, atMs: number): void {
    const { tasks } = state;
    const row = tasks.at(task);
    const stats = this.ofTask(state, row);
    stats.leased += 1;
    if (row !== 0) stats.waitMs.note(atMs - tasks.readyAtMs(row));
  }

  /** `leaseSeq` is 0 when there was no lease to end. */
  private ended(state: State, task: TaskKey, leaseSeq: number, atMs: number): QueueStats {
    const { tasks } = state;
    const row = tasks.at(task);
    const stats = this.ofTask(state, row);
    if (row === 0 || leaseSeq === 0) return stats;
    const lease = findLease(state, row, leaseSeq);
    const grantedAtMs = lease === 0 ? 0 : tasks.leases.grantedAtMs.get(lease);
    if (grantedAtMs !== 0) stats.runMs.note(atMs - grantedAtMs);
    return stats;
  }

  /** A task that the same step has forgotten already counts as one of `other`. */
  private ofTask({ tasks }: State, row: TaskRow | 0): QueueStats {
    return this.of(row === 0 ? OTHER : tasks.queueNameOf(row));
  }

  private get isFull(): boolean {
    return this.queues.size - Number(this.queues.has(OTHER)) >= QUEUES_MAX;
  }

  private of(queue: string): QueueStats {
    return this.queues.get(queue) ?? this.open(queue);
  }

  private open(queue: string): QueueStats {
    const name = this.isFull ? OTHER : queue;
    const stats = this.queues.get(name) ?? new QueueStats();
    this.queues.set(name, stats);
    return stats;
  }
}
