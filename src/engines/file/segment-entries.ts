/** Reads the entries of one segment from disk, frame by frame, in pieces small enough not to block the event loop. */
import { KIND_BATCH } from '../frame.ts';
import type { FrameReader } from '../frame-reader.ts';
import type { LoggedEntry } from '../log.ts';
import { LogDamagedError } from '../log.ts';
import { FrameScan, MORE, ScanMemory } from './frame-scan.ts';
import type { Segment } from './segment.ts';

const PIECE_BYTES = 256 * 1024;

/** Batches from the one that holds `fromSeq` (or slightly before) to the current end of the segment. */
export async function* entriesOf(
  segment: Segment,
  reader: FrameReader,
  fromSeq: number,
): AsyncGenerator<LoggedEntry[]> {
  const end = segment.durable;
  const from = segment.offsetBelow(fromSeq);
  const scan = new FrameScan(segment.file!, segment.number, from, end, new ScanMemory(), PIECE_BYTES);
  try {
    while (scan.offset < end) {
      const head = scan.frame(scan.at);
      if (head === MORE) {
        await scan.fill();
        continue;
      }
      if (head === null && segment.endsEarly) return;
      if (head === null) throw new LogDamagedError(segment.path, scan.offset, 'the frame is not readable');
      if (head.kind === KIND_BATCH && head.firstSeq + head.count > fromSeq) {
        const found: LoggedEntry[] = [];
        reader.entries(scan.buffer, head, scan.shift, (entry, seq, atMs) => found.push({ seq, atMs, entry }));
        yield found;
      }
      scan.at += head.bytes;
    }
  } finally {
    await scan.close();
  }
}
