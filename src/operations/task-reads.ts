/** `task.get`, and the record of a task on the wire. */
import { type Static, Type } from '@sinclair/typebox';
import { readTask } from '../authority/reads.ts';
import type { Room } from '../authority/request.ts';
import { taskIdOfKey, traceToJson } from '../core/entry-json.ts';
import { leaseIdOfSeq } from '../core/ids.ts';
import { LEASE_ENDS, type LeaseImage, type TaskImage } from '../core/image.ts';
import type { Refusal } from '../core/refusals.ts';
import { taskOpaques } from '../core/row-columns.ts';
import { isTerminal } from '../core/task-table.ts';
import { instant } from '../protocol/instant.ts';
import type { ReadContext } from './contexts.ts';
import {
  COMPLETED_ENTRY,
  CREATED_AT,
  EXTENDED_TO,
  LEASE_ID,
  PAYLOAD,
  RETRY,
  TASK_ID,
} from './example-story.ts';
import { fields, note, stale, TaskId, WaitMs } from './fields.ts';
import { type OpenedBytes, openAll } from './opening.ts';
import { type Plain, stateRead } from './operation.ts';
import {
  CancelRequested,
  Instant,
  Kept,
  Key,
  RemainingMs,
  Seq,
  TaskState,
  Text,
  Trace,
  Whole,
} from './reply-fields.ts';

export const PastLease = Type.Object({
  lease_id: note(Text, 'the id of the lease'),
  lease_seq: note(Seq, 'its fencing number'),
  worker_id: note(Text, 'the worker that had it'),
  expires_at: note(Instant, 'when it would have ended, or ends'),
  end: note(Type.Union(LEASE_ENDS.map((end) => Type.Literal(end))), 'how it ended; live when it has not'),
  ended_seq: Type.Optional(note(Seq, 'the entry that ended it')),
  cancelled_seq: Type.Optional(note(Seq, 'the entry of a late verdict')),
  late_result: Type.Optional(Kept),
});

export const Task = Type.Object({
  task_id: note(Text, 'the id of the task'),
  payload: Kept,
  state: TaskState,
  attempt: note(Whole, 'how many leases it has had'),
  current_lease_id: Type.Union([Text, Type.Null()], {
    description: 'the live lease; null when there is none',
  }),
  queue: note(Text, 'the queue it is in'),
  priority: Type.Integer({ description: 'higher first' }),
  failures: note(Whole, 'how often it has failed'),
  max_attempts: note(Whole, 'how many leases it may have before it is DEAD'),
  retry: Type.Object({
    max_failures: note(Whole, 'how many failures make it FAILED'),
    backoff_ms: note(Whole, 'the pause after the first failure'),
    max_backoff_ms: note(Whole, 'the longest pause'),
  }),
  dedup_key: Type.Optional(note(Text, 'its deduplication key')),
  key: Key,
  trace: Trace,
  schedule: Type.Optional(note(Text, 'the schedule that created it')),
  requeued_from: Type.Optional(note(Text, 'the id of the ended task that it runs again')),
  requeued_as: Type.Optional(note(Text, 'the id of the task that runs it again')),
  created_at: Instant,
  due_at: note(Instant, 'not leased before this instant'),
  ended_at: Type.Optional(note(Instant, 'when it ended')),
  worker_id: Type.Optional(note(Text, 'the worker that has it')),
  expiry_timestamp: Type.Optional(note(Instant, 'the same as expires_at')),
  expires_at: Type.Optional(note(Instant, 'when its lease ends unless it is extended')),
  remaining_ms: Type.Optional(RemainingMs),
  reason: Type.Optional(note(Text, 'why it failed or is dead')),
  reason_detail: Type.Optional(note(Text, 'why it was cancelled, in the words of the caller')),
  cancel_requested: CancelRequested,
  checkpoint: Type.Optional(Kept),
  result: Type.Optional(Kept),
  leases: Type.Array(PastLease, { description: 'its last 16 leases, newest first' }),
  seq: note(Seq, 'the newest entry that touched it'),
});

export const TASK: Plain<Static<typeof Task>> = {
  task_id: TASK_ID,
  payload: PAYLOAD,
  state: 'COMPLETED',
  attempt: 1,
  current_lease_id: null,
  queue: 'mail',
  priority: 0,
  failures: 0,
  max_attempts: 100,
  retry: RETRY,
  created_at: CREATED_AT,
  due_at: CREATED_AT,
  ended_at: COMPLETED_ENTRY.at,
  result: COMPLETED_ENTRY.result,
  leases: [
    {
      lease_id: LEASE_ID,
      lease_seq: 43,
      worker_id: 'worker-1',
      expires_at: EXTENDED_TO,
      end: 'complete',
      ended_seq: 45,
    },
  ],
  seq: 45,
};

export const NOT_FOUND: Refusal = { refused: 'TASK_NOT_FOUND' };

export const getTask = stateRead({
  name: 'task.get',
  path: '/v1/tasks/{task_id}',
  long: 'record',
  does: 'Show a task; with wait_ms, once it has ended or the wait is over.',
  details: `\`leases\` are the last 16, newest first. \`expiry_timestamp\` and \`expires_at\` are the same, and present for a leased
task only.`,
  request: fields({ task_id: TaskId, wait_ms: Type.Optional(WaitMs), stale }),
  reply: Task,
  refusals: ['TASK_NOT_FOUND'],
  example: { request: { task_id: TASK_ID, wait_ms: 20_000 }, reply: TASK },
  async look({ task_id: taskId, wait_ms: waitMs = 0 }, context, { signal, room }) {
    const seen =
      waitMs === 0 ? await lookAt(context, taskId) : await lookAtEnd(context, taskId, waitMs, signal);
    return seen === null ? NOT_FOUND : { ok: true, ...(await record(context, seen, room)) };
  },
});

/** A task, and when it was read. */
export interface Seen {
  readonly image: TaskImage;
  readonly nowMs: number;
}

function lookAt({ source }: ReadContext, taskId: string): Promise<Seen | null> {
  return source.read((view) => {
    const image = readTask(view, taskId);
    return image === null ? null : { image, nowMs: view.batchAtMs };
  });
}

/** The task once it has ended, or as it is when the wait is over. */
async function lookAtEnd(
  context: ReadContext,
  taskId: string,
  waitMs: number,
  signal: AbortSignal | undefined,
): Promise<Seen | null> {
  const { source, ends, timers } = context;
  let stop = (): void => undefined;
  const over = new Promise<void>((resolve) => {
    const unwatch = ends.watch(taskId, resolve);
    const timer = timers.after(waitMs, resolve);
    const hold = timers.hold();
    const unended = source.whenEnded(resolve);
    const aborted = (): void => resolve();
    signal?.addEventListener('abort', aborted, { once: true });
    stop = () => {
      unwatch();
      timer.cancel();
      hold.cancel();
      unended();
      signal?.removeEventListener('abort', aborted);
    };
  });
  try {
    const seen = await lookAt(context, taskId);
    if (seen === null || isTerminal(seen.image.state)) return seen;
    await over;
    signal?.throwIfAborted();
    return await lookAt(context, taskId);
  } finally {
    stop();
  }
}

export async function record(
  { source }: ReadContext,
  { image, nowMs }: Seen,
  room?: Room,
): Promise<Static<typeof Task>> {
  const open = await openAll(source.log, taskOpaques(image), room);
  return taskRecord(image, nowMs, open);
}

function taskRecord(image: TaskImage, nowMs: number, open: OpenedBytes): Static<typeof Task> {
  const current = image.state === 'LEASED' ? image.leases[0]! : null;
  return {
    task_id: taskIdOfKey(image.task),
    payload: open(image.payload),
    state: image.state,
    attempt: image.attempt,
    current_lease_id: current === null ? null : leaseIdOfSeq(current.seq),
    queue: image.queue,
    priority: image.priority,
    failures: image.failures,
    max_attempts: image.maxAttempts,
    retry: {
      max_failures: image.maxFailures,
      backoff_ms: image.backoffMs,
      max_backoff_ms: image.maxBackoffMs,
    },
    ...(image.dedupKey === null ? {} : { dedup_key: image.dedupKey }),
    ...(image.groupKey === null ? {} : { key: image.groupKey }),
    ...(image.traceparent === null ? {} : { trace: traceToJson(image) }),
    ...(image.schedule === null ? {} : { schedule: image.schedule }),
    ...(image.requeuedFrom === null ? {} : { requeued_from: image.requeuedFrom }),
    ...(image.requeuedAs === null ? {} : { requeued_as: image.requeuedAs }),
    created_at: instant(image.createdAtMs),
    due_at: instant(image.dueAtMs),
    ...(image.endedSeq === 0 ? {} : { ended_at: instant(image.endedAtMs) }),
    ...(current === null ? {} : currentLease(current, nowMs)),
    ...(image.reason === null ? {} : { reason: image.reason }),
    ...(image.reasonDetail === null ? {} : { reason_detail: image.reasonDetail }),
    ...(image.cancelReason === null ? {} : { cancel_requested: true as const }),
    ...(image.checkpoint === null ? {} : { checkpoint: open(image.checkpoint) }),
    ...(image.result === null ? {} : { result: open(image.result) }),
    leases: image.leases.map((lease) => pastLease(lease, open)),
    seq: image.lastSeq,
  };
}

function currentLease({ workerId, expiresAtMs }: LeaseImage, nowMs: number): Partial<Static<typeof Task>> {
  const expires = instant(expiresAtMs);
  return {
    worker_id: workerId,
    expiry_timestamp: expires,
    expires_at: expires,
    // A standby may show a lease whose expiry it has not read yet.
    remaining_ms: Math.max(0, expiresAtMs - nowMs),
  };
}

function pastLease(lease: LeaseImage, open: OpenedBytes): Static<typeof PastLease> {
  return {
    lease_id: leaseIdOfSeq(lease.seq),
    lease_seq: lease.seq,
    worker_id: lease.workerId,
    expires_at: instant(lease.expiresAtMs),
    end: lease.end,
    ...(lease.endedSeq === 0 ? {} : { ended_seq: lease.endedSeq }),
    ...(lease.cancelledSeq === 0 ? {} : { cancelled_seq: lease.cancelledSeq }),
    ...(lease.lateResult === null ? {} : { late_result: open(lease.lateResult) }),
  };
}
