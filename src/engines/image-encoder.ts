// biome-ignore-all format: generated, one function a layout
/**
 * Writes the records of a state image as bytes. What is zero for most rows is left out behind a flag, because a start
 * with a million waiting tasks is as fast as this is small. Generated from `src/core/row-table.ts` by `npm run
 * generate`; a test compares.
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
import type { ByteWriter } from './byte-writer.ts';
import {
  USUAL_BACKOFF_MS,
  USUAL_MAX_ATTEMPTS,
  USUAL_MAX_BACKOFF_MS,
  USUAL_MAX_FAILURES,
} from './entry-encoder.ts';
import { encodeIntent, encodePlan, encodeStanding } from './part-encoder.ts';
import {
  encodeKey,
  encodeNumbers,
  encodeOpaque,
  encodeTexts,
  encodeTokens,
  FIXED_MAX,
  KEY_IS_STRING,
  type OpaqueArea,
} from './record-parts.ts';

export function encodeImage(out: ByteWriter, area: OpaqueArea, record: ImageRecord): void {
  out.reserve(FIXED_MAX);
  switch (record.kind) {
    case 'head':
      return encodeHeadImage(out, record);
    case 'queue':
      return encodeQueueImage(out, record);
    case 'grants':
      return encodeGrantsImage(out, record);
    case 'free':
      return encodeFreeRowsImage(out, record);
    case 'task':
      return encodeTaskImage(out, area, record);
    case 'name':
      return encodeNameImage(out, area, record);
    case 'session':
      return encodeSessionImage(out, record);
    case 'schedule':
      return encodeScheduleImage(out, area, record);
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
  if (!(queue.maxLeased !== null) && !(queue.maxLeasedPerKey !== null) && !(queue.rateCount !== null) && !(queue.ratePerMs !== null) && !queue.ratePerKey && !queue.applied) {
    out.u8(2);
    out.u8(queue.paused ? 1 : 0);
    out.string(queue.queue);
    return;
  }
  out.u8(11);
  out.u8((queue.paused ? 1 : 0) | (queue.maxLeased === null ? 0 : 2) | (queue.maxLeasedPerKey === null ? 0 : 4) | (queue.rateCount === null ? 0 : 8) | (queue.ratePerMs === null ? 0 : 16) | (queue.ratePerKey ? 32 : 0) | (queue.applied ? 64 : 0));
  out.string(queue.queue);
  if (queue.maxLeased !== null) {
    out.f64(queue.maxLeased);
  }
  if (queue.maxLeasedPerKey !== null) {
    out.f64(queue.maxLeasedPerKey);
  }
  if (queue.rateCount !== null) {
    out.f64(queue.rateCount);
  }
  if (queue.ratePerMs !== null) {
    out.f64(queue.ratePerMs);
  }
}

function encodeGrantsImage(out: ByteWriter, grants: GrantsImage): void {
  out.u8(14);
  out.u8(grants.key === null ? 0 : 1);
  out.string(grants.queue);
  if (grants.key !== null) {
    out.string(grants.key);
  }
  out.u32(grants.atMs.length);
  encodeNumbers(out, grants.atMs);
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
  if (!(task.groupKey !== null) && !(task.traceparent !== null) && !(task.tracestate !== null) && !(task.requeuedFrom !== null) && !(task.requeuedAs !== null) && !(task.cancelReason !== null) && !(task.reasonDetail !== null) && !(task.checkpoint !== null) && !(task.schedule !== null)) {
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
  if (!(task.schedule !== null)) {
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
    return;
  }
  out.u8(12);
  const isUsual = task.maxFailures === USUAL_MAX_FAILURES && task.backoffMs === USUAL_BACKOFF_MS && task.maxBackoffMs === USUAL_MAX_BACKOFF_MS && task.maxAttempts === USUAL_MAX_ATTEMPTS;
  const has128 = task.attempt !== 0 || task.countedAttempts !== 0 || task.failures !== 0 || task.leases.length !== 0;
  const has64 = task.endedSeq !== 0 || task.endedAtMs !== 0;
  out.u32((typeof task.task === 'string' ? KEY_IS_STRING : 0) | (has128 ? 128 : 0) | (isUsual ? 8 : 0) | (task.dedupKey === null ? 0 : 2) | (task.reason === null ? 0 : 32) | (task.result === null ? 0 : 16) | (has64 ? 64 : 0) | (task.groupKey === null ? 0 : 256) | (task.traceparent === null ? 0 : 512) | (task.tracestate === null ? 0 : 1024) | (task.requeuedFrom === null ? 0 : 2048) | (task.requeuedAs === null ? 0 : 4096) | (task.cancelReason === null ? 0 : 8192) | (task.reasonDetail === null ? 0 : 16384) | (task.checkpoint === null ? 0 : 32768) | (task.schedule === null ? 0 : 65536));
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
  if (task.schedule !== null) {
    out.string(task.schedule);
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

function encodeScheduleImage(out: ByteWriter, area: OpaqueArea, schedule: ScheduleImage): void {
  out.u8(13);
  out.string(schedule.name);
  out.reserve(FIXED_MAX);
  encodePlan(out, area, schedule);
  out.f64(schedule.createdSeq);
  out.f64(schedule.createdAtMs);
  out.f64(schedule.setSeq);
  out.f64(schedule.lastSeq);
  out.reserve(FIXED_MAX);
  out.f64(schedule.lastDueAtMs);
  out.string(schedule.lastTaskId);
  out.u32(schedule.requestIds.length);
  encodeTexts(out, schedule.requestIds);
  out.u32(schedule.requestSeqs.length);
  encodeNumbers(out, schedule.requestSeqs);
}

function encodeLeaseImages(out: ByteWriter, area: OpaqueArea, list: readonly LeaseImage[]): void {
  for (const item of list) {
    out.reserve(FIXED_MAX);
    encodeLeaseImage(out, area, item);
  }
}
