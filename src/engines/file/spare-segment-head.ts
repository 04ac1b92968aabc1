/**
 * The head of a spare segment: how far the log was when the spare was created. It occupies the place of the segment's
 * own head, in the format of `file-head.ts`, and the first frame overwrites it. It reveals a segment that is missing
 * between the log and its spare.
 *
 * It is optional: a spare of zeros, as older versions create it, can be written to as well. A version that does not
 * know this head treats it as a torn write and zeroes it.
 */
import { decodeFileHead, encodeFileHead } from './file-head.ts';

export interface SpareHead {
  readonly number: number;
  /** The number of the segment that was in use. */
  readonly after: number;
  /** The `seq` that was next: everything before it was durable. */
  readonly seq: number;
}

const NOTHING = { previous: 0, epoch: 0, atMs: 0, firstPart: 0 };

export const encodeSpareHead = ({ number, after, seq }: SpareHead): Buffer =>
  encodeFileHead('spare', { ...NOTHING, number, seq, sealedThrough: after });

/** Null when the bytes are not such a head, or belong to another file. */
export function decodeSpareHead(number: number, name: string, bytes: Buffer): SpareHead | null {
  const head = decodeFileHead('spare', name, bytes);
  if (head === null || head.number !== number) return null;
  return { number, after: head.sealedThrough, seq: head.seq };
}
