/** Streams a range of the log as NDJSON, as fast as the client reads. */
import { type LineFilter, type ReadableLog, readSlice, SLICE_ENTRIES_MAX } from './follow-slices.ts';
import type { LongReads, Receiver } from './long-reads.ts';

/** The part of a ServerResponse that a stream needs. */
export interface StreamResponse extends Receiver {
  /** Bytes that were written and not yet handed to the kernel. */
  readonly writableLength: number;
  /** False: wait for 'drain' before the next one. */
  write(bytes: Uint8Array): boolean;
  end(): unknown;
  destroy(): unknown;
}

export interface LogPart {
  readonly from: number;
  readonly limit: number;
  readonly filter?: LineFilter | null;
}

/**
 * Sends at most `limit` entries that are durable now, then ends. If compaction removes entries that are not sent yet, the
 * connection is cut, so that no client takes a part for the whole.
 */
export async function streamLog(
  response: StreamResponse,
  { log }: { readonly log: ReadableLog },
  { from, limit, filter = null }: LogPart,
  reads: LongReads,
): Promise<void> {
  const { lastSeq } = log.position;
  let nextSeq = Math.max(1, from);
  let left = limit;
  while (left > 0 && nextSeq <= lastSeq && !response.destroyed) {
    const [fromSeq, linesMax] = [nextSeq, Math.min(left, SLICE_ENTRIES_MAX)];
    const isReady = await reads.inTurn('slice', async () => {
      if (response.destroyed) return true;
      const slice = await readSlice(log, fromSeq, linesMax, filter);
      if (slice === null || response.destroyed) {
        response.destroy();
        return true;
      }
      left -= slice.lines.length;
      nextSeq = slice.nextSeq;
      return writeCounted(response, slice.bytes('ndjson', 0, filter), reads);
    });
    if (!isReady) await drained(response);
  }
  if (!response.destroyed) response.end();
}

/** Writes and counts the bytes as unsent; false: wait for 'drain'. */
export function writeCounted(
  response: StreamResponse,
  bytes: Uint8Array,
  reads: Pick<LongReads, 'sending'>,
): boolean {
  if (bytes.length === 0 || response.write(bytes)) return true;
  reads.sending(response, bytes.length);
  return false;
}

export function drained(response: StreamResponse): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      response.off('drain', go);
      response.off('close', go);
      resolve();
    };
    response.on('drain', go);
    response.on('close', go);
  });
}
