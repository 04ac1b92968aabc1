/**
 * A receipt for a task: durable from the moment it is given, and good from any process that knows the task's
 * id. It asks for the result in long polls, and outlasts a server that is away as long as it was told to wait.
 */
import type { Body } from '../operations/table.ts';
import type { TaskDefinition } from './define-task.ts';
import { type Duration, durationMs } from './durations.ts';
import { LeaseholdError } from './error.ts';
import { pause } from './pause.ts';
import { parseBy } from './standard-schema.ts';
import { GrowingDelay, isPassing } from './task-patience.ts';
import type { Transport } from './transport.ts';
import { refuseUnknown } from './unknown-options.ts';
import type { ClientWorld } from './world.ts';

/** One poll; long waits are made of several, so that a dead connection is noticed. */
const POLL_MAX_MS = 60_000;
const OPTIONS = ['wait', 'signal'];

/** What became of a task. WAITING and LEASED: nothing yet, and the wait is over. */
export type TaskResult<Output> =
  | { readonly state: 'COMPLETED'; readonly output: Output }
  | { readonly state: 'FAILED' | 'DEAD'; readonly reason: string }
  | { readonly state: 'WAITING' | 'LEASED' };

export interface ResultOptions {
  /** How long to wait for the end of the task; without it, not at all. */
  readonly wait?: Duration;
  readonly signal?: AbortSignal;
}

export interface TaskReceipt<Output> {
  readonly taskId: string;
  result(options?: ResultOptions): Promise<TaskResult<Output>>;
}

/** The ways out of a receipt, hidden so that a receipt that is logged or stored shows what it is for. */
export class Receipt<Output> implements TaskReceipt<Output> {
  readonly taskId: string;
  readonly #transport: Transport;
  readonly #world: ClientWorld;
  readonly #definition: TaskDefinition<unknown, Output, unknown, unknown>;

  constructor(
    transport: Transport,
    world: ClientWorld,
    definition: TaskDefinition<unknown, Output, unknown, unknown>,
    taskId: string,
  ) {
    this.taskId = taskId;
    this.#transport = transport;
    this.#world = world;
    this.#definition = definition;
  }

  async result(options: ResultOptions = {}): Promise<TaskResult<Output>> {
    refuseUnknown(options, OPTIONS, 'result');
    const { wait = 0, signal } = options;
    const { clock } = this.#world;
    const overMs = clock.monotonicMs() + durationMs(wait, 'wait');
    const delay = new GrowingDelay();
    for (;;) {
      const leftMs = Math.ceil(Math.max(0, overMs - clock.monotonicMs()));
      try {
        const task = await this.#look(Math.min(leftMs, POLL_MAX_MS), signal);
        delay.reset();
        const result = await this.#resultOf(task);
        if (isEnd(result) || clock.monotonicMs() >= overMs) return result;
      } catch (fault) {
        if (leftMs === 0 || !isPassing(fault)) throw fault;
        await pause(this.#world.timers, Math.min(leftMs, delay.take()), signal);
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

  async #resultOf({ state, reason = '', result }: Body<'task.get'>): Promise<TaskResult<Output>> {
    if (state === 'FAILED' || state === 'DEAD') return { state, reason };
    if (state !== 'COMPLETED') return { state };
    const what = `The output of task ${this.taskId}`;
    if (result === null) throw new LeaseholdError('INVALID_TASK', `${what} was damaged on the disk.`);
    const output = result?.parse();
    const schema = this.#definition.output;
    return { state, output: schema === undefined ? (output as Output) : await parseBy(schema, output, what) };
  }
}

function isEnd({ state }: TaskResult<unknown>): boolean {
  return state !== 'WAITING' && state !== 'LEASED';
}
