/** `task.lease`: lease the next tasks of some queues. */
import { type Static, Type } from '@sinclair/typebox';
import type { GrantedTask } from '../core/answers.ts';
import type { LeaseTasks } from '../core/commands.ts';
import { traceToJson } from '../core/entry-json.ts';
import { leaseIdOfSeq } from '../core/ids.ts';
import { instant } from '../protocol/instant.ts';
import { Json } from '../protocol/json.ts';
import { LIMITS } from '../protocol/limits.ts';
import { EXPIRES_AT, LEASE_ID, PAYLOAD, TASK_ID } from './example-story.ts';
import { fields, Name, note, Queue, TtlMs, WaitMs, WorkerId } from './fields.ts';
import { GuardField, guardOf } from './guards.ts';
import { change } from './operation.ts';
import { Duplicate, Instant, Key, Opaque, RemainingMs, Seq, Text, Trace, Whole } from './reply-fields.ts';
import { systemQueues } from './system-queues.ts';

export const DEFAULT_TTL_MS = 30_000;
const DEFAULT_QUEUES: readonly string[] = ['default'];

export const TaskLease = Type.Object({
  task_id: note(Text, 'the id of the task'),
  lease_id: note(Text, 'the id of this lease; every verdict names it'),
  lease_seq: note(Seq, 'the fencing number of this lease'),
  attempt: note(Whole, 'how many leases the task has had, this one included'),
  payload: Opaque,
  checkpoint: Type.Optional(note(Opaque, 'the last checkpoint of the attempts before, if there is one')),
  queue: note(Text, 'the queue it came from'),
  key: Key,
  trace: Trace,
  expiry_timestamp: note(Instant, 'the same as expires_at'),
  expires_at: note(Instant, 'when the lease ends unless it is extended'),
  remaining_ms: RemainingMs,
});

export const leaseTasks = change({
  name: 'task.lease',
  method: 'POST',
  path: '/v1/tasks/lease',
  scope: 'v1:write',
  status: 200,
  batch: true,
  retry: { fills: 'request_id' }, // The same worker and request_id get the same live leases.
  refusedWhenFull: true,
  grants: true,
  does: 'Lease up to max tasks, highest priority first, then oldest first; with wait_ms, wait for the first.',
  details: `Fewer leases than \`max\` do not mean that no task is left: large payloads end an answer early, and the next
call returns the rest. Tasks that start sessions (queue \`system:session-starts\`) are leased only to the holder of
the guard.`,
  request: fields({
    worker_id: WorkerId,
    queues: Type.Optional(
      Type.Array(Queue, {
        minItems: 1,
        maxItems: 100,
        description: 'The queues to lease from; ["default"] by default.',
      }),
    ),
    max: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.leasesMax,
        description:
          'How many at most; 1 by default. Once their payloads have 4 MiB together, no more are leased.',
      }),
    ),
    ttl_ms: Type.Optional(note(TtlMs, 'How long the leases last unless extended; 30 000 by default.')),
    wait_ms: Type.Optional(WaitMs),
    request_id: Type.Optional(
      note(
        Name,
        'Repeating the call with the same id returns the same live leases: a lost reply costs no attempt.',
      ),
    ),
    guard: Type.Optional(
      note(GuardField, 'The live grant of system:orchestrator:guard_lock; required for start tasks.'),
    ),
  }),
  reply: Type.Object({
    leases: Type.Array(TaskLease, { description: 'empty when no task was available in time' }),
    seq: Seq,
    duplicate: Duplicate,
    limited: Type.Optional(
      note(Whole, 'only when leases is empty: how many due tasks of these queues a limit holds back'),
    ),
  }),
  refusals: ['FORBIDDEN', 'GUARD_NOT_HELD', 'DISK_FULL'],
  example: {
    request: {
      worker_id: 'worker-1',
      queues: ['mail'],
      max: 1,
      ttl_ms: 30_000,
      wait_ms: 20_000,
      request_id: 'r-1',
    },
    reply: {
      leases: [
        {
          task_id: TASK_ID,
          lease_id: LEASE_ID,
          lease_seq: 43,
          attempt: 1,
          payload: PAYLOAD,
          queue: 'mail',
          expiry_timestamp: EXPIRES_AT,
          expires_at: EXPIRES_AT,
          remaining_ms: 30_000,
        },
      ],
      seq: 43,
    },
  },
  extraScope: ({ queues = [] }) => systemQueues(...queues),
  command(request): LeaseTasks {
    const command: LeaseTasks = {
      type: 'LeaseTasks',
      workerId: request.worker_id,
      // A copy: the caller may change its list while the call waits.
      queues: request.queues === undefined ? DEFAULT_QUEUES : [...request.queues],
      max: request.max ?? 1,
      ttlMs: request.ttl_ms ?? DEFAULT_TTL_MS,
      waitMs: request.wait_ms ?? 0,
      requestId: request.request_id ?? null,
    };
    return request.guard === undefined ? command : { ...command, guard: guardOf(request.guard) };
  },
  body({ leases, seq, duplicate, limited }) {
    const body = { ok: true as const, leases: leases.map(leaseOf), seq };
    if (limited > 0) return { ...body, limited };
    return duplicate ? { ...body, duplicate: true as const } : body;
  },
});

function leaseOf(lease: GrantedTask): Static<typeof TaskLease> {
  const expires = instant(lease.expiresAtMs);
  const body: Static<typeof TaskLease> = {
    task_id: lease.taskId,
    lease_id: leaseIdOfSeq(lease.leaseSeq),
    lease_seq: lease.leaseSeq,
    attempt: lease.attempt,
    payload: Json.shallow(lease.payload.bytes!),
    queue: lease.queue,
    expiry_timestamp: expires,
    expires_at: expires,
    remaining_ms: lease.remainingMs,
  };
  // Assigned, because most tasks have none of these and a spread would copy every lease.
  // Null too when its bytes were damaged on the disk.
  const saved = lease.checkpoint?.bytes ?? null;
  if (saved !== null) body.checkpoint = Json.shallow(saved);
  if (lease.groupKey !== null) body.key = lease.groupKey;
  if (lease.trace !== null) body.trace = traceToJson(lease.trace);
  return body;
}
