/** What an operator does to a task that exists: `task.cancel` and `task.change`. */
import { Type } from '@sinclair/typebox';
import type { CancelTask, ChangeTask } from '../core/commands.ts';
import { invalid } from '../core/decision.ts';
import type { Refusal } from '../core/refusals.ts';
import { instant } from '../protocol/instant.ts';
import { CREATED_AT, TASK_ID } from './example-story.ts';
import { DelayMs, fields, note, Priority, Queue, Reason, TaskId } from './fields.ts';
import { change } from './operation.ts';
import { CancelRequested, Duplicate, Instant, Seq, Text } from './reply-fields.ts';

export const cancelTask = change({
  name: 'task.cancel',
  method: 'POST',
  path: '/v1/tasks/{task_id}/cancel',
  scope: 'v1:write',
  status: 200,
  batch: true,
  retry: 'safe', // A repeat is answered as such.
  does: 'Cancel a task: a waiting one ends as DEAD, the holder of a leased one is asked to stop.',
  details: `A waiting task ends at once: \`reason\` is \`CANCELLED\`, and the words of the caller are its \`reason_detail\`. A leased
task stays LEASED; its holder is told by \`cancel_requested\` in its next extend or heartbeat reply. A completion in
time still commits. A failure, a release or the end of the lease ends the task as DEAD. A cancelled task is never
leased again. Tasks in queues that begin with \`system:\` are refused with \`FORBIDDEN\`.`,
  request: fields({ task_id: TaskId, reason: Reason }),
  reply: Type.Object({
    task_id: note(Text, 'the id of the task'),
    state: Type.Union([Type.Literal('LEASED'), Type.Literal('DEAD')], {
      description: 'LEASED: it ends with its lease',
    }),
    cancel_requested: CancelRequested,
    seq: Seq,
    duplicate: Duplicate,
  }),
  refusals: ['FORBIDDEN', 'TASK_NOT_FOUND', 'TASK_TERMINAL'],
  example: {
    request: { task_id: TASK_ID, reason: 'The customer has left.' },
    reply: { task_id: TASK_ID, state: 'LEASED', cancel_requested: true, seq: 44 },
  },
  command: ({ task_id, reason }): CancelTask => ({ type: 'CancelTask', taskId: task_id, reason }),
  body: ({ taskId, state, seq, duplicate }) => ({
    ok: true,
    task_id: taskId,
    state,
    ...(state === 'LEASED' ? { cancel_requested: true as const } : {}),
    seq,
    ...(duplicate ? { duplicate: true as const } : {}),
  }),
});

export const changeTask = change({
  name: 'task.change',
  method: 'PATCH',
  path: '/v1/tasks/{task_id}',
  scope: 'v1:admin',
  status: 200,
  retry: 'safe', // Sets values; a delay counts from the call that is carried out last.
  does: 'Change the queue, the priority or the delay of a waiting task.',
  details: `At least one field must be given; the others stay as they are. The task keeps its age, and so its place
among tasks of the same priority. \`TASK_ID_CONFLICT\`: a task in the new queue has its \`dedup_key\`. Queues that
begin with \`system:\` are refused with \`FORBIDDEN\`.`,
  request: fields({
    task_id: TaskId,
    priority: Type.Optional(note(Priority, 'Its new priority; higher first.')),
    queue: Type.Optional(note(Queue, 'The queue to put it into.')),
    delay_ms: Type.Optional(note(DelayMs, 'The task is not leased before this time has passed from now on.')),
  }),
  reply: Type.Object({
    task_id: note(Text, 'the id of the task'),
    state: Type.Literal('WAITING'),
    queue: note(Text, 'the queue it is in'),
    priority: Type.Integer({ description: 'higher first' }),
    due_at: note(Instant, 'not leased before this instant'),
    seq: Seq,
  }),
  refusals: ['FORBIDDEN', 'TASK_NOT_FOUND', 'TASK_ID_CONFLICT', 'TASK_NOT_WAITING'],
  example: {
    request: { task_id: TASK_ID, priority: 10 },
    reply: { task_id: TASK_ID, state: 'WAITING', queue: 'mail', priority: 10, due_at: CREATED_AT, seq: 43 },
  },
  command({ task_id, queue = null, priority = null, delay_ms = null }): ChangeTask | Refusal {
    if (queue === null && priority === null && delay_ms === null) return invalid(NOTHING_GIVEN);
    return { type: 'ChangeTask', taskId: task_id, queue, priority, delayMs: delay_ms };
  },
  body: ({ taskId, queue, priority, dueAtMs, seq }) => ({
    ok: true,
    task_id: taskId,
    state: 'WAITING' as const,
    queue,
    priority,
    due_at: instant(dueAtMs),
    seq,
  }),
});

const NOTHING_GIVEN = 'One of the fields priority, queue and delay_ms must be given.';
