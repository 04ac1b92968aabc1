/**
 * A snapshot of the durable bytes of a running log, to be copied while the log continues. Durable bytes never change,
 * and later appends come after them. The snapshot keeps the open descriptors: a file that a compaction deletes loses
 * its name but not its bytes. A slow reader delays nothing; it only costs disk space until it releases the snapshot.
 *
 * After the newest frame the copy gets its own commit mark, because that frame was durable: damage to it can then be
 * told from a torn write in the copy too.
 */

import type { Chain } from '../chain.ts';
import { FrameBuilder, KIND_MARK } from '../frame.ts';
import type { LogSnapshot, SnapshotFile } from '../log.ts';
import type { CheckpointOnDisk } from './checkpoint.ts';
import type { LogFile } from './log-file.ts';
import type { Segment } from './segment.ts';

const PIECE_BYTES = 256 * 1024;
const NOTHING = Buffer.alloc(0);

/** The chain must end at the durable end of the newest segment. */
export function snapshotOf(
  checkpoint: CheckpointOnDisk | null,
  segments: readonly Segment[],
  chain: Chain,
): LogSnapshot {
  const newest = segments.at(-1)!;
  const mark = newest.durable === 0 ? NOTHING : markBehind(newest, chain);
  const held: readonly LogFile[] = [...segments.toReversed(), ...(checkpoint?.parts.toReversed() ?? [])];
  for (const file of held) file.retain();
  let isHeld = true;
  return {
    seq: chain.lastSeq,
    epoch: chain.epoch,
    atMs: chain.lastAtMs,
    files: held.map((file) => snapshotFile(file, file === newest ? mark : NOTHING)),
    async release() {
      if (!isHeld) return;
      isHeld = false;
      for (const file of held) await file.release();
    },
  };
}

function markBehind({ number, durable }: Segment, { epoch, lastSeq, lastAtMs, checksum }: Chain): Buffer {
  const builder = new FrameBuilder();
  builder.begin(number, durable, null);
  return builder.finish(KIND_MARK, epoch, lastSeq + 1, lastAtMs, checksum);
}

function snapshotFile(source: LogFile, tail: Buffer): SnapshotFile {
  const { name, durable } = source;
  return {
    name,
    bytes: durable + tail.length,
    async *read() {
      if (source.file === null) throw new Error(`${name} can no longer be read: its snapshot was released.`);
      // Retained again, so that a release during a read does not close the file.
      source.retain();
      try {
        for (let at = 0; at < durable; at += PIECE_BYTES) {
          const piece = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, durable - at));
          const count = await source.file.read(piece, 0, piece.length, at);
          if (count !== piece.length) throw new Error(`${name} ends before offset ${durable}.`);
          yield piece;
        }
        if (tail.length > 0) yield Buffer.from(tail);
      } finally {
        await source.release();
      }
    },
  };
}
