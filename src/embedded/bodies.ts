/** From the core's answers to the bodies of the contract: snake_case, ISO instants, ids as text. */
import type {
  Broken,
  Extension,
  GrantedName,
  GrantedNames,
  GrantedTask,
  GrantedTasks,
  HeartbeatAnswer,
  Killed,
  QueueSwitched,
  Released,
  TaskCreation,
  Verdict,
  Wiped,
  Written,
} from '../core/commands.ts';
import { leaseIdOfSeq } from '../core/ids.ts';
import { instant } from '../protocol/instant.ts';
import { Json } from './json.ts';

export interface CreatedTask {
  readonly ok: true;
  readonly task_id: string;
  readonly seq: number;
  readonly state: TaskCreation['state'];
  readonly attempt: number;
  readonly queue: string;
  readonly priority: number;
  readonly created_at: string;
  readonly due_at: string;
  readonly duplicate?: true;
}

export function createdTask(answer: TaskCreation): CreatedTask {
  const body: CreatedTask = {
    ok: true,
    task_id: answer.taskId,
    seq: answer.seq,
    state: answer.state,
    attempt: answer.attempt,
    queue: answer.queue,
    priority: answer.priority,
    created_at: instant(answer.createdAtMs),
    due_at: instant(answer.dueAtMs),
  };
  return answer.duplicate ? { ...body, duplicate: true } : body;
}

export interface TaskLease {
  readonly task_id: string;
  readonly lease_id: string;
  readonly lease_seq: number;
  readonly attempt: number;
  readonly payload: Json;
  readonly queue: string;
  readonly expiry_timestamp: string;
  readonly expires_at: string;
  readonly remaining_ms: number;
}

export interface TaskLeases {
  readonly ok: true;
  readonly leases: readonly TaskLease[];
  readonly seq: number;
  readonly duplicate?: true;
}

export function taskLeases({ leases, seq, duplicate }: GrantedTasks): TaskLeases {
  const body: TaskLeases = { ok: true, leases: leases.map(taskLease), seq };
  return duplicate ? { ...body, duplicate: true } : body;
}

function taskLease(lease: GrantedTask): TaskLease {
  const expires = instant(lease.expiresAtMs);
  return {
    task_id: lease.taskId,
    lease_id: leaseIdOfSeq(lease.leaseSeq),
    lease_seq: lease.leaseSeq,
    attempt: lease.attempt,
    payload: new Json(lease.payload.bytes!),
    queue: lease.queue,
    expiry_timestamp: expires,
    expires_at: expires,
    remaining_ms: lease.remainingMs,
  };
}

export interface ExtendedLease {
  readonly ok: true;
  readonly task_id: string;
  readonly lease_id: string;
  readonly lease_seq: number;
  readonly expiry_timestamp: string;
  readonly expires_at: string;
  readonly remaining_ms: number;
  readonly seq: number;
}

export function extendedLease(answer: Extension): ExtendedLease {
  const expires = instant(answer.expiresAtMs);
  return {
    ok: true,
    task_id: answer.taskId,
    lease_id: leaseIdOfSeq(answer.leaseSeq),
    lease_seq: answer.leaseSeq,
    expiry_timestamp: expires,
    expires_at: expires,
    remaining_ms: answer.remainingMs,
    seq: answer.seq,
  };
}

export interface VerdictBody {
  readonly ok: true;
  readonly outcome: 'COMMITTED' | 'CANCELLED';
  readonly task_id: string;
  readonly state: Verdict['state'];
  readonly seq: number;
  readonly due_at?: string;
  /** How the lease had ended, when the verdict came too late. */
  readonly cause?: string;
  readonly duplicate?: true;
}

export function verdictBody(answer: Verdict): VerdictBody {
  const body: VerdictBody = {
    ok: true,
    outcome: answer.outcome,
    task_id: answer.taskId,
    state: answer.state,
    seq: answer.seq,
  };
  if (answer.dueAtMs === 0 && answer.cause === null && !answer.duplicate) return body;
  return {
    ...body,
    ...(answer.dueAtMs === 0 ? {} : { due_at: instant(answer.dueAtMs) }),
    ...(answer.cause === null ? {} : { cause: answer.cause }),
    ...(answer.duplicate ? { duplicate: true as const } : {}),
  };
}

export interface KilledTask {
  readonly ok: true;
  readonly task_id: string;
  readonly state: 'DEAD';
  readonly seq: number;
}

export function killedTask({ taskId, state, seq }: Killed): KilledTask {
  return { ok: true, task_id: taskId, state, seq };
}

export interface HeartbeatBody {
  readonly ok: true;
  readonly extended: readonly ExtendedLease[];
  readonly lost: readonly { readonly lease_id: string; readonly task_id: string; readonly cause: string }[];
  readonly seq: number;
}

export function heartbeatBody({ extended, lost, seq }: HeartbeatAnswer): HeartbeatBody {
  return {
    ok: true,
    extended: extended.map(extendedLease),
    lost: lost.map(({ leaseId, taskId, cause }) => ({ lease_id: leaseId, task_id: taskId, cause })),
    seq,
  };
}

export interface NamedLease {
  readonly name: string;
  readonly holder: string;
  readonly token: string;
  readonly lease_seq: number;
  readonly acquired_at: string;
  readonly expires_at: string;
  readonly remaining_ms: number;
}

export interface AcquiredLease extends NamedLease {
  readonly ok: true;
  readonly seq: number;
  readonly duplicate?: true;
}

export interface AcquiredLeases {
  readonly ok: true;
  readonly leases: readonly NamedLease[];
  readonly seq: number;
  readonly duplicate?: true;
}

export function acquiredLease({ leases, seq, duplicate }: GrantedNames, token: string): AcquiredLease {
  const { name, holder, leaseSeq, acquiredAtMs, expiresAtMs, remainingMs } = leases[0]!;
  const body: AcquiredLease = {
    ok: true,
    name,
    holder,
    token,
    lease_seq: leaseSeq,
    acquired_at: instant(acquiredAtMs),
    expires_at: instant(expiresAtMs),
    remaining_ms: remainingMs,
    seq,
  };
  return duplicate ? { ...body, duplicate: true } : body;
}

export function acquiredLeases({ leases, seq, duplicate }: GrantedNames, token: string): AcquiredLeases {
  const body: AcquiredLeases = { ok: true, leases: leases.map((lease) => namedLease(lease, token)), seq };
  return duplicate ? { ...body, duplicate: true } : body;
}

function namedLease(lease: GrantedName, token: string): NamedLease {
  return {
    name: lease.name,
    holder: lease.holder,
    token,
    lease_seq: lease.leaseSeq,
    acquired_at: instant(lease.acquiredAtMs),
    expires_at: instant(lease.expiresAtMs),
    remaining_ms: lease.remainingMs,
  };
}

export interface ReleasedLease {
  readonly ok: true;
  readonly released: boolean;
  readonly seq: number;
}

export function releasedLease({ released, seq }: Released): ReleasedLease {
  return { ok: true, released, seq };
}

export interface BrokenLease {
  readonly ok: true;
  readonly name: string;
  readonly holder: string;
  readonly lease_seq: number;
  readonly seq: number;
}

export function brokenLease({ name, holder, leaseSeq, seq }: Broken): BrokenLease {
  return { ok: true, name, holder, lease_seq: leaseSeq, seq };
}

export interface WipedLeases {
  readonly ok: true;
  readonly wiped: number;
  readonly seq: number;
}

export function wipedLeases({ wiped, seq }: Wiped): WipedLeases {
  return { ok: true, wiped, seq };
}

export interface WrittenObject {
  readonly ok: true;
  readonly object_id: string;
  readonly version: number;
  readonly lease_seq: number;
  readonly seq: number;
}

export function writtenObject({ objectId, version, leaseSeq, seq }: Written): WrittenObject {
  return { ok: true, object_id: objectId, version, lease_seq: leaseSeq, seq };
}

export interface SwitchedQueue {
  readonly ok: true;
  readonly queue: string;
  readonly paused: boolean;
  readonly seq: number;
}

export function switchedQueue({ queue, paused, seq }: QueueSwitched): SwitchedQueue {
  return { ok: true, queue, paused, seq };
}
