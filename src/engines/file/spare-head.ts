/**
 * What a spare segment says while nothing is written to it: how far the log was when the spare was made. It stands
 * where the head of the segment will be, in the form of `file-head.ts`, and the first frame is written over it. So a
 * segment that goes missing between the log and its spare is missed.
 *
 * Nothing depends on it: a spare that holds only zeros, as older versions made them, is as good to write to. And a
 * version that does not know it takes it for the rest of a torn write, and makes it zeros again.
 */
import { decodeFileHead, encodeFileHead } from './file-head.ts';

export interface SpareHead {
  readonly number: number;
  /** The number of the segment that was in use. */
  readonly after: number;
  /** The `seq` that was to come next: everything before it was durable. */
  readonly seq: number;
}

const NOTHING = { previous: 0, epoch: 0, atMs: 0, firstPart: 0 };

export const encodeSpareHead = ({ number, after, seq }: SpareHead): Buffer =>
  encodeFileHead('spare', { ...NOTHING, number, seq, sealedThrough: after });

/** Null when these bytes are none, or were written for another file. */
export function decodeSpareHead(number: number, name: string, bytes: Buffer): SpareHead | null {
  const head = decodeFileHead('spare', name, bytes);
  if (head === null || head.number !== number) return null;
  return { number, after: head.sealedThrough, seq: head.seq };
}
