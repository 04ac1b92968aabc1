/**
 * What the core answers: one type for each command, and `Answers`, which pairs them. `seq` is where the change is durable;
 * an answer without a change carries the position of the change it repeats.
 */

import type { BulkPosition, CommandType, Trace } from './commands.ts';
import type { Intent, SessionReason, SessionState, Verb } from './entries.ts';
import type { LeaseEnd, TaskState } from './image.ts';
import type { Limits } from './limits.ts';
import type { Opaque } from './opaque.ts';
import type { RefusalCode } from './refusals.ts';
import type { Schedule } from './row-objects.ts';
import type { Seq } from './row-types.ts';

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
  /** The stored payload, with which the presented one must still be compared; null when there is nothing to compare. */
  readonly known: Opaque | null;
}

export interface RequeuedTask {
  /** The id of the ended task. */
  readonly requeuedFrom: string;
  /** The id of its successor. */
  readonly taskId: string;
  readonly seq: Seq;
  /** Null when the successor has been forgotten. */
  readonly successor: Omit<TaskCreation, 'taskId' | 'seq' | 'duplicate' | 'known'> | null;
  readonly duplicate: boolean;
}

export interface GrantedTask {
  readonly taskId: string;
  readonly leaseSeq: Seq;
  readonly attempt: number;
  readonly payload: Opaque;
  /** The newest checkpoint of the earlier attempts. */
  readonly checkpoint: Opaque | null;
  readonly queue: string;
  readonly groupKey: string | null;
  readonly trace: Trace | null;
  readonly expiresAtMs: number;
  readonly remainingMs: number;
}

export interface GrantedTasks {
  readonly leases: readonly GrantedTask[];
  /** The newest grant among them; the end of the log when nothing was granted. */
  readonly seq: Seq;
  readonly duplicate: boolean;
  /** When nothing was granted: how many due tasks of these queues a limit holds back. */
  readonly limited: number;
}

export interface Extension {
  readonly taskId: string;
  readonly leaseSeq: Seq;
  readonly expiresAtMs: number;
  readonly remainingMs: number;
  readonly seq: Seq;
  /** Cancellation of the task was requested; its holder should stop. */
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
  /** LEASED: its holder learns of it with the next extension, and the task is never leased again. */
  readonly state: 'LEASED' | 'DEAD';
  readonly seq: Seq;
  readonly duplicate: boolean;
}

export type Checkpointed = Pick<Extension, 'taskId' | 'leaseSeq' | 'seq'>;

export type ChangedTask = Pick<TaskCreation, 'taskId' | 'queue' | 'priority' | 'dueAtMs' | 'seq'>;

export interface BulkOutcome {
  readonly matched: number;
  /** The tasks that were changed, or would be. */
  readonly taskIds: readonly string[];
  readonly refusals: readonly { readonly taskId: string; readonly code: RefusalCode }[];
  readonly dryRun: boolean;
  readonly from: BulkPosition;
  /** Null when no task is left to look at. */
  readonly next: BulkPosition | null;
  /** The end of the log after this call. */
  readonly seq: Seq;
}

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

/** The present record of a session. */
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
  /** Sessions without leases: they have ended, or are unknown (state null). */
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

export interface SetScheduleAnswer {
  readonly schedule: Schedule;
  readonly seq: Seq;
  readonly isNew: boolean;
  /** A program's definition was not applied, because an operator had set the schedule by hand. */
  readonly isKept: boolean;
}

export interface SwitchedSchedule {
  readonly name: string;
  readonly paused: boolean;
  readonly nextDueAtMs: number | null;
  readonly seq: Seq;
}

export interface RemovedSchedule {
  readonly name: string;
  readonly seq: Seq;
}

export interface FiredByHand {
  readonly name: string;
  readonly taskId: string;
  readonly seq: Seq;
  readonly duplicate: boolean;
}

export interface QueueLimits {
  readonly queue: string;
  readonly limits: Limits;
  /** False when limits that an operator has set stay instead. */
  readonly isSet: boolean;
  readonly seq: Seq;
}

/** Pairs each command with its answer. */
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
  BulkTasks: BulkOutcome;
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
  SetSchedule: SetScheduleAnswer;
  RemoveSchedule: RemovedSchedule;
  PauseSchedule: SwitchedSchedule;
  ResumeSchedule: SwitchedSchedule;
  FireSchedule: FiredByHand;
  LimitQueue: QueueLimits;
}

export type Answer = Answers[CommandType];
