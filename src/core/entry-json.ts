/**
 * Entries as people read them: the seeds' field names, instants as ISO 8601, ids as on the wire. Opaque
 * bytes are shown by their length, unless `open` gives their text.
 */
import type { Entry, FencedWrite, Intent, TaskKey } from './entries.ts';
import { leaseIdOfSeq, sessionIdOfSeq, taskIdOfSeq } from './ids.ts';
import type { Opaque } from './opaque.ts';
import { START_QUEUE } from './reserved-names.ts';
import { firstServiceName } from './sessions/session-names.ts';

export type EntryJson = Record<string, unknown> & { type: Entry['type'] };

export interface Rendering {
  /** Milliseconds to ISO 8601. */
  readonly instant: (ms: number) => string;
  /** What stands for opaque bytes in the output. */
  readonly open: (reference: Opaque) => unknown;
}

export function taskIdOfKey(task: TaskKey): string {
  return typeof task === 'number' ? taskIdOfSeq(task) : task;
}

export function entryToJson(
  entry: Entry,
  seq: number,
  atMs: number,
  { instant, open }: Rendering,
): EntryJson {
  const type = entry.type;
  switch (entry.type) {
    case 'TaskCreated':
      return {
        type,
        task_id: taskIdOfKey(entry.task),
        payload: open(entry.payload),
        created_at: instant(atMs),
        queue: entry.queue,
        priority: entry.priority,
        due_at: instant(entry.dueAtMs),
        retry: {
          max_failures: entry.maxFailures,
          backoff_ms: entry.backoffMs,
          max_backoff_ms: entry.maxBackoffMs,
        },
        max_attempts: entry.maxAttempts,
        ...(entry.dedupKey === null ? {} : { dedup_key: entry.dedupKey }),
      };
    case 'LeaseGranted':
      return {
        type,
        task_id: taskIdOfKey(entry.task),
        lease_id: leaseIdOfSeq(seq),
        lease_seq: seq,
        worker_id: entry.workerId,
        attempt: entry.attempt,
        expiry_timestamp: instant(entry.expiresAtMs),
        ...(entry.requestId === null ? {} : { request_id: entry.requestId }),
      };
    case 'LeaseExtended':
      return { type, ...lease(entry), new_expiry_timestamp: instant(entry.expiresAtMs) };
    case 'LeaseExpired':
      return { type, ...lease(entry), counted: entry.counted };
    case 'TaskCompleted':
      return {
        type,
        ...lease(entry),
        ...(entry.result === null ? {} : { result: open(entry.result) }),
        ...(entry.writes.length === 0 ? {} : { writes: entry.writes.map((write) => written(write, open)) }),
      };
    case 'TaskCancelled':
      return {
        type,
        ...lease(entry),
        verb: entry.verb,
        ...(entry.result === null ? {} : { late_result: open(entry.result) }),
      };
    case 'TaskFailed':
      return {
        type,
        ...lease(entry),
        reason: entry.reason,
        next_state: entry.nextState,
        ...(entry.nextState === 'WAITING' ? { due_at: instant(entry.dueAtMs) } : {}),
      };
    case 'TaskReleased':
      return { type, ...lease(entry), due_at: instant(entry.dueAtMs) };
    case 'TaskDead':
      return {
        type,
        task_id: taskIdOfKey(entry.task),
        ...(entry.leaseSeq === 0 ? {} : { lease_id: leaseIdOfSeq(entry.leaseSeq) }),
        reason: entry.reason,
      };
    case 'NameLeased':
      return {
        type,
        ...(entry.names.length === 1 ? { name: entry.names[0] } : {}),
        names: entry.names,
        holder: entry.holder,
        token_sha256: hex(entry.tokenHash),
        lease_seq: seq,
        acquired_at: instant(atMs),
        expires_at: instant(entry.expiresAtMs),
        ...(entry.metadata === null ? {} : { metadata: open(entry.metadata) }),
      };
    case 'NameRenewed':
      return { type, name: entry.name, lease_seq: entry.leaseSeq, expires_at: instant(entry.expiresAtMs) };
    case 'NameReleased':
    case 'NameExpired':
      return { type, name: entry.name, lease_seq: entry.leaseSeq };
    case 'NameBroken':
      return { type, name: entry.name, lease_seq: entry.leaseSeq, reason: entry.reason };
    case 'NamesWiped':
      return { type, prefix: entry.prefix, count: entry.count };
    case 'ObjectWritten':
      return { type, ...written(entry, open) };
    case 'ObjectDeleted':
      return { type, object_id: entry.objectId, lease_seq: entry.leaseSeq, version: entry.version };
    case 'IntentAccepted':
      return {
        type,
        session_id: sessionIdOfSeq(seq),
        task_id: sessionIdOfSeq(seq),
        intent: intentToJson(entry.intent),
        ...(entry.serviceName === firstServiceName(entry.intent) ? {} : { lease_name: entry.serviceName }),
        idempotency_key: entry.key,
        queue: START_QUEUE,
        payload: open(entry.payload),
      };
    case 'SessionChanged':
      return {
        type,
        session_id: sessionIdOfSeq(entry.session),
        state: entry.state,
        reason: entry.reason,
        reason_detail: entry.reasonDetail,
        ...(entry.slot === null ? {} : { slot: entry.slot }),
        ...(entry.leaseSeq === 0 ? {} : { lease_seq: entry.leaseSeq }),
      };
    case 'QueuePaused':
    case 'QueueResumed':
      return { type, queue: entry.queue };
    case 'EpochStarted':
      return {
        type,
        epoch: entry.epoch,
        format: entry.format,
        version: entry.version,
        restored: entry.restored,
      };
    case 'Forgotten':
      return {
        type,
        ...(entry.tasks.length === 0 ? {} : { task_ids: entry.tasks.map(taskIdOfKey) }),
        ...(entry.names.length === 0 ? {} : { names: entry.names }),
        ...(entry.sessions.length === 0 ? {} : { session_ids: entry.sessions.map(sessionIdOfSeq) }),
      };
  }
}

/** The target is called after what it is, as in the request that brought it. */
export function intentToJson({ type, target, profileId, startMs }: Intent) {
  return type === 'live'
    ? { type, serviceRef: target, profileID: profileId }
    : { type, recordingID: target, profileID: profileId, start_ms: startMs };
}

function lease(entry: { task: TaskKey; leaseSeq: number }) {
  return { task_id: taskIdOfKey(entry.task), lease_id: leaseIdOfSeq(entry.leaseSeq) };
}

function written(write: FencedWrite, open: Rendering['open']) {
  return {
    object_id: write.objectId,
    lease_seq: write.leaseSeq,
    version: write.version,
    value: open(write.value),
  };
}

function hex(latin1: string): string {
  let text = '';
  for (let index = 0; index < latin1.length; index++) {
    text += latin1.charCodeAt(index).toString(16).padStart(2, '0');
  }
  return text;
}
