/** How many tasks of each queue are in which state, and how long the oldest one has been ready. */
import type { Machine } from '../core/machine.ts';
import type { Queue } from '../core/queue.ts';
import type { TaskRow } from '../core/row-types.ts';
import type { TaskTable } from '../core/task-table.ts';
import type { TaskStats } from './task-stats.ts';

/** How many tasks are examined to find the oldest ready one with a key. */
const OLDEST_LOOKED_AT = 1_000;

export interface QueueGauges {
  readonly tasks: Record<'ready' | 'delayed' | 'backoff' | 'limited' | 'leased' | 'failed' | 'dead', number>;
  oldestReadyMs: number;
}

export interface QueueFigures {
  readonly gauges: ReadonlyMap<string, QueueGauges>;
  readonly queues: number;
  readonly paused: number;
}

/** The figures of every queue, and zeros for queues that existed earlier. */
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
  sums.limited += queue.limited;
  sums.leased += queue.lists.count('LEASED');
  sums.failed += queue.lists.count('FAILED');
  sums.dead += queue.lists.count('DEAD');
  for (const row of readyHeads(queue, tasks))
    gauges.oldestReadyMs = Math.max(gauges.oldestReadyMs, nowMs - tasks.readyAtMs(row));
}

/** Ready tasks; the oldest of all is among them. Tasks with keys are searched only among the oldest tasks of the queue. */
function* readyHeads(queue: Queue, tasks: TaskTable): Generator<TaskRow> {
  if (queue.ready === 0) return;
  yield* queue.heads();
  if (!queue.hasKeys || queue.isShortOfRoom) return;
  let looked = 0;
  for (const row of queue.lists.of('WAITING')?.ascending(0) ?? []) {
    const key = tasks.keyOf(row);
    if (key !== 0 && !tasks.isDelayed(row) && !tasks.keys.isHeldBack(key)) return yield row;
    looked += 1;
    if (looked === OLDEST_LOOKED_AT) return;
  }
}
