/**
 * A checkpoint in the database: an image of the state as frames of kind image, chained like batches and numbered as
 * parts, followed by a frame of kind end. A row of `leasehold_checkpoint`, written last, makes them valid. Frames
 * without such a row belong to a checkpoint that was never finished.
 */

import type { Reading } from '../../seams/database.ts';
import { FILE_SPAN, KIND_IMAGE, KIND_IMAGE_END, wholeFrame } from '../frame.ts';
import type { FrameReader } from '../frame-reader.ts';
import type { Replay } from '../log.ts';
import { LogDamagedError } from '../log.ts';
import { framesOfParts } from './row-pages.ts';
import type { Tables } from './tables.ts';

/** Plain data, so that it can be sent to another thread. */
export interface Checkpoint {
  readonly firstPart: number;
  readonly lastPart: number;
  readonly bytes: number;
  /** Segments up to this number are covered. */
  readonly sealedThrough: number;
  /** The newest entry in it, and the state of the chain there. */
  readonly seq: number;
  readonly atMs: number;
  readonly epoch: number;
  readonly checksum: number;
}

export async function newestCheckpoint(reading: Reading, { checkpoint }: Tables): Promise<Checkpoint | null> {
  const [row] = await reading.query(
    `SELECT first_part, last_part, bytes, sealed_through, seq, at_ms, epoch, checksum
     FROM ${checkpoint} ORDER BY seq DESC, first_part DESC LIMIT 1`,
  );
  if (row === undefined) return null;
  const [firstPart, lastPart, bytes, sealedThrough, seq, atMs, epoch, checksum] = row.map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  return { firstPart, lastPart, bytes, sealedThrough, seq, atMs, epoch, checksum };
}

/** Replays the whole image and reports where its frames are. */
export async function replayCheckpoint(
  reading: Reading,
  tables: Tables,
  checkpoint: Checkpoint,
  reader: FrameReader,
  replay: Pick<Replay, 'image'>,
  onFrame: (at: number, bytes: number) => void = () => {},
): Promise<void> {
  const { firstPart, lastPart } = checkpoint;
  let previous = 0;
  let isEnded = false;
  for await (const page of framesOfParts(reading, tables, firstPart, lastPart)) {
    for (const { at, frame } of page) {
      const head = wholeFrame(frame, 0, Math.floor(at / FILE_SPAN));
      const isImage = head?.kind === KIND_IMAGE || head?.kind === KIND_IMAGE_END;
      if (head === null || !isImage || head.previous !== previous || isEnded) {
        throw new LogDamagedError(tables.log, at, 'a frame of the checkpoint is not readable');
      }
      previous = head.checksum;
      onFrame(at, frame.length);
      isEnded = head.kind === KIND_IMAGE_END;
      if (!isEnded) reader.image(frame, head, at % FILE_SPAN, (record) => replay.image(record));
    }
  }
  if (!isEnded) throw new LogDamagedError(tables.log, firstPart * FILE_SPAN, 'the checkpoint has no end');
}
