// biome-ignore-all format: generated, one function a layout
/**
 * Reads the records of a state image from bytes, in every layout that was ever written. Generated from
 * `src/core/row-table.ts` by `npm run generate`; a test compares.
 */
import {
  type FreeRowsImage,
  type GrantsImage,
  type HeadImage,
  type ImageRecord,
  LEASE_ENDS,
  type LeaseImage,
  NAME_ENDS,
  type NameImage,
  type ObjectImage,
  type QueueImage,
  type ScheduleImage,
  type SessionImage,
  TASK_STATES,
  type TaskImage,
} from '../core/image.ts';
import { firstServiceName } from '../core/sessions/session-names.ts';
import type { ByteReader } from './byte-reader.ts';
import {
  USUAL_BACKOFF_MS,
  USUAL_MAX_ATTEMPTS,
  USUAL_MAX_BACKOFF_MS,
  USUAL_MAX_FAILURES,
} from './entry-encoder.ts';
import { LogTooNewError } from './log.ts';
import { decodeIntent, decodePlan, decodeStanding } from './part-decoder.ts';
import {
  decodeKey,
  decodeNumbers,
  decodeTexts,
  decodeTokens,
  known,
  type OpaqueReader,
} from './record-parts.ts';

/** `opaques` reads from the same place as `source`. */
export function decodeImage(source: ByteReader, opaques: OpaqueReader): ImageRecord {
  const kind = source.u8();
  switch (kind) {
    case 1:
      return decodeHeadImage1(source);
    case 2:
      return decodeQueueImage2(source);
    case 3:
      return decodeFreeRowsImage3(source);
    case 4:
      return decodeFreeRowsImage4(source);
    case 5:
      return decodeTaskImage5(source, opaques);
    case 6:
      return decodeNameImage(source, opaques);
    case 7:
      return decodeSessionImage7(source);
    case 8:
      return decodeSessionImage8(source);
    case 9:
      return decodeTaskImage9(source, opaques);
    case 10:
      return decodeHeadImage10(source);
    case 11:
      return decodeQueueImage11(source);
    case 12:
      return decodeTaskImage12(source, opaques);
    case 13:
      return decodeScheduleImage(source, opaques);
    case 14:
      return decodeGrantsImage(source);
    default:
      throw new LogTooNewError(`The checkpoint holds records of kind ${kind}, which this version does not know.`);
  }
}

/** Lists that are empty are all the same one. */
const NONE: readonly never[] = [];

function decodeHeadImage1(source: ByteReader): HeadImage {
  const lastSeq = source.f64();
  const lastAtMs = source.f64();
  const epoch = source.f64();
  const epochStartedAtMs = source.f64();
  const taskRows = source.f64();
  const nameRows = source.f64();
  return { kind: 'head', lastSeq, lastAtMs, epoch, epochStartedAtMs, taskRows, nameRows, forgottenThroughMs: 0 };
}

function decodeHeadImage10(source: ByteReader): HeadImage {
  const flags = source.u8();
  const lastSeq = source.f64();
  const lastAtMs = source.f64();
  const epoch = source.f64();
  const epochStartedAtMs = source.f64();
  const taskRows = source.f64();
  const nameRows = source.f64();
  const forgottenThroughMs = flags & 1 ? source.f64() : 0;
  return { kind: 'head', lastSeq, lastAtMs, epoch, epochStartedAtMs, taskRows, nameRows, forgottenThroughMs };
}

function decodeQueueImage2(source: ByteReader): QueueImage {
  const flags = source.u8();
  const queue = source.string();
  return { kind: 'queue', queue, paused: (flags & 1) !== 0, maxLeased: null, maxLeasedPerKey: null, rateCount: null, ratePerMs: null, ratePerKey: false, applied: false };
}

function decodeQueueImage11(source: ByteReader): QueueImage {
  const flags = source.u8();
  const queue = source.string();
  const maxLeased = flags & 2 ? source.f64() : null;
  const maxLeasedPerKey = flags & 4 ? source.f64() : null;
  const rateCount = flags & 8 ? source.f64() : null;
  const ratePerMs = flags & 16 ? source.f64() : null;
  return { kind: 'queue', queue, paused: (flags & 1) !== 0, maxLeased, maxLeasedPerKey, rateCount, ratePerMs, ratePerKey: (flags & 32) !== 0, applied: (flags & 64) !== 0 };
}

function decodeGrantsImage(source: ByteReader): GrantsImage {
  const flags = source.u8();
  const queue = source.string();
  const key = flags & 1 ? source.string() : null;
  const atMsCount = source.u32();
  const atMs = atMsCount === 0 ? NONE : decodeNumbers(source, atMsCount);
  return { kind: 'grants', queue, key, atMs };
}

function decodeFreeRowsImage3(source: ByteReader): FreeRowsImage {
  const rowsCount = source.u32();
  const rows = rowsCount === 0 ? NONE : decodeNumbers(source, rowsCount);
  return { kind: 'free', table: 'tasks', rows };
}

function decodeFreeRowsImage4(source: ByteReader): FreeRowsImage {
  const rowsCount = source.u32();
  const rows = rowsCount === 0 ? NONE : decodeNumbers(source, rowsCount);
  return { kind: 'free', table: 'names', rows };
}

function decodeLeaseImage(source: ByteReader, opaques: OpaqueReader): LeaseImage {
  const flags = source.u8();
  const end = known(LEASE_ENDS, source.u8(), 'lease end');
  const seq = source.f64();
  const expiresAtMs = source.f64();
  const endedSeq = source.f64();
  const dueAtMs = source.f64();
  const cancelledSeq = source.f64();
  const lateResult = flags & 2 ? opaques.opaque() : null;
  const workerId = source.cachedString();
  const requestId = flags & 1 ? source.string() : null;
  return { seq, workerId, requestId, expiresAtMs, end, endedSeq, dueAtMs, cancelledSeq, lateResult };
}

function decodeTaskImage5(source: ByteReader, opaques: OpaqueReader): TaskImage {
  const flags = source.u8();
  const row = source.f64();
  const createdSeq = source.f64();
  const createdAtMs = source.f64();
  const lastSeq = source.f64();
  const dueAtMs = source.f64();
  const state = known(TASK_STATES, source.u8(), 'task state');
  const priority = source.i8();
  const payload = opaques.opaque();
  const queue = source.cachedString();
  const task = decodeKey(source, flags);
  const maxFailures = flags & 8 ? USUAL_MAX_FAILURES : source.f64();
  const backoffMs = flags & 8 ? USUAL_BACKOFF_MS : source.f64();
  const maxBackoffMs = flags & 8 ? USUAL_MAX_BACKOFF_MS : source.f64();
  const maxAttempts = flags & 8 ? USUAL_MAX_ATTEMPTS : source.f64();
  const result = flags & 16 ? opaques.opaque() : null;
  const endedSeq = flags & 64 ? source.f64() : 0;
  const endedAtMs = flags & 64 ? source.f64() : 0;
  const dedupKey = flags & 2 ? source.string() : null;
  if (flags & 4) source.binary();
  const reason = flags & 32 ? source.string() : null;
  const attempt = flags & 128 ? source.f64() : 0;
  const countedAttempts = flags & 128 ? source.f64() : 0;
  const failures = flags & 128 ? source.f64() : 0;
  const leasesCount = flags & 128 ? source.u32() : 0;
  const leases = leasesCount === 0 ? NONE : decodeLeaseImages(source, opaques, leasesCount);
  return { kind: 'task', row, task, createdSeq, createdAtMs, queue, priority, state, attempt, countedAttempts, failures, maxFailures, backoffMs, maxBackoffMs, maxAttempts, dedupKey, payload, dueAtMs, reason, result, endedSeq, endedAtMs, lastSeq, leases, groupKey: null, traceparent: null, tracestate: null, requeuedFrom: null, requeuedAs: null, cancelReason: null, reasonDetail: null, checkpoint: null, schedule: null };
}

function decodeTaskImage9(source: ByteReader, opaques: OpaqueReader): TaskImage {
  const flags = source.u16();
  const row = source.f64();
  const createdSeq = source.f64();
  const createdAtMs = source.f64();
  const lastSeq = source.f64();
  const dueAtMs = source.f64();
  const state = known(TASK_STATES, source.u8(), 'task state');
  const priority = source.i8();
  const payload = opaques.opaque();
  const queue = source.cachedString();
  const task = decodeKey(source, flags);
  const maxFailures = flags & 8 ? USUAL_MAX_FAILURES : source.f64();
  const backoffMs = flags & 8 ? USUAL_BACKOFF_MS : source.f64();
  const maxBackoffMs = flags & 8 ? USUAL_MAX_BACKOFF_MS : source.f64();
  const maxAttempts = flags & 8 ? USUAL_MAX_ATTEMPTS : source.f64();
  const result = flags & 16 ? opaques.opaque() : null;
  const endedSeq = flags & 64 ? source.f64() : 0;
  const endedAtMs = flags & 64 ? source.f64() : 0;
  const dedupKey = flags & 2 ? source.string() : null;
  const reason = flags & 32 ? source.string() : null;
  const attempt = flags & 128 ? source.f64() : 0;
  const countedAttempts = flags & 128 ? source.f64() : 0;
  const failures = flags & 128 ? source.f64() : 0;
  const leasesCount = flags & 128 ? source.u32() : 0;
  const leases = leasesCount === 0 ? NONE : decodeLeaseImages(source, opaques, leasesCount);
  const groupKey = flags & 256 ? source.string() : null;
  const traceparent = flags & 512 ? source.string() : null;
  const tracestate = flags & 1024 ? source.string() : null;
  const requeuedFrom = flags & 2048 ? source.string() : null;
  const requeuedAs = flags & 4096 ? source.string() : null;
  const cancelReason = flags & 8192 ? source.string() : null;
  const reasonDetail = flags & 16384 ? source.string() : null;
  const checkpoint = flags & 32768 ? opaques.opaque() : null;
  return { kind: 'task', row, task, createdSeq, createdAtMs, queue, priority, state, attempt, countedAttempts, failures, maxFailures, backoffMs, maxBackoffMs, maxAttempts, dedupKey, payload, dueAtMs, reason, result, endedSeq, endedAtMs, lastSeq, leases, groupKey, traceparent, tracestate, requeuedFrom, requeuedAs, cancelReason, reasonDetail, checkpoint, schedule: null };
}

function decodeTaskImage12(source: ByteReader, opaques: OpaqueReader): TaskImage {
  const flags = source.u32();
  const row = source.f64();
  const createdSeq = source.f64();
  const createdAtMs = source.f64();
  const lastSeq = source.f64();
  const dueAtMs = source.f64();
  const state = known(TASK_STATES, source.u8(), 'task state');
  const priority = source.i8();
  const payload = opaques.opaque();
  const queue = source.cachedString();
  const task = decodeKey(source, flags);
  const maxFailures = flags & 8 ? USUAL_MAX_FAILURES : source.f64();
  const backoffMs = flags & 8 ? USUAL_BACKOFF_MS : source.f64();
  const maxBackoffMs = flags & 8 ? USUAL_MAX_BACKOFF_MS : source.f64();
  const maxAttempts = flags & 8 ? USUAL_MAX_ATTEMPTS : source.f64();
  const result = flags & 16 ? opaques.opaque() : null;
  const endedSeq = flags & 64 ? source.f64() : 0;
  const endedAtMs = flags & 64 ? source.f64() : 0;
  const dedupKey = flags & 2 ? source.string() : null;
  const reason = flags & 32 ? source.string() : null;
  const attempt = flags & 128 ? source.f64() : 0;
  const countedAttempts = flags & 128 ? source.f64() : 0;
  const failures = flags & 128 ? source.f64() : 0;
  const leasesCount = flags & 128 ? source.u32() : 0;
  const leases = leasesCount === 0 ? NONE : decodeLeaseImages(source, opaques, leasesCount);
  const groupKey = flags & 256 ? source.string() : null;
  const traceparent = flags & 512 ? source.string() : null;
  const tracestate = flags & 1024 ? source.string() : null;
  const requeuedFrom = flags & 2048 ? source.string() : null;
  const requeuedAs = flags & 4096 ? source.string() : null;
  const cancelReason = flags & 8192 ? source.string() : null;
  const reasonDetail = flags & 16384 ? source.string() : null;
  const checkpoint = flags & 32768 ? opaques.opaque() : null;
  const schedule = flags & 65536 ? source.string() : null;
  return { kind: 'task', row, task, createdSeq, createdAtMs, queue, priority, state, attempt, countedAttempts, failures, maxFailures, backoffMs, maxBackoffMs, maxAttempts, dedupKey, payload, dueAtMs, reason, result, endedSeq, endedAtMs, lastSeq, leases, groupKey, traceparent, tracestate, requeuedFrom, requeuedAs, cancelReason, reasonDetail, checkpoint, schedule };
}

function decodeObjectImage(source: ByteReader, opaques: OpaqueReader): ObjectImage {
  const value = opaques.opaque();
  const version = source.f64();
  const leaseSeq = source.f64();
  const seq = source.f64();
  return { value, version, leaseSeq, seq };
}

function decodeNameImage(source: ByteReader, opaques: OpaqueReader): NameImage {
  const flags = source.u8();
  const end = known(NAME_ENDS, source.u8(), 'end of a named lease');
  const row = source.f64();
  const version = source.f64();
  const lastSeq = source.f64();
  const endedSeq = flags & 8 ? source.f64() : 0;
  const endedAtMs = flags & 8 ? source.f64() : 0;
  const metadata = flags & 2 ? opaques.opaque() : null;
  const object = flags & 4 ? decodeObjectImage(source, opaques) : null;
  const name = source.string();
  const leaseSeq = flags & 1 ? source.f64() : 0;
  const acquiredAtMs = flags & 1 ? source.f64() : 0;
  const expiresAtMs = flags & 1 ? source.f64() : 0;
  const holder = flags & 1 ? source.cachedString() : '';
  const tokenHash = flags & 1 ? source.binary() : '';
  const pastTokensCount = flags & 1 ? source.u8() : 0;
  const pastTokens = pastTokensCount === 0 ? NONE : decodeTokens(source, pastTokensCount);
  return { kind: 'name', row, name, leaseSeq, end, holder, tokenHash, acquiredAtMs, expiresAtMs, metadata, endedSeq, endedAtMs, version, object, lastSeq, pastTokens };
}

function decodeSessionImage7(source: ByteReader): SessionImage {
  const seq = source.f64();
  const createdAtMs = source.f64();
  const updatedAtMs = source.f64();
  const lastSeq = source.f64();
  const standing = decodeStanding(source);
  const intent = decodeIntent(source);
  const key = source.string();
  return { kind: 'session', seq, intent, serviceName: firstServiceName(intent), key, state: standing.state, reason: standing.reason, reasonDetail: standing.reasonDetail, slot: standing.slot, leaseSeq: standing.leaseSeq, createdAtMs, updatedAtMs, lastSeq };
}

function decodeSessionImage8(source: ByteReader): SessionImage {
  const seq = source.f64();
  const createdAtMs = source.f64();
  const updatedAtMs = source.f64();
  const lastSeq = source.f64();
  const standing = decodeStanding(source);
  const intent = decodeIntent(source);
  const key = source.string();
  const serviceName = source.string();
  return { kind: 'session', seq, intent, serviceName, key, state: standing.state, reason: standing.reason, reasonDetail: standing.reasonDetail, slot: standing.slot, leaseSeq: standing.leaseSeq, createdAtMs, updatedAtMs, lastSeq };
}

function decodeScheduleImage(source: ByteReader, opaques: OpaqueReader): ScheduleImage {
  const name = source.string();
  const plan = decodePlan(source, opaques);
  const createdSeq = source.f64();
  const createdAtMs = source.f64();
  const setSeq = source.f64();
  const lastSeq = source.f64();
  const lastDueAtMs = source.f64();
  const lastTaskId = source.string();
  const requestIdsCount = source.u32();
  const requestIds = requestIdsCount === 0 ? NONE : decodeTexts(source, requestIdsCount);
  const requestSeqsCount = source.u32();
  const requestSeqs = requestSeqsCount === 0 ? NONE : decodeNumbers(source, requestSeqsCount);
  return { kind: 'schedule', name, payload: plan.payload, cron: plan.cron, everyMs: plan.everyMs, anchorMs: plan.anchorMs, timezone: plan.timezone, queue: plan.queue, priority: plan.priority, maxFailures: plan.maxFailures, backoffMs: plan.backoffMs, maxBackoffMs: plan.maxBackoffMs, maxAttempts: plan.maxAttempts, groupKey: plan.groupKey, overlap: plan.overlap, catchUp: plan.catchUp, jitterMs: plan.jitterMs, startsAtMs: plan.startsAtMs, endsAtMs: plan.endsAtMs, paused: plan.paused, applied: plan.applied, nextDueAtMs: plan.nextDueAtMs, nextFiresAtMs: plan.nextFiresAtMs, createdSeq, createdAtMs, setSeq, lastSeq, lastDueAtMs, lastTaskId, requestIds, requestSeqs };
}

function decodeLeaseImages(source: ByteReader, opaques: OpaqueReader, count: number): LeaseImage[] {
  const list: LeaseImage[] = [];
  for (let i = 0; i < count; i++) list.push(decodeLeaseImage(source, opaques));
  return list;
}
