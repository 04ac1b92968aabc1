/**
 * Questions about the part of a file where nothing should be: is it all zeros, is there a whole frame in it
 * after all, and: make it zeros again.
 */

import type { OpenFile } from '../../seams/files.ts';
import { FRAME_HEAD_BYTES, FRAME_MAGIC, isWhole, readHead } from '../frame.ts';

const PIECE_BYTES = 1024 * 1024;

export const ZEROS = Buffer.alloc(PIECE_BYTES);

const isZero = (bytes: Buffer): boolean => bytes.equals(ZEROS.subarray(0, bytes.length));

/** Whether the file holds nothing but zeros from `from` on. */
export async function isBlank(file: OpenFile, from: number, size: number): Promise<boolean> {
  const piece = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, Math.max(size - from, 0)));
  for (let at = from; at < size; at += piece.length) {
    const count = await file.read(piece, 0, Math.min(piece.length, size - at), at);
    if (!isZero(piece.subarray(0, count))) return false;
  }
  return true;
}

/** The offset of a whole frame somewhere from `from` on, or null. Frames begin at multiples of eight. */
export async function findFrame(
  file: OpenFile,
  number: number,
  from: number,
  size: number,
): Promise<number | null> {
  if (await isBlank(file, from, size)) return null;
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

/** Writes zeros wherever there are none from `from` on, and syncs; a file that is blank is left alone. */
export async function blankOut(file: OpenFile, from: number, size: number): Promise<void> {
  const piece = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, Math.max(size - from, 0)));
  let touched = false;
  for (let at = from; at < size; at += piece.length) {
    const length = Math.min(piece.length, size - at);
    const count = await file.read(piece, 0, length, at);
    if (isZero(piece.subarray(0, count))) continue;
    const written = await file.write(ZEROS.subarray(0, length), at);
    if (written !== length) throw new Error(`Only ${written} of ${length} zeros were written.`);
    touched = true;
  }
  if (touched) await file.sync();
}
