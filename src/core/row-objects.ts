// biome-ignore-all format: generated, one field a line
/** What sessions and schedules remember, as objects: there are few of them. Generated from `src/core/row-table.ts` by `npm run generate`; a test compares. */
import type { CatchUp, Intent, Overlap, SessionReason, SessionState } from './entries.ts';
import type { ScheduleImage, SessionImage } from './image.ts';
import type { Opaque } from './opaque.ts';
import type { Seq } from './row-types.ts';

export interface Session {
  readonly seq: Seq;
  readonly intent: Intent;
  readonly serviceName: string;
  readonly key: string;
  state: SessionState;
  reason: SessionReason | null;
  reasonDetail: string | null;
  slot: string | null;
  leaseSeq: Seq;
  readonly createdAtMs: number;
  updatedAtMs: number;
  lastSeq: Seq;
}

/** In the order of the image, which the state hash depends on. */
export function sessionImage(session: Session): SessionImage {
  return {
    kind: 'session',
    seq: session.seq,
    intent: { type: session.intent.type, target: session.intent.target, profileId: session.intent.profileId, startMs: session.intent.startMs },
    serviceName: session.serviceName,
    key: session.key,
    state: session.state,
    reason: session.reason,
    reasonDetail: session.reasonDetail,
    slot: session.slot,
    leaseSeq: session.leaseSeq,
    createdAtMs: session.createdAtMs,
    updatedAtMs: session.updatedAtMs,
    lastSeq: session.lastSeq,
  };
}

export function sessionOf(image: SessionImage): Session {
  return {
    seq: image.seq,
    intent: image.intent,
    serviceName: image.serviceName,
    key: image.key,
    state: image.state,
    reason: image.reason,
    reasonDetail: image.reasonDetail,
    slot: image.slot,
    leaseSeq: image.leaseSeq,
    createdAtMs: image.createdAtMs,
    updatedAtMs: image.updatedAtMs,
    lastSeq: image.lastSeq,
  };
}

export interface Schedule {
  readonly name: string;
  payload: Opaque | null;
  cron: string | null;
  everyMs: number | null;
  anchorMs: number;
  timezone: string;
  queue: string;
  priority: number;
  maxFailures: number;
  backoffMs: number;
  maxBackoffMs: number;
  maxAttempts: number;
  groupKey: string | null;
  overlap: Overlap;
  catchUp: CatchUp;
  jitterMs: number;
  startsAtMs: number | null;
  endsAtMs: number | null;
  paused: boolean;
  applied: boolean;
  nextDueAtMs: number | null;
  nextFiresAtMs: number | null;
  readonly createdSeq: Seq;
  readonly createdAtMs: number;
  setSeq: Seq;
  lastSeq: Seq;
  lastDueAtMs: number;
  lastTaskId: string;
  requestIds: readonly string[];
  requestSeqs: readonly number[];
}

/** In the order of the image, which the state hash depends on. */
export function scheduleImage(schedule: Schedule): ScheduleImage {
  return {
    kind: 'schedule',
    name: schedule.name,
    payload: schedule.payload,
    cron: schedule.cron,
    everyMs: schedule.everyMs,
    anchorMs: schedule.anchorMs,
    timezone: schedule.timezone,
    queue: schedule.queue,
    priority: schedule.priority,
    maxFailures: schedule.maxFailures,
    backoffMs: schedule.backoffMs,
    maxBackoffMs: schedule.maxBackoffMs,
    maxAttempts: schedule.maxAttempts,
    groupKey: schedule.groupKey,
    overlap: schedule.overlap,
    catchUp: schedule.catchUp,
    jitterMs: schedule.jitterMs,
    startsAtMs: schedule.startsAtMs,
    endsAtMs: schedule.endsAtMs,
    paused: schedule.paused,
    applied: schedule.applied,
    nextDueAtMs: schedule.nextDueAtMs,
    nextFiresAtMs: schedule.nextFiresAtMs,
    createdSeq: schedule.createdSeq,
    createdAtMs: schedule.createdAtMs,
    setSeq: schedule.setSeq,
    lastSeq: schedule.lastSeq,
    lastDueAtMs: schedule.lastDueAtMs,
    lastTaskId: schedule.lastTaskId,
    requestIds: schedule.requestIds,
    requestSeqs: schedule.requestSeqs,
  };
}

export function scheduleOf(image: ScheduleImage): Schedule {
  return {
    name: image.name,
    payload: image.payload,
    cron: image.cron,
    everyMs: image.everyMs,
    anchorMs: image.anchorMs,
    timezone: image.timezone,
    queue: image.queue,
    priority: image.priority,
    maxFailures: image.maxFailures,
    backoffMs: image.backoffMs,
    maxBackoffMs: image.maxBackoffMs,
    maxAttempts: image.maxAttempts,
    groupKey: image.groupKey,
    overlap: image.overlap,
    catchUp: image.catchUp,
    jitterMs: image.jitterMs,
    startsAtMs: image.startsAtMs,
    endsAtMs: image.endsAtMs,
    paused: image.paused,
    applied: image.applied,
    nextDueAtMs: image.nextDueAtMs,
    nextFiresAtMs: image.nextFiresAtMs,
    createdSeq: image.createdSeq,
    createdAtMs: image.createdAtMs,
    setSeq: image.setSeq,
    lastSeq: image.lastSeq,
    lastDueAtMs: image.lastDueAtMs,
    lastTaskId: image.lastTaskId,
    requestIds: image.requestIds,
    requestSeqs: image.requestSeqs,
  };
}
