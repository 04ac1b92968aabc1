/**
 * Reads a request or reply: JSON as RFC 8259 has it, except that the opaque fields are checked and cut out as
 * their own text (a `Json`) and never parsed, so that `1.0`, huge integers, the order of keys and `__proto__`
 * survive byte for byte. Stricter than JSON.parse in one point: an object that names a key twice is refused,
 * because whoever stood in between may have read the other one.
 *
 * It is on the hot path at both ends. So the text is scanned as numbers in a typed array (half the price of
 * charCodeAt), and the keys of the wire are recognised in place, without making a string of them.
 */
import { Json } from './json.ts';

/** Deeper nesting is refused: readers in other languages give up at about this depth. */
const DEPTH_MAX = 1_000;

/** The fields that belong to the user; they come first in the table of keys. */
const OPAQUE_KEYS = ['payload', 'result', 'value', 'metadata', 'late_result'] as const;

/** Keys that come often. Any other key is read all the same, only slower; two masks of 32 bits hold what has been seen. */
const KEYS: readonly string[] = [
  ...OPAQUE_KEYS,
  ...['op', 'ops', 'results', 'status', 'body', 'seq', 'at', 'type', 'duplicate'],
  ...['task_id', 'queue', 'priority', 'delay_ms', 'dedup_key', 'state', 'attempt', 'created_at', 'due_at'],
  ...['worker_id', 'queues', 'max', 'ttl_ms', 'wait_ms', 'request_id', 'leases', 'lease_id', 'lease_seq'],
  ...['expiry_timestamp', 'expires_at', 'remaining_ms', 'outcome', 'cause', 'reason', 'extended', 'lost'],
  ...['name', 'names', 'holder', 'token', 'acquired_at', 'released', 'prefix'],
  ...['object_id', 'lease', 'writes', 'if_version', 'version', 'holder_id'],
  ...['title', 'detail', 'instance', 'code', 'requestId'],
];
const KEYS_MAX = 64;
const UNKNOWN = -1;

const SLOTS = 512;
const keyCodes = KEYS.map((key) => Uint8Array.from(key, (character) => character.charCodeAt(0)));
const keyIds = new Map(KEYS.map((key, id) => [key, id]));
/** A hash table of the keys: 0 for nothing, otherwise the key's id + 1. */
const slots = new Uint8Array(SLOTS);
for (const [id, codes] of keyCodes.entries()) {
  let slot = slotOf(codes, 0, codes.length);
  while (slots[slot] !== 0) slot = (slot + 1) & (SLOTS - 1);
  slots[slot] = id + 1;
}

function slotOf(source: Codes, from: number, length: number): number {
  const ends = source[from]! * 31 + source[from + length - 1]! * 7;
  return (length * 131 + ends + source[from + (length >> 1)]! * 3) & (SLOTS - 1);
}

/**
 * Which key came next the last time, by the key before it, or at the start of an object by the key it stands
 * under: 0 for no guess, otherwise id + 1. A wrong guess costs a look into the hash table.
 */
const guesses = new Uint8Array(2 * KEYS_MAX + 2);

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const LOWER_E = 0x65;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
/** More digits than a number holds exactly are left to the built-in conversion. */
const EXACT_DIGITS = 15;

/** The text is not JSON, or is JSON that we do not take. */
export class JsonError extends Error {
  override readonly name = 'JsonError';
}

type Codes = Uint8Array | Uint16Array;

// One reader at a time and never re-entered: module state spares an object for every request.
/** The text as numbers, one a character, and a 0 behind the last one, which is legal nowhere in JSON. */
let codes: Codes = new Uint8Array(1);
let text = '';
let at = 0;
let depth = 0;

export function readJson(source: string): unknown {
  text = source;
  codes = codesOf(source);
  at = 0;
  depth = 0;
  try {
    skipSpace();
    const value = readValue(0);
    skipSpace();
    if (at < text.length) unexpected();
    return value;
  } finally {
    text = '';
  }
}

const SCRATCH_MAX = 4 * 1024 * 1024;
let scratch = new Uint8Array(64 * 1024);
const encoder = new TextEncoder();

function codesOf(source: string): Codes {
  const { length } = source;
  if (length >= scratch.length && length < SCRATCH_MAX) {
    scratch = new Uint8Array(Math.min(SCRATCH_MAX, 2 * length + 1));
  }
  const target = length < scratch.length ? scratch : new Uint8Array(length + 1);
  // As many bytes as characters: then it is ASCII, and a byte stands where its character stands.
  const { read, written } = encoder.encodeInto(source, target);
  if (read === length && written === length) {
    target[length] = 0;
    return target;
  }
  const wide = new Uint16Array(length + 1);
  for (let index = 0; index < length; index++) wide[index] = source.charCodeAt(index);
  return wide;
}

/** `under` is what a guess at the first key of an object goes by. */
function readValue(under: number): unknown {
  switch (codes[at]) {
    case QUOTE:
      return readString();
    case OPEN_OBJECT:
      return readObject(under);
    case OPEN_ARRAY:
      return readArray(under);
    case 0x74:
      return skipWord('true', true);
    case 0x66:
      return skipWord('false', false);
    case 0x6e:
      return skipWord('null', null);
    default:
      return readNumber();
  }
}

function readObject(under: number): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  // The known keys this object has had.
  let seenLow = 0;
  let seenHigh = 0;
  let before = under;
  enter();
  at += 1;
  skipSpace();
  if (codes[at] === CLOSE_OBJECT) {
    at += 1;
    depth -= 1;
    return object;
  }
  for (;;) {
    if (codes[at] !== QUOTE) unexpected();
    const guess = guesses[before]!;
    const from = at;
    let id = guess !== 0 && isKey(guess - 1) ? guess - 1 : readKey();
    let key: string;
    if (id === UNKNOWN) {
      at = from;
      key = readString();
      id = keyIds.get(key) ?? UNKNOWN;
      if (id === UNKNOWN && Object.hasOwn(object, key)) twice(key);
    } else key = KEYS[id]!;
    if (id === UNKNOWN) before = 0;
    else {
      if (id + 1 !== guess) guesses[before] = id + 1;
      const bit = 1 << (id & 31);
      if (((id < 32 ? seenLow : seenHigh) & bit) !== 0) twice(key);
      if (id < 32) seenLow |= bit;
      else seenHigh |= bit;
      before = id + 1;
    }
    if (codes[at] !== COLON) {
      skipSpace();
      if (codes[at] !== COLON) unexpected();
    }
    at += 1;
    if (codes[at]! <= 0x20) skipSpace();
    if (id >= 0 && id < OPAQUE_KEYS.length) object[key] = readOpaque();
    else if (key === '__proto__') setOwn(object, key, readValue(0));
    else object[key] = readValue(id === UNKNOWN ? 0 : KEYS_MAX + 1 + id);
    if (codes[at]! <= 0x20) skipSpace();
    const code = codes[at];
    if (code === CLOSE_OBJECT) break;
    if (code !== COMMA) unexpected();
    at += 1;
    if (codes[at]! <= 0x20) skipSpace();
  }
  at += 1;
  depth -= 1;
  return object;
}

/** Whether the key at the quote is this one; then it is read. */
function isKey(id: number): boolean {
  const source = codes;
  const key = keyCodes[id]!;
  const { length } = key;
  const from = at + 1;
  let index = 0;
  while (index < length && source[from + index] === key[index]) index += 1;
  if (index < length || source[from + length] !== QUOTE) return false;
  at = from + length + 1;
  return true;
}

/** The id of the key at the quote if we know it; then it is read. */
function readKey(): number {
  const source = codes;
  const from = at + 1;
  let end = from;
  // No key of ours has a character at or below the quote, or an escape.
  while (source[end]! > QUOTE && source[end] !== BACKSLASH) end += 1;
  if (source[end] !== QUOTE || end === from) return UNKNOWN;
  let slot = slotOf(source, from, end - from);
  for (;;) {
    const id = slots[slot]! - 1;
    if (id === UNKNOWN) return UNKNOWN;
    if (keyCodes[id]!.length === end - from && isKey(id)) return id;
    slot = (slot + 1) & (SLOTS - 1);
  }
}

function twice(key: string): never {
  throw new JsonError(`The key ${JSON.stringify(key)} stands twice.`);
}

/** Plain assignment would change the prototype instead. */
function setOwn(object: object, key: string, value: unknown): void {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}

function readArray(under: number): unknown[] {
  const items: unknown[] = [];
  enter();
  at += 1;
  skipSpace();
  if (codes[at] === CLOSE_ARRAY) {
    at += 1;
    depth -= 1;
    return items;
  }
  for (;;) {
    items.push(readValue(under));
    if (codes[at]! <= 0x20) skipSpace();
    const code = codes[at];
    if (code === CLOSE_ARRAY) break;
    if (code !== COMMA) unexpected();
    at += 1;
    if (codes[at]! <= 0x20) skipSpace();
  }
  at += 1;
  depth -= 1;
  return items;
}

/** Most strings have no escapes and are a plain slice; the others are left to the built-in parser. */
function readString(): string {
  const from = at;
  const isPlain = skipString();
  if (isPlain) return text.slice(from + 1, at - 1);
  return JSON.parse(text.slice(from, at)) as string;
}

/** Most numbers are whole and small. */
function readNumber(): number {
  const source = codes;
  const from = at;
  let place = from;
  let value = 0;
  for (;;) {
    const digit = source[place]! - ZERO;
    if (digit < 0 || digit > 9) break;
    value = value * 10 + digit;
    place += 1;
  }
  const code = source[place]!;
  const digits = place - from;
  const isWhole = digits > 0 && code !== POINT && (code | 0x20) !== LOWER_E;
  if (isWhole && digits <= EXACT_DIGITS && (digits === 1 || source[from] !== ZERO)) {
    at = place;
    return value;
  }
  skipNumber();
  return Number(text.slice(from, at));
}

/** Its depth is its own, or what was taken in one envelope could not be read in another. */
function readOpaque(): Json {
  const from = at;
  const outside = depth;
  depth = 0;
  skipValue();
  depth = outside;
  return new Json(text.slice(from, at));
}

/** What may come next while a value is skipped. */
const kinds = new Uint8Array(DEPTH_MAX + 1);

/** Checks a value without making anything of it; no recursion, so depth costs nothing but a byte. */
function skipValue(): void {
  const floor = depth;
  for (;;) {
    // A value stands here, unless it is an empty container.
    const code = codes[at]!;
    if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      enter();
      kinds[depth] = code;
      at += 1;
      skipSpace();
      const next = codes[at];
      if (next === (code === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY)) {
        at += 1;
        depth -= 1;
      } else {
        if (code === OPEN_OBJECT) skipKey();
        continue;
      }
    } else skipScalar(code);
    // A value has ended: close what closes, then go on to the next one.
    for (;;) {
      if (depth === floor) return;
      skipSpace();
      const next = codes[at];
      const isObject = kinds[depth] === OPEN_OBJECT;
      if (next === COMMA) {
        at += 1;
        skipSpace();
        if (isObject) skipKey();
        break;
      }
      if (next !== (isObject ? CLOSE_OBJECT : CLOSE_ARRAY)) unexpected();
      at += 1;
      depth -= 1;
    }
  }
}

function skipKey(): void {
  if (codes[at] !== QUOTE) unexpected();
  skipString();
  skipSpace();
  if (codes[at] !== COLON) unexpected();
  at += 1;
  skipSpace();
}

function skipScalar(code: number): void {
  if (code === QUOTE) skipString();
  else if (code === 0x74) skipWord('true', true);
  else if (code === 0x66) skipWord('false', false);
  else if (code === 0x6e) skipWord('null', null);
  else skipNumber();
}

/** True when the string had no escapes. */
function skipString(): boolean {
  const source = codes;
  let isPlain = true;
  let place = at + 1;
  for (;;) {
    const code = source[place]!;
    if (code === QUOTE) break;
    if (code === BACKSLASH) {
      isPlain = false;
      place = skipEscape(place);
    } else if (code >= 0x20) place += 1;
    else {
      // A control character, or the end of the text.
      at = place;
      unexpected();
    }
  }
  at = place + 1;
  return isPlain;
}

/** From the backslash to what follows the escape. */
function skipEscape(place: number): number {
  const code = codes[place + 1]!;
  if (code === 0x75) {
    for (let digit = 2; digit < 6; digit++) {
      if (!isHex(codes[place + digit]!)) {
        at = place;
        unexpected();
      }
    }
    return place + 6;
  }
  if (code === 0 || !'"\\/bfnrt'.includes(String.fromCharCode(code))) {
    at = place;
    unexpected();
  }
  return place + 2;
}

function isHex(code: number): boolean {
  return isDigit(code) || ((code | 0x20) >= 0x61 && (code | 0x20) <= 0x66);
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE;
}

function skipDigits(): void {
  if (!isDigit(codes[at]!)) unexpected();
  while (isDigit(codes[at]!)) at += 1;
}

function skipNumber(): void {
  if (codes[at] === MINUS) at += 1;
  if (codes[at] === ZERO) at += 1;
  else skipDigits();
  if (codes[at] === POINT) {
    at += 1;
    skipDigits();
  }
  if ((codes[at]! | 0x20) === LOWER_E) {
    at += 1;
    const sign = codes[at];
    if (sign === 0x2b || sign === MINUS) at += 1;
    skipDigits();
  }
}

function skipWord<T>(word: string, value: T): T {
  if (!text.startsWith(word, at)) unexpected();
  at += word.length;
  return value;
}

function skipSpace(): void {
  for (;;) {
    const code = codes[at];
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
    at += 1;
  }
}

function enter(): void {
  depth += 1;
  if (depth > DEPTH_MAX) throw new JsonError(`It is nested more than ${DEPTH_MAX} deep.`);
}

function unexpected(): never {
  if (at >= text.length) throw new JsonError('The JSON text ends too early.');
  throw new JsonError(`The JSON text goes wrong at character ${at}.`);
}
