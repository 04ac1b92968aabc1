// biome-ignore-all format: generated, one function a layout
/**
 * Reads entries from bytes, in every layout that was ever written. Generated from `src/core/entry-table.ts` by
 * `npm run generate`; a test compares.
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
import type { ByteReader } from './byte-reader.ts';
import {
  USUAL_BACKOFF_MS,
  USUAL_MAX_ATTEMPTS,
  USUAL_MAX_BACKOFF_MS,
  USUAL_MAX_FAILURES,
} from './entry-encoder.ts';
import { LogTooNewError } from './log.ts';
import {
  decodeFencedWrite,
  decodeFencedWrites,
  decodeIntent,
  decodePlan,
  decodeStanding,
} from './part-decoder.ts';
import {
  decodeKey,
  decodeKeys,
  decodeNumbers,
  decodeTexts,
  known,
  type OpaqueReader,
} from './record-parts.ts';

/** `opaques` reads from the same place as `source`. */
export function decodeEntry(source: ByteReader, opaques: OpaqueReader): Entry {
  const type = source.u8();
  switch (type) {
    case 1:
      return decodeTaskCreated1(source, opaques);
    case 2:
      return decodeLeaseGranted(source);
    case 3:
      return decodeLeaseExtended(source);
    case 4:
      return decodeLeaseExpired(source);
    case 5:
      return decodeTaskCompleted(source, opaques);
    case 6:
      return decodeTaskCancelled(source, opaques);
    case 7:
      return decodeTaskFailed7(source);
    case 8:
      return decodeTaskReleased(source);
    case 9:
      return decodeTaskDead9(source);
    case 10:
      return decodeNameLeased(source, opaques);
    case 11:
      return decodeNameRenewed(source);
    case 12:
      return decodeNameReleased(source);
    case 13:
      return decodeNameExpired(source);
    case 14:
      return decodeNameBroken(source);
    case 15:
      return decodeNamesWiped(source);
    case 16:
      return decodeObjectWritten(source, opaques);
    case 17:
      return decodeObjectDeleted(source);
    case 18:
      return decodeQueuePaused(source);
    case 19:
      return decodeQueueResumed(source);
    case 20:
      return decodeEpochStarted(source);
    case 21:
      return decodeForgotten21(source);
    case 22:
      return decodeIntentAccepted22(source, opaques);
    case 23:
      return decodeSessionChanged(source);
    case 24:
      return decodeForgotten24(source);
    case 25:
      return decodeIntentAccepted25(source, opaques);
    case 26:
      return decodeTaskFailed26(source);
    case 27:
      return decodeTaskCreated27(source, opaques);
    case 29:
      return decodeTaskDead29(source);
    case 30:
      return decodeTaskCancelRequested(source);
    case 31:
      return decodeTaskCheckpointed(source, opaques);
    case 32:
      return decodeTaskChanged(source);
    case 33:
      return decodeQueueLimited(source);
    case 36:
      return decodeScheduleSet(source, opaques);
    case 37:
      return decodeScheduleRemoved(source);
    case 38:
      return decodeScheduleFired(source, opaques);
    default:
      throw new LogTooNewError(`The log holds entries of type ${type}, which this version does not know.`);
  }
}

/** Lists that are empty are all the same one. */
const NONE: readonly never[] = [];

function decodeTaskCreated1(source: ByteReader, opaques: OpaqueReader): TaskCreated {
  const flags = source.u8();
  const task = decodeKey(source, flags);
  const priority = source.i8();
  const dueAtMs = source.f64();
  const payload = opaques.opaque();
  const queue = source.cachedString();
  const maxFailures = flags & 8 ? USUAL_MAX_FAILURES : source.f64();
  const backoffMs = flags & 8 ? USUAL_BACKOFF_MS : source.f64();
  const maxBackoffMs = flags & 8 ? USUAL_MAX_BACKOFF_MS : source.f64();
  const maxAttempts = flags & 8 ? USUAL_MAX_ATTEMPTS : source.f64();
  const dedupKey = flags & 2 ? source.string() : null;
  if (flags & 4) source.binary();
  return { type: 'TaskCreated', task, payload, queue, priority, dueAtMs, maxFailures, backoffMs, maxBackoffMs, maxAttempts, dedupKey, groupKey: null, traceparent: null, tracestate: null, requeuedFrom: null, requeueReason: null };
}

function decodeLeaseGranted(source: ByteReader): LeaseGranted {
  const flags = source.u8();
  const task = decodeKey(source, flags);
  const attempt = source.f64();
  const expiresAtMs = source.f64();
  const workerId = source.cachedString();
  const requestId = flags & 2 ? source.string() : null;
  return { type: 'LeaseGranted', task, workerId, attempt, expiresAtMs, requestId };
}

function decodeLeaseExtended(source: ByteReader): LeaseExtended {
  const flags = source.u8();
  const task = decodeKey(source, flags);
  const leaseSeq = source.f64();
  const expiresAtMs = source.f64();
  return { type: 'LeaseExtended', task, leaseSeq, expiresAtMs };
}

function decodeLeaseExpired(source: ByteReader): LeaseExpired {
  const flags = source.u8();
  const task = decodeKey(source, flags);
  const leaseSeq = source.f64();
  return { type: 'LeaseExpired', task, leaseSeq, counted: (flags & 2) !== 0 };
}

function decodeTaskCompleted(source: ByteReader, opaques: OpaqueReader): TaskCompleted {
  const flags = source.u8();
  const task = decodeKey(source, flags);
  const leaseSeq = source.f64();
  const result = flags & 2 ? opaques.opaque() : null;
  const writesCount = flags & 4 ? source.u32() : 0;
  const writes = writesCount === 0 ? NONE : decodeFencedWrites(source, opaques, writesCount);
  return { type: 'TaskCompleted', task, leaseSeq, result, writes };
}

function decodeTaskCancelled(source: ByteReader, opaques: OpaqueReader): TaskCancelled {
  const flags = source.u8();
  const task = decodeKey(source, flags);
  const leaseSeq = source.f64();
  const verb = known(VERBS, source.u8(), 'verb');
  const result = flags & 2 ? opaques.opaque() : null;
  return { type: 'TaskCancelled', task, leaseSeq, verb, result };
}

function decodeTaskFailed7(source: ByteReader): TaskFailed {
  const flags = source.u8();
  const task = decodeKey(source, flags);
  const leaseSeq = source.f64();
  const dueAtMs = source.f64();
  const reason = source.string();
  return { type: 'TaskFailed', task, leaseSeq, reason, nextState: flags & 2 ? 'FAILED' : 'WAITING', dueAtMs };
}

function decodeTaskReleased(source: ByteReader): TaskReleased {
  const flags = source.u8();
  const task = decodeKey(source, flags);
  const leaseSeq = source.f64();
  const dueAtMs = source.f64();
  return { type: 'TaskReleased', task, leaseSeq, dueAtMs };
}

function decodeTaskDead9(source: ByteReader): TaskDead {
  const flags = source.u8();
  const task = decodeKey(source, flags);
  const leaseSeq = source.f64();
  const reason = source.string();
  return { type: 'TaskDead', task, leaseSeq, reason, detail: null };
}

function decodeNameLeased(source: ByteReader, opaques: OpaqueReader): NameLeased {
  const flags = source.u8();
  const expiresAtMs = source.f64();
  const metadata = flags & 1 ? opaques.opaque() : null;
  const namesCount = source.u32();
  const names = namesCount === 0 ? NONE : decodeTexts(source, namesCount);
  const holder = source.cachedString();
  const tokenHash = source.binary();
  return { type: 'NameLeased', names, holder, tokenHash, expiresAtMs, metadata };
}

function decodeNameRenewed(source: ByteReader): NameRenewed {
  const leaseSeq = source.f64();
  const expiresAtMs = source.f64();
  const name = source.string();
  return { type: 'NameRenewed', name, leaseSeq, expiresAtMs };
}

function decodeNameReleased(source: ByteReader): NameReleased {
  const leaseSeq = source.f64();
  const name = source.string();
  return { type: 'NameReleased', name, leaseSeq };
}

function decodeNameExpired(source: ByteReader): NameExpired {
  const leaseSeq = source.f64();
  const name = source.string();
  return { type: 'NameExpired', name, leaseSeq };
}

function decodeNameBroken(source: ByteReader): NameBroken {
  const leaseSeq = source.f64();
  const name = source.string();
  const reason = source.string();
  return { type: 'NameBroken', name, leaseSeq, reason };
}

function decodeNamesWiped(source: ByteReader): NamesWiped {
  const count = source.f64();
  const prefix = source.string();
  return { type: 'NamesWiped', prefix, count };
}

function decodeObjectWritten(source: ByteReader, opaques: OpaqueReader): ObjectWritten {
  const fencedWrite = decodeFencedWrite(source, opaques);
  return { type: 'ObjectWritten', objectId: fencedWrite.objectId, leaseSeq: fencedWrite.leaseSeq, version: fencedWrite.version, value: fencedWrite.value };
}

function decodeObjectDeleted(source: ByteReader): ObjectDeleted {
  const leaseSeq = source.f64();
  const version = source.f64();
  const objectId = source.string();
  return { type: 'ObjectDeleted', objectId, leaseSeq, version };
}

function decodeQueuePaused(source: ByteReader): QueuePaused {
  const queue = source.string();
  return { type: 'QueuePaused', queue };
}

function decodeQueueResumed(source: ByteReader): QueueResumed {
  const queue = source.string();
  return { type: 'QueueResumed', queue };
}

function decodeEpochStarted(source: ByteReader): EpochStarted {
  const flags = source.u8();
  const epoch = source.f64();
  const version = source.f64();
  const format = source.string();
  return { type: 'EpochStarted', epoch, format, version, restored: (flags & 1) !== 0 };
}

function decodeForgotten21(source: ByteReader): Forgotten {
  const tasksCount = source.u32();
  const namesCount = source.u32();
  const tasks = tasksCount === 0 ? NONE : decodeKeys(source, tasksCount);
  const names = namesCount === 0 ? NONE : decodeTexts(source, namesCount);
  return { type: 'Forgotten', tasks, names, sessions: NONE };
}

function decodeIntentAccepted22(source: ByteReader, opaques: OpaqueReader): IntentAccepted {
  const payload = opaques.opaque();
  const intent = decodeIntent(source);
  const key = source.string();
  return { type: 'IntentAccepted', intent, serviceName: firstServiceName(intent), key, payload };
}

function decodeSessionChanged(source: ByteReader): SessionChanged {
  const session = source.f64();
  const standing = decodeStanding(source);
  return { type: 'SessionChanged', session, state: standing.state, reason: standing.reason, reasonDetail: standing.reasonDetail, slot: standing.slot, leaseSeq: standing.leaseSeq };
}

function decodeForgotten24(source: ByteReader): Forgotten {
  const tasksCount = source.u32();
  const namesCount = source.u32();
  const sessionsCount = source.u32();
  const tasks = tasksCount === 0 ? NONE : decodeKeys(source, tasksCount);
  const names = namesCount === 0 ? NONE : decodeTexts(source, namesCount);
  const sessions = sessionsCount === 0 ? NONE : decodeNumbers(source, sessionsCount);
  return { type: 'Forgotten', tasks, names, sessions };
}

function decodeIntentAccepted25(source: ByteReader, opaques: OpaqueReader): IntentAccepted {
  const payload = opaques.opaque();
  const intent = decodeIntent(source);
  const key = source.string();
  const serviceName = source.string();
  return { type: 'IntentAccepted', intent, serviceName, key, payload };
}

function decodeTaskFailed26(source: ByteReader): TaskFailed {
  const flags = source.u8();
  const task = decodeKey(source, flags);
  const leaseSeq = source.f64();
  const dueAtMs = source.f64();
  const reason = source.string();
  return { type: 'TaskFailed', task, leaseSeq, reason, nextState: 'DEAD', dueAtMs };
}

function decodeTaskCreated27(source: ByteReader, opaques: OpaqueReader): TaskCreated {
  const flags = source.u16();
  const task = decodeKey(source, flags);
  const priority = source.i8();
  const dueAtMs = source.f64();
  const payload = opaques.opaque();
  const queue = source.cachedString();
  const maxFailures = flags & 8 ? USUAL_MAX_FAILURES : source.f64();
  const backoffMs = flags & 8 ? USUAL_BACKOFF_MS : source.f64();
  const maxBackoffMs = flags & 8 ? USUAL_MAX_BACKOFF_MS : source.f64();
  const maxAttempts = flags & 8 ? USUAL_MAX_ATTEMPTS : source.f64();
  const dedupKey = flags & 2 ? source.string() : null;
  const groupKey = flags & 16 ? source.string() : null;
  const traceparent = flags & 32 ? source.string() : null;
  const tracestate = flags & 64 ? source.string() : null;
  const requeuedFrom = flags & 128 ? source.string() : null;
  const requeueReason = flags & 256 ? source.string() : null;
  return { type: 'TaskCreated', task, payload, queue, priority, dueAtMs, maxFailures, backoffMs, maxBackoffMs, maxAttempts, dedupKey, groupKey, traceparent, tracestate, requeuedFrom, requeueReason };
}

function decodeTaskDead29(source: ByteReader): TaskDead {
  const flags = source.u8();
  const task = decodeKey(source, flags);
  const leaseSeq = source.f64();
  const reason = source.string();
  const detail = flags & 2 ? source.string() : null;
  return { type: 'TaskDead', task, leaseSeq, reason, detail };
}

function decodeTaskCancelRequested(source: ByteReader): TaskCancelRequested {
  const flags = source.u8();
  const task = decodeKey(source, flags);
  const leaseSeq = source.f64();
  const reason = source.string();
  return { type: 'TaskCancelRequested', task, leaseSeq, reason };
}

function decodeTaskCheckpointed(source: ByteReader, opaques: OpaqueReader): TaskCheckpointed {
  const flags = source.u8();
  const task = decodeKey(source, flags);
  const leaseSeq = source.f64();
  const value = opaques.opaque();
  return { type: 'TaskCheckpointed', task, leaseSeq, value };
}

function decodeTaskChanged(source: ByteReader): TaskChanged {
  const flags = source.u8();
  const task = decodeKey(source, flags);
  const priority = source.i8();
  const dueAtMs = source.f64();
  const queue = source.cachedString();
  return { type: 'TaskChanged', task, queue, priority, dueAtMs };
}

function decodeQueueLimited(source: ByteReader): QueueLimited {
  const flags = source.u8();
  const queue = source.string();
  const maxLeased = flags & 1 ? source.f64() : null;
  const maxLeasedPerKey = flags & 2 ? source.f64() : null;
  const rateCount = flags & 4 ? source.f64() : null;
  const ratePerMs = flags & 8 ? source.f64() : null;
  return { type: 'QueueLimited', queue, maxLeased, maxLeasedPerKey, rateCount, ratePerMs, ratePerKey: (flags & 16) !== 0, applied: (flags & 32) !== 0 };
}

function decodeScheduleSet(source: ByteReader, opaques: OpaqueReader): ScheduleSet {
  const name = source.string();
  const plan = decodePlan(source, opaques);
  return { type: 'ScheduleSet', name, payload: plan.payload, cron: plan.cron, everyMs: plan.everyMs, anchorMs: plan.anchorMs, timezone: plan.timezone, queue: plan.queue, priority: plan.priority, maxFailures: plan.maxFailures, backoffMs: plan.backoffMs, maxBackoffMs: plan.maxBackoffMs, maxAttempts: plan.maxAttempts, groupKey: plan.groupKey, overlap: plan.overlap, catchUp: plan.catchUp, jitterMs: plan.jitterMs, startsAtMs: plan.startsAtMs, endsAtMs: plan.endsAtMs, paused: plan.paused, applied: plan.applied, nextDueAtMs: plan.nextDueAtMs, nextFiresAtMs: plan.nextFiresAtMs };
}

function decodeScheduleRemoved(source: ByteReader): ScheduleRemoved {
  const name = source.string();
  return { type: 'ScheduleRemoved', name };
}

function decodeScheduleFired(source: ByteReader, opaques: OpaqueReader): ScheduleFired {
  const flags = source.u8();
  const name = source.string();
  const dueAtMs = flags & 1 ? source.f64() : null;
  const firesAtMs = source.f64();
  const throughMs = flags & 8 ? source.f64() : null;
  const skipped = flags & 4 ? known(SKIPS, source.u8(), 'reason to skip a due time') : null;
  const payload = flags & 16 ? opaques.opaque() : null;
  const nextDueAtMs = flags & 32 ? source.f64() : null;
  const nextFiresAtMs = flags & 64 ? source.f64() : null;
  const queue = source.cachedString();
  const task = flags & 2 ? source.string() : null;
  const requestId = flags & 128 ? source.string() : null;
  return { type: 'ScheduleFired', name, dueAtMs, firesAtMs, task, skipped, throughMs, queue, payload, nextDueAtMs, nextFiresAtMs, requestId };
}
