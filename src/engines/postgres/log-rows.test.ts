// A reader of the rows while its own writer appends. The database answers when the test says so.
import { crc32 } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import { ManualWorld } from '../../../test/support/manual-world.ts';
import type { SqlConnection, SqlRow } from '../../seams/database.ts';
import { FILE_SPAN } from '../frame.ts';
import { LogCompactedError } from '../log.ts';
import type { Checkpoint } from './checkpoint.ts';
import { LogRows } from './log-rows.ts';
import { ReadingConnection } from './reading-connection.ts';
import { tablesIn } from './tables.ts';

const FRAME = Buffer.alloc(100);
const CHECKPOINT: Checkpoint = {
  firstPart: 5,
  lastPart: 6,
  bytes: 150,
  sealedThrough: 0,
  seq: 0,
  atMs: 0,
  epoch: 1,
  checksum: 0,
};

interface Asked {
  readonly text: string;
  readonly values: readonly unknown[];
  readonly answer: (rows: readonly SqlRow[]) => void;
}

let world: ManualWorld;
let asked: Asked[];
let rows: LogRows;

beforeEach(() => {
  world = new ManualWorld();
  asked = [];
  const connection: Pick<SqlConnection, 'query' | 'lost'> = {
    query: (text, values = []) => new Promise((answer) => asked.push({ text, values, answer })),
    lost: new Promise(() => undefined),
  };
  const connections = { connect: async () => connection as SqlConnection, address: '' };
  const reading = new ReadingConnection(connections, world.timers);
  rows = new LogRows({ reading, tables: tablesIn('leasehold'), recentBytesMax: 0, cacheBytesMax: 1 });
});

/** The writer appends; the checksum tells one batch from another. */
function append(seq: number): void {
  const chain = { checksum: 1_000 + seq, lastSeq: seq, lastAtMs: seq, epoch: 1 };
  rows.note(FILE_SPAN + seq * FRAME.length, FRAME, chain, seq);
}

const rowOf = ({ firstPart, lastPart, bytes, sealedThrough, seq, atMs, epoch, checksum }: Checkpoint) =>
  [firstPart, lastPart, bytes, sealedThrough, seq, atMs, epoch, checksum] as const;

describe('whether the past is still the same', () => {
  it('is asked of one batch, and not of the place of one and the checksum of another', async () => {
    append(1);
    const same = rows.assertSamePast();
    await world.settle();
    append(2);
    asked[0]!.answer([]);
    await world.settle();
    expect(asked[1]!.values).toEqual([FILE_SPAN + FRAME.length, 1_001]);
    asked[1]!.answer([[1]]);
    await world.finish(same);
  });

  it.each<[newest: string, found: readonly SqlRow[]]>([
    ['the checkpoint before', []],
    ['the new one', [rowOf(CHECKPOINT)]],
  ])('is answered with yes while a compaction of our own is adopted, if it finds %s', async (_, found) => {
    const same = rows.assertSamePast();
    await world.settle();
    rows.prepare(CHECKPOINT, [100, 50]);
    rows.adopt(CHECKPOINT, new Set());
    asked[0]!.answer(found);
    await world.finish(same);
  });

  it('is answered with no when the checkpoint is that of another', async () => {
    const same = expect(rows.assertSamePast()).rejects.toThrow(LogCompactedError);
    await world.settle();
    asked[0]!.answer([rowOf(CHECKPOINT)]);
    await same;
  });
});

describe('bytes in a checkpoint', () => {
  const bytes = Buffer.from('0123456789');
  /** The last ten bytes of the last part; whole blocks are read, and this one goes beyond its end. */
  const reference = { at: 6 * FILE_SPAN + 40, length: 10, crc: crc32(bytes), bytes: null };
  const part = Buffer.concat([Buffer.alloc(40), bytes]);

  /** The database finds these rows when it is asked for the bytes. */
  async function read(found: readonly SqlRow[]): Promise<{ answer: Promise<Uint8Array | null> }> {
    rows.prepare(CHECKPOINT, [100, 50]);
    const answer = rows.read(reference) as Promise<Uint8Array | null>;
    await world.settle();
    asked[0]!.answer(found);
    await world.settle();
    return { answer };
  }

  it('are read to the end of its part without any other question', async () => {
    const { answer } = await read([[6 * FILE_SPAN, part]]);
    expect(asked).toHaveLength(1);
    expect(Buffer.from((await answer)!)).toEqual(bytes);
  });

  it('that are not there are gone only if the checkpoint is another', async () => {
    const { answer } = await read([]);
    const told = expect(answer).rejects.toThrow(LogCompactedError);
    expect(asked).toHaveLength(2);
    asked[1]!.answer([rowOf({ ...CHECKPOINT, firstPart: 9, lastPart: 9 })]);
    await told;
  });
});
