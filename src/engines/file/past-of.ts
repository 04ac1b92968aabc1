/** Which files of a data directory hold its past, as plain data for the thread that replays it. */
import type { FilePast, LogPast, PastBase } from '../past.ts';
import type { CheckpointOnDisk } from './checkpoint.ts';
import type { Segment } from './segment.ts';

const BEGINNING: PastBase = { seq: 0, atMs: 0, parts: [] };

/** `older`: the bases before the newest checkpoint, the oldest first. */
export function pastOf(
  dir: string,
  older: readonly PastBase[],
  checkpoint: CheckpointOnDisk | null,
  segments: readonly Segment[],
): LogPast<FilePast> {
  const used = segments.filter(({ firstSeq }) => firstSeq !== 0);
  return {
    bases: [...older, baseOf(checkpoint)] as unknown as LogPast['bases'],
    firstAtMs: used[0]?.firstAtMs ?? null,
    source: {
      kind: 'file',
      dir,
      segments: used.map(({ number, head, durable, endsEarly }) => ({
        number,
        seq: head!.seq,
        end: endsEarly ? null : durable,
      })),
    },
  };
}

export function baseOf(checkpoint: CheckpointOnDisk | null): PastBase {
  if (checkpoint === null) return BEGINNING;
  const { head, parts } = checkpoint;
  return { seq: head.seq, atMs: head.atMs, parts: parts.map(({ number }) => number) };
}
