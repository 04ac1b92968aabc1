/**
 * The encodings that records of entries and of images share: opaques, task keys, lists, and numbers that stand for
 * words. They are part of the format: read `core/entry-table.ts` before changing any.
 */
import type { TaskKey } from '../core/entries.ts';
import { NOWHERE, type Opaque } from '../core/opaque.ts';
import type { ByteReader } from './byte-reader.ts';
import type { ByteWriter } from './byte-writer.ts';
import { LogTooNewError } from './log.ts';

/** Receives the bytes of opaques while records are written, and returns their offset in the opaque area. */
export interface OpaqueArea {
  take(opaque: Opaque): number;
}

/** Reads opaques: u32 length, u32 CRC-32 and u32 offset into the opaque area of their frame, which is at `areaAt`. */
export class OpaqueReader {
  /** Every opaque read is also put here while it is not null. */
  found: Opaque[] | null = null;
  areaAt = 0;
  readonly #in: ByteReader;

  constructor(source: ByteReader) {
    this.#in = source;
  }

  opaque(): Opaque {
    const source = this.#in;
    const length = source.u32();
    const crc = source.u32();
    const offset = source.u32();
    const opaque = { bytes: null, at: length === 0 ? NOWHERE : this.areaAt + offset, length, crc };
    if (this.found !== null) this.found.push(opaque);
    return opaque;
  }
}

/** Space for the fixed-width fields of any entry. Strings reserve space for themselves and for 32 bytes after them. */
export const FIXED_MAX = 80;

/** The flag that all records with a task share. */
export const KEY_IS_STRING = 1;

/** Reserves enough for the fixed-width fields of any record to follow. */
export function encodeKey(out: ByteWriter, task: TaskKey): void {
  if (typeof task === 'number') {
    out.f64(task);
  } else {
    out.string(task);
    out.reserve(FIXED_MAX);
  }
}

export function decodeKey(source: ByteReader, flags: number): TaskKey {
  return flags & KEY_IS_STRING ? source.string() : source.f64();
}

export function encodeOpaque(out: ByteWriter, area: OpaqueArea, opaque: Opaque): void {
  const offset = area.take(opaque);
  out.u32(opaque.length);
  out.u32(opaque.crc);
  out.u32(offset);
}

/** The length of a list is stored with the entry, before the list. After any list there is space for 32 more bytes. */
export function encodeKeys(out: ByteWriter, list: readonly TaskKey[]): void {
  for (const task of list) {
    out.reserve(FIXED_MAX);
    out.u8(typeof task === 'string' ? KEY_IS_STRING : 0);
    encodeKey(out, task);
  }
}

export function encodeTexts(out: ByteWriter, list: readonly string[]): void {
  for (const text of list) out.string(text);
}

export function encodeTokens(out: ByteWriter, list: readonly string[]): void {
  for (const token of list) out.binary(token);
}

export function encodeNumbers(out: ByteWriter, list: readonly number[]): void {
  out.reserve(list.length * 8 + 32);
  for (const number of list) out.f64(number);
}

export function decodeKeys(source: ByteReader, count: number): TaskKey[] {
  const list: TaskKey[] = [];
  for (let i = 0; i < count; i++) list.push(decodeKey(source, source.u8()));
  return list;
}

export function decodeTexts(source: ByteReader, count: number): string[] {
  const list: string[] = [];
  for (let i = 0; i < count; i++) list.push(source.string());
  return list;
}

export function decodeTokens(source: ByteReader, count: number): string[] {
  const list: string[] = [];
  for (let i = 0; i < count; i++) list.push(source.binary());
  return list;
}

export function decodeNumbers(source: ByteReader, count: number): number[] {
  const list: number[] = [];
  for (let i = 0; i < count; i++) list.push(source.f64());
  return list;
}

/** The value that a stored number stands for. Such lists only grow at the end. */
export function known<T>(list: readonly T[], index: number, what: string): T {
  const value = list[index];
  if (value !== undefined) return value;
  throw new LogTooNewError(`The log holds a ${what} of number ${index}, which this version does not know.`);
}
