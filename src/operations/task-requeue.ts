/** `task.requeue`: run an ended task again, as a new one. */
import { Type } from '@sinclair/typebox';
import { requeueOrigin } from '../authority/reads.ts';
import type { RequeueOrigin, RequeueTask } from '../core/commands.ts';
import { instant } from '../protocol/instant.ts';
import type { StateSource } from './contexts.ts';
import { TASK_ID } from './example-story.ts';
import { DelayMs, fields, note, Priority, Queue, Reason, TaskId } from './fields.ts';
import { opaqueOf } from './opaque-values.ts';
import { change } from './operation.ts';
import { Duplicate, Instant, Seq, TaskState, Text, Whole } from './reply-fields.ts';

const AT = '2026-01-06T09:30:00.000Z';

export const requeueTask = change({
  name: 'task.requeue',
  method: 'POST',
  path: '/v1/tasks/{task_id}/requeue',
  scope: 'v1:write',
  status: 201,
  batch: true,
  retry: 'safe', // An ended task has one successor, however often it is requeued.
  refusedWhenFull: true,
  does: 'Run an ended task again, as a new task. Repeating the call returns the same new task (200).',
  details: `The new task has a copy of the payload, the retry policy, \`max_attempts\` and the \`key\` of the ended one, and its queue and
priority unless others are given. Its attempts begin at 0. Deduplication key, trace and checkpoint are not carried over. The
ended task never changes its state; it shows its successor as \`requeued_as\`. If the successor has been forgotten, \`state\` is
null and the fields after it are missing. Tasks are requeued neither from nor into queues that begin with \`system:\`.`,
  request: fields({
    task_id: TaskId,
    reason: Type.Optional(Reason),
    delay_ms: Type.Optional(DelayMs),
    priority: Type.Optional(note(Priority, 'Higher first; that of the ended task by default.')),
    queue: Type.Optional(note(Queue, 'The queue to put it into; that of the ended task by default.')),
    task_id_new: Type.Optional(note(TaskId, 'The id of the new task; generated from its seq by default.')),
  }),
  reply: Type.Object({
    task_id: note(Text, 'the id of the new task'),
    requeued_from: note(Text, 'the id of the ended task'),
    seq: Seq,
    state: Type.Union([TaskState, Type.Null()], {
      description: 'the state of the new task; null when it has been forgotten',
    }),
    attempt: Type.Optional(note(Whole, 'how many leases it has had')),
    queue: Type.Optional(note(Text, 'the queue it is in')),
    priority: Type.Optional(Type.Integer({ description: 'higher first' })),
    created_at: Type.Optional(Instant),
    due_at: Type.Optional(note(Instant, 'not leased before this instant')),
    reason: Type.Optional(note(Text, 'why it ended, of a duplicate that is FAILED or DEAD')),
    duplicate: Duplicate,
  }),
  refusals: [
    'TASK_NOT_FOUND',
    'TASK_NOT_ENDED',
    'TASK_ID_CONFLICT',
    'PAYLOAD_DAMAGED',
    'FORBIDDEN',
    'DISK_FULL',
  ],
  example: {
    request: { task_id: TASK_ID, reason: 'The mail server is back.' },
    reply: {
      task_id: 't0000000001h',
      requeued_from: TASK_ID,
      seq: 49,
      state: 'WAITING',
      attempt: 0,
      queue: 'mail',
      priority: 0,
      created_at: AT,
      due_at: AT,
    },
  },
  prepare: ({ task_id }, source) => readOrigin(task_id, source),
  command: (request, _token, _context, _isAdmin, origin): RequeueTask => ({
    type: 'RequeueTask',
    taskId: request.task_id,
    reason: request.reason ?? null,
    delayMs: request.delay_ms ?? 0,
    priority: request.priority ?? null,
    queue: request.queue ?? null,
    newTaskId: request.task_id_new ?? null,
    origin,
  }),
  body({ taskId, requeuedFrom, seq, successor, duplicate }) {
    return {
      ok: true,
      task_id: taskId,
      requeued_from: requeuedFrom,
      seq,
      state: successor?.state ?? null,
      ...(successor === null
        ? {}
        : {
            attempt: successor.attempt,
            queue: successor.queue,
            priority: successor.priority,
            created_at: instant(successor.createdAtMs),
            due_at: instant(successor.dueAtMs),
            ...(successor.reason === null ? {} : { reason: successor.reason }),
          }),
      ...(duplicate ? { duplicate: true as const } : {}),
    };
  },
});

/** Null when there is nothing to read: the rule will say why. */
async function readOrigin(taskId: string, source: StateSource): Promise<RequeueOrigin | null> {
  const found = await source.read((view) => requeueOrigin(view, taskId));
  if (found === null) return null;
  const bytes = await source.log.read(found.payload);
  return { createdSeq: found.createdSeq, payload: bytes === null ? null : opaqueOf(bytes) };
}
