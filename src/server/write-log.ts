/** A part of the log as NDJSON, from one place to another, as fast as its reader takes it. */
import { type LineFilter, type ReadableLog, readSlice, SLICE_ENTRIES_MAX } from './follow-slices.ts';

/** What a stream is written to: the part of a ServerResponse that is needed for it. */
export interface StreamResponse {
  readonly destroyed: boolean;
  /** Bytes that were written and have not left yet. */
  readonly writableLength: number;
  /** False: wait for 'drain' before the next one. */
  write(bytes: Uint8Array): boolean;
  end(): unknown;
  destroy(): unknown;
  on(event: 'drain' | 'close', call: () => void): unknown;
  off(event: 'drain' | 'close', call: () => void): unknown;
}

export interface LogPart {
  readonly from: number;
  readonly limit: number;
  readonly filter?: LineFilter | null;
  /** Lets others have their turn: a filter may find nothing in a whole log, and then nothing else would. */
  readonly turn?: () => Promise<void>;
}

/**
 * A part of the log, and the end: at most `limit` entries of those that are durable now. When compaction takes
 * away what is still to come, the connection is cut, so that nobody takes a part for the whole.
 */
export async function writeLog(
  response: StreamResponse,
  { log }: { readonly log: ReadableLog },
  { from, limit, filter = null, turn }: LogPart,
): Promise<void> {
  const { lastSeq } = log.position;
  let nextSeq = Math.max(1, from);
  let left = limit;
  while (left > 0 && nextSeq <= lastSeq && !response.destroyed) {
    const slice = await readSlice(log, nextSeq, Math.min(left, SLICE_ENTRIES_MAX), filter);
    if (response.destroyed) return;
    if (slice === null) {
      response.destroy();
      return;
    }
    left -= slice.lines.length;
    nextSeq = slice.nextSeq;
    const bytes = slice.bytes('ndjson');
    if (bytes.length > 0 && !response.write(bytes)) await drained(response);
    else if (filter !== null) await turn?.();
  }
  if (!response.destroyed) response.end();
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
