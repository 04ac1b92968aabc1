/** `task.extend` and `worker.heartbeat`: extend leases on tasks, one by one or all of a worker together. */
import { type Static, Type } from '@sinclair/typebox';
import type { Extension } from '../core/answers.ts';
import type { ExtendLease, Heartbeat } from '../core/commands.ts';
import { leaseIdOfSeq, seqOfLeaseId } from '../core/ids.ts';
import { instant } from '../protocol/instant.ts';
import { LIMITS } from '../protocol/limits.ts';
import { EXTENDED_TO, LEASE_ID, TASK_ID } from './example-story.ts';
import { fields, LeaseId, note, TaskId, TtlMs, WorkerId } from './fields.ts';
import { change } from './operation.ts';
import { CancelRequested, Instant, RemainingMs, Seq, Text } from './reply-fields.ts';
import { DEFAULT_TTL_MS } from './task-lease.ts';
import { VERDICT_REFUSALS } from './task-verdicts.ts';

export const ExtendedLease = Type.Object({
  task_id: note(Text, 'the id of the task'),
  lease_id: note(Text, 'the id of the lease'),
  lease_seq: note(Seq, 'the fencing number of the lease'),
  expiry_timestamp: note(Instant, 'the same as expires_at'),
  expires_at: note(Instant, 'when the lease ends unless it is extended again'),
  remaining_ms: RemainingMs,
  seq: Seq,
  cancel_requested: CancelRequested,
});

const EXTENDED = {
  task_id: TASK_ID,
  lease_id: LEASE_ID,
  lease_seq: 43,
  expiry_timestamp: EXTENDED_TO,
  expires_at: EXTENDED_TO,
  remaining_ms: 30_000,
  seq: 44,
};

export const extendLease = change({
  name: 'task.extend',
  method: 'POST',
  path: '/v1/tasks/{task_id}/extend',
  scope: 'v1:write',
  status: 200,
  batch: true,
  retry: 'safe', // Never shortens.
  urgent: true,
  does: 'Extend the lease of a task. Never shortens, never resurrects.',
  request: fields({ task_id: TaskId, lease_id: LeaseId, ttl_ms: TtlMs }),
  reply: ExtendedLease,
  refusals: [...VERDICT_REFUSALS, 'LEASE_EXPIRED'],
  example: { request: { task_id: TASK_ID, lease_id: LEASE_ID, ttl_ms: 30_000 }, reply: EXTENDED },
  command: (request): ExtendLease => ({
    type: 'ExtendLease',
    taskId: request.task_id,
    leaseSeq: seqOfLeaseId(request.lease_id),
    ttlMs: request.ttl_ms,
  }),
  body: (answer) => ({ ok: true, ...extended(answer) }),
});

export const heartbeat = change({
  name: 'worker.heartbeat',
  method: 'POST',
  path: '/v1/workers/{worker_id}/heartbeat',
  scope: 'v1:write',
  status: 200,
  batch: true,
  retry: 'safe',
  urgent: true,
  renews: true,
  does: 'Extend every listed lease and list those that are lost.',
  details: `It also updates \`last_heartbeat\` of the worker. \`cause\` is \`expired\`, \`completed\`, \`failed\`, \`released\`,
\`killed\`, \`restored\` or \`unknown\`. A lease in \`extended\` with \`cancel_requested\` is still held: its worker should stop.`,
  request: fields({
    worker_id: WorkerId,
    leases: Type.Optional(
      Type.Array(fields({ task_id: TaskId, lease_id: LeaseId }), {
        maxItems: LIMITS.batchOps,
        description: 'The leases to extend.',
      }),
    ),
    ttl_ms: Type.Optional(note(TtlMs, 'How long the leases last from now on; 30 000 by default.')),
  }),
  reply: Type.Object({
    extended: Type.Array(ExtendedLease),
    lost: Type.Array(
      Type.Object({
        lease_id: note(Text, 'the id of the lease that is over'),
        task_id: note(Text, 'the id of its task'),
        cause: note(Text, 'how it ended'),
      }),
    ),
    seq: Seq,
  }),
  refusals: [],
  example: {
    request: {
      worker_id: 'worker-1',
      leases: [
        { task_id: TASK_ID, lease_id: LEASE_ID },
        { task_id: 't0000000000k', lease_id: 'l0000000000m' },
      ],
      ttl_ms: 30_000,
    },
    reply: {
      extended: [EXTENDED],
      lost: [{ lease_id: 'l0000000000m', task_id: 't0000000000k', cause: 'expired' }],
      seq: 44,
    },
  },
  command: (request): Heartbeat => ({
    type: 'Heartbeat',
    workerId: request.worker_id,
    leases: (request.leases ?? []).map(({ task_id, lease_id }) => ({
      taskId: task_id,
      leaseSeq: seqOfLeaseId(lease_id),
      leaseId: lease_id,
    })),
    ttlMs: request.ttl_ms ?? DEFAULT_TTL_MS,
  }),
  body: ({ extended: kept, lost, seq }) => ({
    ok: true,
    extended: kept.map(extended),
    lost: lost.map(({ leaseId, taskId, cause }) => ({ lease_id: leaseId, task_id: taskId, cause })),
    seq,
  }),
});

function extended(answer: Extension): Static<typeof ExtendedLease> {
  const expires = instant(answer.expiresAtMs);
  const lease = {
    task_id: answer.taskId,
    lease_id: leaseIdOfSeq(answer.leaseSeq),
    lease_seq: answer.leaseSeq,
    expiry_timestamp: expires,
    expires_at: expires,
    remaining_ms: answer.remainingMs,
    seq: answer.seq,
  };
  return answer.cancelRequested ? { ...lease, cancel_requested: true } : lease;
}
