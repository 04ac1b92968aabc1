/**
 * What the records of entries and of images have in common: opaques, the names of tasks, lists of texts, the usual
 * retry policy, and numbers that stand for words. They are part of the format: see `record-codec.ts` before
 * you change any of them.
 */
import type { TaskKey } from '../core/entries.ts';
import type { Opaque } from '../core/opaque.ts';
import type { ByteReader } from './byte-reader.ts';
import type { ByteWriter } from './byte-writer.ts';
import { LogTooNewError } from './log.ts';

/** The position of no bytes: an empty opaque lies in no file, so it shares its place with nobody. */
export const NOWHERE = 0;

/** Where the bytes of opaques go while records are written: answers their offset in the opaque area. */
export interface OpaqueArea {
  take(opaque: Opaque): number;
}

/** Room for the fixed-width fields of any entry; strings make room for themselves and for 32 bytes after them. */
export const FIXED_MAX = 80;

/** The flag that every record with a task has in common. */
export const KEY_IS_STRING = 1;

export const USUAL_MAX_FAILURES = 5;
export const USUAL_BACKOFF_MS = 1_000;
export const USUAL_MAX_BACKOFF_MS = 300_000;
export const USUAL_MAX_ATTEMPTS = 100;

/** After it there is still room for the fixed-width fields of any record. */
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

export function decodeStrings(source: ByteReader, count: number): string[] {
  const list: string[] = [];
  for (let i = 0; i < count; i++) list.push(source.string());
  return list;
}

/** The value a stored number stands for; lists like these only ever grow at the end. */
export function known<T>(list: readonly T[], index: number, what: string): T {
  const value = list[index];
  if (value !== undefined) return value;
  throw new LogTooNewError(`The log holds a ${what} of number ${index}, which this version does not know.`);
}
