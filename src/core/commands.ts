/**
 * The commands: what a caller may ask of the authority, already validated. Their answers are in `answers.ts`.
 * Opaque bytes travel in `Opaque`; tokens only as their hash.
 */
import type { CatchUp, Intent, Overlap } from './entries.ts';
import type { Limits } from './limits.ts';
import type { TaskFilter } from './list-tasks.ts';
import type { Opaque } from './opaque.ts';
import type { Seq } from './row-types.ts';

export interface CreateTask {
  readonly type: 'CreateTask';
  /** The id its creator chose, or null for a generated one. */
  readonly taskId: string | null;
  readonly queue: string;
  readonly priority: number;
  readonly delayMs: number;
  readonly maxFailures: number;
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
  readonly maxAttempts: number;
  readonly dedupKey: string | null;
  readonly groupKey: string | null;
  readonly trace: Trace | null;
  /** The checksum is needed only when the creator chose the id. */
  readonly payload: Opaque;
}

/** A W3C trace context. */
export interface Trace {
  readonly traceparent: string;
  readonly tracestate: string | null;
}

/** Runs an ended task again, as a new one. */
export interface RequeueTask {
  readonly type: 'RequeueTask';
  readonly taskId: string;
  readonly reason: string | null;
  readonly delayMs: number;
  /** Null: that of the ended task. */
  readonly priority: number | null;
  readonly queue: string | null;
  /** The id of the new task, or null for a generated one. */
  readonly newTaskId: string | null;
  /** The ended task as it was read, with its payload; null when there was none to requeue. */
  readonly origin: RequeueOrigin | null;
}

export interface RequeueOrigin {
  readonly createdSeq: Seq;
  /** Null when its bytes are damaged. */
  readonly payload: Opaque | null;
}

export interface LeaseTasks {
  readonly type: 'LeaseTasks';
  readonly workerId: string;
  readonly queues: readonly string[];
  readonly max: number;
  readonly ttlMs: number;
  readonly waitMs: number;
  readonly requestId: string | null;
  /** Start tasks are handed out to the live guard only. */
  readonly guard?: Guard;
}

export interface ExtendLease {
  readonly type: 'ExtendLease';
  readonly taskId: string;
  readonly leaseSeq: Seq;
  readonly ttlMs: number;
}

/** The lease that a writer presents. */
export interface PresentedLease {
  readonly leaseSeq: Seq | null;
  readonly objectId: string | null;
  readonly holderId: string | null;
}

export interface WriteRequest {
  readonly objectId: string;
  readonly value: Opaque;
  readonly lease: PresentedLease | null;
}

export interface CompleteTask {
  readonly type: 'CompleteTask';
  readonly taskId: string;
  readonly leaseSeq: Seq;
  readonly result: Opaque | null;
  readonly writes: readonly WriteRequest[];
}

export interface FailTask {
  readonly type: 'FailTask';
  readonly taskId: string;
  readonly leaseSeq: Seq;
  readonly reason: string;
  readonly retry: boolean;
  /** Null: the task's own backoff. */
  readonly delayMs: number | null;
}

export interface ReleaseTask {
  readonly type: 'ReleaseTask';
  readonly taskId: string;
  readonly leaseSeq: Seq;
  readonly delayMs: number;
  /** The authority takes back a grant whose reply was not delivered. */
  readonly isUndelivered?: true;
}

export interface KillTask {
  readonly type: 'KillTask';
  readonly taskId: string;
  readonly reason: string;
}

/** Ends a waiting task; a leased one ends with its lease, unless it is completed. */
export interface CancelTask {
  readonly type: 'CancelTask';
  readonly taskId: string;
  readonly reason: string;
}

export interface CheckpointTask {
  readonly type: 'CheckpointTask';
  readonly taskId: string;
  readonly leaseSeq: Seq;
  readonly value: Opaque;
}

/** Null keeps the present value. */
export interface ChangeTask {
  readonly type: 'ChangeTask';
  readonly taskId: string;
  readonly queue: string | null;
  readonly priority: number | null;
  readonly delayMs: number | null;
}

export type BulkAction = 'requeue' | 'cancel' | 'kill' | 'change' | 'purge';

/** One action on many tasks that an earlier read has found; those that no longer match the filter are skipped. */
export interface BulkTasks {
  readonly type: 'BulkTasks';
  readonly action: BulkAction;
  readonly filter: TaskFilter;
  readonly tasks: readonly BulkTask[];
  readonly reason: string;
  /** For `change` and `requeue`. Null keeps the present value. */
  readonly queue: string | null;
  readonly priority: number | null;
  readonly delayMs: number | null;
  /** Decides, and writes nothing. */
  readonly dryRun: boolean;
  /** Where the search began, and where to continue; returned with the answer. */
  readonly from: BulkPosition;
  readonly next: BulkPosition | null;
}

/** The payload is set for `requeue` only. */
export interface BulkTask extends RequeueOrigin {
  readonly taskId: string;
}

/** The search covers tasks created after `afterSeq`, up to `untilSeq`, which is the same for all calls of one bulk. */
export interface BulkPosition {
  readonly afterSeq: Seq;
  readonly untilSeq: Seq;
}

export interface Heartbeat {
  readonly type: 'Heartbeat';
  readonly workerId: string;
  readonly leases: readonly {
    readonly taskId: string;
    readonly leaseSeq: Seq;
    readonly leaseId: string;
  }[];
  readonly ttlMs: number;
}

export interface AcquireNames {
  readonly type: 'AcquireNames';
  readonly names: readonly string[];
  readonly holder: string;
  readonly tokenHash: string;
  readonly ttlMs: number;
  readonly waitMs: number;
  readonly metadata: Opaque | null;
  /** Whether the caller has the scope v1:admin. Without it a live guard is re-acquired only with its token. */
  readonly isAdmin: boolean;
  /** The grant that this one replaces, if it is still live: its holder is known to be dead. */
  readonly supersedes?: number;
}

export interface RenewName {
  readonly type: 'RenewName';
  readonly name: string;
  readonly holder: string;
  readonly tokenHash: string;
  readonly ttlMs: number;
  /** The holder will not renew again, so the expiry is no incident. The rules ignore it. */
  readonly isLast?: boolean;
}

export interface ReleaseName {
  readonly type: 'ReleaseName';
  readonly name: string;
  readonly holder: string;
  readonly tokenHash: string;
}

export interface BreakName {
  readonly type: 'BreakName';
  readonly name: string;
  readonly reason: string;
  /** Only this grant, when given. */
  readonly leaseSeq: Seq | null;
}

export interface Guard {
  readonly name: string;
  readonly holder: string;
  readonly tokenHash: string;
}

export interface WipeNames {
  readonly type: 'WipeNames';
  readonly prefix: string;
  readonly guard: Guard;
}

export interface WriteObject {
  readonly type: 'WriteObject';
  readonly objectId: string;
  readonly value: Opaque;
  readonly lease: PresentedLease | null;
  readonly ifVersion: number | null;
}

export interface DeleteObject {
  readonly type: 'DeleteObject';
  readonly objectId: string;
  readonly lease: PresentedLease | null;
  readonly ifVersion: number | null;
}

export interface AcceptIntent {
  readonly type: 'AcceptIntent';
  readonly intent: Intent;
  readonly key: string;
  /** The key of the same intent under the previous secret. It is looked up and never stored. */
  readonly previousKey: string | null;
  readonly payload: Opaque;
  /** The service lease, where intents still take it themselves; null where only the orchestrator takes leases. */
  readonly serviceLease: { readonly tokenHash: string; readonly ttlMs: number } | null;
}

/** A client asks that the session end. */
export interface StopSession {
  readonly type: 'StopSession';
  readonly sessionId: string;
}

/** A client still uses the session. Writes no entry. */
export interface HeartbeatSession {
  readonly type: 'HeartbeatSession';
  readonly sessionId: string;
}

/** The orchestrator takes the service and the first free slot for a session whose start task it has leased. */
export interface StartSession {
  readonly type: 'StartSession';
  readonly sessionId: string;
  readonly guard: Guard;
  /** The lease on the start task. */
  readonly taskLeaseSeq: Seq;
  /** All slots, in the order in which they are tried. */
  readonly slots: readonly string[];
  readonly tokenHash: string;
  readonly ttlMs: number;
  /** While a STOPPING session holds the service, the start is refused instead of failing the session: the orchestrator retries. */
  readonly isPatient: boolean;
}

/** An event that the orchestrator observes in a session. */
export type SessionEvent = 'ready' | 'start_failed' | 'process_ended' | 'shutdown' | 'idle' | 'stopped';

export interface ChangeSession {
  readonly type: 'ChangeSession';
  readonly sessionId: string;
  readonly guard: Guard;
  readonly event: SessionEvent;
  readonly detail: string | null;
}

/** All leases of each of these sessions, renewed together. */
export interface RenewSessions {
  readonly type: 'RenewSessions';
  readonly guard: Guard;
  readonly sessionIds: readonly string[];
  readonly ttlMs: number;
}

export interface PauseQueue {
  readonly type: 'PauseQueue';
  readonly queue: string;
}

export interface ResumeQueue {
  readonly type: 'ResumeQueue';
  readonly queue: string;
}

/** Sets a schedule, new or not. Its pattern and time zone have been checked. */
export interface SetSchedule {
  readonly type: 'SetSchedule';
  readonly name: string;
  /** Either a pattern or an interval. */
  readonly cron: string | null;
  readonly everyMs: number | null;
  readonly timezone: string;
  readonly queue: string;
  readonly payload: Opaque;
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
  /** By a program that applies its definitions, not by hand. */
  readonly applied: boolean;
}

export interface RemoveSchedule {
  readonly type: 'RemoveSchedule';
  readonly name: string;
}

export interface PauseSchedule {
  readonly type: 'PauseSchedule';
  readonly name: string;
}

export interface ResumeSchedule {
  readonly type: 'ResumeSchedule';
  readonly name: string;
}

/** Fires a schedule by hand. */
export interface FireSchedule {
  readonly type: 'FireSchedule';
  readonly name: string;
  readonly requestId: string | null;
}

/** An absent limit stays as it is; null removes it. */
export interface LimitQueue {
  readonly type: 'LimitQueue';
  readonly queue: string;
  readonly limits: Partial<Omit<Limits, 'applied'>>;
  /** They come from the definition of a task, and do not replace what an operator has set. */
  readonly applies: boolean;
}

export type Command =
  | CreateTask
  | RequeueTask
  | LeaseTasks
  | ExtendLease
  | CompleteTask
  | FailTask
  | ReleaseTask
  | KillTask
  | CancelTask
  | CheckpointTask
  | ChangeTask
  | BulkTasks
  | Heartbeat
  | AcquireNames
  | RenewName
  | ReleaseName
  | BreakName
  | WipeNames
  | WriteObject
  | DeleteObject
  | AcceptIntent
  | StopSession
  | HeartbeatSession
  | StartSession
  | ChangeSession
  | RenewSessions
  | PauseQueue
  | ResumeQueue
  | SetSchedule
  | RemoveSchedule
  | PauseSchedule
  | ResumeSchedule
  | FireSchedule
  | LimitQueue;

export type CommandType = Command['type'];
