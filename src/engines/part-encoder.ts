// biome-ignore-all format: generated, one function a record
/** Writes the records that are parts of entries and of images. Generated from `src/core/entry-table.ts` by `npm run generate`; a test compares. */
import {
  CATCH_UPS,
  type FencedWrite,
  INTENT_TYPES,
  type Intent,
  OVERLAPS,
  type Plan,
  SESSION_REASONS,
  SESSION_STATES,
  type Standing,
} from '../core/entries.ts';
import type { ByteWriter } from './byte-writer.ts';
import { encodeOpaque, FIXED_MAX, type OpaqueArea } from './record-parts.ts';

export function encodeFencedWrite(out: ByteWriter, area: OpaqueArea, entry: FencedWrite): void {
  out.f64(entry.leaseSeq);
  out.f64(entry.version);
  encodeOpaque(out, area, entry.value);
  out.string(entry.objectId);
}

export function encodeIntent(out: ByteWriter, entry: Intent): void {
  out.u8(INTENT_TYPES.indexOf(entry.type));
  out.f64(entry.startMs);
  out.string(entry.target);
  out.string(entry.profileId);
}

export function encodeStanding(out: ByteWriter, entry: Standing): void {
  out.u8((entry.reason === null ? 0 : 1) | (entry.reasonDetail === null ? 0 : 2) | (entry.slot === null ? 0 : 4));
  out.u8(SESSION_STATES.indexOf(entry.state));
  out.f64(entry.leaseSeq);
  if (entry.reason !== null) {
    out.u8(SESSION_REASONS.indexOf(entry.reason));
  }
  if (entry.reasonDetail !== null) {
    out.string(entry.reasonDetail);
  }
  if (entry.slot !== null) {
    out.string(entry.slot);
  }
}

export function encodePlan(out: ByteWriter, area: OpaqueArea, entry: Plan): void {
  out.u16((entry.payload === null ? 0 : 512) | (entry.cron === null ? 0 : 1) | (entry.everyMs === null ? 0 : 2) | (entry.groupKey === null ? 0 : 4) | (entry.startsAtMs === null ? 0 : 8) | (entry.endsAtMs === null ? 0 : 16) | (entry.paused ? 32 : 0) | (entry.applied ? 64 : 0) | (entry.nextDueAtMs === null ? 0 : 128) | (entry.nextFiresAtMs === null ? 0 : 256));
  if (entry.payload !== null) {
    encodeOpaque(out, area, entry.payload);
  }
  if (entry.everyMs !== null) {
    out.f64(entry.everyMs);
  }
  out.f64(entry.anchorMs);
  out.i8(entry.priority);
  out.f64(entry.maxFailures);
  out.f64(entry.backoffMs);
  out.f64(entry.maxBackoffMs);
  out.f64(entry.maxAttempts);
  out.u8(OVERLAPS.indexOf(entry.overlap));
  out.u8(CATCH_UPS.indexOf(entry.catchUp));
  out.string(entry.timezone);
  out.f64(entry.jitterMs);
  if (entry.startsAtMs !== null) {
    out.f64(entry.startsAtMs);
  }
  if (entry.endsAtMs !== null) {
    out.f64(entry.endsAtMs);
  }
  if (entry.nextDueAtMs !== null) {
    out.f64(entry.nextDueAtMs);
  }
  if (entry.nextFiresAtMs !== null) {
    out.reserve(FIXED_MAX);
    out.f64(entry.nextFiresAtMs);
  }
  if (entry.cron !== null) {
    out.string(entry.cron);
  }
  if (entry.groupKey !== null) {
    out.string(entry.groupKey);
  }
  out.string(entry.queue);
}

export function encodeFencedWrites(out: ByteWriter, area: OpaqueArea, list: readonly FencedWrite[]): void {
  for (const item of list) {
    out.reserve(FIXED_MAX);
    encodeFencedWrite(out, area, item);
  }
}
