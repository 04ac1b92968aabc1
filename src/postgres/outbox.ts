/**
 * `enqueueIn`: writes a task into the outbox in the caller's own transaction, so that the task exists if and only if the
 * transaction commits. It needs only `query(text, values)` and contacts no server. Each statement uses its placeholders
 * $1, $2, … once and in order, so that an adapter for a library with other placeholders takes one line.
 */
import type { AnyTask, TaskDefinition } from '../client/define-task.ts';
import { checkedTask, delayFields, type EnqueueOptions } from '../client/task-request.ts';
import { refuseUnknown } from '../client/unknown-options.ts';
import type { Json } from '../protocol/json.ts';
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import { problem } from '../protocol/problem.ts';
import type { Queryable } from './database.ts';

export interface EnqueueInOptions extends Omit<EnqueueOptions, 'signal'> {
  /**
   * Whether the commit wakes the relay (NOTIFY); default true. Postgres locks the whole database while it commits a
   * transaction that notifies: with thousands of commits a second, set it to false and let the relay poll.
   */
  readonly notify?: boolean;
}

export interface OutboxWorld {
  readonly newId: () => string;
  readonly wallMs: () => number;
}

/** The channel that the relay listens to. */
export const OUTBOX_CHANNEL = 'leasehold_outbox';

const ENTER = `WITH entered AS (
    INSERT INTO leasehold_outbox (task_id, queue, payload, settings)
      VALUES ($1::text, $2::text, $3::text, $4::text::jsonb)
      ON CONFLICT (task_id) DO NOTHING RETURNING task_id
  )
  SELECT task_id, CASE WHEN $5::boolean THEN pg_notify('${OUTBOX_CHANNEL}', '')::text END AS told FROM entered`;
const EXISTING = 'SELECT queue, payload FROM leasehold_outbox WHERE task_id = $1::text';

/** How often the insert is retried when the existing row vanishes between the two statements. */
const TRIES_MAX = 5;

export async function enqueueIn<Input>(
  tx: Queryable,
  definition: TaskDefinition<Input, unknown, unknown, unknown>,
  input: Input,
  { notify = true, ...options }: EnqueueInOptions,
  { newId, wallMs }: OutboxWorld,
): Promise<{ readonly taskId: string }> {
  if (typeof tx?.query !== 'function')
    throw new TypeError('enqueueIn takes a transaction with query(text, values).');
  refuseUnknown('signal' in options ? { signal: 1 } : {}, [], 'enqueueIn');
  const { request } = await checkedTask(definition as AnyTask, input, options);
  const taskId = request.task_id ?? newId();
  const whole = { ...request, task_id: taskId, ...delayFields(options, wallMs()) };
  // Checked here too, because here the caller can still roll back. Loaded late: few users of leases have an outbox.
  const { refuseCreateRequest } = await import('../operations/task-create-check.ts');
  const refusal = refuseCreateRequest(whole);
  if (refusal !== null) throw LeaseholdError.of(problem(refusal));
  const { task_id: _, queue = definition.name, payload, ...settings } = whole;
  const text = (payload as Json).text();
  const values = [taskId, queue, text, JSON.stringify(settings), notify];
  for (let left = TRIES_MAX; left > 0; left--) {
    if ((await tx.query(ENTER, values)).rows.length > 0) return { taskId };
    const [row] = (await tx.query(EXISTING, [taskId])).rows as { queue: string; payload: string }[];
    if (row === undefined) continue;
    if (row.queue === queue && row.payload === text) return { taskId };
    break;
  }
  const says = `The outbox has a task ${taskId} with another queue or input.`;
  throw new LeaseholdError('TASK_ID_CONFLICT', says);
}
