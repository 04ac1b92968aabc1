// biome-ignore-all format: generated, one field a line
/**
 * Entries of the log as the handle gives them: instants are ISO 8601, opaque values a `Json`, or null when their bytes
 * were damaged on the disk. Generated from `src/core/entry-table.ts` by `npm run generate`; a test compares.
 */
import type { CatchUp, Overlap, SessionReason, SessionState, Skip, Verb } from '../core/entries.ts';
import type { Json } from './json.ts';

export interface Durable {
  /** Its position in the log. */
  readonly seq: number;
  readonly at: string;
}

/** A fenced write that came with a completion. */
export interface WrittenValue {
  readonly objectId: string;
  readonly leaseSeq: number;
  readonly version: number;
  readonly value: Json | null;
}

/** What a session is to show: a live service, or a recording from some point on. */
export type Intent =
  | { readonly type: 'live'; readonly serviceRef: string; readonly profileId: string }
  | { readonly type: 'vod'; readonly recordingId: string; readonly profileId: string; readonly startMs?: number };

export interface EntryShapes {
  readonly TaskCreated: Durable & {
    readonly type: 'TaskCreated';
    readonly taskId: string;
    readonly payload: Json | null;
    readonly createdAt: string;
    readonly queue: string;
    readonly priority: number;
    readonly dueAt: string;
    readonly retry: { readonly maxFailures: number; readonly backoffMs: number; readonly maxBackoffMs: number };
    readonly maxAttempts: number;
    readonly dedupKey?: string;
    readonly key?: string;
    readonly trace?: { readonly traceparent: string; readonly tracestate?: string };
    readonly requeuedFrom?: string;
    readonly requeueReason?: string;
  };
  /** The lease is known by the `seq` of this entry. */
  readonly LeaseGranted: Durable & {
    readonly type: 'LeaseGranted';
    readonly taskId: string;
    readonly leaseId: string;
    readonly leaseSeq: number;
    readonly workerId: string;
    readonly attempt: number;
    readonly expiresAt: string;
    readonly requestId?: string;
  };
  readonly LeaseExtended: Durable & {
    readonly type: 'LeaseExtended';
    readonly taskId: string;
    readonly leaseId: string;
    readonly expiresAt: string;
  };
  readonly LeaseExpired: Durable & {
    readonly type: 'LeaseExpired';
    readonly taskId: string;
    readonly leaseId: string;
    readonly counted: boolean;
  };
  readonly TaskCompleted: Durable & {
    readonly type: 'TaskCompleted';
    readonly taskId: string;
    readonly leaseId: string;
    readonly result?: Json | null;
    readonly writes?: readonly WrittenValue[];
  };
  /** A verdict that came too late: nothing about the task changes, the late result is kept for inspection. */
  readonly TaskCancelled: Durable & {
    readonly type: 'TaskCancelled';
    readonly taskId: string;
    readonly leaseId: string;
    readonly verb: Verb;
    readonly lateResult?: Json | null;
  };
  readonly TaskFailed: Durable & {
    readonly type: 'TaskFailed';
    readonly taskId: string;
    readonly leaseId: string;
    readonly reason: string;
    readonly nextState: 'WAITING' | 'FAILED' | 'DEAD';
    readonly dueAt?: string;
  };
  readonly TaskReleased: Durable & {
    readonly type: 'TaskReleased';
    readonly taskId: string;
    readonly leaseId: string;
    readonly dueAt: string;
  };
  readonly TaskDead: Durable & {
    readonly type: 'TaskDead';
    readonly taskId: string;
    readonly leaseId?: string;
    readonly reason: string;
    readonly reasonDetail?: string;
  };
  /** A leased task is never leased again: when its lease ends without a completion, `TaskDead` follows at once. */
  readonly TaskCancelRequested: Durable & {
    readonly type: 'TaskCancelRequested';
    readonly taskId: string;
    readonly leaseId: string;
    readonly reason: string;
  };
  /** A checkpoint of the work on a task. Only the newest is kept. */
  readonly TaskCheckpointed: Durable & {
    readonly type: 'TaskCheckpointed';
    readonly taskId: string;
    readonly leaseId: string;
    readonly value: Json | null;
  };
  /** The place of a waiting task from now on; unchanged fields are repeated. */
  readonly TaskChanged: Durable & {
    readonly type: 'TaskChanged';
    readonly taskId: string;
    readonly queue: string;
    readonly priority: number;
    readonly dueAt: string;
  };
  /** One grant over one or more names; they share this entry's `seq` as their fencing number. */
  readonly NameLeased: Durable & {
    readonly type: 'NameLeased';
    readonly name?: string;
    readonly names: readonly string[];
    readonly holder: string;
    readonly tokenSha256: string;
    readonly leaseSeq: number;
    readonly acquiredAt: string;
    readonly expiresAt: string;
    readonly metadata?: Json | null;
  };
  readonly NameRenewed: Durable & {
    readonly type: 'NameRenewed';
    readonly name: string;
    readonly leaseSeq: number;
    readonly expiresAt: string;
  };
  readonly NameReleased: Durable & {
    readonly type: 'NameReleased';
    readonly name: string;
    readonly leaseSeq: number;
  };
  readonly NameExpired: Durable & {
    readonly type: 'NameExpired';
    readonly name: string;
    readonly leaseSeq: number;
  };
  readonly NamesWiped: Durable & {
    readonly type: 'NamesWiped';
    readonly prefix: string;
    readonly count: number;
  };
  readonly NameBroken: Durable & {
    readonly type: 'NameBroken';
    readonly name: string;
    readonly leaseSeq: number;
    readonly reason: string;
  };
  readonly ObjectWritten: Durable & {
    readonly type: 'ObjectWritten';
    readonly objectId: string;
    readonly leaseSeq: number;
    readonly version: number;
    readonly value: Json | null;
  };
  readonly ObjectDeleted: Durable & {
    readonly type: 'ObjectDeleted';
    readonly objectId: string;
    readonly leaseSeq: number;
    readonly version: number;
  };
  /** Intent, session, idempotency key and start task in one. The session is known by the `seq` of this entry. */
  readonly IntentAccepted: Durable & {
    readonly type: 'IntentAccepted';
    readonly sessionId: string;
    readonly taskId: string;
    readonly intent: Intent;
    readonly leaseName?: string;
    readonly idempotencyKey: string;
    readonly queue: string;
    readonly payload: Json | null;
  };
  /** The standing of a session from now on. The entry that makes it terminal also ends its leases. */
  readonly SessionChanged: Durable & {
    readonly type: 'SessionChanged';
    readonly sessionId: string;
    readonly state: SessionState;
    readonly reason: SessionReason | null;
    readonly reasonDetail: string | null;
    readonly slot?: string;
    readonly leaseSeq?: number;
  };
  /** A schedule from now on; unchanged fields are repeated, except for the payload. */
  readonly ScheduleSet: Durable & {
    readonly type: 'ScheduleSet';
    readonly schedule: string;
    readonly payload?: Json | null;
    readonly cron?: string;
    readonly everyMs?: number;
    readonly anchorAt?: string;
    readonly timezone: string;
    readonly queue: string;
    readonly priority: number;
    readonly retry: { readonly maxFailures: number; readonly backoffMs: number; readonly maxBackoffMs: number };
    readonly maxAttempts: number;
    readonly key?: string;
    readonly overlap: Overlap;
    readonly catchUp: CatchUp;
    readonly jitterMs: number;
    readonly startsAt?: string;
    readonly endsAt?: string;
    readonly paused: boolean;
    readonly applied: boolean;
    readonly nextDueAt: string | null;
    readonly nextFiresAt: string | null;
  };
  readonly ScheduleRemoved: Durable & {
    readonly type: 'ScheduleRemoved';
    readonly schedule: string;
  };
  /** A due time that created its task, or was skipped. No due time of a schedule has two of these entries. */
  readonly ScheduleFired: Durable & {
    readonly type: 'ScheduleFired';
    readonly schedule: string;
    readonly dueAt: string | null;
    readonly firesAt: string;
    readonly taskId: string | null;
    readonly skipped?: Skip;
    readonly skippedThrough?: string;
    readonly queue: string;
    readonly payload?: Json | null;
    readonly nextDueAt: string | null;
    readonly nextFiresAt: string | null;
    readonly requestId?: string;
  };
  readonly QueuePaused: Durable & {
    readonly type: 'QueuePaused';
    readonly queue: string;
  };
  readonly QueueResumed: Durable & {
    readonly type: 'QueueResumed';
    readonly queue: string;
  };
  /** The limits of a queue from now on; unchanged ones are repeated. */
  readonly QueueLimited: Durable & {
    readonly type: 'QueueLimited';
    readonly queue: string;
    readonly maxLeased: number | null;
    readonly maxLeasedPerKey: number | null;
    readonly rate: { readonly count: number; readonly perMs: number; readonly perKey: boolean } | null;
    readonly applied?: boolean;
  };
  /** The first entry of every writer. After a restore from a backup its position jumps ahead, and it ends every lease. */
  readonly EpochStarted: Durable & {
    readonly type: 'EpochStarted';
    readonly epoch: number;
    readonly format: string;
    readonly version: number;
    readonly restored: boolean;
  };
  /** Retention is an entry, so that compaction changes no answer. */
  readonly Forgotten: Durable & {
    readonly type: 'Forgotten';
    readonly taskIds?: readonly string[];
    readonly names?: readonly string[];
    readonly sessionIds?: readonly string[];
  };
}

/** An entry of one of these types. */
export type EntryOf<Type extends keyof EntryShapes> = EntryShapes[Type];

export type Entry = EntryOf<keyof EntryShapes>;
