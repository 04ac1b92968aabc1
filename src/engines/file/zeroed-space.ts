/**
 * The unused space of a file, which must be all zeros: checks that it is, finds a whole frame in it, or overwrites it
 * with zeros.
 */

import type { OpenFile } from '../../seams/files.ts';
import { FRAME_HEAD_BYTES, FRAME_MAGIC, isWhole, readHead } from '../frame.ts';

const PIECE_BYTES = 1024 * 1024;

export const ZEROS = Buffer.alloc(PIECE_BYTES);

const isZero = (bytes: Buffer): boolean => bytes.equals(ZEROS.subarray(0, bytes.length));

/** Whether the file holds only zeros from `from` to its end. */
export async function isZeroed(file: OpenFile, from: number, size: number): Promise<boolean> {
  const piece = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, Math.max(size - from, 0)));
  for (let at = from; at < size; at += piece.length) {
    const count = await file.read(piece, 0, Math.min(piece.length, size - at), at);
    if (!isZero(piece.subarray(0, count))) return false;
  }
  return true;
}

/** The offset of a whole frame at or after `from`, or null. Frames start at multiples of eight. */
export async function findFrame(
  file: OpenFile,
  number: number,
  from: number,
  size: number,
): Promise<number | null> {
  if (await isZeroed(file, from, size)) return null;
  const start = Math.ceil(from / 8) * 8;
  const rest = Buffer.alloc(Math.max(0, size - start));
  await file.read(rest, 0, rest.length, start);
  for (let at = rest.indexOf(FRAME_MAGIC); at !== -1; at = rest.indexOf(FRAME_MAGIC, at + 1)) {
    if (at % 8 !== 0 || at + FRAME_HEAD_BYTES > rest.length) continue;
    const head = readHead(rest, at);
    if (head === null || head.file !== number || head.recordsEnd > rest.length) continue;
    if (isWhole(rest, head)) return start + at;
  }
  return null;
}

/** Overwrites everything that is not zero from `from` on, then syncs, the size of the file included. */
export async function writeZeros(file: OpenFile, from: number, size: number): Promise<void> {
  const piece = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, Math.max(size - from, 0)));
  for (let at = from; at < size; at += piece.length) {
    const length = Math.min(piece.length, size - at);
    const count = await file.read(piece, 0, length, at);
    if (isZero(piece.subarray(0, count))) continue;
    const written = await file.write(ZEROS.subarray(0, length), at);
    if (written !== length) throw new Error(`Only ${written} of ${length} zeros were written.`);
  }
  await file.sync();
}
