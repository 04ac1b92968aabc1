/**
 * The receipt of a task. When `enqueue` returns it the task is durable; any process that knows the task's id can make
 * one. It gets the result by long polls, and tolerates an unreachable server for as long as `wait` lasts.
 */
import type { Body } from '../operations/table.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import { Backoff, isTransient } from './backoff.ts';
import type { TaskOf } from './define-task.ts';
import { type Duration, durationMs } from './durations.ts';
import { sleep } from './sleep.ts';
import { invalidTask, parseBy } from './standard-schema.ts';
import { cancelTask } from './task-operating.ts';
import type { Transport } from './transport.ts';
import { refuseUnknown } from './unknown-options.ts';
import type { ClientWorld } from './world.ts';

/** The length of one poll. Longer waits use several, so that a dead connection is noticed. */
const POLL_MAX_MS = 60_000;
const OPTIONS = ['wait', 'signal'];

/** The outcome of a task. WAITING and LEASED: it has not ended, and the wait is over. */
export type TaskResult<Output> =
  | { readonly state: 'COMPLETED'; readonly output: Output }
  | {
      readonly state: 'FAILED' | 'DEAD';
      /** Why the task failed; `CANCELLED` if it was cancelled. */
      readonly reason: string;
      /** The reason given to `cancel`. */
      readonly reasonDetail?: string;
      /** The task that reruns it, if it was requeued. */
      readonly requeuedAs?: string;
    }
  | { readonly state: 'WAITING' | 'LEASED' };

export interface Wait {
  readonly wait?: Duration;
  readonly signal?: AbortSignal;
}

export interface Receipt<Output> {
  readonly taskId: string;
  /** The outcome so far: now, or with `wait` once the task has ended or the wait is over. Never throws for a task that failed. */
  result(options?: Wait): Promise<TaskResult<Output>>;
  /**
   * Waits for the task to end and returns its output. Throws TASK_FAILED or TASK_CANCELLED, and TASK_PENDING when
   * `wait` is over first. With `wait`, it also waits for a task that does not exist yet.
   */
  output(options?: Wait): Promise<Output>;
  /**
   * Cancels the task: a waiting one ends now; a running one has its signal aborted and is never leased again. Throws
   * TASK_TERMINAL when it has ended.
   */
  cancel(reason?: string): Promise<void>;
}

/** Keeps its internals in private fields, so that a logged or stored receipt shows only the task id. */
export class TaskReceipt<Output> implements Receipt<Output> {
  readonly taskId: string;
  readonly #transport: Transport;
  readonly #world: ClientWorld;
  readonly #definition: TaskOf<Output>;

  constructor(transport: Transport, world: ClientWorld, definition: TaskOf<Output>, taskId: string) {
    this.taskId = taskId;
    this.#transport = transport;
    this.#world = world;
    this.#definition = definition;
  }

  get result(): Receipt<Output>['result'] {
    return async (options = {}) => {
      refuseUnknown(options, OPTIONS, 'result');
      return this.#await(durationMs(options.wait ?? 0, 'wait'), options.signal);
    };
  }

  get output(): Receipt<Output>['output'] {
    return async (options = {}) => {
      refuseUnknown(options, OPTIONS, 'output');
      const { wait, signal } = options;
      const waitMs = wait === undefined ? Number.POSITIVE_INFINITY : durationMs(wait, 'wait');
      const result = await this.#await(waitMs, signal, wait !== undefined);
      if (result.state === 'COMPLETED') return result.output;
      throw noOutput(this.taskId, result);
    };
  }

  get cancel(): Receipt<Output>['cancel'] {
    return async (reason) => void (await cancelTask(this.#transport, this.taskId, { reason }));
  }

  /** An unknown task may still be in transit, from an outbox for example. */
  async #await(
    waitMs: number,
    signal: AbortSignal | undefined,
    mayBeUnknown = false,
  ): Promise<TaskResult<Output>> {
    const { clock } = this.#world;
    const overMs = clock.monotonicMs() + waitMs;
    const delay = new Backoff();
    for (;;) {
      const leftMs = Math.ceil(Math.max(0, overMs - clock.monotonicMs()));
      try {
        const task = await this.#look(Math.min(leftMs, POLL_MAX_MS), signal);
        delay.reset();
        const result = await this.#resultOf(task);
        if (isEnd(result) || clock.monotonicMs() >= overMs) return result;
      } catch (fault) {
        const mayPass = isTransient(fault) || (mayBeUnknown && LeaseholdError.is(fault, 'TASK_NOT_FOUND'));
        if (leftMs === 0 || !mayPass) throw fault;
        await sleep(this.#world.timers, Math.min(leftMs, delay.take()), signal);
        signal?.throwIfAborted();
      }
    }
  }

  async #look(waitMs: number, signal: AbortSignal | undefined): Promise<Body<'task.get'>> {
    const request = { task_id: this.taskId, ...(waitMs === 0 ? {} : { wait_ms: waitMs }) };
    const reply = await this.#transport.call('task.get', request, signal === undefined ? {} : { signal });
    if (!reply.ok) throw LeaseholdError.of(reply);
    return reply;
  }

  async #resultOf(task: Body<'task.get'>): Promise<TaskResult<Output>> {
    const { state, result } = task;
    if (state === 'FAILED' || state === 'DEAD') return failureOf(state, task);
    if (state !== 'COMPLETED') return { state };
    const what = `The output of task ${this.taskId}`;
    if (result === null) throw invalidTask(`${what} was damaged on the disk.`);
    const output = result?.parse();
    const schema = this.#definition.output;
    return { state, output: schema === undefined ? (output as Output) : await parseBy(schema, output, what) };
  }
}

function failureOf(
  state: 'FAILED' | 'DEAD',
  { reason = '', reason_detail: reasonDetail, requeued_as: requeuedAs }: Body<'task.get'>,
): TaskResult<never> {
  return {
    state,
    reason,
    ...(reasonDetail === undefined ? {} : { reasonDetail }),
    ...(requeuedAs === undefined ? {} : { requeuedAs }),
  };
}

function noOutput(
  taskId: string,
  result: Exclude<TaskResult<unknown>, { state: 'COMPLETED' }>,
): LeaseholdError {
  const details = { taskId, ...result };
  if (!('reason' in result)) {
    const says = `Task ${taskId} is ${result.state}, and the wait is over.`;
    return new LeaseholdError('TASK_PENDING', says, { retryable: true, details });
  }
  const { state, reason, reasonDetail } = result;
  // Only cancelled tasks have a detail.
  if (reasonDetail !== undefined) {
    const says = `Task ${taskId} was cancelled: ${reasonDetail}`;
    return new LeaseholdError('TASK_CANCELLED', says, { details: { taskId, reason: reasonDetail } });
  }
  return new LeaseholdError('TASK_FAILED', `Task ${taskId} is ${state}: ${reason}`, { details });
}

function isEnd({ state }: TaskResult<unknown>): boolean {
  return state !== 'WAITING' && state !== 'LEASED';
}
