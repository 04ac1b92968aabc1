// biome-ignore-all format: generated, one function a layout
/**
 * The records of a state image as bytes, in every layout that was ever written. What is zero for most rows is left out
 * behind a flag, because a start with a million waiting tasks is as fast as this is small. Generated from
 * `src/core/row-table.ts` by `npm run generate`; a test compares.
 */
import {
  type FreeRowsImage,
  type HeadImage,
  type ImageRecord,
  LEASE_ENDS,
  type LeaseImage,
  NAME_ENDS,
  type NameImage,
  type ObjectImage,
  type QueueImage,
  type SessionImage,
  TASK_STATES,
  type TaskImage,
} from '../core/image.ts';
import { firstServiceName } from '../core/sessions/session-names.ts';
import type { ByteReader } from './byte-reader.ts';
import type { ByteWriter } from './byte-writer.ts';
import { decodeIntent, decodeStanding } from './entry-decoder.ts';
import {
  encodeIntent,
  encodeStanding,
  USUAL_BACKOFF_MS,
  USUAL_MAX_ATTEMPTS,
  USUAL_MAX_BACKOFF_MS,
  USUAL_MAX_FAILURES,
} from './entry-encoder.ts';
import { LogTooNewError } from './log.ts';
import {
  decodeKey,
  decodeNumbers,
  decodeTokens,
  encodeKey,
  encodeNumbers,
  encodeOpaque,
  encodeTokens,
  FIXED_MAX,
  KEY_IS_STRING,
  known,
  type OpaqueArea,
  type OpaqueReader,
} from './record-parts.ts';

export function encodeImage(out: ByteWriter, area: OpaqueArea, record: ImageRecord): void {
  out.reserve(FIXED_MAX);
  switch (record.kind) {
    case 'head':
      return encodeHeadImage(out, record);
    case 'queue':
      return encodeQueueImage(out, record);
    case 'free':
      return encodeFreeRowsImage(out, record);
    case 'task':
      return encodeTaskImage(out, area, record);
    case 'name':
      return encodeNameImage(out, area, record);
    case 'session':
      return encodeSessionImage(out, record);
    default:
      record satisfies never;
  }
}

function encodeHeadImage(out: ByteWriter, head: HeadImage): void {
  if (!(head.forgottenThroughMs !== 0)) {
    out.u8(1);
    out.f64(head.lastSeq);
    out.f64(head.lastAtMs);
    out.f64(head.epoch);
    out.f64(head.epochStartedAtMs);
    out.f64(head.taskRows);
    out.f64(head.nameRows);
    return;
  }
  out.u8(10);
  const has1 = head.forgottenThroughMs !== 0;
  out.u8(has1 ? 1 : 0);
  out.f64(head.lastSeq);
  out.f64(head.lastAtMs);
  out.f64(head.epoch);
  out.f64(head.epochStartedAtMs);
  out.f64(head.taskRows);
  out.f64(head.nameRows);
  if (has1) {
    out.f64(head.forgottenThroughMs);
  }
}

function encodeQueueImage(out: ByteWriter, queue: QueueImage): void {
  out.u8(2);
  out.u8(queue.paused ? 1 : 0);
  out.string(queue.queue);
}

function encodeFreeRowsImage(out: ByteWriter, free: FreeRowsImage): void {
  if (free.table === 'tasks') {
    out.u8(3);
    out.u32(free.rows.length);
    encodeNumbers(out, free.rows);
    return;
  }
  out.u8(4);
  out.u32(free.rows.length);
  encodeNumbers(out, free.rows);
}

function encodeLeaseImage(out: ByteWriter, area: OpaqueArea, lease: LeaseImage): void {
  out.u8((lease.requestId === null ? 0 : 1) | (lease.lateResult === null ? 0 : 2));
  out.u8(LEASE_ENDS.indexOf(lease.end));
  out.f64(lease.seq);
  out.f64(lease.expiresAtMs);
  out.f64(lease.endedSeq);
  out.f64(lease.dueAtMs);
  out.f64(lease.cancelledSeq);
  if (lease.lateResult !== null) {
    encodeOpaque(out, area, lease.lateResult);
  }
  out.string(lease.workerId);
  if (lease.requestId !== null) {
    out.string(lease.requestId);
  }
}

function encodeTaskImage(out: ByteWriter, area: OpaqueArea, task: TaskImage): void {
  if (!(task.groupKey !== null) && !(task.traceparent !== null) && !(task.tracestate !== null) && !(task.requeuedFrom !== null) && !(task.requeuedAs !== null) && !(task.cancelReason !== null) && !(task.reasonDetail !== null) && !(task.checkpoint !== null)) {
    out.u8(5);
    const isUsual = task.maxFailures === USUAL_MAX_FAILURES && task.backoffMs === USUAL_BACKOFF_MS && task.maxBackoffMs === USUAL_MAX_BACKOFF_MS && task.maxAttempts === USUAL_MAX_ATTEMPTS;
    const has128 = task.attempt !== 0 || task.countedAttempts !== 0 || task.failures !== 0 || task.leases.length !== 0;
    const has64 = task.endedSeq !== 0 || task.endedAtMs !== 0;
    out.u8((typeof task.task === 'string' ? KEY_IS_STRING : 0) | (has128 ? 128 : 0) | (isUsual ? 8 : 0) | (task.dedupKey === null ? 0 : 2) | (task.reason === null ? 0 : 32) | (task.result === null ? 0 : 16) | (has64 ? 64 : 0));
    out.f64(task.row);
    out.f64(task.createdSeq);
    out.f64(task.createdAtMs);
    out.f64(task.lastSeq);
    out.f64(task.dueAtMs);
    out.u8(TASK_STATES.indexOf(task.state));
    out.i8(task.priority);
    encodeOpaque(out, area, task.payload);
    out.string(task.queue);
    encodeKey(out, task.task);
    if (!isUsual) {
      out.f64(task.maxFailures);
      out.f64(task.backoffMs);
      out.f64(task.maxBackoffMs);
      out.reserve(FIXED_MAX);
      out.f64(task.maxAttempts);
    }
    if (task.result !== null) {
      encodeOpaque(out, area, task.result);
    }
    if (has64) {
      out.f64(task.endedSeq);
      out.reserve(FIXED_MAX);
      out.f64(task.endedAtMs);
    }
    if (task.dedupKey !== null) {
      out.string(task.dedupKey);
    }
    if (task.reason !== null) {
      out.string(task.reason);
    }
    if (has128) {
      out.f64(task.attempt);
      out.reserve(FIXED_MAX);
      out.f64(task.countedAttempts);
      out.f64(task.failures);
      out.u32(task.leases.length);
      encodeLeaseImages(out, area, task.leases);
    }
    return;
  }
  out.u8(9);
  const isUsual = task.maxFailures === USUAL_MAX_FAILURES && task.backoffMs === USUAL_BACKOFF_MS && task.maxBackoffMs === USUAL_MAX_BACKOFF_MS && task.maxAttempts === USUAL_MAX_ATTEMPTS;
  const has128 = task.attempt !== 0 || task.countedAttempts !== 0 || task.failures !== 0 || task.leases.length !== 0;
  const has64 = task.endedSeq !== 0 || task.endedAtMs !== 0;
  out.u16((typeof task.task === 'string' ? KEY_IS_STRING : 0) | (has128 ? 128 : 0) | (isUsual ? 8 : 0) | (task.dedupKey === null ? 0 : 2) | (task.reason === null ? 0 : 32) | (task.result === null ? 0 : 16) | (has64 ? 64 : 0) | (task.groupKey === null ? 0 : 256) | (task.traceparent === null ? 0 : 512) | (task.tracestate === null ? 0 : 1024) | (task.requeuedFrom === null ? 0 : 2048) | (task.requeuedAs === null ? 0 : 4096) | (task.cancelReason === null ? 0 : 8192) | (task.reasonDetail === null ? 0 : 16384) | (task.checkpoint === null ? 0 : 32768));
  out.f64(task.row);
  out.f64(task.createdSeq);
  out.f64(task.createdAtMs);
  out.f64(task.lastSeq);
  out.f64(task.dueAtMs);
  out.u8(TASK_STATES.indexOf(task.state));
  out.i8(task.priority);
  encodeOpaque(out, area, task.payload);
  out.string(task.queue);
  encodeKey(out, task.task);
  if (!isUsual) {
    out.f64(task.maxFailures);
    out.f64(task.backoffMs);
    out.f64(task.maxBackoffMs);
    out.reserve(FIXED_MAX);
    out.f64(task.maxAttempts);
  }
  if (task.result !== null) {
    encodeOpaque(out, area, task.result);
  }
  if (has64) {
    out.f64(task.endedSeq);
    out.reserve(FIXED_MAX);
    out.f64(task.endedAtMs);
  }
  if (task.dedupKey !== null) {
    out.string(task.dedupKey);
  }
  if (task.reason !== null) {
    out.string(task.reason);
  }
  if (has128) {
    out.f64(task.attempt);
    out.reserve(FIXED_MAX);
    out.f64(task.countedAttempts);
    out.f64(task.failures);
    out.u32(task.leases.length);
    encodeLeaseImages(out, area, task.leases);
  }
  if (task.groupKey !== null) {
    out.string(task.groupKey);
  }
  if (task.traceparent !== null) {
    out.string(task.traceparent);
  }
  if (task.tracestate !== null) {
    out.string(task.tracestate);
  }
  if (task.requeuedFrom !== null) {
    out.string(task.requeuedFrom);
  }
  if (task.requeuedAs !== null) {
    out.string(task.requeuedAs);
  }
  if (task.cancelReason !== null) {
    out.string(task.cancelReason);
  }
  if (task.reasonDetail !== null) {
    out.string(task.reasonDetail);
  }
  if (task.checkpoint !== null) {
    encodeOpaque(out, area, task.checkpoint);
  }
}

function encodeObjectImage(out: ByteWriter, area: OpaqueArea, object: ObjectImage): void {
  encodeOpaque(out, area, object.value);
  out.f64(object.version);
  out.f64(object.leaseSeq);
  out.f64(object.seq);
}

function encodeNameImage(out: ByteWriter, area: OpaqueArea, name: NameImage): void {
  out.u8(6);
  const has1 = name.leaseSeq !== 0 || name.holder !== '' || name.tokenHash !== '' || name.acquiredAtMs !== 0 || name.expiresAtMs !== 0 || name.pastTokens.length !== 0;
  const has8 = name.endedSeq !== 0 || name.endedAtMs !== 0;
  out.u8((has1 ? 1 : 0) | (name.metadata === null ? 0 : 2) | (has8 ? 8 : 0) | (name.object === null ? 0 : 4));
  out.u8(NAME_ENDS.indexOf(name.end));
  out.f64(name.row);
  out.f64(name.version);
  out.f64(name.lastSeq);
  if (has8) {
    out.f64(name.endedSeq);
    out.f64(name.endedAtMs);
  }
  if (name.metadata !== null) {
    encodeOpaque(out, area, name.metadata);
  }
  if (name.object !== null) {
    out.reserve(FIXED_MAX);
    encodeObjectImage(out, area, name.object);
  }
  out.string(name.name);
  if (has1) {
    out.f64(name.leaseSeq);
    out.f64(name.acquiredAtMs);
    out.f64(name.expiresAtMs);
    out.string(name.holder);
    out.binary(name.tokenHash);
    out.u8(name.pastTokens.length);
    encodeTokens(out, name.pastTokens);
  }
}

function encodeSessionImage(out: ByteWriter, session: SessionImage): void {
  if (session.serviceName === firstServiceName(session.intent)) {
    out.u8(7);
    out.f64(session.seq);
    out.f64(session.createdAtMs);
    out.f64(session.updatedAtMs);
    out.f64(session.lastSeq);
    encodeStanding(out, session);
    encodeIntent(out, session.intent);
    out.string(session.key);
    return;
  }
  out.u8(8);
  out.f64(session.seq);
  out.f64(session.createdAtMs);
  out.f64(session.updatedAtMs);
  out.f64(session.lastSeq);
  encodeStanding(out, session);
  encodeIntent(out, session.intent);
  out.string(session.key);
  out.string(session.serviceName);
}

function encodeLeaseImages(out: ByteWriter, area: OpaqueArea, list: readonly LeaseImage[]): void {
  for (const item of list) {
    out.reserve(FIXED_MAX);
    encodeLeaseImage(out, area, item);
  }
}

/** `opaques` reads from the same place as `source`. */
export function decodeImage(source: ByteReader, opaques: OpaqueReader): ImageRecord {
  const kind = source.u8();
  switch (kind) {
    case 1:
      return decodeHeadImage1(source);
    case 2:
      return decodeQueueImage(source);
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

function decodeQueueImage(source: ByteReader): QueueImage {
  const flags = source.u8();
  const queue = source.string();
  return { kind: 'queue', queue, paused: (flags & 1) !== 0 };
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
  return { kind: 'task', row, task, createdSeq, createdAtMs, queue, priority, state, attempt, countedAttempts, failures, maxFailures, backoffMs, maxBackoffMs, maxAttempts, dedupKey, payload, dueAtMs, reason, result, endedSeq, endedAtMs, lastSeq, leases, groupKey: null, traceparent: null, tracestate: null, requeuedFrom: null, requeuedAs: null, cancelReason: null, reasonDetail: null, checkpoint: null };
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
  return { kind: 'task', row, task, createdSeq, createdAtMs, queue, priority, state, attempt, countedAttempts, failures, maxFailures, backoffMs, maxBackoffMs, maxAttempts, dedupKey, payload, dueAtMs, reason, result, endedSeq, endedAtMs, lastSeq, leases, groupKey, traceparent, tracestate, requeuedFrom, requeuedAs, cancelReason, reasonDetail, checkpoint };
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

function decodeLeaseImages(source: ByteReader, opaques: OpaqueReader, count: number): LeaseImage[] {
  const list: LeaseImage[] = [];
  for (let i = 0; i < count; i++) list.push(decodeLeaseImage(source, opaques));
  return list;
}
