/**
 * Writes bytes into a growing buffer. Numbers are little-endian. Integers that may exceed 2^32 (positions, times) are
 * float64: exact up to 2^53 and the cheapest to write and read. The first byte of a string is its form:
 *
 *   0…251  that many ASCII characters, one byte each
 *   252    u32 length, then ASCII            253    u32 length, then UTF-8
 *   254    u32 length, then WTF-8 (UTF-8 in which lone surrogates have three bytes, like any other)
 *
 * No form contains the byte 0xFF, with which every frame begins. To add a form, take 255 and nothing else.
 */
const NO_BYTES = Buffer.alloc(0);
const LONE_SURROGATE = /\p{Cs}/u;

export const STRING_SHORT_MAX = 251;
export const STRING_ASCII = 252;
export const STRING_UTF8 = 253;
export const STRING_WTF8 = 254;

export class ByteWriter {
  buffer: Buffer;
  length = 0;
  #view: DataView;

  constructor(bytes = 0) {
    this.buffer = bytes === 0 ? NO_BYTES : Buffer.allocUnsafeSlow(bytes);
    this.#view = new DataView(this.buffer.buffer, 0, this.buffer.length);
  }

  /** Ensures space for `bytes` more. The fixed-width writes below do not check. */
  reserve(bytes: number): void {
    if (this.length + bytes > this.buffer.length) this.#grow(this.length + bytes);
  }

  u8(value: number): void {
    this.buffer[this.length++] = value;
  }

  i8(value: number): void {
    this.buffer[this.length++] = value & 0xff;
  }

  u16(value: number): void {
    this.#view.setUint16(this.length, value, true);
    this.length += 2;
  }

  u32(value: number): void {
    this.#view.setUint32(this.length, value, true);
    this.length += 4;
  }

  f64(value: number): void {
    this.#view.setFloat64(this.length, value, true);
    this.length += 8;
  }

  setU32(at: number, value: number): void {
    this.#view.setUint32(at, value, true);
  }

  /** Ensures space for the string and 32 more bytes, so that fixed-width fields may follow. */
  string(text: string): void {
    const size = text.length;
    if (size > STRING_SHORT_MAX) {
      this.#longString(text);
      return;
    }
    this.reserve(size + 33);
    const buffer = this.buffer;
    const start = this.length + 1;
    for (let i = 0; i < size; i++) {
      const code = text.charCodeAt(i);
      if (code > 127) {
        this.#longString(text);
        return;
      }
      buffer[start + i] = code;
    }
    buffer[start - 1] = size;
    this.length = start + size;
  }

  /** A string of bytes, one per character (a hash, a digest), at most 255. */
  binary(text: string): void {
    const size = text.length;
    this.reserve(size + 33);
    const buffer = this.buffer;
    buffer[this.length] = size;
    const start = this.length + 1;
    for (let i = 0; i < size; i++) buffer[start + i] = text.charCodeAt(i);
    this.length = start + size;
  }

  bytes(source: Uint8Array): void {
    this.reserve(source.length);
    this.buffer.set(source, this.length);
    this.length += source.length;
  }

  zeros(count: number): void {
    this.reserve(count);
    this.buffer.fill(0, this.length, this.length + count);
    this.length += count;
  }

  #longString(text: string): void {
    const lone = LONE_SURROGATE.test(text);
    this.reserve(text.length * 3 + 37);
    const start = this.length + 5;
    const size = lone ? writeWtf8(this.buffer, text, start) : this.buffer.write(text, start, 'utf8');
    this.buffer[this.length] = lone ? STRING_WTF8 : size === text.length ? STRING_ASCII : STRING_UTF8;
    this.#view.setUint32(this.length + 1, size, true);
    this.length = start + size;
  }

  #grow(needed: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.buffer.length * 2, 4096));
    this.buffer.copy(larger, 0, 0, this.length);
    this.buffer = larger;
    this.#view = new DataView(larger.buffer, 0, larger.length);
  }
}

function writeWtf8(buffer: Buffer, text: string, start: number): number {
  let at = start;
  for (const character of text) {
    const code = character.codePointAt(0)!;
    if (code < 0x80) {
      buffer[at++] = code;
    } else if (code < 0x800) {
      buffer[at++] = 0xc0 | (code >> 6);
      buffer[at++] = 0x80 | (code & 63);
    } else if (code < 0x10000) {
      buffer[at++] = 0xe0 | (code >> 12);
      buffer[at++] = 0x80 | ((code >> 6) & 63);
      buffer[at++] = 0x80 | (code & 63);
    } else {
      buffer[at++] = 0xf0 | (code >> 18);
      buffer[at++] = 0x80 | ((code >> 12) & 63);
      buffer[at++] = 0x80 | ((code >> 6) & 63);
      buffer[at++] = 0x80 | (code & 63);
    }
  }
  return at - start;
}
