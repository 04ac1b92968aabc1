/**
 * Reads what a ByteWriter wrote. Repeated strings (queues, workers, holders) come from a small cache, so that a
 * million leases of one worker share one string. Reading past the end throws: callers verify checksums first, so it
 * is a bug and not damage.
 */
import { STRING_ASCII, STRING_SHORT_MAX, STRING_UTF8, STRING_WTF8 } from './byte-writer.ts';
import { LogTooNewError } from './log.ts';

const CACHE_SLOTS = 4096;
const CACHED_LENGTH_MAX = 64;
const EMPTY = Buffer.alloc(0);

export class ByteReader {
  buffer: Buffer = EMPTY;
  at = 0;
  #view: DataView = new DataView(EMPTY.buffer, 0, 0);
  readonly #cache: string[] = new Array<string>(CACHE_SLOTS).fill('');

  /** Starts reading `buffer` at `at`. */
  open(buffer: Buffer, at: number): void {
    if (this.buffer !== buffer) {
      this.buffer = buffer;
      this.#view = new DataView(buffer.buffer, buffer.byteOffset, buffer.length);
    }
    this.at = at;
  }

  u8(): number {
    return this.#view.getUint8(this.at++);
  }

  i8(): number {
    return this.#view.getInt8(this.at++);
  }

  u16(): number {
    const at = this.at;
    this.at = at + 2;
    return this.#view.getUint16(at, true);
  }

  u32(): number {
    const at = this.at;
    this.at = at + 4;
    return this.#view.getUint32(at, true);
  }

  f64(): number {
    const at = this.at;
    this.at = at + 8;
    return this.#view.getFloat64(at, true);
  }

  string(): string {
    const form = this.u8();
    if (form > STRING_SHORT_MAX) return this.#longString(form);
    const start = this.at;
    this.at = start + form;
    return form === 0 ? '' : this.buffer.toString('latin1', start, this.at);
  }

  /** Like `string`, for fields with few distinct values. */
  cachedString(): string {
    const size = this.#view.getUint8(this.at);
    if (size === 0 || size > CACHED_LENGTH_MAX) return this.string();
    const buffer = this.buffer;
    const start = this.at + 1;
    const end = start + size;
    let hash = size;
    for (let i = start; i < end; i++) hash = (Math.imul(hash, 31) + buffer[i]!) | 0;
    const slot = (hash ^ (hash >>> 12)) & (CACHE_SLOTS - 1);
    const known = this.#cache[slot]!;
    this.at = end;
    if (known.length === size) {
      let i = 0;
      while (i < size && known.charCodeAt(i) === buffer[start + i]) i++;
      if (i === size) return known;
    }
    const text = buffer.toString('latin1', start, end);
    this.#cache[slot] = text;
    return text;
  }

  binary(): string {
    const size = this.u8();
    const start = this.at;
    this.at = start + size;
    return size === 0 ? '' : this.buffer.toString('latin1', start, this.at);
  }

  #longString(form: number): string {
    const size = this.u32();
    const start = this.at;
    const end = start + size;
    this.at = end;
    if (form === STRING_ASCII) return this.buffer.toString('latin1', start, end);
    if (form === STRING_UTF8) return this.buffer.toString('utf8', start, end);
    if (form === STRING_WTF8) return readWtf8(this.buffer, start, end);
    throw new LogTooNewError(
      `The log holds a string of form ${form}, which this version of leasehold does not know. Use a newer version.`,
    );
  }
}

function readWtf8(buffer: Buffer, start: number, end: number): string {
  let text = '';
  for (let at = start; at < end; ) {
    const first = buffer[at]!;
    const size = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    let code = size === 1 ? first : first & (0x7f >> size);
    for (let i = 1; i < size; i++) code = (code << 6) | (buffer[at + i]! & 63);
    text += String.fromCodePoint(code);
    at += size;
  }
  return text;
}
