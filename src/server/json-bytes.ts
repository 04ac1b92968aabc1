/**
 * JSON on its way out, written as bytes right away: a text would be put together from hundreds of pieces, walked to
 * make it whole, and walked again to make bytes of it. One reply at a time; `take` ends it.
 */
import type { Json } from '../protocol/json.ts';

/** Beyond it a head of its own costs less than turning the body into text and back. */
export const SHORT_BYTES = 16_384;
const FIRST_BYTES = 64 * 1024;
/** What is larger is given back after the reply that needed it. */
const KEPT_BYTES = 4 * 1024 * 1024;
/** How full a buffer has to be for a reply to leave in it. */
const FULL_PART = 0.8;
/** Numbers below it are written digit by digit. */
const SMALL = 1e9;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const ZERO = 0x30;
const WORD_BYTES = 4;

/** A text that is written again and again: ASCII, kept as words of four bytes, which is a third of the work. */
export class Piece {
  readonly length: number;
  readonly words: Uint32Array;

  constructor(text: string) {
    const count = Math.ceil(text.length / WORD_BYTES);
    const bytes = Buffer.alloc(count * WORD_BYTES);
    bytes.write(text, 'latin1');
    this.length = text.length;
    this.words = Uint32Array.from({ length: count }, (_, index) => bytes.readUInt32LE(index * WORD_BYTES));
  }
}

export class JsonBytes {
  #buffer: Buffer = Buffer.allocUnsafeSlow(FIRST_BYTES);
  #view = viewOf(this.#buffer);
  #length = 0;

  piece({ words, length }: Piece): void {
    // The last word may reach beyond the piece; what is written next goes over it.
    this.#reserve(words.length * WORD_BYTES);
    const view = this.#view;
    let place = this.#length;
    for (let index = 0; index < words.length; index++) {
      view.setUint32(place, words[index]!, true);
      place += WORD_BYTES;
    }
    this.#length += length;
  }

  /** A string of our own making in quotes, which needs no escape: states, instants, ids. */
  word(text: string): void {
    const size = text.length;
    this.#reserve(size + 2);
    const buffer = this.#buffer;
    const start = this.#length + 1;
    buffer[start - 1] = QUOTE;
    for (let index = 0; index < size; index++) buffer[start + index] = text.charCodeAt(index);
    buffer[start + size] = QUOTE;
    this.#length = start + size + 1;
  }

  /** A string in quotes; names and ids seldom need an escape. */
  string(text: string): void {
    const size = text.length;
    this.#reserve(size + 2);
    const buffer = this.#buffer;
    const start = this.#length + 1;
    for (let index = 0; index < size; index++) {
      const code = text.charCodeAt(index);
      if (code < 0x20 || code > 0x7e || code === QUOTE || code === BACKSLASH) {
        this.json(JSON.stringify(text));
        return;
      }
      buffer[start + index] = code;
    }
    buffer[start - 1] = QUOTE;
    buffer[start + size] = QUOTE;
    this.#length = start + size + 1;
  }

  number(value: number): void {
    if (!(value >= 0 && value < SMALL && Number.isInteger(value))) {
      this.json(String(value));
      return;
    }
    let digits = 1;
    for (let power = 10; power <= value; power *= 10) digits += 1;
    this.#reserve(digits);
    const buffer = this.#buffer;
    const start = this.#length;
    let rest = value;
    for (let place = start + digits - 1; place >= start; place--) {
      const tens = Math.floor(rest / 10);
      buffer[place] = ZERO + rest - tens * 10;
      rest = tens;
    }
    this.#length = start + digits;
  }

  /** Any JSON text. */
  json(text: string): void {
    // No character takes more bytes than three.
    this.#reserve(3 * text.length);
    this.#length += this.#buffer.write(text, this.#length);
  }

  /** A value of the user's, as it came in. */
  opaque(value: Json): void {
    if (value.isText) {
      this.json(value.text());
      return;
    }
    const { bytes } = value;
    this.#reserve(bytes.length);
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /**
   * What has been written, to keep; then all is empty again. Short ones as text, which leaves together with its head. A
   * long one leaves as it was written, unless it would keep much more in memory than it needs.
   */
  take(): string | Buffer {
    const [buffer, length] = [this.#buffer, this.#length];
    const isShort = length <= SHORT_BYTES;
    if (isShort || length < FULL_PART * buffer.length) {
      this.clear();
      return isShort ? buffer.toString('utf8', 0, length) : copyOf(buffer, length);
    }
    this.#length = 0;
    // The next one is probably as long, or a little longer.
    const room = Math.ceil(length / FULL_PART);
    this.#useBuffer(Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, Math.min(room, KEPT_BYTES))));
    return buffer.subarray(0, length);
  }

  clear(): void {
    this.#length = 0;
    if (this.#buffer.length > KEPT_BYTES) this.#useBuffer(Buffer.allocUnsafeSlow(FIRST_BYTES));
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#buffer.length));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#useBuffer(larger);
  }

  #useBuffer(buffer: Buffer): void {
    this.#buffer = buffer;
    this.#view = viewOf(buffer);
  }
}

function viewOf({ buffer, byteOffset, byteLength }: Buffer): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

/** Buffer.from would fill it with zeros first. */
function copyOf(buffer: Buffer, length: number): Buffer {
  const copy = Buffer.allocUnsafeSlow(length);
  buffer.copy(copy, 0, 0, length);
  return copy;
}
