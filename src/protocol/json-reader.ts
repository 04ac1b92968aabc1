/**
 * Reads a request or reply: JSON as RFC 8259 has it, except that the opaque fields are checked and cut out as
 * they are (a `Json`) and never parsed, so that `1.0`, huge integers, the order of keys and `__proto__`
 * survive byte for byte. Stricter than JSON.parse in one point: an object that names a key twice is refused,
 * because whoever stood in between may have read the other one.
 *
 * It is on the hot path at both ends. So bytes are read as they came, and the keys of the wire are recognised in
 * place, without making a string of them. Every string is a copy: a slice of a large text would keep all of it in
 * memory for as long as somebody remembers a name that stood in it.
 */
import { Json } from './json.ts';
import {
  KEY_CODES,
  KEY_IDS,
  KEYS,
  KEYS_MAX,
  OPAQUE_END,
  SLOTS,
  slotOf,
  slots,
  UNKNOWN,
} from './wire-keys.ts';

/** Deeper nesting is refused: readers in other languages give up at about this depth. */
export const DEPTH_MAX = 1_000;

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

/** Keeps the opaque value that stands between these places; the bytes are gone once it has returned. */
export type Keep = (bytes: Uint8Array, from: number, to: number) => Json;

const SCRATCH_BYTES = 64 * 1024;
const SCRATCH_MAX = 4 * 1024 * 1024;
/** Zeros behind the last byte: legal nowhere in JSON, and as many as are looked at in one go. */
const SENTINELS = 4;

// One reader at a time and never re-entered: module state spares an object for every request.
/** The bytes that are being read, or were. */
let codes = new Uint8Array(SCRATCH_BYTES);
let end = 0;
let at = 0;
let depth = 0;
let keep: Keep | null = null;
/** Whether a string has been passed that is not ASCII. */
let isWide = false;

/** `keepsOpaque` is for who has a better use for bytes than for a text. */
export function readJson(source: string | Uint8Array, keepsOpaque: Keep | null = null): unknown {
  load(source);
  at = 0;
  depth = 0;
  keep = keepsOpaque;
  try {
    skipSpace();
    const value = readValue(0);
    skipSpace();
    if (at < end) unexpected();
    return value;
  } finally {
    closeJson();
  }
}

/** Gives back what only a very long text needed. */
export function closeJson(): void {
  if (codes.length > SCRATCH_MAX) codes = new Uint8Array(SCRATCH_BYTES);
}

/** Takes bytes that are read in parts, by who knows what to expect in them; `closeJson` ends it. */
export function openJson(source: Uint8Array): void {
  load(source);
}

/** The opaque value that stands there; `passedTo` tells where it ended. */
export function readOpaqueAt(from: number, keepsOpaque: Keep | null): Json {
  at = from;
  keep = keepsOpaque;
  return readOpaque();
}

/** Any value that stands there, so deep inside of others. */
export function readJsonAt(from: number, inside: number, keepsOpaque: Keep | null): unknown {
  at = from;
  depth = inside;
  keep = keepsOpaque;
  return readValue(0);
}

export function passedTo(): number {
  return at;
}

const encoder = new TextEncoder();

function load(source: string | Uint8Array): void {
  // No character takes more bytes than three.
  const most = (typeof source === 'string' ? 3 : 1) * source.length + SENTINELS;
  if (most > codes.length) codes = new Uint8Array(Math.max(most, Math.min(2 * most, SCRATCH_MAX)));
  if (typeof source === 'string') end = encoder.encodeInto(source, codes).written;
  else {
    codes.set(source);
    end = source.length;
  }
  codes.fill(0, end, end + SENTINELS);
}

// A mark at the beginning of a string belongs to it.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
/** Node cuts a short string out of bytes in a third of the time that a decoder takes. */
const cutAscii: ((this: Uint8Array, from: number, to: number) => string) | undefined = (
  globalThis as { Buffer?: typeof Buffer }
).Buffer?.prototype.latin1Slice;

/** What stands there as a string of its own, which keeps nothing else alive. */
function textOf(from: number, to: number): string {
  if (isWide || cutAscii === undefined) return decoder.decode(codes.subarray(from, to));
  return cutAscii.call(codes, from, to);
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
      return skipWord(TRUE, true);
    case 0x66:
      return skipWord(FALSE, false);
    case 0x6e:
      return skipWord(NULL, null);
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
      id = KEY_IDS.get(key) ?? UNKNOWN;
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
    if (id >= 0 && id < OPAQUE_END) object[key] = readOpaque();
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
  const key = KEY_CODES[id]!;
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
    if (KEY_CODES[id]!.length === end - from && isKey(id)) return id;
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
  enter();
  at += 1;
  skipSpace();
  if (codes[at] === CLOSE_ARRAY) {
    at += 1;
    depth -= 1;
    return [];
  }
  // Many have one item, and an empty array that is pushed to makes room for seventeen.
  const items = [readValue(under)];
  for (;;) {
    if (codes[at]! <= 0x20) skipSpace();
    const code = codes[at];
    if (code === CLOSE_ARRAY) break;
    if (code !== COMMA) unexpected();
    at += 1;
    if (codes[at]! <= 0x20) skipSpace();
    items.push(readValue(under));
  }
  at += 1;
  depth -= 1;
  return items;
}

/** Most strings have no escapes; the others are left to the built-in parser. */
function readString(): string {
  const from = at;
  isWide = false;
  return skipString() ? textOf(from + 1, at - 1) : (JSON.parse(textOf(from, at)) as string);
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
  isWide = false;
  return Number(textOf(from, at));
}

/** Its depth is its own, or what was taken in one envelope could not be read in another. */
function readOpaque(): Json {
  const from = at;
  const outside = depth;
  depth = 0;
  isWide = false;
  skipValue();
  depth = outside;
  return keep === null ? Json.shallow(textOf(from, at)) : keep(codes, from, at);
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

const TRUE = encoder.encode('true');
const FALSE = encoder.encode('false');
const NULL = encoder.encode('null');

function skipScalar(code: number): void {
  if (code === QUOTE) skipString();
  else if (code === 0x74) skipWord(TRUE, true);
  else if (code === 0x66) skipWord(FALSE, false);
  else if (code === 0x6e) skipWord(NULL, null);
  else skipNumber();
}

/** 1 for what may stand in a string as it is and is ASCII. */
const PLAIN = Uint8Array.from({ length: 256 }, (_, code) =>
  code >= 0x20 && code < 0x80 && code !== QUOTE && code !== BACKSLASH ? 1 : 0,
);

/** True when the string had no escapes. */
function skipString(): boolean {
  const source = codes;
  let isPlain = true;
  let place = at + 1;
  for (;;) {
    // Four at a time, which is twice as fast for what is long.
    while (
      PLAIN[source[place]!]! +
        PLAIN[source[place + 1]!]! +
        PLAIN[source[place + 2]!]! +
        PLAIN[source[place + 3]!]! ===
      4
    ) {
      place += 4;
    }
    while (PLAIN[source[place]!] === 1) place += 1;
    const code = source[place]!;
    if (code === QUOTE) break;
    if (code === BACKSLASH) {
      isPlain = false;
      place = skipEscape(place);
    } else if (code >= 0x80) {
      isWide = true;
      place += 1;
    } else {
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

function skipWord<T>(word: Uint8Array, value: T): T {
  for (let index = 0; index < word.length; index++) if (codes[at + index] !== word[index]) unexpected();
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
  if (at >= end) throw new JsonError('The JSON text ends too early.');
  throw new JsonError(`The JSON text goes wrong at byte ${at}.`);
}
