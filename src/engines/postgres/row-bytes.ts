/** Reads bytes by position out of the rows that contain them, as if the rows were files. */
import type { Reading } from '../../seams/database.ts';
import type { Tables } from './tables.ts';

/**
 * Reads the bytes from `start` to `end`, both in the same segment or part, into `into`. Returns how many were found
 * from the beginning without a gap.
 */
export async function readRows(
  reading: Reading,
  { log }: Tables,
  start: number,
  end: number,
  into: Uint8Array,
): Promise<number> {
  const rows = await reading.query(
    `SELECT at, substring(frame FROM (greatest($1::bigint - at, 0) + 1)::integer
              FOR (least(at + bytes, $2::bigint) - greatest(at, $1::bigint))::integer)
     FROM ${log}
     WHERE at >= coalesce((SELECT max(at) FROM ${log} WHERE at <= $1), 0) AND at < $2 AND at + bytes > $1
     ORDER BY at`,
    [start, end],
  );
  let count = 0;
  for (const [at, piece] of rows) {
    const offset = Math.max(0, Number(at) - start);
    if (offset !== count) break;
    into.set(piece as Buffer, offset);
    count += (piece as Buffer).length;
  }
  return count;
}
