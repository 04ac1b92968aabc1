/**
 * Reads frames from their rows in order, a page at a time. A page is limited by bytes, and the next page is fetched
 * while the caller works on the current one.
 */

import type { BytesRow, Reading } from '../../seams/database.ts';
import { FILE_SPAN } from '../frame.ts';
import type { Tables } from './tables.ts';

export interface FrameRow {
  /** The position of the frame. */
  readonly at: number;
  readonly frame: Buffer;
}

const ROWS_MAX = 10_000;
const PAGE_BYTES = 2 * 1024 * 1024;

/** Batches whose newest entry is above `seq`, in order. */
export function batchesAbove(
  reading: Reading,
  { log }: Tables,
  seq: number,
  pageBytes = PAGE_BYTES,
): AsyncGenerator<readonly FrameRow[]> {
  return pages(reading, (after) => pageText(log, 'last_seq', `last_seq > ${after}`, pageBytes), seq);
}

/** The frames of a checkpoint, in order. */
export function framesOfParts(
  reading: Reading,
  { log }: Tables,
  firstPart: number,
  lastPart: number,
): AsyncGenerator<readonly FrameRow[]> {
  const end = (lastPart + 1) * FILE_SPAN;
  const text = (after: number) => pageText(log, 'at', `at > ${after} AND at < ${end}`, PAGE_BYTES);
  return pages(reading, text, firstPart * FILE_SPAN - 1);
}

const pageText = (log: string, key: string, where: string, pageBytes: number): string =>
  `SELECT key, at, frame FROM (
     SELECT ${key} AS key, at, frame, sum(bytes) OVER (ORDER BY ${key}) - bytes AS before
     FROM ${log} WHERE ${where} ORDER BY ${key} LIMIT ${ROWS_MAX}
   ) AS page WHERE before < ${pageBytes} ORDER BY key`;

async function* pages(
  reading: Reading,
  text: (after: number) => string,
  from: number,
): AsyncGenerator<readonly FrameRow[]> {
  let next: Promise<readonly BytesRow[]> | null = reading.queryBytes(text(from));
  try {
    for (;;) {
      const rows: readonly BytesRow[] = await next;
      next = null;
      const last = rows.at(-1);
      if (last === undefined) return;
      next = reading.queryBytes(text(last.numbers[0]!));
      // The consumer that asks for the page gets its failure. Without a consumer it does not matter.
      next.catch(() => {});
      yield rows.map(({ numbers, bytes }) => ({ at: numbers[1]!, frame: bytes }));
    }
  } finally {
    await next?.catch(() => {});
  }
}
