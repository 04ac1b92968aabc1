/**
 * Reads the JSON of requests and replies. The values of opaque fields are cut out of the bytes unchanged (as a `Json`), so that
 * `1.0`, huge integers, the order of keys and `__proto__` survive byte for byte. A number takes the place of each, and
 * JSON.parse reads the rest. Stricter than JSON.parse in two points: an object must not name a key twice, because a proxy
 * may have read the other one, and nesting is bounded, because parsers in other languages fail on deep nesting.
 *
 * The scan needs only the boundaries of strings, so it works on invalid JSON too: JSON.parse checks each value that was
 * cut out, and the rest. JSON.parse copies strings, so they retain no input text.
 */
import { Json, textOfUtf8 } from './json.ts';

/** The opaque fields: their values belong to the user. */
const OPAQUE_KEYS: readonly string[] = [
  'payload',
  'result',
  'value',
  'metadata',
  'late_result',
  'checkpoint',
];

/** The depth of an opaque value counts from itself: a value accepted in one envelope must be readable in any other. */
export const DEPTH_MAX = 1_000;

/** The text is not JSON, or is JSON that is not accepted. */
export class JsonError extends Error {
  override readonly name = 'JsonError';
}

/** Returns the opaque value between these offsets as a `Json`. */
export type Keep = (bytes: Uint8Array, from: number, to: number) => Json;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
/** Brackets and braces differ in this bit only. */
const CASE = 0x20;
const OPEN = 0x7b;
const CLOSE = 0x7d;

const opaqueKeys = new Set(OPAQUE_KEYS);

/** Whether the value of this field belongs to the user. */
export function isOpaqueField(key: string): boolean {
  return opaqueKeys.has(key);
}

const encoder = new TextEncoder();
const KEY_BYTES = OPAQUE_KEYS.map((key) => encoder.encode(key));
/** By default opaque values are kept as text, which retains nothing else in memory. */
export function readJson(source: string | Uint8Array, keep: Keep = keepText): unknown {
  const bytes = typeof source === 'string' ? encoder.encode(source) : source;
  const whole = typeof source === 'string' ? source : textOfUtf8(bytes);
  const { rest, opaque, keys } = cutOpaque(bytes, whole, keep);
  const value = parse(rest, bytes);
  if (putBack(value, opaque) !== keys) throw new JsonError(`The key ${repeatedKey(rest)} stands twice.`);
  return value;
}

/** Whether a JSON text in UTF-8 is nested deeper than the limit. Every level has at least two bytes. */
export function isTooDeep(bytes: Uint8Array): boolean {
  return bytes.length > 2 * DEPTH_MAX && endOfValue(bytes, 0) < 0;
}

function keepText(bytes: Uint8Array, from: number, to: number): Json {
  return Json.shallow(textOfUtf8(bytes, from, to));
}

interface Cut {
  /** The text with a number, an index of `opaque`, in place of each opaque value. */
  readonly rest: string;
  readonly opaque: readonly Json[];
  /** How many keys the rest has: outside of strings, each key is followed by a colon, and there are no other colons. */
  readonly keys: number;
}

function cutOpaque(bytes: Uint8Array, whole: string, keep: Keep): Cut {
  // Slicing a text is cheaper than decoding each part. Its offsets are those of the bytes if all is ASCII.
  const isAscii = whole.length === bytes.length;
  const cut = (from: number, to: number) => (isAscii ? whole.slice(from, to) : textOfUtf8(bytes, from, to));
  const opaque: Json[] = [];
  let rest = '';
  let done = 0;
  let keys = 0;
  let depth = 0;
  let stringFrom = 0;
  let stringTo = 0;
  for (let at = 0; at < bytes.length; at++) {
    const code = bytes[at]!;
    if (code === QUOTE) {
      stringFrom = at + 1;
      at = endOfString(bytes, at);
      stringTo = at;
    } else if (code === COLON) {
      keys += 1;
      if (!isOpaqueKey(bytes, stringFrom, stringTo)) continue;
      const from = skipSpace(bytes, at + 1);
      const end = endOfValue(bytes, from);
      if (end < 0) tooDeep();
      const to = trimSpace(bytes, from, end);
      parse(cut(from, to), bytes);
      rest += cut(done, from) + String(opaque.length);
      opaque.push(keep(bytes, from, to));
      done = to;
      at = end - 1;
    } else if ((code | CASE) === OPEN) {
      depth += 1;
      if (depth > DEPTH_MAX) tooDeep();
    } else if ((code | CASE) === CLOSE) depth -= 1;
  }
  return { rest: rest + cut(done, bytes.length), opaque, keys };
}

function isOpaqueKey(bytes: Uint8Array, from: number, to: number): boolean {
  const length = to - from;
  for (const key of KEY_BYTES) {
    if (key.length !== length) continue;
    let same = 0;
    while (same < length && bytes[from + same] === key[same]) same += 1;
    if (same === length) return true;
  }
  for (let at = from; at < to; at++) {
    if (bytes[at] === BACKSLASH)
      return opaqueKeys.has(String(parse(textOfUtf8(bytes, from - 1, to + 1), bytes)));
  }
  return false;
}

/** The offset of the comma or bracket that ends the value; negative when it is nested too deep. */
function endOfValue(bytes: Uint8Array, from: number): number {
  let depth = 0;
  for (let at = from; at < bytes.length; at++) {
    const code = bytes[at]!;
    if (code === QUOTE) at = endOfString(bytes, at);
    else if ((code | CASE) === OPEN) {
      depth += 1;
      if (depth > DEPTH_MAX) return -1;
    } else if ((code | CASE) === CLOSE) {
      depth -= 1;
      if (depth < 0) return at;
    } else if (code === COMMA && depth === 0) return at;
  }
  return bytes.length;
}

/** The offset of the closing quote; the end of the bytes when there is none. */
function endOfString(bytes: Uint8Array, quote: number): number {
  let at = quote + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return Math.min(at, bytes.length);
}

function isSpace(code: number | undefined): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

function skipSpace(bytes: Uint8Array, from: number): number {
  let at = from;
  while (isSpace(bytes[at])) at += 1;
  return at;
}

function trimSpace(bytes: Uint8Array, from: number, end: number): number {
  let to = end;
  while (to > from && isSpace(bytes[to - 1])) to -= 1;
  return to;
}

/** A part of the bytes; a syntax error is reported for the whole. */
function parse(text: string, bytes: Uint8Array): unknown {
  try {
    return JSON.parse(text);
  } catch (fault) {
    if (!(fault instanceof SyntaxError)) throw fault;
    throw new JsonError(messageFor(bytes) ?? fault.message);
  }
}

function messageFor(bytes: Uint8Array): string | null {
  try {
    JSON.parse(textOfUtf8(bytes, 0, bytes.length));
    return null;
  } catch (fault) {
    return (fault as Error).message;
  }
}

/** Replaces the numbers by the opaque values; returns how many keys all the objects have. */
function putBack(value: unknown, opaque: readonly Json[]): number {
  let keys = 0;
  if (Array.isArray(value)) for (const item of value) keys += putBack(item, opaque);
  else if (typeof value === 'object' && value !== null) {
    const fields = value as Record<string, unknown>;
    for (const key in fields) {
      keys += 1;
      const field = fields[key];
      if (typeof field === 'number') {
        if (opaqueKeys.has(key)) fields[key] = opaque[field];
      } else if (typeof field === 'object') keys += putBack(field, opaque);
    }
  }
  return keys;
}

/** The first key that one object of a JSON text names twice, in quotes. */
function repeatedKey(text: string): string {
  const names: Set<unknown>[] = [];
  for (const [token, key] of text.matchAll(/("(?:[^"\\]|\\.)*")\s*:|"(?:[^"\\]|\\.)*"|[{}]/g)) {
    if (token === '{') names.push(new Set());
    else if (token === '}') names.pop();
    else if (key !== undefined) {
      const name = JSON.parse(key) as string;
      if (names.at(-1)!.has(name)) return JSON.stringify(name);
      names.at(-1)!.add(name);
    }
  }
  return '';
}

function tooDeep(): never {
  throw new JsonError(`It is nested more than ${DEPTH_MAX} deep.`);
}
