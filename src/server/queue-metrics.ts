/**
 * Metrics of tasks by queue, fit for alerts: counts by state, how long the oldest one has been ready, events, and how long
 * tasks waited and ran. At most 200 queues have their own samples; all others are `queue="other"`.
 */
import type { Buckets } from '../authority/buckets.ts';
import type { QueueFigures } from '../authority/queue-figures.ts';
import { type QueueStats, TASK_EVENTS, type TaskStats } from '../authority/task-stats.ts';
import type { Metrics } from './metrics.ts';
import { bucketSamples, type Sample } from './metrics-text.ts';

const MS = 1_000;

export function exposeQueues(metrics: Metrics, stats: TaskStats, newest: () => QueueFigures | null): void {
  metrics.expose(
    'leasehold_queue_tasks',
    'gauge',
    'Tasks by queue and state: ready (also in a paused queue), delayed (not due yet), backoff (failed and not due yet), limited (due, waiting for a place or a rate), leased, failed, dead. Growing ready: too few workers. Growing dead: tasks that kill their workers.',
    () =>
      [...(newest()?.gauges ?? [])].flatMap(([queue, { tasks }]) =>
        Object.entries(tasks).map(([state, value]) => ({ value, labels: { queue, state } })),
      ),
  );
  metrics.expose(
    'leasehold_queue_oldest_ready_seconds',
    'gauge',
    'How long the oldest ready task has been ready, since its creation or its due time, whichever is later. Only the next task of each priority and the oldest one with a key count. 0 when none is ready. Above what your users bear: page.',
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
    'What happened to tasks, by queue and event: created, leased, completed, failed (each failed attempt), expired, late (a verdict after its lease), cancelled (by task.cancel), dead (any other end as DEAD).',
    () =>
      [...stats.all()].flatMap(([queue, counts]) =>
        TASK_EVENTS.map((event) => ({ value: counts[event], labels: { queue, event } })),
      ),
  );
  const histogram = (name: string, help: string, pick: (counts: QueueStats) => Buckets): void =>
    metrics.expose(name, 'histogram', help, (): Sample[] =>
      [...stats.all()].flatMap(([queue, counts]) => bucketSamples(name, pick(counts), MS, { queue })),
    );
  histogram('leasehold_task_wait_seconds', 'Time from ready to leased, by queue.', ({ waitMs }) => waitMs);
  histogram(
    'leasehold_task_run_seconds',
    'Time from the grant of a lease on a task to its end, however it ended, by queue, without leases that a checkpoint restored.',
    ({ runMs }) => runMs,
  );
}
