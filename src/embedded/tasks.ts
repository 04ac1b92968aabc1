/** Tasks: made once, leased many times, ended once. */

import { EndWatch } from '../authority/end-watch.ts';
import { history, touchesTask } from '../authority/history.ts';
import { listTasks, readTask, readWhy } from '../authority/reads.ts';
import type { Timers } from '../authority/seams.ts';
import type { TaskImage } from '../core/image.ts';
import type { Refusal } from '../core/refusals.ts';
import { isTerminal } from '../core/task-table.ts';
import type { Why } from '../core/why.ts';
import type { Reads } from '../protocol/requests.ts';
import { type EntryListing, entryBodies } from './entry-bodies.ts';
import { openAll } from './opening.ts';
import type { Operator, Reply, Run } from './operator.ts';
import { type TaskRecord, taskRecord } from './records.ts';

export interface TaskListing {
  readonly ok: true;
  readonly tasks: readonly TaskRecord[];
  readonly next_cursor?: string;
}

const NOT_FOUND: Refusal = { refused: 'TASK_NOT_FOUND' };

export class Tasks {
  readonly create: Run<'task.create'>;
  /** Up to `max` tasks; with `wait_ms` it waits for the first. */
  readonly lease: Run<'task.lease'>;
  readonly extend: Run<'task.extend'>;
  readonly complete: Run<'task.complete'>;
  readonly fail: Run<'task.fail'>;
  /** Hands it back; that is neither a failure nor an attempt. */
  readonly release: Run<'task.release'>;
  readonly kill: Run<'task.kill'>;
  private readonly operator: Operator;
  private readonly timers: Timers;
  private readonly ends: EndWatch;

  constructor(operator: Operator, timers: Timers) {
    this.operator = operator;
    this.create = operator.prepare('task.create');
    this.lease = operator.prepare('task.lease');
    this.extend = operator.prepare('task.extend');
    this.complete = operator.prepare('task.complete');
    this.fail = operator.prepare('task.fail');
    this.release = operator.prepare('task.release');
    this.kill = operator.prepare('task.kill');
    this.timers = timers;
    this.ends = new EndWatch(operator.authority.feed);
  }

  /** The task's record; with `wait_ms` it answers once the task has ended or the wait is over. */
  get(request: Reads['task.get']): Promise<Reply<TaskRecord>> {
    return this.operator.read('task.get', request, async () => {
      const { task_id: taskId, wait_ms: waitMs = 0 } = request;
      const image = waitMs === 0 ? await this.image(taskId) : await this.imageAtEnd(taskId, waitMs);
      return image === null ? NOT_FOUND : this.record(image);
    });
  }

  list(request: Reads['task.list'] = {}): Promise<Reply<TaskListing>> {
    return this.operator.read('task.list', request, async () => {
      const { state = null, queue = null, limit = 100, cursor = '0' } = request;
      const { items, next } = await this.operator.authority.read((machine) =>
        listTasks(machine, state, queue, limit, Number(cursor)),
      );
      const tasks = await Promise.all(items.map((image) => this.record(image)));
      return { ok: true, tasks, ...(next === null ? {} : { next_cursor: String(next) }) };
    });
  }

  /** Why it is not running, as a code and a sentence. */
  why(request: Reads['task.why']): Promise<Reply<Why & { readonly ok: true }>> {
    return this.operator.read('task.why', request, async () => {
      const why = await this.operator.authority.read((machine) => readWhy(machine, request.task_id));
      return why === null ? NOT_FOUND : { ok: true, ...why };
    });
  }

  /** Every entry that touched it, as far back as the log reaches. */
  history(request: Reads['task.history']): Promise<Reply<EntryListing>> {
    return this.operator.read('task.history', request, async () => {
      const image = await this.image(request.task_id);
      if (image === null) return NOT_FOUND;
      const { log } = this.operator.authority;
      const found = await history(log, image.createdSeq, image.lastSeq, touchesTask(image.task));
      return { ok: true, entries: await entryBodies(log, found) };
    });
  }

  private image(taskId: string): Promise<TaskImage | null> {
    return this.operator.authority.read((machine) => readTask(machine, taskId));
  }

  private async imageAtEnd(taskId: string, waitMs: number): Promise<TaskImage | null> {
    let unwatch = (): void => undefined;
    let cancel = (): void => undefined;
    const over = new Promise<void>((resolve) => {
      unwatch = this.ends.watch(taskId, resolve);
      const timer = this.timers.after(waitMs, resolve);
      const hold = this.timers.hold();
      const unended = this.operator.authority.whenEnded(resolve);
      cancel = () => {
        timer.cancel();
        hold.cancel();
        unended();
      };
    });
    try {
      const image = await this.image(taskId);
      if (image === null || isTerminal(image.state)) return image;
      await over;
      return await this.image(taskId);
    } finally {
      unwatch();
      cancel();
    }
  }

  private async record(image: TaskImage): Promise<TaskRecord> {
    const late = image.leases.map((lease) => lease.lateResult);
    const open = await openAll(this.operator.authority.log, [image.payload, image.result, ...late]);
    return taskRecord(image, open);
  }
}
