// biome-ignore-all format: generated, one function a record
/** Reads the records that are parts of entries and of images. Generated from `src/core/entry-table.ts` by `npm run generate`; a test compares. */
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
import type { ByteReader } from './byte-reader.ts';
import { known, type OpaqueReader } from './record-parts.ts';

export function decodeFencedWrite(source: ByteReader, opaques: OpaqueReader): FencedWrite {
  const leaseSeq = source.f64();
  const version = source.f64();
  const value = opaques.opaque();
  const objectId = source.string();
  return { objectId, leaseSeq, version, value };
}

export function decodeIntent(source: ByteReader): Intent {
  const type = known(INTENT_TYPES, source.u8(), 'type of intent');
  const startMs = source.f64();
  const target = source.string();
  const profileId = source.cachedString();
  return { type, target, profileId, startMs };
}

export function decodeStanding(source: ByteReader): Standing {
  const flags = source.u8();
  const state = known(SESSION_STATES, source.u8(), 'session state');
  const leaseSeq = source.f64();
  const reason = flags & 1 ? known(SESSION_REASONS, source.u8(), 'reason of a session') : null;
  const reasonDetail = flags & 2 ? source.string() : null;
  const slot = flags & 4 ? source.cachedString() : null;
  return { state, reason, reasonDetail, slot, leaseSeq };
}

export function decodePlan(source: ByteReader, opaques: OpaqueReader): Plan {
  const flags = source.u16();
  const payload = flags & 512 ? opaques.opaque() : null;
  const everyMs = flags & 2 ? source.f64() : null;
  const anchorMs = source.f64();
  const priority = source.i8();
  const maxFailures = source.f64();
  const backoffMs = source.f64();
  const maxBackoffMs = source.f64();
  const maxAttempts = source.f64();
  const overlap = known(OVERLAPS, source.u8(), 'overlap policy');
  const catchUp = known(CATCH_UPS, source.u8(), 'catch-up policy');
  const timezone = source.cachedString();
  const jitterMs = source.f64();
  const startsAtMs = flags & 8 ? source.f64() : null;
  const endsAtMs = flags & 16 ? source.f64() : null;
  const nextDueAtMs = flags & 128 ? source.f64() : null;
  const nextFiresAtMs = flags & 256 ? source.f64() : null;
  const cron = flags & 1 ? source.string() : null;
  const groupKey = flags & 4 ? source.string() : null;
  const queue = source.cachedString();
  return { payload, cron, everyMs, anchorMs, timezone, queue, priority, maxFailures, backoffMs, maxBackoffMs, maxAttempts, groupKey, overlap, catchUp, jitterMs, startsAtMs, endsAtMs, paused: (flags & 32) !== 0, applied: (flags & 64) !== 0, nextDueAtMs, nextFiresAtMs };
}

export function decodeFencedWrites(source: ByteReader, opaques: OpaqueReader, count: number): FencedWrite[] {
  const list: FencedWrite[] = [];
  for (let i = 0; i < count; i++) list.push(decodeFencedWrite(source, opaques));
  return list;
}
