// biome-ignore-all format: generated, one field a line
/**
 * The state as a list of records: what a checkpoint stores and what the state hash is taken over.
 * Reading the records of a state back into an empty one gives a state that answers every question
 * alike. Row numbers are part of it, because the cursors of lists are row numbers. Generated from `src/core/row-table.ts` by `npm run generate`; a test compares.
 */
import type { CatchUp, Intent, Overlap, SessionReason, SessionState, TaskKey } from './entries.ts';
import type { Opaque } from './opaque.ts';
import type { Seq } from './row-types.ts';

export const TASK_STATES = ['WAITING', 'LEASED', 'COMPLETED', 'FAILED', 'DEAD'] as const;
export type TaskState = (typeof TASK_STATES)[number];

export const LEASE_ENDS = ['live', 'complete', 'fail', 'release', 'expired', 'killed', 'restored'] as const;
/** How a lease on a task ended; 'live' while it has not. */
export type LeaseEnd = (typeof LEASE_ENDS)[number];

export const NAME_ENDS = ['none', 'live', 'released', 'expired', 'broken', 'wiped', 'restored'] as const;
/** How the last lease on a name ended; 'live' while it has not, 'none' when there never was one. */
export type NameEnd = (typeof NAME_ENDS)[number];

/** First record of every image. */
export interface HeadImage {
  readonly kind: 'head';
  /** The log position of this image. */
  readonly lastSeq: Seq;
  readonly lastAtMs: number;
  readonly epoch: number;
  readonly epochStartedAtMs: number;
  /** How many rows each table has ever used; rows not mentioned in the image are free. */
  readonly taskRows: number;
  readonly nameRows: number;
  /** The latest end of a forgotten task; 0 when none was forgotten. */
  readonly forgottenThroughMs: number;
}

/** A queue that is paused or has limits. */
export interface QueueImage {
  readonly kind: 'queue';
  readonly queue: string;
  readonly paused: boolean;
  readonly maxLeased: number | null;
  readonly maxLeasedPerKey: number | null;
  readonly rateCount: number | null;
  readonly ratePerMs: number | null;
  readonly ratePerKey: boolean;
  readonly applied: boolean;
}

/** When grants were given that still count against the rate of their queue, oldest first; long lists come in pieces. */
export interface GrantsImage {
  readonly kind: 'grants';
  readonly queue: string;
  /** Null for the rate of the queue as a whole. */
  readonly key: string | null;
  readonly atMs: readonly number[];
}

/** Free rows in the order in which they will be used again, last first; long lists come in pieces. */
export interface FreeRowsImage {
  readonly kind: 'free';
  readonly table: 'tasks' | 'names';
  readonly rows: readonly number[];
}

export interface LeaseImage {
  readonly seq: Seq;
  readonly workerId: string;
  readonly requestId: string | null;
  readonly expiresAtMs: number;
  readonly end: LeaseEnd;
  /** The `seq` of the entry that ended it; 0 while live. */
  readonly endedSeq: Seq;
  /** After a failure or a release: when the task was due again. */
  readonly dueAtMs: number;
  /** The `seq` of its TaskCancelled entry; 0 when there is none. */
  readonly cancelledSeq: Seq;
  readonly lateResult: Opaque | null;
}

export interface TaskImage {
  readonly kind: 'task';
  readonly row: number;
  readonly task: TaskKey;
  readonly createdSeq: Seq;
  readonly createdAtMs: number;
  readonly queue: string;
  readonly priority: number;
  readonly state: TaskState;
  readonly attempt: number;
  /** Attempts that count against `maxAttempts`: less releases, less expiries while the authority was down. */
  readonly countedAttempts: number;
  readonly failures: number;
  readonly maxFailures: number;
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
  readonly maxAttempts: number;
  readonly dedupKey: string | null;
  readonly payload: Opaque;
  readonly dueAtMs: number;
  readonly reason: string | null;
  readonly result: Opaque | null;
  /** The `seq` and time of the entry that made it terminal; 0 before. */
  readonly endedSeq: Seq;
  readonly endedAtMs: number;
  /** The `seq` of the newest entry that touched it. */
  readonly lastSeq: Seq;
  /** Newest first; the first is the current one when the task is LEASED. */
  readonly leases: readonly LeaseImage[];
  /** The `key` of the wire. */
  readonly groupKey: string | null;
  readonly traceparent: string | null;
  readonly tracestate: string | null;
  readonly requeuedFrom: string | null;
  /** The id of its successor. */
  readonly requeuedAs: string | null;
  /** The reason of a cancellation that was requested while it was LEASED: it is never leased again. */
  readonly cancelReason: string | null;
  /** The text of the caller that cancelled it, besides the `reason`. */
  readonly reasonDetail: string | null;
  /** The newest checkpoint of its workers; dropped once it is COMPLETED. */
  readonly checkpoint: Opaque | null;
  /** The name of the schedule that created it. */
  readonly schedule: string | null;
}

export interface ObjectImage {
  readonly value: Opaque;
  readonly version: number;
  readonly leaseSeq: Seq;
  readonly seq: Seq;
}

export interface NameImage {
  readonly kind: 'name';
  readonly row: number;
  readonly name: string;
  /** The newest grant, which is the fence; 0 when there never was one. */
  readonly leaseSeq: Seq;
  readonly end: NameEnd;
  readonly holder: string;
  readonly tokenHash: string;
  readonly acquiredAtMs: number;
  readonly expiresAtMs: number;
  readonly metadata: Opaque | null;
  readonly endedSeq: Seq;
  readonly endedAtMs: number;
  /** The newest version the object of this name ever had; stays when the object is deleted. */
  readonly version: number;
  readonly object: ObjectImage | null;
  /** The `seq` of the newest entry that touched it. */
  readonly lastSeq: Seq;
  /** First eight bytes of the token hashes of earlier grants, newest first, at most 16. */
  readonly pastTokens: readonly string[];
}

/** Open sessions first, in order of creation; then ended ones in the order of their end. */
export interface SessionImage {
  readonly kind: 'session';
  /** The `seq` of its IntentAccepted. */
  readonly seq: Seq;
  readonly intent: Intent;
  /** The name that it holds besides its slot while it runs. */
  readonly serviceName: string;
  readonly key: string;
  readonly state: SessionState;
  readonly reason: SessionReason | null;
  readonly reasonDetail: string | null;
  readonly slot: string | null;
  readonly leaseSeq: Seq;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** The `seq` of the newest entry that changed it; that of its end once it has ended. */
  readonly lastSeq: Seq;
}

/** By name. */
export interface ScheduleImage {
  readonly kind: 'schedule';
  readonly name: string;
  /** Null in an entry that does not change it, such as that of a pause. */
  readonly payload: Opaque | null;
  /** Null for a schedule that has `everyMs`. */
  readonly cron: string | null;
  readonly everyMs: number | null;
  /** Due times of `everyMs` are whole intervals after this instant; 0 for a cron pattern. */
  readonly anchorMs: number;
  readonly timezone: string;
  readonly queue: string;
  readonly priority: number;
  readonly maxFailures: number;
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
  readonly maxAttempts: number;
  readonly groupKey: string | null;
  readonly overlap: Overlap;
  readonly catchUp: CatchUp;
  readonly jitterMs: number;
  readonly startsAtMs: number | null;
  readonly endsAtMs: number | null;
  readonly paused: boolean;
  /** Set by a program that applied its definitions; what an operator set by hand is not. */
  readonly applied: boolean;
  /** Null while it is paused, and when no due time is left. */
  readonly nextDueAtMs: number | null;
  /** The next due time with its jitter. */
  readonly nextFiresAtMs: number | null;
  /** The `seq` of its first ScheduleSet. */
  readonly createdSeq: Seq;
  readonly createdAtMs: number;
  /** The `seq` of its newest ScheduleSet. */
  readonly setSeq: Seq;
  /** The `seq` of the newest entry that touched it. */
  readonly lastSeq: Seq;
  /** The newest due time that fired or was skipped, 0 before the first: no due time up to it fires again. */
  readonly lastDueAtMs: number;
  /** Empty before the first. */
  readonly lastTaskId: string;
  /** The requests that fired it by hand, oldest first, at most 16; and the positions of their entries. */
  readonly requestIds: readonly string[];
  readonly requestSeqs: readonly number[];
}

export type ImageRecord = HeadImage | QueueImage | GrantsImage | FreeRowsImage | TaskImage | NameImage | SessionImage | ScheduleImage;
