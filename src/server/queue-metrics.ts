/**
 * Tasks by queue, as figures that can page an operator: how many are in which state, how long the oldest one has been
 * ready, what happened to them, how long they waited and ran. At most 200 queues have samples of their own; all others
 * are one, `queue="other"`.
 */
import type { Buckets } from '../authority/buckets.ts';
import type { QueueStats, TaskStats } from '../authority/task-stats.ts';
import type { Machine } from '../core/machine.ts';
import type { Queue } from '../core/queue.ts';
import type { TaskTable } from '../core/task-table.ts';
import type { Metrics } from './metrics.ts';
import { bucketSamples, type Sample } from './metrics-text.ts';

const MS = 1_000;
const EVENTS = ['created', 'leased', 'completed', 'failed', 'expired', 'cancelled', 'late', 'dead'] as const;

interface QueueGauges {
  readonly tasks: Record<'ready' | 'delayed' | 'backoff' | 'limited' | 'leased' | 'failed' | 'dead', number>;
  oldestReadyMs: number;
}

export interface QueueFigures {
  readonly gauges: ReadonlyMap<string, QueueGauges>;
  readonly queues: number;
  readonly paused: number;
}

/** One look at the state: every queue that is there, and zeros for those that have been. */
export function lookAtQueues({ state, batchAtMs }: Machine, stats: TaskStats): QueueFigures {
  const gauges = new Map<string, QueueGauges>();
  const { tasks } = state;
  let paused = 0;
  stats.reuse(state);
  for (const [name] of stats.all()) gaugesOf(gauges, name);
  for (const queue of tasks.queues.values()) {
    if (queue.paused) paused += 1;
    addTo(gaugesOf(gauges, stats.nameOf(queue.name)), queue, tasks, batchAtMs);
  }
  return { gauges, queues: tasks.queues.size, paused };
}

function gaugesOf(all: Map<string, QueueGauges>, name: string): QueueGauges {
  let gauges = all.get(name);
  if (gauges === undefined) {
    const tasks = { ready: 0, delayed: 0, backoff: 0, limited: 0, leased: 0, failed: 0, dead: 0 };
    gauges = { tasks, oldestReadyMs: 0 };
    all.set(name, gauges);
  }
  return gauges;
}

function addTo(gauges: QueueGauges, queue: Queue, tasks: TaskTable, nowMs: number): void {
  const sums = gauges.tasks;
  sums.ready += queue.ready;
  sums.delayed += queue.delayed;
  sums.backoff += queue.backingOff;
  sums.leased += queue.lists.count('LEASED');
  sums.failed += queue.lists.count('FAILED');
  sums.dead += queue.lists.count('DEAD');
  for (const row of queue.heads())
    gauges.oldestReadyMs = Math.max(gauges.oldestReadyMs, nowMs - tasks.readyAtMs(row));
}

export function exposeQueues(metrics: Metrics, stats: TaskStats, newest: () => QueueFigures | null): void {
  metrics.expose(
    'leasehold_queue_tasks',
    'gauge',
    'Tasks by queue and what they wait for or how they ended. A paused queue has ready ones too.',
    () =>
      [...(newest()?.gauges ?? [])].flatMap(([queue, { tasks }]) =>
        Object.entries(tasks).map(([state, value]) => ({ value, labels: { queue, state } })),
      ),
  );
  metrics.expose(
    'leasehold_queue_oldest_ready_seconds',
    'gauge',
    'How long the longest-ready of the tasks that are next, one for each priority, could have been leased: since its creation or its due time, whichever is later. 0 when none is ready.',
    () =>
      [...(newest()?.gauges ?? [])].map(([queue, { oldestReadyMs }]) => ({
        value: oldestReadyMs / MS,
        labels: { queue },
      })),
  );
  metrics.expose('leasehold_queues', 'gauge', 'Queues, by whether they are paused.', () => {
    const figures = newest();
    if (figures === null) return [];
    const { queues, paused } = figures;
    return [
      { value: queues - paused, labels: { paused: 'false' } },
      { value: paused, labels: { paused: 'true' } },
    ];
  });
  metrics.expose(
    'leasehold_tasks_total',
    'counter',
    'What happened to tasks since the start of this server, by queue: late is a verdict after the end of its lease, cancelled an end by task.cancel, dead any other end as DEAD.',
    () =>
      [...stats.all()].flatMap(([queue, counts]) =>
        EVENTS.map((event) => ({ value: counts[event], labels: { queue, event } })),
      ),
  );
  const histogram = (name: string, help: string, pick: (counts: QueueStats) => Buckets): void =>
    metrics.expose(name, 'histogram', help, (): Sample[] =>
      [...stats.all()].flatMap(([queue, counts]) => bucketSamples(name, pick(counts), MS, { queue })),
    );
  histogram(
    'leasehold_task_wait_seconds',
    'Time from the moment a task was ready until it was leased.',
    ({ waitMs }) => waitMs,
  );
  histogram(
    'leasehold_task_run_seconds',
    'Time from the grant of a lease on a task until its end, however it ended.',
    ({ runMs }) => runMs,
  );
}
