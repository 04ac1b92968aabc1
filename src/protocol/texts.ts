/**
 * The format of ids, names, reasons, tokens, traces, profiles and session ids. Names are 1–256 bytes of printable UTF-8 in NFC: two
 * spellings of the same text must not be two leases. Ids are used in paths, so they have no slash.
 */
import { LIMITS } from './limits.ts';

/** Control characters, surrogates without a partner, line and paragraph separators. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u;
const LONE_SURROGATE = /\p{Cs}/u;
const SESSION_ID = /^[0-9A-Za-z][0-9A-Za-z_.:-]{0,127}$/;
const BASE = /^[\x21-\x7e]+$/;
/** W3C Trace Context: version, trace id, parent id, flags; versions after 00 may say more. */
const TRACEPARENT =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:(?<!^00.{53})-[\x21-\x7e]+)?$/;
const TRACESTATE = /^[\x20-\x7e]+$/;

export function isNameText(text: string): boolean {
  return isPlain(text, LIMITS.nameBytes) || isPrintable(text, LIMITS.nameBytes);
}

/** The leases of a session are named after their target, which may itself be as long as any name. */
const SESSION_LEASE = /^lease:(?:(?:service|tuner):(.+)|vod:(.+):[0-9]{1,13})$/;

export function isLeaseNameText(text: string): boolean {
  if (isNameText(text)) return true;
  const [, of, recording] = SESSION_LEASE.exec(text) ?? [];
  return isNameText(of ?? recording ?? '');
}

export function isIdText(text: string): boolean {
  return isNameText(text) && !text.includes('/');
}

/** Short enough that a task id has room for the due time behind it. */
export function isScheduleNameText(text: string): boolean {
  return isIdText(text) && utf8Length(text) <= LIMITS.scheduleNameBytes;
}

/** Reasons are sentences, often the tail of stderr: line breaks and tabs are allowed. */
export function isReasonText(text: string): boolean {
  return text.length > 0 && utf8Length(text) <= LIMITS.reasonBytes && !LONE_SURROGATE.test(text);
}

/** At least 128 bits, however they are spelt. */
export function isTokenText(text: string): boolean {
  return text.length >= LIMITS.tokenBytesMin && text.length <= LIMITS.nameBytes && BASE.test(text);
}

/** A presented token may have any length; a wrong one is refused as wrong and not as malformed. */
export function isShownText(text: string): boolean {
  return text.length <= LIMITS.nameBytes && BASE.test(text);
}

export function isTraceparentText(text: string): boolean {
  return text.length <= LIMITS.nameBytes && TRACEPARENT.test(text);
}

export function isTracestateText(text: string): boolean {
  return text.length <= LIMITS.tracestateBytes && TRACESTATE.test(text);
}

/** A bar separates the parts of an idempotency key. */
export function isProfileText(text: string): boolean {
  return isNameText(text) && !text.includes('|');
}

/** Session ids are always generated. A well-formed id of another server is unknown, anything else is malformed. */
export function isSessionIdText(text: string): boolean {
  return SESSION_ID.test(text);
}

/** The common case without a regular expression: short and ASCII. */
function isPlain(text: string, max: number): boolean {
  if (text.length === 0 || text.length > max) return false;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code < 0x20 || code > 0x7e) return false;
  }
  return true;
}

function isPrintable(text: string, max: number): boolean {
  if (text.length === 0 || utf8Length(text) > max) return false;
  return !UNPRINTABLE.test(text) && text.normalize('NFC') === text;
}

function utf8Length(text: string): number {
  let bytes = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    // Each half of a surrogate pair counts two, which makes four for the pair.
    bytes += code < 0x80 ? 1 : code < 0x800 || (code >= 0xd800 && code < 0xe000) ? 2 : 3;
  }
  return bytes;
}
