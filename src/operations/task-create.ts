/** `task.create`: create a durable task. */
import { Type } from '@sinclair/typebox';
import type { CreateTask } from '../core/commands.ts';
import { isRefusal } from '../core/decision.ts';
import type { Refusal } from '../core/refusals.ts';
import { instant } from '../protocol/instant.ts';
import { DEFAULT_MAX_BACKOFF_MS, LIMITS } from '../protocol/limits.ts';
import { CREATED_AT, PAYLOAD, TASK_ID } from './example-story.ts';
import {
  Count,
  DelayMs,
  fields,
  Name,
  note,
  Opaque,
  Priority,
  Queue,
  TaskGroup,
  TaskId,
  Trace,
} from './fields.ts';
import { wrap } from './opaque-values.ts';
import { change } from './operation.ts';
import { Duplicate, Instant, Seq, TaskState, Text, Whole } from './reply-fields.ts';
import { systemQueues } from './system-queues.ts';

const BackoffMs = Type.Integer({ minimum: 0, maximum: LIMITS.ttlMaxMs });

export const RetryPolicy = note(
  fields({
    max_failures: Type.Optional(note(Count, 'How many failures make the task FAILED.')),
    backoff_ms: Type.Optional(
      note(
        BackoffMs,
        'The pause after the first failure; it doubles with each further one, up to `max_backoff_ms`: give that too for more than 300 s.',
      ),
    ),
    max_backoff_ms: Type.Optional(note(BackoffMs, 'The longest pause, also the first; 300000 by default.')),
  }),
  'What happens after a failure; by default 5 failures, the first pause 1 s, no pause above 300 s.',
);

export const createTask = change({
  name: 'task.create',
  method: 'POST',
  path: '/v1/tasks',
  scope: 'v1:write',
  status: 201,
  batch: true,
  retry: { fills: 'task_id' }, // The same id with the same payload is the same task.
  refusedWhenFull: true,
  does: 'Create a task. A known id with the same payload, or a live dedup key, returns the existing task (200).',
  details: `The same payload means the same bytes: \`{"a":1,"b":2}\` is not \`{"b":2,"a":1}\`. A duplicate shows the \`state\` of the
existing task, which may have ended: \`task.requeue\` runs it again.`,
  request: fields({
    payload: note(Opaque, 'The input of the task.'),
    task_id: Type.Optional(
      note(
        TaskId,
        'The id of the new task; generated from its seq by default. Makes the call safe to retry: the same id with ' +
          'the same payload returns the existing task.',
      ),
    ),
    queue: Type.Optional(note(Queue, 'The queue to put it into; "default" by default.')),
    priority: Type.Optional(note(Priority, 'Higher first; 0 by default.')),
    delay_ms: Type.Optional(DelayMs),
    retry: Type.Optional(RetryPolicy),
    max_attempts: Type.Optional(
      note(Count, 'How many leases the task may have before it is DEAD; 100 by default.'),
    ),
    dedup_key: Type.Optional(
      note(Name, 'While a task of this queue with this key has not ended, that task is returned.'),
    ),
    key: Type.Optional(TaskGroup),
    trace: Type.Optional(
      note(
        Trace,
        'The trace context of the caller, passed on to the worker. It is not compared when a task_id is repeated.',
      ),
    ),
  }),
  reply: Type.Object({
    task_id: note(Text, 'the id of the task'),
    seq: Seq,
    state: TaskState,
    attempt: note(Whole, 'how many leases it has had'),
    queue: note(Text, 'the queue it is in'),
    priority: Type.Integer({ description: 'higher first' }),
    created_at: Instant,
    due_at: note(Instant, 'not leased before this instant'),
    reason: Type.Optional(note(Text, 'why it ended, of a duplicate that is FAILED or DEAD')),
    duplicate: Duplicate,
  }),
  refusals: ['TASK_ID_CONFLICT', 'FORBIDDEN', 'DISK_FULL'],
  example: {
    request: { payload: PAYLOAD, queue: 'mail', dedup_key: 'welcome:ada' },
    reply: {
      task_id: TASK_ID,
      seq: 42,
      state: 'WAITING',
      attempt: 0,
      queue: 'mail',
      priority: 0,
      created_at: CREATED_AT,
      due_at: CREATED_AT,
    },
  },
  extraScope: ({ queue }) => systemQueues(queue),
  command(request): CreateTask | Refusal {
    const { retry, trace } = request;
    const payload = wrap('payload', request.payload);
    if (isRefusal(payload)) return payload;
    const taskId = request.task_id ?? null;
    return {
      type: 'CreateTask',
      taskId,
      queue: request.queue ?? 'default',
      priority: request.priority ?? 0,
      delayMs: request.delay_ms ?? 0,
      maxFailures: retry?.max_failures ?? 5,
      backoffMs: retry?.backoff_ms ?? 1_000,
      maxBackoffMs: retry?.max_backoff_ms ?? DEFAULT_MAX_BACKOFF_MS,
      maxAttempts: request.max_attempts ?? 100,
      dedupKey: request.dedup_key ?? null,
      groupKey: request.key ?? null,
      trace: trace === undefined ? null : { ...trace, tracestate: trace.tracestate ?? null },
      payload,
    };
  },
  body(answer) {
    const body = {
      ok: true as const,
      task_id: answer.taskId,
      seq: answer.seq,
      state: answer.state,
      attempt: answer.attempt,
      queue: answer.queue,
      priority: answer.priority,
      created_at: instant(answer.createdAtMs),
      due_at: instant(answer.dueAtMs),
    };
    if (!answer.duplicate) return body;
    return {
      ...body,
      ...(answer.reason === null ? {} : { reason: answer.reason }),
      duplicate: true as const,
    };
  },
});
