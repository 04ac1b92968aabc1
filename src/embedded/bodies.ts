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
import { Json } from '../protocol/json.ts';
import type { Body, ExtendedRecord, NamedLeaseRecord, TaskLeaseRecord } from '../protocol/replies.ts';

export function createdTask(answer: TaskCreation): Body<'task.create'> {
  const body: Body<'task.create'> = {
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

export function taskLeases({ leases, seq, duplicate }: GrantedTasks): Body<'task.lease'> {
  const body: Body<'task.lease'> = { ok: true, leases: leases.map(taskLease), seq };
  return duplicate ? { ...body, duplicate: true } : body;
}

function taskLease(lease: GrantedTask): TaskLeaseRecord {
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

export function extendedLease(answer: Extension): Body<'task.extend'> {
  return { ok: true, ...extension(answer) };
}

function extension(answer: Extension): ExtendedRecord {
  const expires = instant(answer.expiresAtMs);
  return {
    task_id: answer.taskId,
    lease_id: leaseIdOfSeq(answer.leaseSeq),
    lease_seq: answer.leaseSeq,
    expiry_timestamp: expires,
    expires_at: expires,
    remaining_ms: answer.remainingMs,
    seq: answer.seq,
  };
}

export function verdictBody(answer: Verdict): Body<'task.complete'> {
  const body: Body<'task.complete'> = {
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

export function killedTask({ taskId, state, seq }: Killed): Body<'task.kill'> {
  return { ok: true, task_id: taskId, state, seq };
}

export function heartbeatBody({ extended, lost, seq }: HeartbeatAnswer): Body<'worker.heartbeat'> {
  return {
    ok: true,
    extended: extended.map(extension),
    lost: lost.map(({ leaseId, taskId, cause }) => ({ lease_id: leaseId, task_id: taskId, cause })),
    seq,
  };
}

export function acquiredLease(
  { leases, seq, duplicate }: GrantedNames,
  token: string,
): Body<'lease.acquire'> {
  const { name, holder, leaseSeq, acquiredAtMs, expiresAtMs, remainingMs } = leases[0]!;
  const body: Body<'lease.acquire'> = {
    ok: true,
    name,
    holder,
    token,
    lease_seq: leaseSeq,
    acquired_at: instant(acquiredAtMs),
    expires_at: instant(expiresAtMs),
    remaining_ms: remainingMs,
    object_id: name,
    holder_id: holder,
    seq,
  };
  return duplicate ? { ...body, duplicate: true } : body;
}

export function acquiredLeases(
  { leases, seq, duplicate }: GrantedNames,
  token: string,
): Body<'lease.acquire_all'> {
  const body: Body<'lease.acquire_all'> = {
    ok: true,
    leases: leases.map((lease) => namedLease(lease, token)),
    seq,
  };
  return duplicate ? { ...body, duplicate: true } : body;
}

function namedLease(lease: GrantedName, token: string): NamedLeaseRecord {
  return {
    name: lease.name,
    holder: lease.holder,
    token,
    lease_seq: lease.leaseSeq,
    acquired_at: instant(lease.acquiredAtMs),
    expires_at: instant(lease.expiresAtMs),
    remaining_ms: lease.remainingMs,
    object_id: lease.name,
    holder_id: lease.holder,
  };
}

export function releasedLease({ released, seq }: Released): Body<'lease.release'> {
  return { ok: true, released, seq };
}

export function brokenLease({ name, holder, leaseSeq, seq }: Broken): Body<'lease.break'> {
  return { ok: true, name, holder, lease_seq: leaseSeq, seq };
}

export function wipedLeases({ wiped, seq }: Wiped): Body<'lease.wipe'> {
  return { ok: true, wiped, seq };
}

export function writtenObject({ objectId, version, leaseSeq, seq }: Written): Body<'object.write'> {
  return { ok: true, object_id: objectId, version, lease_seq: leaseSeq, seq };
}

export function switchedQueue({ queue, paused, seq }: QueueSwitched): Body<'queue.pause'> {
  return { ok: true, queue, paused, seq };
}
