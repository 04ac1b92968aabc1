/** Looking at tasks. */
import { EndWatch } from '../authority/end-watch.ts';
import { listTasks, readTask, readWhy } from '../authority/reads.ts';
import type { Room } from '../authority/request.ts';
import type { TaskImage } from '../core/image.ts';
import type { Refusal } from '../core/refusals.ts';
import { isTerminal } from '../core/task-table.ts';
import type { TaskRecord } from '../protocol/replies.ts';
import type { Timers } from '../seams/clock.ts';
import { openAll } from './opening.ts';
import type { Reads, StateSource } from './reads.ts';
import { taskRecord } from './records.ts';

type TaskReads = 'task.get' | 'task.list' | 'task.why';

/** A task, and when it was looked at. */
interface Look {
  readonly image: TaskImage;
  readonly nowMs: number;
}

const NOT_FOUND: Refusal = { refused: 'TASK_NOT_FOUND' };

export function taskReads(source: StateSource, timers: Timers): Pick<Reads, TaskReads> {
  const ends = new EndWatch(source.feed);

  const lookAt = (taskId: string): Promise<Look | null> =>
    source.read((machine) => {
      const image = readTask(machine, taskId);
      return image === null ? null : { image, nowMs: machine.batchAtMs };
    });

  const record = async ({ image, nowMs }: Look, room?: Room): Promise<TaskRecord> => {
    const late = image.leases.map((lease) => lease.lateResult);
    return taskRecord(image, nowMs, await openAll(source.log, [image.payload, image.result, ...late], room));
  };

  const lookAtEnd = async (
    taskId: string,
    waitMs: number,
    signal: AbortSignal | undefined,
  ): Promise<Look | null> => {
    let stop = (): void => undefined;
    const over = new Promise<void>((resolve) => {
      const unwatch = ends.watch(taskId, resolve);
      const timer = timers.after(waitMs, resolve);
      const hold = timers.hold();
      const unended = source.whenEnded(resolve);
      const aborted = (): void => resolve();
      signal?.addEventListener('abort', aborted, { once: true });
      stop = () => {
        unwatch();
        timer.cancel();
        hold.cancel();
        unended();
        signal?.removeEventListener('abort', aborted);
      };
    });
    try {
      const look = await lookAt(taskId);
      if (look === null || isTerminal(look.image.state)) return look;
      await over;
      signal?.throwIfAborted();
      return await lookAt(taskId);
    } finally {
      stop();
    }
  };

  return {
    /** With `wait_ms` it answers once the task has ended or the wait is over. */
    async 'task.get'({ task_id: taskId, wait_ms: waitMs = 0 }, { signal, room } = {}) {
      const look = waitMs === 0 ? await lookAt(taskId) : await lookAtEnd(taskId, waitMs, signal);
      return look === null ? NOT_FOUND : { ok: true, ...(await record(look, room)) };
    },

    async 'task.list'({ state = null, queue = null, limit = 100, cursor = '0' }) {
      const { items, next, nowMs } = await source.read((machine) => ({
        ...listTasks(machine, state, queue, limit, Number(cursor)),
        nowMs: machine.batchAtMs,
      }));
      const tasks = await Promise.all(items.map((image) => record({ image, nowMs })));
      return { ok: true, tasks, ...(next === null ? {} : { next_cursor: String(next) }) };
    },

    async 'task.why'({ task_id: taskId }) {
      const why = await source.read((machine) => readWhy(machine, taskId));
      return why === null ? NOT_FOUND : { ok: true, ...why };
    },
  };
}
