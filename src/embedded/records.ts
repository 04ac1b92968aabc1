/** What reads give: the records of tasks, leases, objects, queues and workers, as the contract spells them. */
import type { QueueCounts } from '../authority/reads.ts';
import type { Receipt } from '../authority/receipts.ts';
import type { SeenWorker } from '../authority/workers.ts';
import { taskIdOfKey } from '../core/entry-json.ts';
import { leaseIdOfSeq } from '../core/ids.ts';
import type { LeaseImage, NameImage, TaskImage } from '../core/image.ts';
import { instant } from '../protocol/instant.ts';
import type { Json } from '../protocol/json.ts';
import type {
  LeaseRecord,
  ObjectRecord,
  PastLeaseRecord,
  QueueRecord,
  ReceiptRecord,
  TaskRecord,
  WorkerRecord,
} from '../protocol/replies.ts';

/** `open` gives the text behind opaque bytes that have been read already. */
export type OpenedBytes = (reference: TaskImage['payload']) => Json | null;

export function taskRecord(image: TaskImage, nowMs: number, open: OpenedBytes): TaskRecord {
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
    created_at: instant(image.createdAtMs),
    due_at: instant(image.dueAtMs),
    ...(image.endedSeq === 0 ? {} : { ended_at: instant(image.endedAtMs) }),
    ...(current === null ? {} : currentLease(current, nowMs)),
    ...(image.reason === null ? {} : { reason: image.reason }),
    ...(image.result === null ? {} : { result: open(image.result) }),
    leases: image.leases.map((lease) => pastLease(lease, open)),
    seq: image.lastSeq,
  };
}

function currentLease({ workerId, expiresAtMs }: LeaseImage, nowMs: number): Partial<TaskRecord> {
  const expires = instant(expiresAtMs);
  return {
    worker_id: workerId,
    expiry_timestamp: expires,
    expires_at: expires,
    remaining_ms: remainingMs(expiresAtMs, nowMs),
  };
}

/** A standby may look at a lease that is over and not written off yet. */
function remainingMs(expiresAtMs: number, nowMs: number): number {
  return Math.max(0, expiresAtMs - nowMs);
}

function pastLease(lease: LeaseImage, open: OpenedBytes): PastLeaseRecord {
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

/** Tokens are never shown. */
export function leaseRecord(image: NameImage, nowMs: number, open: OpenedBytes): LeaseRecord {
  return {
    name: image.name,
    holder: image.holder,
    lease_seq: image.leaseSeq,
    acquired_at: instant(image.acquiredAtMs),
    expires_at: instant(image.expiresAtMs),
    remaining_ms: remainingMs(image.expiresAtMs, nowMs),
    ...(image.metadata === null ? {} : { metadata: open(image.metadata) }),
    seq: image.lastSeq,
  };
}

export function objectRecord(
  name: string,
  { value, version, leaseSeq, seq }: NonNullable<NameImage['object']>,
  open: OpenedBytes,
): ObjectRecord {
  return { object_id: name, value: open(value), version, lease_seq: leaseSeq, seq };
}

export function queueRecord({ queue, paused, counts }: QueueCounts): QueueRecord {
  return {
    queue,
    paused,
    waiting: counts.WAITING,
    leased: counts.LEASED,
    completed: counts.COMPLETED,
    failed: counts.FAILED,
    dead: counts.DEAD,
  };
}

export function workerRecord({ workerId, lastHeartbeatMs, activeLeases }: SeenWorker): WorkerRecord {
  return { worker_id: workerId, last_heartbeat: instant(lastHeartbeatMs), active_leases: activeLeases };
}

export function receiptRecord(receipt: Receipt): ReceiptRecord {
  return {
    code: receipt.code,
    object_id: receipt.objectId,
    presented_lease_seq: receipt.presentedLeaseSeq,
    current_fence: receipt.currentFence,
    holder_id: receipt.holderId,
    at: instant(receipt.atMs),
    requestId: receipt.requestId,
  };
}
