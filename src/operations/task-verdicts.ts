/** The verdicts by which a worker ends its lease: `task.complete`, `task.fail`, `task.release`; and `task.kill`. */
import { type Static, Type } from '@sinclair/typebox';
import type { Verdict as VerdictAnswer } from '../core/answers.ts';
import type { CompleteTask, FailTask, KillTask, ReleaseTask, WriteRequest } from '../core/commands.ts';
import { isRefusal } from '../core/decision.ts';
import { seqOfLeaseId } from '../core/ids.ts';
import type { Refusal, RefusalCode } from '../core/refusals.ts';
import { instant } from '../protocol/instant.ts';
import { LIMITS } from '../protocol/limits.ts';
import { COMPLETED_ENTRY, LEASE_ID, TASK_ID } from './example-story.ts';
import { FenceLease, presented, WRITE_REFUSALS } from './fenced-writes.ts';
import { DelayMs, fields, LeaseId, note, ObjectId, Opaque, Reason, TaskId } from './fields.ts';
import { wrap } from './opaque-values.ts';
import { change } from './operation.ts';
import { Duplicate, Instant, Seq, TaskState, Text } from './reply-fields.ts';

/** The refusals of every operation on a task under a lease. */
export const VERDICT_REFUSALS = [
  'TASK_NOT_FOUND',
  'LEASE_UNKNOWN',
  'LEASE_NOT_CURRENT',
  'GUARD_NOT_HELD',
] as const satisfies readonly RefusalCode[];

export const Verdict = Type.Object({
  outcome: Type.Union([Type.Literal('COMMITTED'), Type.Literal('CANCELLED')], {
    description: 'CANCELLED: the verdict was late, and the task is unchanged',
  }),
  task_id: note(Text, 'the id of the task'),
  state: TaskState,
  seq: Seq,
  due_at: Type.Optional(note(Instant, 'when it may be leased again')),
  cause: Type.Optional(Type.String({ description: 'how the lease had ended, when the verdict was late' })),
  duplicate: Duplicate,
});

const Write = fields({ object_id: ObjectId, value: note(Opaque, 'What to write.'), lease: FenceLease });

export const completeTask = change({
  name: 'task.complete',
  method: 'POST',
  path: '/v1/tasks/{task_id}/complete',
  scope: 'v1:write',
  status: 200,
  batch: true,
  retry: 'safe', // Repeating the verb that ended a lease returns its first answer.
  urgent: true,
  does: 'Complete a task with its result and fenced writes, all or nothing. Late: outcome CANCELLED.',
  details: `\`outcome\` is \`"COMMITTED"\`; or \`"CANCELLED"\` when the lease was over, with the \`cause\` (\`expired\`, \`killed\` or
\`restored\`): then the task is unchanged and the late result is kept with its lease. The header
\`Leasehold-Outcome\` repeats it. Repeating the verb that ended a lease returns its first answer.

The first of the \`writes\` that fails refuses the completion with its code and its \`index\`, and the task stays
LEASED; \`LEASE_EXPIRED\` of a write is 412. \`TASK_NOT_FOUND\`, \`LEASE_UNKNOWN\` and \`LEASE_NOT_CURRENT\` carry
\`outcome: "REJECTED"\`, in the header too. \`GUARD_NOT_HELD\`: the task starts a session.`,
  request: fields({
    task_id: TaskId,
    lease_id: LeaseId,
    result: Type.Optional(note(Opaque, 'The output of the task.')),
    writes: Type.Optional(
      Type.Array(Write, {
        maxItems: LIMITS.writesMax,
        description:
          'Fenced writes in the same entry, all or nothing, judged only when the outcome would be COMMITTED.',
      }),
    ),
  }),
  reply: Verdict,
  refusals: [...VERDICT_REFUSALS, ...WRITE_REFUSALS, 'DISK_FULL'],
  example: {
    request: {
      task_id: TASK_ID,
      lease_id: LEASE_ID,
      result: COMPLETED_ENTRY.result,
      writes: [{ object_id: 'mail-count', value: 121, lease: { lease_seq: 40 } }],
    },
    reply: { outcome: 'COMMITTED', task_id: TASK_ID, state: 'COMPLETED', seq: 45 },
  },
  command(request): CompleteTask | Refusal {
    const result = request.result === undefined ? null : wrap('result', request.result);
    if (result !== null && isRefusal(result)) return result;
    const writes = request.writes === undefined ? NO_WRITES : writeRequests(request.writes);
    if ('refused' in writes) return writes;
    const bytes = writes.reduce((sum, { value }) => sum + value.length, result?.length ?? 0);
    if (bytes > LIMITS.bodyBytes) {
      const detail = `Result and writes have ${bytes} bytes together; ${LIMITS.bodyBytes} are allowed.`;
      return { refused: 'PAYLOAD_TOO_LARGE', detail };
    }
    const leaseSeq = seqOfLeaseId(request.lease_id);
    return { type: 'CompleteTask', taskId: request.task_id, leaseSeq, result, writes };
  },
  body: (answer) => verdict(answer),
});

const NO_WRITES: readonly WriteRequest[] = [];

function writeRequests(requests: readonly Static<typeof Write>[]): readonly WriteRequest[] | Refusal {
  const writes: WriteRequest[] = [];
  for (const [index, { object_id, value, lease }] of requests.entries()) {
    const wrapped = wrap(`value of write ${index}`, value);
    if (isRefusal(wrapped)) return { ...wrapped, index };
    writes.push({ objectId: object_id, value: wrapped, lease: presented(lease) });
  }
  return writes;
}

export const failTask = change({
  name: 'task.fail',
  method: 'POST',
  path: '/v1/tasks/{task_id}/fail',
  scope: 'v1:write',
  status: 200,
  batch: true,
  retry: 'safe',
  urgent: true,
  does: 'Report that a task failed: it waits for its backoff, or is FAILED.',
  details: `The \`max_failures\`-th failure is final. \`due_at\` says when the task may be leased again.`,
  request: fields({
    task_id: TaskId,
    lease_id: LeaseId,
    reason: Reason,
    retry: Type.Optional(
      Type.Boolean({ description: 'False: this failure is final, even below max_failures.' }),
    ),
    delay_ms: Type.Optional(note(DelayMs, 'Wait this long instead of the backoff of the task.')),
  }),
  reply: Verdict,
  refusals: VERDICT_REFUSALS,
  example: {
    request: { task_id: TASK_ID, lease_id: LEASE_ID, reason: 'The mail server did not answer.' },
    reply: {
      outcome: 'COMMITTED',
      task_id: TASK_ID,
      state: 'WAITING',
      seq: 45,
      due_at: '2026-01-05T08:00:23.000Z',
    },
  },
  command: (request): FailTask => ({
    type: 'FailTask',
    taskId: request.task_id,
    leaseSeq: seqOfLeaseId(request.lease_id),
    reason: request.reason,
    retry: request.retry ?? true,
    delayMs: request.delay_ms ?? null,
  }),
  body: (answer) => verdict(answer),
});

export const releaseTask = change({
  name: 'task.release',
  method: 'POST',
  path: '/v1/tasks/{task_id}/release',
  scope: 'v1:write',
  status: 200,
  batch: true,
  retry: 'safe',
  urgent: true,
  does: 'Release a task: it waits again.',
  details: `It counts neither as a failure nor against \`max_attempts\`.`,
  request: fields({ task_id: TaskId, lease_id: LeaseId, delay_ms: Type.Optional(DelayMs) }),
  reply: Verdict,
  refusals: VERDICT_REFUSALS,
  example: {
    request: { task_id: TASK_ID, lease_id: LEASE_ID, delay_ms: 5_000 },
    reply: {
      outcome: 'COMMITTED',
      task_id: TASK_ID,
      state: 'WAITING',
      seq: 45,
      due_at: '2026-01-05T08:00:27.000Z',
    },
  },
  command: (request): ReleaseTask => ({
    type: 'ReleaseTask',
    taskId: request.task_id,
    leaseSeq: seqOfLeaseId(request.lease_id),
    delayMs: request.delay_ms ?? 0,
  }),
  body: (answer) => verdict(answer),
});

/** Most verdicts are committed at the first try, and then have four fields. */
function verdict(answer: VerdictAnswer): { readonly ok: true } & Static<typeof Verdict> {
  const body = {
    ok: true as const,
    outcome: answer.outcome,
    task_id: answer.taskId,
    state: answer.state,
    seq: answer.seq,
  };
  if (answer.dueAtMs === 0 && answer.cause === null && !answer.duplicate) return body;
  return {
    ...body,
    ...(answer.dueAtMs === 0 ? {} : { due_at: instant(answer.dueAtMs) }),
    ...(answer.cause === null ? {} : { cause: answer.cause }),
    ...(answer.duplicate ? { duplicate: true as const } : {}),
  };
}

export const killTask = change({
  name: 'task.kill',
  method: 'POST',
  path: '/v1/tasks/{task_id}/kill',
  scope: 'v1:admin',
  status: 200,
  batch: true,
  retry: { looks: true }, // TASK_TERMINAL on the second try may come from the first.
  does: 'End a task at once, as DEAD.',
  details: `The task may be waiting or leased.`,
  request: fields({ task_id: TaskId, reason: Reason }),
  reply: Type.Object({
    task_id: note(Text, 'the id of the task'),
    state: Type.Literal('DEAD'),
    seq: Seq,
  }),
  refusals: ['TASK_NOT_FOUND', 'TASK_TERMINAL'],
  example: {
    request: { task_id: TASK_ID, reason: 'It was meant for another address.' },
    reply: { task_id: TASK_ID, state: 'DEAD', seq: 48 },
  },
  command: ({ task_id, reason }): KillTask => ({ type: 'KillTask', taskId: task_id, reason }),
  body: ({ taskId, state, seq }) => ({ ok: true, task_id: taskId, state, seq }),
});
