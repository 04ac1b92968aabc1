/**
 * The records the handle returns for tasks, leases, objects, queues, workers, sessions and the server. Instants are ISO
 * 8601 in UTC; compare `remainingMs`, never instants of two machines. Opaque values are a `Json`, and null when their
 * bytes were damaged on disk. The compiler checks these types against the wire bodies.
 */
import type { SessionReason, SessionState } from '../core/entries.ts';
import type { LeaseEnd } from '../core/image.ts';
import type { RefusalCode } from '../core/refusals.ts';
import type { WhyCode } from '../core/why.ts';
import type { Json } from '../protocol/json.ts';
import type { Limits } from './limits.ts';

export type TaskState = 'WAITING' | 'LEASED' | 'COMPLETED' | 'FAILED' | 'DEAD';
export type { LeaseEnd, SessionReason, SessionState, WhyCode };

export interface Task {
  readonly taskId: string;
  readonly state: TaskState;
  readonly queue: string;
  readonly payload: Json | null;
  /** The result, once the task has completed. */
  readonly result?: Json | null;
  /** The last failure, kept even if a retry has completed since; `CANCELLED` if the task was cancelled. */
  readonly reason?: string;
  /** The reason given to `cancel`. */
  readonly reasonDetail?: string;
  /** The task was cancelled while running; it ends with its current lease. */
  readonly cancelRequested?: true;
  /** The newest checkpoint; removed once the task has completed. */
  readonly checkpoint?: Json | null;
  /** How many leases it has been granted. */
  readonly attempt: number;
  readonly failures: number;
  readonly maxAttempts: number;
  /** Higher runs first. */
  readonly priority: number;
  readonly retry: {
    readonly maxFailures: number;
    readonly backoffMs: number;
    readonly maxBackoffMs: number;
  };
  readonly dedupKey?: string;
  readonly key?: string;
  readonly trace?: { readonly traceparent: string; readonly tracestate?: string };
  /** The schedule that created it. */
  readonly schedule?: string;
  /** The ended task that this one is a rerun of. */
  readonly requeuedFrom?: string;
  /** The task that reruns this one. */
  readonly requeuedAs?: string;
  readonly createdAt: string;
  /** The task is not leased before this instant. */
  readonly dueAt: string;
  readonly endedAt?: string;
  readonly currentLeaseId: string | null;
  /** Present only while the task is leased, as are the next two. */
  readonly workerId?: string;
  readonly expiresAt?: string;
  readonly remainingMs?: number;
  /** The last 16 leases, newest first. */
  readonly leases: readonly TaskLease[];
  /** The newest log entry about it. */
  readonly seq: number;
}

export interface TaskLease {
  readonly leaseId: string;
  readonly leaseSeq: number;
  readonly workerId: string;
  readonly expiresAt: string;
  /** How the lease ended; `live` if it has not. */
  readonly end: LeaseEnd;
  readonly endedSeq?: number;
  /** The log entry of a verdict that came too late. */
  readonly cancelledSeq?: number;
  readonly lateResult?: Json | null;
}

/** Why a task is not running. */
export interface Why {
  readonly code: WhyCode;
  readonly says: string;
  readonly queue: string;
  /** When its delay or backoff ends. */
  readonly dueAt?: string;
  /** When the rate limit next allows a lease, if known. */
  readonly opensAt?: string;
  /** How many due tasks of the queue are ahead of it. */
  readonly ahead?: number;
  /** Instead of `ahead`: more than this many are ahead of it. */
  readonly moreThan?: number;
  /** Workers that polled the queue recently, latest first; only for waiting tasks. */
  readonly polledBy?: readonly { readonly workerId: string; readonly lastPolledAt: string }[];
}

export interface LeaseInfo {
  readonly name: string;
  readonly holder: string;
  readonly leaseSeq: number;
  readonly acquiredAt: string;
  readonly expiresAt: string;
  readonly remainingMs: number;
  readonly metadata?: Json | null;
  readonly seq: number;
}

export interface ObjectInfo {
  readonly objectId: string;
  readonly value: Json | null;
  readonly version: number;
  /** The fencing number of the last change. */
  readonly leaseSeq: number;
  readonly seq: number;
}

/** A write refused by its fence. Kept in memory only: it does not survive a restart. */
export interface RefusedWrite {
  /** The check that refused it. */
  readonly code: RefusalCode;
  readonly objectId: string;
  readonly presentedLeaseSeq: number | null;
  readonly currentFence: number;
  readonly holder: string | null;
  readonly at: string;
  readonly requestId: string | null;
}

/** Counts include only tasks that are still kept. */
export interface QueueInfo {
  readonly queue: string;
  readonly paused: boolean;
  readonly waiting: number;
  readonly leased: number;
  readonly completed: number;
  readonly failed: number;
  readonly dead: number;
  /** Absent when the queue has no limits. */
  readonly limits?: Limits;
}

export interface WorkerInfo {
  readonly workerId: string;
  readonly lastHeartbeatAt: string;
  readonly activeLeases: number;
}

export interface SessionInfo {
  readonly sessionId: string;
  readonly state: SessionState;
  /** The first reason given for its end. */
  readonly reason: SessionReason | null;
  readonly reasonDetail: string | null;
  readonly type: 'live' | 'vod';
  /** For a live session. */
  readonly serviceRef?: string;
  /** For a vod session. */
  readonly recordingId?: string;
  readonly startMs?: number;
  readonly profileId: string;
  /** Set from STARTING on. */
  readonly slot?: string;
  readonly leaseSeq?: number;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly lastHeartbeatAt?: string;
  readonly idleMs?: number;
  readonly seq: number;
}

export interface Status {
  readonly role: 'leader' | 'standby';
  readonly seq: number;
  readonly firstSeq: number;
  /** The number of the current writer; each new writer has a higher one. */
  readonly epoch: number;
  readonly lastCommit: string;
  /** The latest end time of a forgotten task; null when none was forgotten. */
  readonly forgottenThrough: string | null;
  readonly logBytes: number;
  readonly diskFull: boolean;
  /** On a standby: the URL of the leader, if known. */
  readonly leaderUrl?: string | null;
  readonly guardHolder: string | null;
  readonly counts: {
    readonly tasks: Readonly<Record<TaskState, number>>;
    readonly leases: number;
    readonly names: number;
    readonly waiters: number;
    readonly sessions: Readonly<Record<SessionState, number>>;
  };
}

export interface Identity {
  readonly name: string;
  readonly scopes: readonly string[];
}
