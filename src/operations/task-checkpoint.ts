/** `task.checkpoint`: save how far the work on a task has come, for the next attempt. */
import { Type } from '@sinclair/typebox';
import type { CheckpointTask } from '../core/commands.ts';
import { isRefusal } from '../core/decision.ts';
import { leaseIdOfSeq, seqOfLeaseId } from '../core/ids.ts';
import type { Refusal } from '../core/refusals.ts';
import { LIMITS } from '../protocol/limits.ts';
import { CHECKPOINT, LEASE_ID, TASK_ID } from './example-story.ts';
import { fields, LeaseId, note, Opaque, TaskId } from './fields.ts';
import { wrap } from './opaque-values.ts';
import { change } from './operation.ts';
import { Seq, Text } from './reply-fields.ts';

export const checkpointTask = change({
  name: 'task.checkpoint',
  method: 'POST',
  path: '/v1/tasks/{task_id}/checkpoint',
  scope: 'v1:write',
  status: 200,
  batch: true,
  retry: 'safe',
  refusedWhenFull: true,
  does: 'Save how far the work on a leased task has come; the next attempt gets it.',
  details: `Only the last one is kept, until the task is completed. The next lease of the task and its record carry it
as \`checkpoint\`. It does not extend the lease. Tasks in queues that begin with \`system:\` are refused with \`FORBIDDEN\`.`,
  request: fields({
    task_id: TaskId,
    lease_id: LeaseId,
    value: note(Opaque, 'The progress to resume from; at most 64 KiB.'),
  }),
  reply: Type.Object({
    task_id: note(Text, 'the id of the task'),
    lease_id: note(Text, 'the id of the lease'),
    seq: Seq,
  }),
  refusals: [
    'FORBIDDEN',
    'TASK_NOT_FOUND',
    'LEASE_UNKNOWN',
    'LEASE_NOT_CURRENT',
    'LEASE_EXPIRED',
    'DISK_FULL',
  ],
  example: {
    request: { task_id: TASK_ID, lease_id: LEASE_ID, value: CHECKPOINT },
    reply: { task_id: TASK_ID, lease_id: LEASE_ID, seq: 44 },
  },
  command({ task_id, lease_id, value }): CheckpointTask | Refusal {
    const wrapped = wrap('value', value, LIMITS.checkpointBytes);
    if (isRefusal(wrapped)) return wrapped;
    return { type: 'CheckpointTask', taskId: task_id, leaseSeq: seqOfLeaseId(lease_id), value: wrapped };
  },
  body: ({ taskId, leaseSeq, seq }) => ({
    ok: true,
    task_id: taskId,
    lease_id: leaseIdOfSeq(leaseSeq),
    seq,
  }),
});
