/** From a request that has been checked to the command it means: defaults filled in, tokens hashed, opaque bytes wrapped. */
import { crc32 } from 'node:zlib';
import type {
  AcquireNames,
  BreakName,
  CompleteTask,
  CreateTask,
  DeleteObject,
  ExtendLease,
  FailTask,
  Heartbeat,
  KillTask,
  LeaseTasks,
  PauseQueue,
  PresentedLease,
  ReleaseName,
  ReleaseTask,
  RenewName,
  ResumeQueue,
  WipeNames,
  WriteObject,
  WriteRequest,
} from '../core/commands.ts';
import { isRefusal } from '../core/decision.ts';
import { seqOfLeaseId } from '../core/ids.ts';
import { type Opaque, opaque } from '../core/opaque.ts';
import type { Refusal } from '../core/refusals.ts';
import { Json } from '../protocol/json.ts';
import { isTooDeep } from '../protocol/json-depth.ts';
import { DEPTH_MAX } from '../protocol/json-reader.ts';
import { LIMITS } from '../protocol/limits.ts';
import type { Requests } from '../protocol/requests.ts';
import { guardOf } from './session-commands.ts';
import { tokenHash } from './token-hashes.ts';

const DEFAULT_TTL_MS = 30_000;

/** Opaque bytes within their limit, or the refusal. */
function wrap(field: string, value: unknown): Opaque | Refusal {
  let json: Json;
  try {
    json = value instanceof Json ? owned(value) : Json.of(value);
    // What is no JSON, or is no UTF-8, would be durable and break every list that it stands in.
    if (!json.isChecked) json.parse();
  } catch {
    return { refused: 'INVALID_ARGUMENT', detail: `The ${field} has no JSON form.` };
  }
  const bytes = bytesOf(json);
  if (!json.isShallow && isTooDeep(bytes)) {
    return { refused: 'INVALID_ARGUMENT', detail: `The ${field} is nested more than ${DEPTH_MAX} deep.` };
  }
  if (bytes.length <= LIMITS.opaqueBytes) return opaque(bytes);
  const detail = `The ${field} has ${bytes.length} bytes; ${LIMITS.opaqueBytes} are allowed.`;
  return { refused: 'PAYLOAD_TOO_LARGE', detail };
}

/** Bytes of the caller's may change before they are written; those that came over the wire are ours already. */
function owned(json: Json): Json {
  return json.isChecked || json.isText ? json : new Json(Buffer.from(json.bytes));
}

/** Buffer.from takes short texts from a pool, which an encoder does not. */
function bytesOf(json: Json): Uint8Array {
  return json.isText ? Buffer.from(json.text()) : json.bytes;
}

export function createTask(request: Requests['task.create']): CreateTask | Refusal {
  const { retry } = request;
  const payload = wrap('payload', request.payload);
  if (isRefusal(payload)) return payload;
  const taskId = request.task_id ?? null;
  if (taskId !== null) payload.crc = crc32(payload.bytes!);
  return {
    type: 'CreateTask',
    taskId,
    queue: request.queue ?? 'default',
    priority: request.priority ?? 0,
    delayMs: request.delay_ms ?? 0,
    maxFailures: retry?.max_failures ?? 5,
    backoffMs: retry?.backoff_ms ?? 1_000,
    maxBackoffMs: retry?.max_backoff_ms ?? 300_000,
    maxAttempts: request.max_attempts ?? 100,
    dedupKey: request.dedup_key ?? null,
    payload,
  };
}

const DEFAULT_QUEUES: readonly string[] = ['default'];

export function leaseTasks(request: Requests['task.lease']): LeaseTasks {
  const command: LeaseTasks = {
    type: 'LeaseTasks',
    workerId: request.worker_id,
    // A copy: what has been checked must not change under us while the call waits.
    queues: request.queues === undefined ? DEFAULT_QUEUES : [...request.queues],
    max: request.max ?? 1,
    ttlMs: request.ttl_ms ?? DEFAULT_TTL_MS,
    waitMs: request.wait_ms ?? 0,
    requestId: request.request_id ?? null,
  };
  return request.guard === undefined ? command : { ...command, guard: guardOf(request.guard) };
}

const NO_WRITES: readonly WriteRequest[] = [];

export function completeTask(request: Requests['task.complete']): CompleteTask | Refusal {
  const result = request.result === undefined ? null : wrap('result', request.result);
  if (result !== null && isRefusal(result)) return result;
  const writes = request.writes === undefined ? NO_WRITES : writeRequests(request.writes);
  if ('refused' in writes) return writes;
  const bytes = writes.reduce((sum, { value }) => sum + value.length, result?.length ?? 0);
  if (bytes > LIMITS.bodyBytes) {
    const detail = `Result and writes have ${bytes} bytes together; ${LIMITS.bodyBytes} are allowed.`;
    return { refused: 'PAYLOAD_TOO_LARGE', detail };
  }
  const leaseSeq = seqOfLeaseId(request.lease_id);
  return { type: 'CompleteTask', taskId: request.task_id, leaseSeq, result, writes };
}

function writeRequests(
  requests: NonNullable<Requests['task.complete']['writes']>,
): readonly WriteRequest[] | Refusal {
  const writes: WriteRequest[] = [];
  for (const [index, { object_id, value, lease }] of requests.entries()) {
    const wrapped = wrap(`value of write ${index}`, value);
    if (isRefusal(wrapped)) return { ...wrapped, index };
    writes.push({ objectId: object_id, value: wrapped, lease: presented(lease) });
  }
  return writes;
}

export function failTask(request: Requests['task.fail']): FailTask {
  return {
    type: 'FailTask',
    taskId: request.task_id,
    leaseSeq: seqOfLeaseId(request.lease_id),
    reason: request.reason,
    retry: request.retry ?? true,
    delayMs: request.delay_ms ?? null,
  };
}

export function heartbeat(request: Requests['worker.heartbeat']): Heartbeat {
  return {
    type: 'Heartbeat',
    workerId: request.worker_id,
    leases: (request.leases ?? []).map(({ task_id, lease_id }) => ({
      taskId: task_id,
      leaseSeq: seqOfLeaseId(lease_id),
      leaseId: lease_id,
    })),
    ttlMs: request.ttl_ms ?? DEFAULT_TTL_MS,
  };
}

export function acquireNames(
  request: Requests['lease.acquire'] | Requests['lease.acquire_all'],
  token: string,
  isAdmin: boolean,
): AcquireNames | Refusal {
  const names = 'name' in request ? [request.name] : [...request.names];
  // Here and not in the schema, whose check for it takes a hundred milliseconds for a thousand long names.
  if (names.length > 1 && new Set(names).size < names.length) {
    return { refused: 'INVALID_ARGUMENT', detail: 'The field names has a name twice.' };
  }
  const metadata = request.metadata === undefined ? null : wrap('metadata', request.metadata);
  if (metadata !== null && isRefusal(metadata)) return metadata;
  const command: AcquireNames = {
    type: 'AcquireNames',
    names,
    holder: request.holder,
    tokenHash: tokenHash(token),
    ttlMs: request.ttl_ms,
    waitMs: request.wait_ms ?? 0,
    metadata,
    isAdmin,
  };
  const supersedes = 'supersedes' in request ? request.supersedes : undefined;
  return supersedes === undefined ? command : { ...command, supersedes };
}

function presented(lease: Requests['object.write']['lease']): PresentedLease | null {
  if (lease === undefined || lease === null) return null;
  return {
    leaseSeq: lease.lease_seq ?? null,
    objectId: lease.object_id ?? null,
    holderId: lease.holder_id ?? null,
  };
}

export function writeObject(request: Requests['object.write']): WriteObject | Refusal {
  const value = wrap('value', request.value);
  if (isRefusal(value)) return value;
  return {
    type: 'WriteObject',
    objectId: request.object_id,
    value,
    lease: presented(request.lease),
    ifVersion: request.if_version ?? null,
  };
}

export function deleteObject(request: Requests['object.delete']): DeleteObject {
  return {
    type: 'DeleteObject',
    objectId: request.object_id,
    lease: presented(request.lease),
    ifVersion: request.if_version ?? null,
  };
}

export function extendLease(request: Requests['task.extend']): ExtendLease {
  const leaseSeq = seqOfLeaseId(request.lease_id);
  return { type: 'ExtendLease', taskId: request.task_id, leaseSeq, ttlMs: request.ttl_ms };
}

export function releaseTask(request: Requests['task.release']): ReleaseTask {
  const leaseSeq = seqOfLeaseId(request.lease_id);
  return { type: 'ReleaseTask', taskId: request.task_id, leaseSeq, delayMs: request.delay_ms ?? 0 };
}

export function killTask(request: Requests['task.kill']): KillTask {
  return { type: 'KillTask', taskId: request.task_id, reason: request.reason };
}

export function renewName({ name, holder, token, ttl_ms }: Requests['lease.renew']): RenewName {
  return { type: 'RenewName', name, holder, tokenHash: tokenHash(token), ttlMs: ttl_ms };
}

export function releaseName({ name, holder, token }: Requests['lease.release']): ReleaseName {
  return { type: 'ReleaseName', name, holder, tokenHash: tokenHash(token) };
}

export function breakName({ name, reason, lease_seq }: Requests['lease.break']): BreakName {
  return { type: 'BreakName', name, reason, leaseSeq: lease_seq ?? null };
}

export function wipeNames({ prefix, guard }: Requests['lease.wipe']): WipeNames {
  return { type: 'WipeNames', prefix, guard: guardOf(guard) };
}

export function pauseQueue({ queue }: Requests['queue.pause']): PauseQueue {
  return { type: 'PauseQueue', queue };
}

export function resumeQueue({ queue }: Requests['queue.resume']): ResumeQueue {
  return { type: 'ResumeQueue', queue };
}
