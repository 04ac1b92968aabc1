/**
 * What the handle shows of tasks, leases, objects, queues, workers, sessions and the server. Instants are ISO 8601 in UTC;
 * compare `remainingMs`, never instants of two machines. Opaque values are a `Json`, and null when their bytes were
 * damaged on the disk. The compiler holds these against the bodies of the wire.
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
  /** Of a task that has completed. */
  readonly result?: Json | null;
  /** The last failure, also of a task that was retried and has completed since; `CANCELLED` of a cancelled one. */
  readonly reason?: string;
  /** What the caller of `cancel` said. */
  readonly reasonDetail?: string;
  /** It is to end with its lease. */
  readonly cancelRequested?: true;
  /** What its attempts saved last; gone once it has completed. */
  readonly checkpoint?: Json | null;
  /** How many leases it has had. */
  readonly attempt: number;
  readonly failures: number;
  readonly maxAttempts: number;
  /** Higher first. */
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
  /** The ended task that this one runs again. */
  readonly requeuedFrom?: string;
  /** The task that runs this one again. */
  readonly requeuedAs?: string;
  readonly createdAt: string;
  /** Not leased before this instant. */
  readonly dueAt: string;
  readonly endedAt?: string;
  readonly currentLeaseId: string | null;
  /** These three while it is leased. */
  readonly workerId?: string;
  readonly expiresAt?: string;
  readonly remainingMs?: number;
  /** Its last 16 leases, newest first. */
  readonly leases: readonly TaskLease[];
  /** The newest entry that touched it. */
  readonly seq: number;
}

export interface TaskLease {
  readonly leaseId: string;
  readonly leaseSeq: number;
  readonly workerId: string;
  readonly expiresAt: string;
  /** How it ended; `live` when it has not. */
  readonly end: LeaseEnd;
  readonly endedSeq?: number;
  /** The entry of a verdict that came too late. */
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
  /** When its rate lets the next task be leased, if that is known. */
  readonly opensAt?: string;
  /** How many due tasks of the queue come before it. */
  readonly ahead?: number;
  /** Instead of `ahead`: more than this many come before it. */
  readonly moreThan?: number;
  /** Workers that asked the queue for tasks recently, the latest first; only for tasks that wait. */
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
  /** The lease under which it was last changed. */
  readonly leaseSeq: number;
  readonly seq: number;
}

/** A write that a fence refused. Evidence, not truth: it does not survive a restart. */
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

/** Counts are of tasks that are still kept. */
export interface QueueInfo {
  readonly queue: string;
  readonly paused: boolean;
  readonly waiting: number;
  readonly leased: number;
  readonly completed: number;
  readonly failed: number;
  readonly dead: number;
  /** Absent when it has none. */
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
  /** The first reason to end that was given. */
  readonly reason: SessionReason | null;
  readonly reasonDetail: string | null;
  readonly type: 'live' | 'vod';
  /** Of a live session. */
  readonly serviceRef?: string;
  /** Of a vod session. */
  readonly recordingId?: string;
  readonly startMs?: number;
  readonly profileId: string;
  /** From STARTING on. */
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
  /** The number of the writer. */
  readonly epoch: number;
  readonly lastCommit: string;
  /** The latest end of a forgotten task; null when none was forgotten. */
  readonly forgottenThrough: string | null;
  readonly logBytes: number;
  readonly diskFull: boolean;
  /** Where the leader is, as far as a standby knows. */
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
