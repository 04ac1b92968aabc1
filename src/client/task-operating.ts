/** Operating single tasks: running one again that has ended, and cancelling one. */
import { type Duration, durationMs } from './durations.ts';
import type { TaskState } from './infos.ts';
import { ask, given } from './queries.ts';
import type { Transport } from './transport.ts';
import { refuseUnknown } from './unknown-options.ts';

export interface RequeueOptions {
  /** For people who read the log. */
  readonly reason?: string;
  readonly delay?: Duration;
  /** These two are those of the ended task unless given. */
  readonly queue?: string;
  readonly priority?: number;
  /** The id of the new task; generated unless given. */
  readonly taskId?: string;
}

/** The task that runs an ended one again. */
export interface Requeued {
  readonly taskId: string;
  readonly requeuedFrom: string;
  /** Null when it has ended and been forgotten since. */
  readonly state: TaskState | null;
  /** The ended task had been requeued before: this is the task that was created then. */
  readonly duplicate: boolean;
  readonly seq: number;
}

export interface CancelOptions {
  /** For people who read the log, and for those who wait for the output. */
  readonly reason?: string | undefined;
}

export interface Cancelled {
  readonly taskId: string;
  /** LEASED: its handler is told, and the task ends with its lease. */
  readonly state: 'LEASED' | 'DEAD';
  /** It had been cancelled before. */
  readonly duplicate: boolean;
  readonly seq: number;
}

export const NO_REASON = 'No reason was given.';

export async function requeueTask(
  transport: Transport,
  taskId: string,
  options: RequeueOptions = {},
): Promise<Requeued> {
  refuseUnknown(options, ['reason', 'delay', 'queue', 'priority', 'taskId'], 'requeue');
  const { reason, delay, queue, priority, taskId: taskIdNew } = options;
  const answer = await ask(transport, 'task.requeue', {
    task_id: taskId,
    ...given('reason', reason),
    ...given('delay_ms', delay === undefined ? undefined : durationMs(delay, 'delay')),
    ...given('queue', queue),
    ...given('priority', priority),
    ...given('task_id_new', taskIdNew),
  });
  const { requeuedFrom, state, duplicate = false, seq } = answer;
  return { taskId: answer.taskId, requeuedFrom, state, duplicate, seq };
}

export async function cancelTask(
  transport: Transport,
  taskId: string,
  options: CancelOptions = {},
): Promise<Cancelled> {
  refuseUnknown(options, ['reason'], 'cancel');
  const { reason = NO_REASON } = options;
  const { state, duplicate = false, seq } = await ask(transport, 'task.cancel', { task_id: taskId, reason });
  return { taskId, state, duplicate, seq };
}
