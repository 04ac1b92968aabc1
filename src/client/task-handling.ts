/** Handles one leased task: checks the input, runs the handler, and turns its result or error into a verb. */
import { Json } from '../protocol/json.ts';
import { LIMITS } from '../protocol/limits.ts';
import { invalidTask, parseBy } from './standard-schema.ts';
import { HandlerContext } from './task-context.ts';
import { HandBack, NoRetry, RetryLater, TaskTimeout, WorkerStopping } from './task-errors.ts';
import type { TaskRun } from './task-run.ts';
import type { Transport } from './transport.ts';
import type { ClientWorld } from './world.ts';

/** The verdict that the worker will send. */
export type TaskEnd =
  | { readonly verb: 'complete'; readonly result: Json | null }
  | {
      readonly verb: 'fail';
      readonly error: unknown;
      readonly reason: string;
      readonly isFinal: boolean;
      readonly delayMs: number | null;
    }
  | { readonly verb: 'release'; readonly error: unknown; readonly delayMs: number };

/**
 * Runs the handler and passes on how the task ends. Never rejects: anything thrown by the definition or the handler
 * becomes an end of the task.
 */
export async function handle(
  run: TaskRun,
  transport: Transport,
  world: ClientWorld,
  finish: (run: TaskRun, end: TaskEnd) => void,
): Promise<void> {
  const work = (): Promise<TaskEnd> => endOf(run, transport, world);
  finish(run, await (world.traces === undefined ? work() : world.traces.handling(run.lease, work)));
}

async function endOf(run: TaskRun, transport: Transport, world: ClientWorld): Promise<TaskEnd> {
  const { definition, handler } = run.job;
  try {
    let input = run.lease.payload.parse();
    if (definition.input !== undefined) {
      input = await parseBy(definition.input, input, `The input of task ${run.lease.task_id}`);
    }
    const lastCheckpoint = await lastCheckpointOf(run);
    const returned = await handler(new HandlerContext({ input, lastCheckpoint }, run, transport, world));
    const result = returned instanceof Json ? returned : jsonOf(returned, run);
    // Checked after a JSON round trip, as the receipt will see it.
    if (definition.output !== undefined) await parseBy(definition.output, result?.parse(), outputOf(run));
    return { verb: 'complete', result };
  } catch (thrown) {
    return endBy(thrown, run);
  }
}

/** A checkpoint that no longer fits its schema fails the attempt: starting over silently would repeat work. */
function lastCheckpointOf({ lease, job }: TaskRun): unknown {
  const { checkpoint = null, task_id } = lease;
  if (checkpoint === null) return undefined;
  const schema = job.definition.checkpoint;
  const value = checkpoint.parse();
  return schema === undefined ? value : parseBy(schema, value, `The checkpoint of task ${task_id}`);
}

function jsonOf(returned: unknown, run: TaskRun): Json | null {
  if (returned === undefined) return null;
  try {
    return Json.of(returned);
  } catch (cause) {
    throw invalidTask(`${outputOf(run)} has no JSON form.`, { cause });
  }
}

function outputOf({ lease }: TaskRun): string {
  return `The output of task ${lease.task_id}`;
}

function endBy(thrown: unknown, run: TaskRun): TaskEnd {
  if (thrown instanceof HandBack) return { verb: 'release', error: thrown, delayMs: thrown.delayMs };
  // A stopping worker and a cancellation abort the handler; what it throws then is not a failure of the task.
  if (run.abortReason instanceof WorkerStopping || run.isCancelled)
    return { verb: 'release', error: thrown, delayMs: 0 };
  // An AbortError after a timeout does not mention the timeout, so report that instead.
  const isAborted = run.abortReason instanceof TaskTimeout && (thrown as Error | null)?.name === 'AbortError';
  return failure(isAborted ? run.abortReason : thrown);
}

export function failure(error: unknown): TaskEnd {
  return {
    verb: 'fail',
    error,
    reason: reasonOf(error),
    isFinal: error instanceof NoRetry,
    delayMs: error instanceof RetryLater ? error.delayMs : null,
  };
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The message, cut to the length the authority accepts without splitting a character. */
function reasonOf(error: unknown): string {
  const bytes = encoder.encode(messageOf(error) || 'The handler failed without a message.');
  if (bytes.length <= LIMITS.reasonBytes) return decoder.decode(bytes);
  // A split character decodes to a replacement character.
  return `${decoder.decode(bytes.subarray(0, LIMITS.reasonBytes - 3)).replace(/\uFFFD$/, '')}…`;
}

function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message || error.name;
  // Anything can be thrown, even an object without `toString`.
  return typeof error === 'object' || typeof error === 'function' ? '' : String(error);
}
