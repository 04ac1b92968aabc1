/**
 * What an id, a name, a reason, a token, a profile and the id of a session may look like. Names are 1–256 bytes of printable UTF-8 in NFC:
 * two spellings of the same text must not be two leases. Ids stand in paths, so they have no slash.
 */
import { LIMITS } from './limits.ts';

/** Control characters, surrogates without a partner, line and paragraph separators. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u;
const LONE_SURROGATE = /\p{Cs}/u;
const SESSION_ID = /^[0-9A-Za-z][0-9A-Za-z_.:-]{0,127}$/;
const BASE = /^[\x21-\x7e]+$/;

export function isNameText(text: string): boolean {
  return isPlain(text, LIMITS.nameBytes) || isPrintable(text, LIMITS.nameBytes);
}

/** The leases of a session are named after what they are on, which may itself be as long as any name. */
const SESSION_LEASE = /^lease:(?:(?:service|tuner):(.+)|vod:(.+):[0-9]{1,13})$/;

export function isLeaseNameText(text: string): boolean {
  if (isNameText(text)) return true;
  const [, of, recording] = SESSION_LEASE.exec(text) ?? [];
  return isNameText(of ?? recording ?? '');
}

export function isIdText(text: string): boolean {
  return isNameText(text) && !text.includes('/');
}

/** Reasons are sentences, often the tail of somebody's stderr: line breaks and tabs are fine. */
export function isReasonText(text: string): boolean {
  return text.length > 0 && utf8Length(text) <= LIMITS.reasonBytes && !LONE_SURROGATE.test(text);
}

/** At least 128 bits, however they are spelt. */
export function isTokenText(text: string): boolean {
  return text.length >= LIMITS.tokenBytesMin && text.length <= LIMITS.nameBytes && BASE.test(text);
}

/** What is shown as a token may be wrong, and then that is the answer, however short it is. */
export function isShownText(text: string): boolean {
  return text.length <= LIMITS.nameBytes && BASE.test(text);
}

/** A bar separates the parts that an idempotency key is made of. */
export function isProfileText(text: string): boolean {
  return isNameText(text) && !text.includes('|');
}

/** Ids of sessions are all ours. What might be an id of somebody else's is unknown, anything else is no id. */
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
