// biome-ignore-all format: generated, one field a line
/**
 * The facts. Every change is exactly one of these entries at a position `seq` of the log and a time `at`; both stand
 * beside the entry, not in it. Entries record outcomes, so that replay makes no choice and needs no clock.
 * Generated from `src/core/entry-table.ts` by `npm run generate`; a test compares.
 */
import type { Opaque } from './opaque.ts';

/** How an entry names a task: the `seq` of its creation when leasehold chose the id, else the id its creator chose. */
export type TaskKey = number | string;

export const VERBS = ['complete', 'fail', 'release'] as const;
export type Verb = (typeof VERBS)[number];

export const INTENT_TYPES = ['live', 'vod'] as const;
export type IntentType = (typeof INTENT_TYPES)[number];

export const SESSION_STATES = ['NEW', 'STARTING', 'READY', 'STOPPING', 'STOPPED', 'FAILED', 'CANCELLED'] as const;
export type SessionState = (typeof SESSION_STATES)[number];

export const SESSION_REASONS = ['R_LEASE_BUSY', 'R_NO_TUNER', 'R_CLIENT_STOP', 'R_CANCELLED', 'R_LEASE_EXPIRED', 'R_PIPELINE_START_FAILED', 'R_PROCESS_ENDED', 'R_SHUTDOWN', 'R_IDLE_TIMEOUT'] as const;
export type SessionReason = (typeof SESSION_REASONS)[number];

export const OVERLAPS = ['skip', 'allow'] as const;
export type Overlap = (typeof OVERLAPS)[number];

export const CATCH_UPS = ['one', 'none', 'all'] as const;
export type CatchUp = (typeof CATCH_UPS)[number];

export const SKIPS = ['OVERLAP', 'TASK_EXISTS', 'CATCH_UP', 'PAYLOAD_DAMAGED'] as const;
export type Skip = (typeof SKIPS)[number];

export interface FencedWrite {
  readonly objectId: string;
  readonly leaseSeq: number;
  readonly version: number;
  readonly value: Opaque;
}

/** What a client wants to run: a live service, or a recording from a given start. */
export interface Intent {
  readonly type: IntentType;
  /** The serviceRef of a live intent, the recordingID of a vod one. */
  readonly target: string;
  readonly profileId: string;
  readonly startMs: number;
}

/** The standing of a session: fields that its entry and its record in a checkpoint share. */
export interface Standing {
  readonly state: SessionState;
  /** The first reason to end that was given; null before. */
  readonly reason: SessionReason | null;
  readonly reasonDetail: string | null;
  /** The slot it runs on; null before STARTING. */
  readonly slot: string | null;
  /** The fencing number that its service and its slot share; 0 before STARTING. */
  readonly leaseSeq: number;
}

/** When a schedule is due, and the tasks it creates: fields that its entry and its record in a checkpoint share. */
export interface Plan {
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
}

export interface TaskCreated {
  readonly type: 'TaskCreated';
  /** Ids that leasehold chooses follow from the entry's `seq`, and this is that `seq`. */
  readonly task: TaskKey;
  readonly payload: Opaque;
  readonly queue: string;
  readonly priority: number;
  readonly dueAtMs: number;
  readonly maxFailures: number;
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
  readonly maxAttempts: number;
  readonly dedupKey: string | null;
  /** For limits and turns; not unique. */
  readonly groupKey: string | null;
  readonly traceparent: string | null;
  readonly tracestate: string | null;
  /** The id of the ended task that this one runs again. That task gets this one as its successor. */
  readonly requeuedFrom: string | null;
  readonly requeueReason: string | null;
}

/** The lease is known by the `seq` of this entry. */
export interface LeaseGranted {
  readonly type: 'LeaseGranted';
  readonly task: TaskKey;
  readonly workerId: string;
  readonly attempt: number;
  readonly expiresAtMs: number;
  readonly requestId: string | null;
}

export interface LeaseExtended {
  readonly type: 'LeaseExtended';
  readonly task: TaskKey;
  readonly leaseSeq: number;
  readonly expiresAtMs: number;
}

export interface LeaseExpired {
  readonly type: 'LeaseExpired';
  readonly task: TaskKey;
  readonly leaseSeq: number;
  /** False when it fell due while the authority was down: then it counts as no failed attempt. */
  readonly counted: boolean;
}

export interface TaskCompleted {
  readonly type: 'TaskCompleted';
  readonly task: TaskKey;
  readonly leaseSeq: number;
  readonly result: Opaque | null;
  readonly writes: readonly FencedWrite[];
}

/** A verdict that came too late: nothing about the task changes, the late result is kept for inspection. */
export interface TaskCancelled {
  readonly type: 'TaskCancelled';
  readonly task: TaskKey;
  readonly leaseSeq: number;
  readonly verb: Verb;
  readonly result: Opaque | null;
}

export interface TaskFailed {
  readonly type: 'TaskFailed';
  readonly task: TaskKey;
  readonly leaseSeq: number;
  readonly reason: string;
  /** DEAD when its attempts are used up or it is cancelled: its TaskDead is the next entry. Older logs have WAITING there. */
  readonly nextState: 'WAITING' | 'FAILED' | 'DEAD';
  readonly dueAtMs: number;
}

export interface TaskReleased {
  readonly type: 'TaskReleased';
  readonly task: TaskKey;
  readonly leaseSeq: number;
  readonly dueAtMs: number;
}

export interface TaskDead {
  readonly type: 'TaskDead';
  readonly task: TaskKey;
  /** The lease it ended, 0 when there was none. */
  readonly leaseSeq: number;
  readonly reason: string;
  /** The text of the caller that cancelled it; null for any other reason. */
  readonly detail: string | null;
}

/** A leased task is never leased again: when its lease ends without a completion, `TaskDead` follows at once. */
export interface TaskCancelRequested {
  readonly type: 'TaskCancelRequested';
  readonly task: TaskKey;
  readonly leaseSeq: number;
  readonly reason: string;
}

/** A checkpoint of the work on a task. Only the newest is kept. */
export interface TaskCheckpointed {
  readonly type: 'TaskCheckpointed';
  readonly task: TaskKey;
  readonly leaseSeq: number;
  readonly value: Opaque;
}

/** The place of a waiting task from now on; unchanged fields are repeated. */
export interface TaskChanged {
  readonly type: 'TaskChanged';
  readonly task: TaskKey;
  readonly queue: string;
  readonly priority: number;
  readonly dueAtMs: number;
}

/** One grant over one or more names; they share this entry's `seq` as their fencing number. */
export interface NameLeased {
  readonly type: 'NameLeased';
  readonly names: readonly string[];
  readonly holder: string;
  /** SHA-256 of the token, one character a byte. The token itself never enters the core or the log. */
  readonly tokenHash: string;
  readonly expiresAtMs: number;
  readonly metadata: Opaque | null;
}

export interface NameRenewed {
  readonly type: 'NameRenewed';
  readonly name: string;
  readonly leaseSeq: number;
  readonly expiresAtMs: number;
}

export interface NameReleased {
  readonly type: 'NameReleased';
  readonly name: string;
  readonly leaseSeq: number;
}

export interface NameExpired {
  readonly type: 'NameExpired';
  readonly name: string;
  readonly leaseSeq: number;
}

export interface NamesWiped {
  readonly type: 'NamesWiped';
  readonly prefix: string;
  /** How many leases it ended. */
  readonly count: number;
}

export interface NameBroken {
  readonly type: 'NameBroken';
  readonly name: string;
  readonly leaseSeq: number;
  readonly reason: string;
}

export interface ObjectWritten {
  readonly type: 'ObjectWritten';
  readonly objectId: string;
  readonly leaseSeq: number;
  readonly version: number;
  readonly value: Opaque;
}

export interface ObjectDeleted {
  readonly type: 'ObjectDeleted';
  readonly objectId: string;
  readonly leaseSeq: number;
  readonly version: number;
}

/** Intent, session, idempotency key and start task in one. The session is known by the `seq` of this entry. */
export interface IntentAccepted {
  readonly type: 'IntentAccepted';
  readonly intent: Intent;
  /** The name that the session will hold besides its slot, decided when the intent was accepted. */
  readonly serviceName: string;
  /** The HMAC in hexadecimal; it finds the session while that is NEW, STARTING or READY. */
  readonly key: string;
  /** The payload of the start task, whose id is that of the session. */
  readonly payload: Opaque;
}

/** The standing of a session from now on. The entry that makes it terminal also ends its leases. */
export interface SessionChanged {
  readonly type: 'SessionChanged';
  /** The `seq` of its IntentAccepted. */
  readonly session: number;
  readonly state: SessionState;
  /** The first reason to end that was given; null before. */
  readonly reason: SessionReason | null;
  readonly reasonDetail: string | null;
  /** The slot it runs on; null before STARTING. */
  readonly slot: string | null;
  /** The fencing number that its service and its slot share; 0 before STARTING. */
  readonly leaseSeq: number;
}

/** A schedule from now on; unchanged fields are repeated, except for the payload. */
export interface ScheduleSet {
  readonly type: 'ScheduleSet';
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
}

export interface ScheduleRemoved {
  readonly type: 'ScheduleRemoved';
  readonly name: string;
}

/** A due time that created its task, or was skipped. No due time of a schedule has two of these entries. */
export interface ScheduleFired {
  readonly type: 'ScheduleFired';
  readonly name: string;
  /** Null when it was fired by hand. */
  readonly dueAtMs: number | null;
  /** The due time with its jitter. */
  readonly firesAtMs: number;
  /** Null when it was skipped. */
  readonly task: string | null;
  readonly skipped: Skip | null;
  /** Every due time up to this one was skipped too. */
  readonly throughMs: number | null;
  readonly queue: string;
  /** The copy that belongs to the task. */
  readonly payload: Opaque | null;
  readonly nextDueAtMs: number | null;
  readonly nextFiresAtMs: number | null;
  readonly requestId: string | null;
}

export interface QueuePaused {
  readonly type: 'QueuePaused';
  readonly queue: string;
}

export interface QueueResumed {
  readonly type: 'QueueResumed';
  readonly queue: string;
}

/** The limits of a queue from now on; unchanged ones are repeated. */
export interface QueueLimited {
  readonly type: 'QueueLimited';
  readonly queue: string;
  readonly maxLeased: number | null;
  readonly maxLeasedPerKey: number | null;
  /** The maximum number of grants in any interval of `ratePerMs`. */
  readonly rateCount: number | null;
  readonly ratePerMs: number | null;
  /** Whether the rate applies to each key separately. */
  readonly ratePerKey: boolean;
  /** Whether they come from the definition of a task, and not from an operator. */
  readonly applied: boolean;
}

/** The first entry of every writer. After a restore from a backup its position jumps ahead, and it ends every lease. */
export interface EpochStarted {
  readonly type: 'EpochStarted';
  readonly epoch: number;
  readonly format: string;
  readonly version: number;
  readonly restored: boolean;
}

/** Retention is an entry, so that compaction changes no answer. */
export interface Forgotten {
  readonly type: 'Forgotten';
  readonly tasks: readonly TaskKey[];
  readonly names: readonly string[];
  readonly sessions: readonly number[];
}

export type Entry =
  | TaskCreated
  | LeaseGranted
  | LeaseExtended
  | LeaseExpired
  | TaskCompleted
  | TaskCancelled
  | TaskFailed
  | TaskReleased
  | TaskDead
  | TaskCancelRequested
  | TaskCheckpointed
  | TaskChanged
  | NameLeased
  | NameRenewed
  | NameReleased
  | NameExpired
  | NamesWiped
  | NameBroken
  | ObjectWritten
  | ObjectDeleted
  | IntentAccepted
  | SessionChanged
  | ScheduleSet
  | ScheduleRemoved
  | ScheduleFired
  | QueuePaused
  | QueueResumed
  | QueueLimited
  | EpochStarted
  | Forgotten;

export type EntryType = Entry['type'];
