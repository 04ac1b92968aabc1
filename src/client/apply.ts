/**
 * Writes the schedules and queue limits of task definitions to the server. What an operator has set by hand stays until
 * it is removed, and a paused schedule stays paused. Removing a schedule or limits from a definition removes nothing on
 * the server.
 */
import type { Body, Requests } from '../operations/table.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import type { Reply } from '../protocol/problem.ts';
import { type AnyTask, assertDefinition } from './define-task.ts';
import { wireLimits } from './limits.ts';
import { ask, askFor } from './queries.ts';
import { scheduleRequest } from './schedules.ts';
import type { Transport } from './transport.ts';

export interface Applied {
  /** The name of the task, which is its queue. */
  readonly task: string;
  /**
   * `kept`: an operator has set the schedule by hand, and it stays. `left`: the definition no longer has a schedule,
   * but the one applied earlier still exists. Absent when there is none.
   */
  readonly schedule?: 'applied' | 'kept' | 'left';
  /** `kept`: an operator has set other limits, and these stay. Absent when the definition has none. */
  readonly limits?: 'applied' | 'kept';
}

export async function apply(transport: Transport, definitions: readonly AnyTask[]): Promise<Applied[]> {
  for (const definition of definitions) assertDefinition(definition);
  const applied: Applied[] = [];
  for (const definition of definitions) {
    const { name: task } = definition;
    const limits = await named(`The limits of task ${task}`, applyLimits(transport, definition));
    const schedule = await named(`The schedule of task ${task}`, applySchedule(transport, definition));
    applied.push({
      task,
      ...(limits === undefined ? {} : { limits }),
      ...(schedule === undefined ? {} : { schedule }),
    });
  }
  return applied;
}

/** Names the definition in the message of a refusal. */
async function named<T>(what: string, applying: Promise<T>): Promise<T> {
  try {
    return await applying;
  } catch (fault) {
    if (!(fault instanceof LeaseholdError) || fault.problem === null) throw fault;
    const { code, message, retryable, effect, problem } = fault;
    throw new LeaseholdError(code, `${what}: ${message}`, { retryable, effect, problem });
  }
}

async function applyLimits(transport: Transport, definition: AnyTask): Promise<Applied['limits']> {
  if (definition.limits === undefined) return undefined;
  const { kept } = await ask(transport, 'queue.limit', limitsRequest(definition));
  return kept ? 'kept' : 'applied';
}

/** A schedule has the name of its definition. */
async function applySchedule(transport: Transport, definition: AnyTask): Promise<Applied['schedule']> {
  const { name, schedule } = definition;
  if (schedule === undefined) {
    const known = await askFor(transport, 'schedule.get', { name }, 'SCHEDULE_NOT_FOUND');
    return known?.applied ? 'left' : undefined;
  }
  const { input, ...cron } = schedule;
  const request = await scheduleRequest(name, definition, cron, input);
  const { kept } = await ask(transport, 'schedule.put', { ...request, applied: true });
  return kept ? 'kept' : 'applied';
}

/**
 * Applies limits for a worker before its first lease. A worker without permission to set limits continues if the queue
 * has some, because another process applies the definitions. If the queue has none, the worker stops: its tasks would
 * run without the limits they rely on.
 */
export async function applyForWorker(
  definitions: Iterable<AnyTask>,
  call: (request: Requests['queue.limit']) => Promise<Reply<Body<'queue.limit'>>>,
  list: () => Promise<Reply<Body<'queue.list'>>>,
): Promise<void> {
  for (const definition of definitions) {
    if (definition.limits === undefined) continue;
    const reply = await call(limitsRequest(definition));
    if (reply.ok) continue;
    const listed = reply.code === 'FORBIDDEN' ? await list() : null;
    const known = listed?.ok ? listed.queues.find(({ queue }) => queue === definition.name) : undefined;
    if (known?.limits === undefined) throw LeaseholdError.of(reply);
  }
}

function limitsRequest({ name, limits }: AnyTask): Requests['queue.limit'] {
  return { queue: name, ...wireLimits(limits ?? null, `task ${name}`), applied: true };
}
