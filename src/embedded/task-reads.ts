/** Looking at tasks. */
import { EndWatch } from '../authority/end-watch.ts';
import { listTasks, readTask, readWhy } from '../authority/reads.ts';
import type { Timers } from '../authority/seams.ts';
import type { TaskImage } from '../core/image.ts';
import type { Refusal } from '../core/refusals.ts';
import { isTerminal } from '../core/task-table.ts';
import type { TaskRecord } from '../protocol/replies.ts';
import { openAll } from './opening.ts';
import type { Reads, StateSource } from './reads.ts';
import { taskRecord } from './records.ts';

type TaskReads = 'task.get' | 'task.list' | 'task.why';

const NOT_FOUND: Refusal = { refused: 'TASK_NOT_FOUND' };

export function taskReads(source: StateSource, timers: Timers): Pick<Reads, TaskReads> {
  const ends = new EndWatch(source.feed);

  const imageOf = (taskId: string): Promise<TaskImage | null> =>
    source.read((machine) => readTask(machine, taskId));

  const record = async (image: TaskImage): Promise<TaskRecord> => {
    const late = image.leases.map((lease) => lease.lateResult);
    return taskRecord(image, await openAll(source.log, [image.payload, image.result, ...late]));
  };

  const imageAtEnd = async (
    taskId: string,
    waitMs: number,
    signal: AbortSignal | undefined,
  ): Promise<TaskImage | null> => {
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
      const image = await imageOf(taskId);
      if (image === null || isTerminal(image.state)) return image;
      await over;
      signal?.throwIfAborted();
      return await imageOf(taskId);
    } finally {
      stop();
    }
  };

  return {
    /** With `wait_ms` it answers once the task has ended or the wait is over. */
    async 'task.get'({ task_id: taskId, wait_ms: waitMs = 0 }, signal) {
      const image = waitMs === 0 ? await imageOf(taskId) : await imageAtEnd(taskId, waitMs, signal);
      return image === null ? NOT_FOUND : { ok: true, ...(await record(image)) };
    },

    async 'task.list'({ state = null, queue = null, limit = 100, cursor = '0' }) {
      const { items, next } = await source.read((machine) =>
        listTasks(machine, state, queue, limit, Number(cursor)),
      );
      const tasks = await Promise.all(items.map(record));
      return { ok: true, tasks, ...(next === null ? {} : { next_cursor: String(next) }) };
    },

    async 'task.why'({ task_id: taskId }) {
      const why = await source.read((machine) => readWhy(machine, taskId));
      return why === null ? NOT_FOUND : { ok: true, ...why };
    },
  };
}
