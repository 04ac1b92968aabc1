/**
 * Compaction: the last checkpoint and the sealed segments after it are replayed into a state of their own, and that
 * state is written out as the next checkpoint, with the opaque bytes it refers to. A plain function of a database; it
 * runs on a thread of its own (`compaction-thread.ts`), beside the log that goes on.
 *
 * It deletes nothing. What it leaves behind when it fails or dies are frames that no checkpoint counts as its own;
 * they are removed by the next writer.
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
import { OldRows } from './old-rows.ts';
import { batchesAbove } from './row-pages.ts';
import type { Tables } from './tables.ts';
import { tablesIn } from './tables.ts';

/** Plain data, so that it can be sent to another thread. */
export interface CompactionInput {
  readonly address: string;
  readonly schema: string;
  readonly writerEpoch: number;
  /** What to start from; null for a log that has no checkpoint. */
  readonly from: Checkpoint | null;
  /** What the new checkpoint stands for. */
  readonly head: CheckpointHead;
  readonly firstPart: number;
  readonly partsMax: number;
  readonly partBytesMax: number;
}

export interface CompactionOutput {
  readonly checkpoint: Checkpoint;
  /** How many bytes each of its parts has. */
  readonly partEnds: readonly number[];
  readonly oldAt: Float64Array;
  readonly newAt: Float64Array;
}

/** Far more than any piece of it takes: a compaction that hears nothing any more must fail, or there is never another. */
export const COMPACTION_STATEMENT_MS_MAX = 60_000;

export async function compact(
  connections: SqlConnections,
  input: CompactionInput,
  pace: Pace,
): Promise<CompactionOutput> {
  const tables = tablesIn(input.schema);
  const connection = await connections.connect({ statementMsMax: COMPACTION_STATEMENT_MS_MAX });
  try {
    const oldRows = new OldRows(connection, tables);
    const writer = new CheckpointWriter({ ...input, connection, tables, oldRows });
    // The state is in no variable, so that its memory can go before that of the relocations is needed.
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
    throw new Error(`Compaction came to seq ${state.lastSeq}, but the log says ${head.seq}.`);
  }
  return state;
}
