/**
 * How a session lies in an image. The kind byte before it is written and read by `image-codec.ts`; its intent and its
 * standing are stored as in entries.
 */
import type { SessionImage } from '../core/image.ts';
import { firstServiceName } from '../core/sessions/session-names.ts';
import type { ByteReader } from './byte-reader.ts';
import type { ByteWriter } from './byte-writer.ts';
import { decodeIntent, decodeStanding } from './entry-decoder.ts';
import { encodeIntent, encodeStanding } from './entry-encoder.ts';

/** A session that holds what the first ones held is written as they were, without its name. */
export function hasFirstName({ intent, serviceName }: SessionImage): boolean {
  return serviceName === firstServiceName(intent);
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
