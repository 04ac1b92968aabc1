/** What reads give: the records of tasks, leases, objects, queues and workers, as the contract spells them. */
import type { QueueRecord } from '../authority/reads.ts';
import type { Receipt } from '../authority/receipts.ts';
import type { WorkerRecord } from '../authority/workers.ts';
import { taskIdOfKey } from '../core/entry-json.ts';
import { leaseIdOfSeq } from '../core/ids.ts';
import type { LeaseImage, NameImage, TaskImage, TaskState } from '../core/image.ts';
import { instant } from '../protocol/instant.ts';
import type { Json } from './json.ts';

export interface TaskRecord {
  readonly ok: true;
  readonly task_id: string;
  /** Null when its bytes were damaged on the disk. */
  readonly payload: Json | null;
  readonly state: TaskState;
  readonly attempt: number;
  readonly current_lease_id: string | null;
  readonly queue: string;
  readonly priority: number;
  readonly failures: number;
  readonly max_attempts: number;
  readonly retry: {
    readonly max_failures: number;
    readonly backoff_ms: number;
    readonly max_backoff_ms: number;
  };
  readonly dedup_key?: string;
  readonly created_at: string;
  readonly due_at: string;
  readonly ended_at?: string;
  readonly worker_id?: string;
  readonly expiry_timestamp?: string;
  readonly reason?: string;
  readonly result?: Json | null;
  readonly leases: readonly PastLease[];
  readonly seq: number;
}

export interface PastLease {
  readonly lease_id: string;
  readonly lease_seq: number;
  readonly worker_id: string;
  readonly expires_at: string;
  readonly end: string;
  readonly ended_seq?: number;
  readonly cancelled_seq?: number;
  readonly late_result?: Json | null;
}

/** `open` gives the text behind opaque bytes that have been read already. */
export type OpenedBytes = (reference: TaskImage['payload']) => Json | null;

export function taskRecord(image: TaskImage, open: OpenedBytes): TaskRecord {
  const current = image.state === 'LEASED' ? image.leases[0]! : null;
  return {
    ok: true,
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
    ...(current === null
      ? {}
      : { worker_id: current.workerId, expiry_timestamp: instant(current.expiresAtMs) }),
    ...(image.reason === null ? {} : { reason: image.reason }),
    ...(image.result === null ? {} : { result: open(image.result) }),
    leases: image.leases.map((lease) => pastLease(lease, open)),
    seq: image.lastSeq,
  };
}

function pastLease(lease: LeaseImage, open: OpenedBytes): PastLease {
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

export interface LeaseRecord {
  readonly ok: true;
  readonly name: string;
  readonly holder: string;
  readonly lease_seq: number;
  readonly acquired_at: string;
  readonly expires_at: string;
  readonly remaining_ms: number;
  readonly metadata?: Json | null;
  readonly seq: number;
}

/** Tokens are never shown. */
export function leaseRecord(image: NameImage, nowMs: number, open: OpenedBytes): LeaseRecord {
  return {
    ok: true,
    name: image.name,
    holder: image.holder,
    lease_seq: image.leaseSeq,
    acquired_at: instant(image.acquiredAtMs),
    expires_at: instant(image.expiresAtMs),
    remaining_ms: image.expiresAtMs - nowMs,
    ...(image.metadata === null ? {} : { metadata: open(image.metadata) }),
    seq: image.lastSeq,
  };
}

export interface ObjectRecord {
  readonly ok: true;
  readonly object_id: string;
  readonly value: Json | null;
  readonly version: number;
  readonly lease_seq: number;
  readonly seq: number;
}

export function objectRecord(
  name: string,
  { value, version, leaseSeq, seq }: NonNullable<NameImage['object']>,
  open: OpenedBytes,
): ObjectRecord {
  return { ok: true, object_id: name, value: open(value), version, lease_seq: leaseSeq, seq };
}

export interface QueueBody {
  readonly queue: string;
  readonly paused: boolean;
  readonly waiting: number;
  readonly leased: number;
  readonly completed: number;
  readonly failed: number;
  readonly dead: number;
}

export function queueBody({ queue, paused, counts }: QueueRecord): QueueBody {
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

export interface WorkerBody {
  readonly worker_id: string;
  readonly last_heartbeat: string;
  readonly active_leases: number;
}

export function workerBody({ workerId, lastHeartbeatMs, activeLeases }: WorkerRecord): WorkerBody {
  return { worker_id: workerId, last_heartbeat: instant(lastHeartbeatMs), active_leases: activeLeases };
}

export interface ReceiptBody {
  readonly code: string;
  readonly object_id: string;
  readonly presented_lease_seq: number | null;
  readonly current_fence: number;
  readonly holder_id: string | null;
  readonly at: string;
  readonly requestId: string | null;
}

export function receiptBody(receipt: Receipt): ReceiptBody {
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
