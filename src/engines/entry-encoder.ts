// biome-ignore-all format: generated, one function a layout
/**
 * Writes entries as bytes. Generated from `src/core/entry-table.ts` by `npm run generate`; a test compares.
 */
import {
  type Entry,
  type EpochStarted,
  type Forgotten,
  type IntentAccepted,
  type LeaseExpired,
  type LeaseExtended,
  type LeaseGranted,
  type NameBroken,
  type NameExpired,
  type NameLeased,
  type NameReleased,
  type NameRenewed,
  type NamesWiped,
  type ObjectDeleted,
  type ObjectWritten,
  type QueueLimited,
  type QueuePaused,
  type QueueResumed,
  type ScheduleFired,
  type ScheduleRemoved,
  type ScheduleSet,
  type SessionChanged,
  SKIPS,
  type TaskCancelled,
  type TaskCancelRequested,
  type TaskChanged,
  type TaskCheckpointed,
  type TaskCompleted,
  type TaskCreated,
  type TaskDead,
  type TaskFailed,
  type TaskReleased,
  VERBS,
} from '../core/entries.ts';
import { firstServiceName } from '../core/sessions/session-names.ts';
import type { ByteWriter } from './byte-writer.ts';
import {
  encodeFencedWrite,
  encodeFencedWrites,
  encodeIntent,
  encodePlan,
  encodeStanding,
} from './part-encoder.ts';
import {
  encodeKey,
  encodeKeys,
  encodeNumbers,
  encodeOpaque,
  encodeTexts,
  FIXED_MAX,
  KEY_IS_STRING,
  type OpaqueArea,
} from './record-parts.ts';

export const USUAL_MAX_FAILURES = 5;
export const USUAL_BACKOFF_MS = 1000;
export const USUAL_MAX_BACKOFF_MS = 300000;
export const USUAL_MAX_ATTEMPTS = 100;

export function encodeEntry(out: ByteWriter, area: OpaqueArea, entry: Entry): void {
  out.reserve(FIXED_MAX);
  switch (entry.type) {
    case 'TaskCreated':
      return encodeTaskCreated(out, area, entry);
    case 'LeaseGranted':
      return encodeLeaseGranted(out, entry);
    case 'LeaseExtended':
      return encodeLeaseExtended(out, entry);
    case 'LeaseExpired':
      return encodeLeaseExpired(out, entry);
    case 'TaskCompleted':
      return encodeTaskCompleted(out, area, entry);
    case 'TaskCancelled':
      return encodeTaskCancelled(out, area, entry);
    case 'TaskFailed':
      return encodeTaskFailed(out, entry);
    case 'TaskReleased':
      return encodeTaskReleased(out, entry);
    case 'TaskDead':
      return encodeTaskDead(out, entry);
    case 'TaskCancelRequested':
      return encodeTaskCancelRequested(out, entry);
    case 'TaskCheckpointed':
      return encodeTaskCheckpointed(out, area, entry);
    case 'TaskChanged':
      return encodeTaskChanged(out, entry);
    case 'NameLeased':
      return encodeNameLeased(out, area, entry);
    case 'NameRenewed':
      return encodeNameRenewed(out, entry);
    case 'NameReleased':
      return encodeNameReleased(out, entry);
    case 'NameExpired':
      return encodeNameExpired(out, entry);
    case 'NamesWiped':
      return encodeNamesWiped(out, entry);
    case 'NameBroken':
      return encodeNameBroken(out, entry);
    case 'ObjectWritten':
      return encodeObjectWritten(out, area, entry);
    case 'ObjectDeleted':
      return encodeObjectDeleted(out, entry);
    case 'IntentAccepted':
      return encodeIntentAccepted(out, area, entry);
    case 'SessionChanged':
      return encodeSessionChanged(out, entry);
    case 'ScheduleSet':
      return encodeScheduleSet(out, area, entry);
    case 'ScheduleRemoved':
      return encodeScheduleRemoved(out, entry);
    case 'ScheduleFired':
      return encodeScheduleFired(out, area, entry);
    case 'QueuePaused':
      return encodeQueuePaused(out, entry);
    case 'QueueResumed':
      return encodeQueueResumed(out, entry);
    case 'QueueLimited':
      return encodeQueueLimited(out, entry);
    case 'EpochStarted':
      return encodeEpochStarted(out, entry);
    case 'Forgotten':
      return encodeForgotten(out, entry);
    default:
      entry satisfies never;
  }
}

function encodeTaskCreated(out: ByteWriter, area: OpaqueArea, entry: TaskCreated): void {
  if (!(entry.groupKey !== null) && !(entry.traceparent !== null) && !(entry.tracestate !== null) && !(entry.requeuedFrom !== null) && !(entry.requeueReason !== null)) {
    out.u8(1);
    const isUsual = entry.maxFailures === USUAL_MAX_FAILURES && entry.backoffMs === USUAL_BACKOFF_MS && entry.maxBackoffMs === USUAL_MAX_BACKOFF_MS && entry.maxAttempts === USUAL_MAX_ATTEMPTS;
    out.u8((typeof entry.task === 'string' ? KEY_IS_STRING : 0) | (isUsual ? 8 : 0) | (entry.dedupKey === null ? 0 : 2));
    encodeKey(out, entry.task);
    out.i8(entry.priority);
    out.f64(entry.dueAtMs);
    encodeOpaque(out, area, entry.payload);
    out.string(entry.queue);
    if (!isUsual) {
      out.f64(entry.maxFailures);
      out.f64(entry.backoffMs);
      out.f64(entry.maxBackoffMs);
      out.f64(entry.maxAttempts);
    }
    if (entry.dedupKey !== null) {
      out.string(entry.dedupKey);
    }
    return;
  }
  out.u8(27);
  const isUsual = entry.maxFailures === USUAL_MAX_FAILURES && entry.backoffMs === USUAL_BACKOFF_MS && entry.maxBackoffMs === USUAL_MAX_BACKOFF_MS && entry.maxAttempts === USUAL_MAX_ATTEMPTS;
  out.u16((typeof entry.task === 'string' ? KEY_IS_STRING : 0) | (isUsual ? 8 : 0) | (entry.dedupKey === null ? 0 : 2) | (entry.groupKey === null ? 0 : 16) | (entry.traceparent === null ? 0 : 32) | (entry.tracestate === null ? 0 : 64) | (entry.requeuedFrom === null ? 0 : 128) | (entry.requeueReason === null ? 0 : 256));
  encodeKey(out, entry.task);
  out.i8(entry.priority);
  out.f64(entry.dueAtMs);
  encodeOpaque(out, area, entry.payload);
  out.string(entry.queue);
  if (!isUsual) {
    out.f64(entry.maxFailures);
    out.f64(entry.backoffMs);
    out.f64(entry.maxBackoffMs);
    out.f64(entry.maxAttempts);
  }
  if (entry.dedupKey !== null) {
    out.string(entry.dedupKey);
  }
  if (entry.groupKey !== null) {
    out.string(entry.groupKey);
  }
  if (entry.traceparent !== null) {
    out.string(entry.traceparent);
  }
  if (entry.tracestate !== null) {
    out.string(entry.tracestate);
  }
  if (entry.requeuedFrom !== null) {
    out.string(entry.requeuedFrom);
  }
  if (entry.requeueReason !== null) {
    out.string(entry.requeueReason);
  }
}

function encodeLeaseGranted(out: ByteWriter, entry: LeaseGranted): void {
  out.u8(2);
  out.u8((typeof entry.task === 'string' ? KEY_IS_STRING : 0) | (entry.requestId === null ? 0 : 2));
  encodeKey(out, entry.task);
  out.f64(entry.attempt);
  out.f64(entry.expiresAtMs);
  out.string(entry.workerId);
  if (entry.requestId !== null) {
    out.string(entry.requestId);
  }
}

function encodeLeaseExtended(out: ByteWriter, entry: LeaseExtended): void {
  out.u8(3);
  out.u8(typeof entry.task === 'string' ? KEY_IS_STRING : 0);
  encodeKey(out, entry.task);
  out.f64(entry.leaseSeq);
  out.f64(entry.expiresAtMs);
}

function encodeLeaseExpired(out: ByteWriter, entry: LeaseExpired): void {
  out.u8(4);
  out.u8((typeof entry.task === 'string' ? KEY_IS_STRING : 0) | (entry.counted ? 2 : 0));
  encodeKey(out, entry.task);
  out.f64(entry.leaseSeq);
}

function encodeTaskCompleted(out: ByteWriter, area: OpaqueArea, entry: TaskCompleted): void {
  out.u8(5);
  out.u8((typeof entry.task === 'string' ? KEY_IS_STRING : 0) | (entry.result === null ? 0 : 2) | (entry.writes.length === 0 ? 0 : 4));
  encodeKey(out, entry.task);
  out.f64(entry.leaseSeq);
  if (entry.result !== null) {
    encodeOpaque(out, area, entry.result);
  }
  if (entry.writes.length !== 0) {
    out.u32(entry.writes.length);
    encodeFencedWrites(out, area, entry.writes);
  }
}

function encodeTaskCancelled(out: ByteWriter, area: OpaqueArea, entry: TaskCancelled): void {
  out.u8(6);
  out.u8((typeof entry.task === 'string' ? KEY_IS_STRING : 0) | (entry.result === null ? 0 : 2));
  encodeKey(out, entry.task);
  out.f64(entry.leaseSeq);
  out.u8(VERBS.indexOf(entry.verb));
  if (entry.result !== null) {
    encodeOpaque(out, area, entry.result);
  }
}

function encodeTaskFailed(out: ByteWriter, entry: TaskFailed): void {
  if (entry.nextState === 'DEAD') {
    out.u8(26);
    out.u8(typeof entry.task === 'string' ? KEY_IS_STRING : 0);
    encodeKey(out, entry.task);
    out.f64(entry.leaseSeq);
    out.f64(entry.dueAtMs);
    out.string(entry.reason);
    return;
  }
  out.u8(7);
  out.u8((typeof entry.task === 'string' ? KEY_IS_STRING : 0) | (entry.nextState === 'FAILED' ? 2 : 0));
  encodeKey(out, entry.task);
  out.f64(entry.leaseSeq);
  out.f64(entry.dueAtMs);
  out.string(entry.reason);
}

function encodeTaskReleased(out: ByteWriter, entry: TaskReleased): void {
  out.u8(8);
  out.u8(typeof entry.task === 'string' ? KEY_IS_STRING : 0);
  encodeKey(out, entry.task);
  out.f64(entry.leaseSeq);
  out.f64(entry.dueAtMs);
}

function encodeTaskDead(out: ByteWriter, entry: TaskDead): void {
  if (entry.detail === null) {
    out.u8(9);
    out.u8(typeof entry.task === 'string' ? KEY_IS_STRING : 0);
    encodeKey(out, entry.task);
    out.f64(entry.leaseSeq);
    out.string(entry.reason);
    return;
  }
  out.u8(29);
  out.u8((typeof entry.task === 'string' ? KEY_IS_STRING : 0) | (entry.detail === null ? 0 : 2));
  encodeKey(out, entry.task);
  out.f64(entry.leaseSeq);
  out.string(entry.reason);
  if (entry.detail !== null) {
    out.string(entry.detail);
  }
}

function encodeTaskCancelRequested(out: ByteWriter, entry: TaskCancelRequested): void {
  out.u8(30);
  out.u8(typeof entry.task === 'string' ? KEY_IS_STRING : 0);
  encodeKey(out, entry.task);
  out.f64(entry.leaseSeq);
  out.string(entry.reason);
}

function encodeTaskCheckpointed(out: ByteWriter, area: OpaqueArea, entry: TaskCheckpointed): void {
  out.u8(31);
  out.u8(typeof entry.task === 'string' ? KEY_IS_STRING : 0);
  encodeKey(out, entry.task);
  out.f64(entry.leaseSeq);
  encodeOpaque(out, area, entry.value);
}

function encodeTaskChanged(out: ByteWriter, entry: TaskChanged): void {
  out.u8(32);
  out.u8(typeof entry.task === 'string' ? KEY_IS_STRING : 0);
  encodeKey(out, entry.task);
  out.i8(entry.priority);
  out.f64(entry.dueAtMs);
  out.string(entry.queue);
}

function encodeNameLeased(out: ByteWriter, area: OpaqueArea, entry: NameLeased): void {
  out.u8(10);
  out.u8(entry.metadata === null ? 0 : 1);
  out.f64(entry.expiresAtMs);
  if (entry.metadata !== null) {
    encodeOpaque(out, area, entry.metadata);
  }
  out.u32(entry.names.length);
  encodeTexts(out, entry.names);
  out.string(entry.holder);
  out.binary(entry.tokenHash);
}

function encodeNameRenewed(out: ByteWriter, entry: NameRenewed): void {
  out.u8(11);
  out.f64(entry.leaseSeq);
  out.f64(entry.expiresAtMs);
  out.string(entry.name);
}

function encodeNameReleased(out: ByteWriter, entry: NameReleased): void {
  out.u8(12);
  out.f64(entry.leaseSeq);
  out.string(entry.name);
}

function encodeNameExpired(out: ByteWriter, entry: NameExpired): void {
  out.u8(13);
  out.f64(entry.leaseSeq);
  out.string(entry.name);
}

function encodeNamesWiped(out: ByteWriter, entry: NamesWiped): void {
  out.u8(15);
  out.f64(entry.count);
  out.string(entry.prefix);
}

function encodeNameBroken(out: ByteWriter, entry: NameBroken): void {
  out.u8(14);
  out.f64(entry.leaseSeq);
  out.string(entry.name);
  out.string(entry.reason);
}

function encodeObjectWritten(out: ByteWriter, area: OpaqueArea, entry: ObjectWritten): void {
  out.u8(16);
  encodeFencedWrite(out, area, entry);
}

function encodeObjectDeleted(out: ByteWriter, entry: ObjectDeleted): void {
  out.u8(17);
  out.f64(entry.leaseSeq);
  out.f64(entry.version);
  out.string(entry.objectId);
}

function encodeIntentAccepted(out: ByteWriter, area: OpaqueArea, entry: IntentAccepted): void {
  if (entry.serviceName === firstServiceName(entry.intent)) {
    out.u8(22);
    encodeOpaque(out, area, entry.payload);
    encodeIntent(out, entry.intent);
    out.string(entry.key);
    return;
  }
  out.u8(25);
  encodeOpaque(out, area, entry.payload);
  encodeIntent(out, entry.intent);
  out.string(entry.key);
  out.string(entry.serviceName);
}

function encodeSessionChanged(out: ByteWriter, entry: SessionChanged): void {
  out.u8(23);
  out.f64(entry.session);
  encodeStanding(out, entry);
}

function encodeScheduleSet(out: ByteWriter, area: OpaqueArea, entry: ScheduleSet): void {
  out.u8(36);
  out.string(entry.name);
  out.reserve(FIXED_MAX);
  encodePlan(out, area, entry);
}

function encodeScheduleRemoved(out: ByteWriter, entry: ScheduleRemoved): void {
  out.u8(37);
  out.string(entry.name);
}

function encodeScheduleFired(out: ByteWriter, area: OpaqueArea, entry: ScheduleFired): void {
  out.u8(38);
  out.u8((entry.dueAtMs === null ? 0 : 1) | (entry.task === null ? 0 : 2) | (entry.skipped === null ? 0 : 4) | (entry.throughMs === null ? 0 : 8) | (entry.payload === null ? 0 : 16) | (entry.nextDueAtMs === null ? 0 : 32) | (entry.nextFiresAtMs === null ? 0 : 64) | (entry.requestId === null ? 0 : 128));
  out.string(entry.name);
  if (entry.dueAtMs !== null) {
    out.f64(entry.dueAtMs);
  }
  out.f64(entry.firesAtMs);
  if (entry.throughMs !== null) {
    out.f64(entry.throughMs);
  }
  if (entry.skipped !== null) {
    out.u8(SKIPS.indexOf(entry.skipped));
  }
  if (entry.payload !== null) {
    out.reserve(FIXED_MAX);
    encodeOpaque(out, area, entry.payload);
  }
  if (entry.nextDueAtMs !== null) {
    out.reserve(FIXED_MAX);
    out.f64(entry.nextDueAtMs);
  }
  if (entry.nextFiresAtMs !== null) {
    out.reserve(FIXED_MAX);
    out.f64(entry.nextFiresAtMs);
  }
  out.string(entry.queue);
  if (entry.task !== null) {
    out.string(entry.task);
  }
  if (entry.requestId !== null) {
    out.string(entry.requestId);
  }
}

function encodeQueuePaused(out: ByteWriter, entry: QueuePaused): void {
  out.u8(18);
  out.string(entry.queue);
}

function encodeQueueResumed(out: ByteWriter, entry: QueueResumed): void {
  out.u8(19);
  out.string(entry.queue);
}

function encodeQueueLimited(out: ByteWriter, entry: QueueLimited): void {
  out.u8(33);
  out.u8((entry.maxLeased === null ? 0 : 1) | (entry.maxLeasedPerKey === null ? 0 : 2) | (entry.rateCount === null ? 0 : 4) | (entry.ratePerMs === null ? 0 : 8) | (entry.ratePerKey ? 16 : 0) | (entry.applied ? 32 : 0));
  out.string(entry.queue);
  if (entry.maxLeased !== null) {
    out.f64(entry.maxLeased);
  }
  if (entry.maxLeasedPerKey !== null) {
    out.f64(entry.maxLeasedPerKey);
  }
  if (entry.rateCount !== null) {
    out.f64(entry.rateCount);
  }
  if (entry.ratePerMs !== null) {
    out.f64(entry.ratePerMs);
  }
}

function encodeEpochStarted(out: ByteWriter, entry: EpochStarted): void {
  out.u8(20);
  out.u8(entry.restored ? 1 : 0);
  out.f64(entry.epoch);
  out.f64(entry.version);
  out.string(entry.format);
}

function encodeForgotten(out: ByteWriter, entry: Forgotten): void {
  if (entry.sessions.length === 0) {
    out.u8(21);
    out.u32(entry.tasks.length);
    out.u32(entry.names.length);
    encodeKeys(out, entry.tasks);
    encodeTexts(out, entry.names);
    return;
  }
  out.u8(24);
  out.u32(entry.tasks.length);
  out.u32(entry.names.length);
  out.u32(entry.sessions.length);
  encodeKeys(out, entry.tasks);
  encodeTexts(out, entry.names);
  encodeNumbers(out, entry.sessions);
}
