/**
 * The wishes: what anybody may ask of the authority, already validated. And the answers to them.
 * Opaque bytes travel in `Opaque`; tokens only ever as their hash.
 */
import type { Intent, SessionReason, SessionState, Verb } from './entries.ts';
import type { LeaseEnd, TaskState } from './image.ts';
import type { Opaque } from './opaque.ts';
import type { Seq } from './row-types.ts';

export interface CreateTask {
  readonly type: 'CreateTask';
  /** The id its creator chose, or null for one of ours. */
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
  /** Its checksum is needed with a chosen id only. */
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
  /** The id of the new task, or null for one of ours. */
  readonly newTaskId: string | null;
  /** The ended task as it was looked at, with its payload read back; null when there was none to requeue. */
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

/** What a writer shows to prove its turn. */
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
  /** The authority takes back what it could tell nobody. */
  readonly isUntold?: true;
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

/** Null: as it is. */
export interface ChangeTask {
  readonly type: 'ChangeTask';
  readonly taskId: string;
  readonly queue: string | null;
  readonly priority: number | null;
  readonly delayMs: number | null;
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
  /** Whether the caller has every right over names. Without it a live guard is acquired anew only with its token. */
  readonly isAdmin: boolean;
  /** The grant that this one replaces, if it is still the live one: whoever held it is known to be dead. */
  readonly supersedes?: number;
}

export interface RenewName {
  readonly type: 'RenewName';
  readonly name: string;
  readonly holder: string;
  readonly tokenHash: string;
  readonly ttlMs: number;
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
  /** The same intent under the secret before this one; only ever looked up. */
  readonly previousKey: string | null;
  readonly payload: Opaque;
  /** The service lease, where intents still take it themselves; null where only the orchestrator takes leases. */
  readonly serviceLease: { readonly tokenHash: string; readonly ttlMs: number } | null;
}

/** A client wants it to end. */
export interface StopSession {
  readonly type: 'StopSession';
  readonly sessionId: string;
}

/** A client is still there. Changes nothing that is in the log. */
export interface HeartbeatSession {
  readonly type: 'HeartbeatSession';
  readonly sessionId: string;
}

/** The orchestrator takes the service and the first free slot for a session whose start task it has. */
export interface StartSession {
  readonly type: 'StartSession';
  readonly sessionId: string;
  readonly guard: Guard;
  /** The lease on the start task. */
  readonly taskLeaseSeq: Seq;
  /** Every slot there is, in the order in which they are tried. */
  readonly slots: readonly string[];
  readonly tokenHash: string;
  readonly ttlMs: number;
  /** Refused, and not failed, while the service is held by a session that is STOPPING: it will try again. */
  readonly isPatient: boolean;
}

/** What the orchestrator sees happen to a session. */
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
  | ResumeQueue;

export type CommandType = Command['type'];

// The answers. `seq` is where the change is durable; an answer without a change of its own carries the
// position of the change it repeats.

export interface TaskCreation {
  readonly taskId: string;
  readonly seq: Seq;
  readonly state: TaskState;
  readonly attempt: number;
  readonly queue: string;
  readonly priority: number;
  readonly createdAtMs: number;
  readonly dueAtMs: number;
  readonly duplicate: boolean;
  /** Why it ended, when it is FAILED or DEAD; else null. */
  readonly reason: string | null;
  /** What the presented payload still has to be compared with, byte for byte; null when there is nothing to compare. */
  readonly known: Opaque | null;
}

export interface RequeuedTask {
  /** The id of the ended task. */
  readonly requeuedFrom: string;
  /** The id of its successor. */
  readonly taskId: string;
  readonly seq: Seq;
  /** Null when it has been forgotten. */
  readonly successor: Omit<TaskCreation, 'taskId' | 'seq' | 'duplicate' | 'known'> | null;
  readonly duplicate: boolean;
}

export interface GrantedTask {
  readonly taskId: string;
  readonly leaseSeq: Seq;
  readonly attempt: number;
  readonly payload: Opaque;
  /** How far the attempts before this one have come. */
  readonly checkpoint: Opaque | null;
  readonly queue: string;
  readonly groupKey: string | null;
  readonly trace: Trace | null;
  readonly expiresAtMs: number;
  readonly remainingMs: number;
}

export interface GrantedTasks {
  readonly leases: readonly GrantedTask[];
  /** The newest grant among them; without any, the log's end. */
  readonly seq: Seq;
  readonly duplicate: boolean;
}

export interface Extension {
  readonly taskId: string;
  readonly leaseSeq: Seq;
  readonly expiresAtMs: number;
  readonly remainingMs: number;
  readonly seq: Seq;
  /** The task is to be cancelled; its holder should stop. */
  readonly cancelRequested: boolean;
}

export interface Verdict {
  readonly outcome: 'COMMITTED' | 'CANCELLED';
  readonly taskId: string;
  readonly verb: Verb;
  readonly state: TaskState;
  /** When the task is due again, after a failure or a release; else 0. */
  readonly dueAtMs: number;
  readonly seq: Seq;
  /** How the lease had ended, for CANCELLED. */
  readonly cause: LeaseEnd | null;
  readonly duplicate: boolean;
}

export interface Killed {
  readonly taskId: string;
  readonly state: 'DEAD';
  readonly seq: Seq;
}

export interface Cancelled {
  readonly taskId: string;
  /** LEASED: its holder is told, and it is never leased again. */
  readonly state: 'LEASED' | 'DEAD';
  readonly seq: Seq;
  readonly duplicate: boolean;
}

export type Checkpointed = Pick<Extension, 'taskId' | 'leaseSeq' | 'seq'>;

export type ChangedTask = Pick<TaskCreation, 'taskId' | 'queue' | 'priority' | 'dueAtMs' | 'seq'>;

export interface HeartbeatAnswer {
  readonly extended: readonly Extension[];
  readonly lost: readonly { readonly leaseId: string; readonly taskId: string; readonly cause: string }[];
  readonly seq: Seq;
}

export interface GrantedName {
  readonly name: string;
  readonly holder: string;
  readonly leaseSeq: Seq;
  readonly acquiredAtMs: number;
  readonly expiresAtMs: number;
  readonly remainingMs: number;
}

export interface GrantedNames {
  readonly leases: readonly GrantedName[];
  readonly seq: Seq;
  readonly duplicate: boolean;
}

export interface Released {
  readonly released: boolean;
  readonly seq: Seq;
}

export interface Broken {
  readonly name: string;
  readonly leaseSeq: Seq;
  readonly holder: string;
  readonly seq: Seq;
}

export interface Wiped {
  readonly wiped: number;
  readonly seq: Seq;
}

export interface Written {
  readonly objectId: string;
  readonly version: number;
  readonly leaseSeq: Seq;
  readonly seq: Seq;
}

export interface AcceptedIntent {
  readonly sessionId: string;
  readonly status: 'accepted' | 'idempotent_replay';
  readonly seq: Seq;
}

/** A session as it stands. */
export interface SessionView {
  readonly sessionId: string;
  readonly intent: Intent;
  readonly state: SessionState;
  readonly reason: SessionReason | null;
  readonly reasonDetail: string | null;
  readonly slot: string | null;
  /** The fencing number of its service and its slot; 0 before STARTING. */
  readonly leaseSeq: Seq;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** The newest entry that touched it. */
  readonly seq: Seq;
}

/** A session that has its leases, or one that came too late for them and has FAILED. */
export interface StartedSession {
  readonly session: SessionView;
  /** Null when it has FAILED. */
  readonly lease: { readonly expiresAtMs: number; readonly remainingMs: number } | null;
  readonly seq: Seq;
  readonly duplicate: boolean;
}

export interface ChangedSession {
  readonly session: SessionView;
  readonly seq: Seq;
}

export interface RenewedSessions {
  readonly renewed: readonly {
    readonly sessionId: string;
    readonly state: SessionState;
    readonly expiresAtMs: number;
    readonly remainingMs: number;
  }[];
  /** Those that hold no leases: they have ended, or nobody knows them (state null). */
  readonly lost: readonly {
    readonly sessionId: string;
    readonly state: SessionState | null;
    readonly reason: SessionReason | null;
  }[];
  readonly seq: Seq;
}

export interface QueueSwitched {
  readonly queue: string;
  readonly paused: boolean;
  readonly seq: Seq;
}

/** Which answer belongs to which wish. */
export interface Answers {
  CreateTask: TaskCreation;
  RequeueTask: RequeuedTask;
  LeaseTasks: GrantedTasks;
  ExtendLease: Extension;
  CompleteTask: Verdict;
  FailTask: Verdict;
  ReleaseTask: Verdict;
  KillTask: Killed;
  CancelTask: Cancelled;
  CheckpointTask: Checkpointed;
  ChangeTask: ChangedTask;
  Heartbeat: HeartbeatAnswer;
  AcquireNames: GrantedNames;
  RenewName: GrantedNames;
  ReleaseName: Released;
  BreakName: Broken;
  WipeNames: Wiped;
  WriteObject: Written;
  DeleteObject: Written;
  AcceptIntent: AcceptedIntent;
  StopSession: ChangedSession;
  HeartbeatSession: ChangedSession;
  StartSession: StartedSession;
  ChangeSession: ChangedSession;
  RenewSessions: RenewedSessions;
  PauseQueue: QueueSwitched;
  ResumeQueue: QueueSwitched;
}

export type Answer = Answers[CommandType];
