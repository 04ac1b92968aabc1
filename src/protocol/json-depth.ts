/**
 * Whether a JSON text is nested deeper than the reader takes. What was made in process has passed no reader, and would
 * otherwise be durable and yet unreadable for everybody who asks for it over HTTP.
 */
import { DEPTH_MAX } from './json-reader.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** Brackets and braces differ in this bit only. */
const CASE = 0x20;
const OPEN = 0x7b;
const CLOSE = 0x7d;
/** Beyond it the built-in search is quicker than looking at each character. */
const SHORT_STRING = 32;

/** Bytes of JSON in UTF-8; only long ones are looked at, because every level takes two. */
export function isTooDeep(bytes: Uint8Array): boolean {
  const { length } = bytes;
  if (length <= 2 * DEPTH_MAX) return false;
  let depth = 0;
  for (let at = 0; at < length; at++) {
    const code = bytes[at]!;
    if (code === QUOTE) at = endOfString(bytes, at + 1);
    else if ((code | CASE) === OPEN) {
      depth += 1;
      if (depth > DEPTH_MAX) return true;
    } else if ((code | CASE) === CLOSE) depth -= 1;
  }
  return false;
}

/** Where the quote stands that ends the string whose text begins here; past the end when none does. */
function endOfString(bytes: Uint8Array, from: number): number {
  let at = from;
  for (const far = from + SHORT_STRING; at < far; at++) {
    const code = bytes[at];
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at += 1;
  }
  for (;;) {
    const quote = bytes.indexOf(QUOTE, at);
    if (quote < 0) return bytes.length;
    let escapes = quote;
    while (escapes > at && bytes[escapes - 1] === BACKSLASH) escapes -= 1;
    if ((quote - escapes) % 2 === 0) return quote;
    at = quote + 1;
  }
}
