/**
 * Compaction: replays the last checkpoint and the sealed segments after it into a separate state, and writes that
 * state as the next checkpoint, with the opaque bytes it refers to. It runs on its own thread
 * (`compaction-thread.ts`) while the log continues.
 *
 * It deletes nothing. A failed compaction leaves frames that belong to no checkpoint; the next writer removes them.
 */
import { apply } from '../../core/apply.ts';
import { imageOf, restoreImage } from '../../core/image-io.ts';
import type { State } from '../../core/state.ts';
import { createState } from '../../core/state.ts';
import type { SqlConnection, SqlConnections } from '../../seams/database.ts';
import { FILE_SPAN, wholeFrame } from '../frame.ts';
import { FrameReader } from '../frame-reader.ts';
import { LogDamagedError, type Replay } from '../log.ts';
import type { Pace } from '../pace.ts';
import type { Checkpoint } from './checkpoint.ts';
import { replayCheckpoint } from './checkpoint.ts';
import type { CheckpointHead } from './checkpoint-writer.ts';
import { CheckpointWriter } from './checkpoint-writer.ts';
import { batchesAbove } from './row-pages.ts';
import { SourceBlocks } from './source-blocks.ts';
import type { Tables } from './tables.ts';
import { tablesIn } from './tables.ts';

/** Plain data, so that it can be sent to another thread. */
export interface CompactionInput {
  readonly address: string;
  readonly schema: string;
  readonly writerEpoch: number;
  /** The checkpoint to start from; null for a log without one. */
  readonly from: Checkpoint | null;
  /** What the new checkpoint covers. */
  readonly head: CheckpointHead;
  readonly firstPart: number;
  readonly partsMax: number;
  readonly partBytesMax: number;
}

export interface CompactionOutput {
  readonly checkpoint: Checkpoint;
  /** The size of each part. */
  readonly partEnds: readonly number[];
  readonly oldAt: Float64Array;
  readonly newAt: Float64Array;
}

/**
 * Far more than any statement takes. A compaction that gets no answer must fail, or there would never be another one.
 */
export const COMPACTION_STATEMENT_MS_MAX = 60_000;

export async function compact(
  connections: SqlConnections,
  input: CompactionInput,
  pace: Pace,
): Promise<CompactionOutput> {
  const tables = tablesIn(input.schema);
  const connection = await connections.connect({ statementMsMax: COMPACTION_STATEMENT_MS_MAX });
  try {
    const sourceBlocks = new SourceBlocks(connection, tables);
    const writer = new CheckpointWriter({ ...input, connection, tables, sourceBlocks });
    // No variable holds the state, so that it can be collected before the relocations need memory.
    const records = pace.each(imageOf(await replayed(connection, tables, input, pace)));
    const checkpoint = await writer.write(records, input.head);
    return { checkpoint, partEnds: writer.partEnds, ...writer.relocations.sorted() };
  } finally {
    await connection.close();
  }
}

async function replayed(
  connection: SqlConnection,
  tables: Tables,
  { from, head }: CompactionInput,
  pace: Pace,
): Promise<State> {
  const state = createState();
  const reader = new FrameReader();
  let checksum = 0;
  if (from !== null) {
    const replay: Pick<Replay, 'image'> = {
      image(record) {
        pace.step();
        restoreImage(state, record);
      },
    };
    await replayCheckpoint(connection, tables, from, reader, replay);
    checksum = from.checksum;
  }
  read: for await (const page of batchesAbove(connection, tables, from?.seq ?? 0)) {
    for (const { at, frame } of page) {
      const number = Math.floor(at / FILE_SPAN);
      if (number > head.sealedThrough) break read;
      const found = wholeFrame(frame, 0, number);
      if (found === null || found.previous !== checksum) {
        throw new LogDamagedError(tables.log, at, 'a frame is not readable');
      }
      checksum = found.checksum;
      reader.entries(frame, found, at % FILE_SPAN, (entry, seq, atMs) => {
        pace.step();
        apply(state, entry, seq, atMs);
      });
    }
  }
  if (state.lastSeq !== head.seq || checksum !== head.checksum) {
    throw new Error(`Compaction replayed up to seq ${state.lastSeq}, but the log is at seq ${head.seq}.`);
  }
  return state;
}
