// biome-ignore-all format: generated, one field a line
/** Entries as people read them. Generated from `src/core/entry-table.ts` by `npm run generate`; a test compares. */
import type { Entry, FencedWrite } from './entries.ts';
import {
  type EntryJson,
  hex,
  intentToJson,
  type Rendering,
  rateToJson,
  taskIdOfKey,
  traceToJson,
} from './entry-json.ts';
import { leaseIdOfSeq, sessionIdOfSeq } from './ids.ts';
import { START_QUEUE } from './reserved-names.ts';
import { firstServiceName } from './sessions/session-names.ts';

export function entryToJson(entry: Entry, seq: number, atMs: number, { instant, open }: Rendering): EntryJson {
  switch (entry.type) {
    case 'TaskCreated':
      return {
        type: entry.type,
        task_id: taskIdOfKey(entry.task),
        payload: open(entry.payload),
        created_at: instant(atMs),
        queue: entry.queue,
        priority: entry.priority,
        due_at: instant(entry.dueAtMs),
        retry: { max_failures: entry.maxFailures, backoff_ms: entry.backoffMs, max_backoff_ms: entry.maxBackoffMs },
        max_attempts: entry.maxAttempts,
        ...(entry.dedupKey !== null ? { dedup_key: entry.dedupKey } : {}),
        ...(entry.groupKey !== null ? { key: entry.groupKey } : {}),
        ...(entry.traceparent !== null ? { trace: traceToJson(entry) } : {}),
        ...(entry.requeuedFrom !== null ? { requeued_from: entry.requeuedFrom } : {}),
        ...(entry.requeueReason !== null ? { requeue_reason: entry.requeueReason } : {}),
      };
    case 'LeaseGranted':
      return {
        type: entry.type,
        task_id: taskIdOfKey(entry.task),
        lease_id: leaseIdOfSeq(seq),
        lease_seq: seq,
        worker_id: entry.workerId,
        attempt: entry.attempt,
        expiry_timestamp: instant(entry.expiresAtMs),
        ...(entry.requestId !== null ? { request_id: entry.requestId } : {}),
      };
    case 'LeaseExtended':
      return {
        type: entry.type,
        task_id: taskIdOfKey(entry.task),
        lease_id: leaseIdOfSeq(entry.leaseSeq),
        new_expiry_timestamp: instant(entry.expiresAtMs),
      };
    case 'LeaseExpired':
      return {
        type: entry.type,
        task_id: taskIdOfKey(entry.task),
        lease_id: leaseIdOfSeq(entry.leaseSeq),
        counted: entry.counted,
      };
    case 'TaskCompleted':
      return {
        type: entry.type,
        task_id: taskIdOfKey(entry.task),
        lease_id: leaseIdOfSeq(entry.leaseSeq),
        ...(entry.result !== null ? { result: open(entry.result) } : {}),
        ...(entry.writes.length !== 0 ? { writes: entry.writes.map((write) => fencedWriteToJson(write, open)) } : {}),
      };
    case 'TaskCancelled':
      return {
        type: entry.type,
        task_id: taskIdOfKey(entry.task),
        lease_id: leaseIdOfSeq(entry.leaseSeq),
        verb: entry.verb,
        ...(entry.result !== null ? { late_result: open(entry.result) } : {}),
      };
    case 'TaskFailed':
      return {
        type: entry.type,
        task_id: taskIdOfKey(entry.task),
        lease_id: leaseIdOfSeq(entry.leaseSeq),
        reason: entry.reason,
        next_state: entry.nextState,
        ...(entry.nextState === 'WAITING' ? { due_at: instant(entry.dueAtMs) } : {}),
      };
    case 'TaskReleased':
      return {
        type: entry.type,
        task_id: taskIdOfKey(entry.task),
        lease_id: leaseIdOfSeq(entry.leaseSeq),
        due_at: instant(entry.dueAtMs),
      };
    case 'TaskDead':
      return {
        type: entry.type,
        task_id: taskIdOfKey(entry.task),
        ...(entry.leaseSeq !== 0 ? { lease_id: leaseIdOfSeq(entry.leaseSeq) } : {}),
        reason: entry.reason,
        ...(entry.detail !== null ? { reason_detail: entry.detail } : {}),
      };
    case 'TaskCancelRequested':
      return {
        type: entry.type,
        task_id: taskIdOfKey(entry.task),
        lease_id: leaseIdOfSeq(entry.leaseSeq),
        reason: entry.reason,
      };
    case 'TaskCheckpointed':
      return {
        type: entry.type,
        task_id: taskIdOfKey(entry.task),
        lease_id: leaseIdOfSeq(entry.leaseSeq),
        value: open(entry.value),
      };
    case 'TaskChanged':
      return {
        type: entry.type,
        task_id: taskIdOfKey(entry.task),
        queue: entry.queue,
        priority: entry.priority,
        due_at: instant(entry.dueAtMs),
      };
    case 'NameLeased':
      return {
        type: entry.type,
        ...(entry.names.length === 1 ? { name: entry.names[0] } : {}),
        names: entry.names,
        holder: entry.holder,
        token_sha256: hex(entry.tokenHash),
        lease_seq: seq,
        acquired_at: instant(atMs),
        expires_at: instant(entry.expiresAtMs),
        ...(entry.metadata !== null ? { metadata: open(entry.metadata) } : {}),
      };
    case 'NameRenewed':
      return {
        type: entry.type,
        name: entry.name,
        lease_seq: entry.leaseSeq,
        expires_at: instant(entry.expiresAtMs),
      };
    case 'NameReleased':
      return {
        type: entry.type,
        name: entry.name,
        lease_seq: entry.leaseSeq,
      };
    case 'NameExpired':
      return {
        type: entry.type,
        name: entry.name,
        lease_seq: entry.leaseSeq,
      };
    case 'NamesWiped':
      return {
        type: entry.type,
        prefix: entry.prefix,
        count: entry.count,
      };
    case 'NameBroken':
      return {
        type: entry.type,
        name: entry.name,
        lease_seq: entry.leaseSeq,
        reason: entry.reason,
      };
    case 'ObjectWritten':
      return {
        type: entry.type,
        object_id: entry.objectId,
        lease_seq: entry.leaseSeq,
        version: entry.version,
        value: open(entry.value),
      };
    case 'ObjectDeleted':
      return {
        type: entry.type,
        object_id: entry.objectId,
        lease_seq: entry.leaseSeq,
        version: entry.version,
      };
    case 'IntentAccepted':
      return {
        type: entry.type,
        session_id: sessionIdOfSeq(seq),
        task_id: sessionIdOfSeq(seq),
        intent: intentToJson(entry.intent),
        ...(entry.serviceName !== firstServiceName(entry.intent) ? { lease_name: entry.serviceName } : {}),
        idempotency_key: entry.key,
        queue: START_QUEUE,
        payload: open(entry.payload),
      };
    case 'SessionChanged':
      return {
        type: entry.type,
        session_id: sessionIdOfSeq(entry.session),
        state: entry.state,
        reason: entry.reason,
        reason_detail: entry.reasonDetail,
        ...(entry.slot !== null ? { slot: entry.slot } : {}),
        ...(entry.leaseSeq !== 0 ? { lease_seq: entry.leaseSeq } : {}),
      };
    case 'ScheduleSet':
      return {
        type: entry.type,
        schedule: entry.name,
        ...(entry.payload !== null ? { payload: open(entry.payload) } : {}),
        ...(entry.cron !== null ? { cron: entry.cron } : {}),
        ...(entry.everyMs !== null ? { every_ms: entry.everyMs } : {}),
        ...(entry.anchorMs !== 0 ? { anchor_at: instant(entry.anchorMs) } : {}),
        timezone: entry.timezone,
        queue: entry.queue,
        priority: entry.priority,
        retry: { max_failures: entry.maxFailures, backoff_ms: entry.backoffMs, max_backoff_ms: entry.maxBackoffMs },
        max_attempts: entry.maxAttempts,
        ...(entry.groupKey !== null ? { key: entry.groupKey } : {}),
        overlap: entry.overlap,
        catch_up: entry.catchUp,
        jitter_ms: entry.jitterMs,
        ...(entry.startsAtMs !== null ? { starts_at: instant(entry.startsAtMs) } : {}),
        ...(entry.endsAtMs !== null ? { ends_at: instant(entry.endsAtMs) } : {}),
        paused: entry.paused,
        applied: entry.applied,
        next_due_at: entry.nextDueAtMs === null ? null : instant(entry.nextDueAtMs),
        next_fires_at: entry.nextFiresAtMs === null ? null : instant(entry.nextFiresAtMs),
      };
    case 'ScheduleRemoved':
      return {
        type: entry.type,
        schedule: entry.name,
      };
    case 'ScheduleFired':
      return {
        type: entry.type,
        schedule: entry.name,
        due_at: entry.dueAtMs === null ? null : instant(entry.dueAtMs),
        fires_at: instant(entry.firesAtMs),
        task_id: entry.task,
        ...(entry.skipped !== null ? { skipped: entry.skipped } : {}),
        ...(entry.throughMs !== null ? { skipped_through: instant(entry.throughMs) } : {}),
        queue: entry.queue,
        ...(entry.payload !== null ? { payload: open(entry.payload) } : {}),
        next_due_at: entry.nextDueAtMs === null ? null : instant(entry.nextDueAtMs),
        next_fires_at: entry.nextFiresAtMs === null ? null : instant(entry.nextFiresAtMs),
        ...(entry.requestId !== null ? { request_id: entry.requestId } : {}),
      };
    case 'QueuePaused':
      return {
        type: entry.type,
        queue: entry.queue,
      };
    case 'QueueResumed':
      return {
        type: entry.type,
        queue: entry.queue,
      };
    case 'QueueLimited':
      return {
        type: entry.type,
        queue: entry.queue,
        max_leased: entry.maxLeased,
        max_leased_per_key: entry.maxLeasedPerKey,
        rate: rateToJson(entry),
        ...(entry.applied ? { applied: entry.applied } : {}),
      };
    case 'EpochStarted':
      return {
        type: entry.type,
        epoch: entry.epoch,
        format: entry.format,
        version: entry.version,
        restored: entry.restored,
      };
    case 'Forgotten':
      return {
        type: entry.type,
        ...(entry.tasks.length !== 0 ? { task_ids: entry.tasks.map(taskIdOfKey) } : {}),
        ...(entry.names.length !== 0 ? { names: entry.names } : {}),
        ...(entry.sessions.length !== 0 ? { session_ids: entry.sessions.map(sessionIdOfSeq) } : {}),
      };
  }
}

function fencedWriteToJson(entry: FencedWrite, open: Rendering['open']) {
  return {
    object_id: entry.objectId,
    lease_seq: entry.leaseSeq,
    version: entry.version,
    value: open(entry.value),
  };
}
