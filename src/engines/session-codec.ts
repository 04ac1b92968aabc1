/**
 * How sessions lie on disk: their two entries, and their record in an image. The type or kind byte before them is
 * written and read by `record-codec.ts` and `image-codec.ts`; the recipe for a change is the former's. The
 * lists of words only ever grow at their end, because a record holds the place of a word in its list.
 */
import type { Intent, IntentAccepted, SessionChanged, SessionReason, SessionState } from '../core/entries.ts';
import type { SessionImage } from '../core/image.ts';
import type { Opaque } from '../core/opaque.ts';
import { firstServiceName } from '../core/sessions/session-names.ts';
import type { ByteReader } from './byte-reader.ts';
import type { ByteWriter } from './byte-writer.ts';
import { encodeOpaque, known, type OpaqueArea } from './record-parts.ts';

const INTENT_TYPES: readonly Intent['type'][] = ['live', 'vod'];

const STATES: readonly SessionState[] = [
  'NEW',
  'STARTING',
  'READY',
  'STOPPING',
  'STOPPED',
  'FAILED',
  'CANCELLED',
];

const REASONS: readonly SessionReason[] = [
  'R_LEASE_BUSY',
  'R_NO_TUNER',
  'R_CLIENT_STOP',
  'R_CANCELLED',
  'R_LEASE_EXPIRED',
  'R_PIPELINE_START_FAILED',
  'R_PROCESS_ENDED',
  'R_SHUTDOWN',
  'R_IDLE_TIMEOUT',
];

/** Flags of a standing. */
const HAS_REASON = 1;
const HAS_DETAIL = 2;
const HAS_SLOT = 4;

/** A session that holds what the first ones held is written as they were, without its name. */
export function hasFirstName({ intent, serviceName }: IntentAccepted | SessionImage): boolean {
  return serviceName === firstServiceName(intent);
}

export function encodeIntentAccepted(out: ByteWriter, area: OpaqueArea, entry: IntentAccepted): void {
  encodeOpaque(out, area, entry.payload);
  encodeIntent(out, entry.intent);
  out.string(entry.key);
  if (!hasFirstName(entry)) out.string(entry.serviceName);
}

/** The payload comes first, and the caller, which knows where opaques lie, has read it. */
export function decodeIntentAccepted(source: ByteReader, payload: Opaque, isNamed: boolean): IntentAccepted {
  const intent = decodeIntent(source);
  const key = source.string();
  const serviceName = isNamed ? source.string() : firstServiceName(intent);
  return { type: 'IntentAccepted', intent, serviceName, key, payload };
}

export function encodeSessionChanged(out: ByteWriter, entry: SessionChanged): void {
  out.f64(entry.session);
  encodeStanding(out, entry);
}

export function decodeSessionChanged(source: ByteReader): SessionChanged {
  const session = source.f64();
  return { type: 'SessionChanged', session, ...decodeStanding(source) };
}

export function encodeSessionImage(out: ByteWriter, session: SessionImage): void {
  out.f64(session.seq);
  out.f64(session.createdAtMs);
  out.f64(session.updatedAtMs);
  out.f64(session.lastSeq);
  encodeStanding(out, session);
  encodeIntent(out, session.intent);
  out.string(session.key);
  if (!hasFirstName(session)) out.string(session.serviceName);
}

export function decodeSessionImage(source: ByteReader, isNamed: boolean): SessionImage {
  const seq = source.f64();
  const createdAtMs = source.f64();
  const updatedAtMs = source.f64();
  const lastSeq = source.f64();
  const standing = decodeStanding(source);
  const intent = decodeIntent(source);
  const key = source.string();
  const serviceName = isNamed ? source.string() : firstServiceName(intent);
  return { kind: 'session', seq, intent, serviceName, key, ...standing, createdAtMs, updatedAtMs, lastSeq };
}

function encodeIntent(out: ByteWriter, intent: Intent): void {
  out.u8(INTENT_TYPES.indexOf(intent.type));
  out.f64(intent.startMs);
  out.string(intent.target);
  out.string(intent.profileId);
}

function decodeIntent(source: ByteReader): Intent {
  const type = known(INTENT_TYPES, source.u8(), 'type of intent');
  const startMs = source.f64();
  const target = source.string();
  return { type, target, profileId: source.cachedString(), startMs };
}

/** Where a session stands; an entry and an image say it in the same way. */
type Standing = Pick<SessionImage, 'state' | 'reason' | 'reasonDetail' | 'slot' | 'leaseSeq'>;

/** After it there is room for 32 bytes more, as after any string. */
function encodeStanding(out: ByteWriter, { state, reason, reasonDetail, slot, leaseSeq }: Standing): void {
  out.u8(
    (reason === null ? 0 : HAS_REASON) |
      (reasonDetail === null ? 0 : HAS_DETAIL) |
      (slot === null ? 0 : HAS_SLOT),
  );
  out.u8(STATES.indexOf(state));
  out.f64(leaseSeq);
  if (reason !== null) out.u8(REASONS.indexOf(reason));
  if (reasonDetail !== null) out.string(reasonDetail);
  if (slot !== null) out.string(slot);
}

function decodeStanding(source: ByteReader): Standing {
  const flags = source.u8();
  const state = known(STATES, source.u8(), 'session state');
  const leaseSeq = source.f64();
  const reason = flags & HAS_REASON ? known(REASONS, source.u8(), 'reason of a session') : null;
  const reasonDetail = flags & HAS_DETAIL ? source.string() : null;
  const slot = flags & HAS_SLOT ? source.cachedString() : null;
  return { state, reason, reasonDetail, slot, leaseSeq };
}
