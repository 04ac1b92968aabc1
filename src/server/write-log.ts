/** A part of the log as NDJSON, from one place to another, as fast as its reader takes it. */
import type { Timers } from '../authority/seams.ts';
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
  readonly inTurn?: InTurn;
}

/** Runs a job when its turn has come. */
export type InTurn = <T>(job: () => Promise<T>) => Promise<T>;

/** One job at a time, and a turn for everybody else after each: all readers of the log together take half of the time. */
export function oneAtATime(timers: Pick<Timers, 'soon'>): InTurn {
  let before: Promise<void> = Promise.resolve();
  return (job) => {
    const done = before.then(job);
    const turn = (): Promise<void> => new Promise((resolve) => timers.soon(resolve));
    before = done.then(turn, turn);
    return done;
  };
}

const AT_ONCE: InTurn = (job) => job();

/**
 * A part of the log, and the end: at most `limit` entries of those that are durable now. When compaction takes
 * away what is still to come, the connection is cut, so that nobody takes a part for the whole.
 */
export async function writeLog(
  response: StreamResponse,
  { log }: { readonly log: ReadableLog },
  { from, limit, filter = null, inTurn = AT_ONCE }: LogPart,
): Promise<void> {
  const { lastSeq } = log.position;
  let nextSeq = Math.max(1, from);
  let left = limit;
  while (left > 0 && nextSeq <= lastSeq && !response.destroyed) {
    const [fromSeq, linesMax] = [nextSeq, Math.min(left, SLICE_ENTRIES_MAX)];
    const slice = await inTurn(async () =>
      response.destroyed ? null : await readSlice(log, fromSeq, linesMax, filter),
    );
    if (response.destroyed) return;
    if (slice === null) {
      response.destroy();
      return;
    }
    left -= slice.lines.length;
    nextSeq = slice.nextSeq;
    const bytes = slice.bytes('ndjson');
    if (bytes.length > 0 && !response.write(bytes)) await drained(response);
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
