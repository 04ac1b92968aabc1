// Opaque bytes on their way into a checkpoint, from a log that is larger than the cache. The database is one endless
// row in which every byte encodes its own position.
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { arbitraryImageOf, IMAGE_KINDS } from '../../../test/support/arbitrary-records.ts';
import type { ImageRecord, LeaseImage, NameImage, TaskImage } from '../../core/image.ts';
import type { Opaque } from '../../core/opaque.ts';
import type { SqlConnection } from '../../seams/database.ts';
import { ByteWriter } from '../byte-writer.ts';
import { encodeImage } from '../image-encoder.ts';
import { SourceBlocks } from './source-blocks.ts';
import type { Tables } from './tables.ts';

const BLOCK = 256 * 1024;
const KEPT = 64;

let reads: number;
let rows: SourceBlocks;

beforeEach(() => {
  reads = 0;
  const connection: Pick<SqlConnection, 'query'> = {
    query: async (_, [start = 0, end = 0] = []) => {
      reads += 1;
      return [[String(start), bytesAt(Number(start), Number(end) - Number(start))]];
    },
  };
  rows = new SourceBlocks(connection as SqlConnection, { log: 'log' } as Tables);
});

function bytesAt(at: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let index = 0; index < length; index++) bytes[index] = (at + index) % 251;
  return bytes;
}

const opaque = (at: number, length = 10): Opaque => ({ bytes: null, at, length, crc: 0 });

const sample = (kind: ImageRecord['kind']) => fc.sample(arbitraryImageOf(kind), { seed: 1, numRuns: 100 });
const anyTask = sample('task')[0] as TaskImage;
const anyName = sample('name')[0] as NameImage;
const anyLease = sample('task').flatMap((record) => (record as TaskImage).leases)[0] as LeaseImage;

const task = (
  payload: Opaque,
  result: Opaque | null = null,
  late: readonly (Opaque | null)[] = [],
): ImageRecord => ({
  ...anyTask,
  payload,
  result,
  checkpoint: null,
  leases: late.map((lateResult) => ({ ...anyLease, lateResult })),
});

const name = (metadata: Opaque | null, value: Opaque | null): ImageRecord => ({
  ...anyName,
  metadata,
  object: value === null ? null : { value, version: 1, leaseSeq: 1, seq: 1 },
});

/** Makes ready for a record, as the writer of a checkpoint does, and reads what it refers to. */
async function carried(record: ImageRecord, ...opaques: readonly Opaque[]): Promise<void> {
  const missing = rows.missingFor(record);
  if (missing !== null) await rows.load(missing);
  for (const each of opaques) {
    expect(rows.read(each).equals(bytesAt(each.at, each.length)), `the bytes at ${each.at}`).toBe(true);
  }
}

describe('old bytes', () => {
  it('are there for everything a record refers to', async () => {
    const [a, b, c, d] = [opaque(5), opaque(3 * BLOCK + 7), opaque(9 * BLOCK), opaque(20 * BLOCK + 1)];
    await carried(task(a, b, [null, c, d]), a, b, c, d);
    const [metadata, value] = [opaque(40 * BLOCK), opaque(50 * BLOCK)];
    await carried(name(metadata, value), metadata, value);
    await carried(name(null, null));
  });

  it.each(IMAGE_KINDS)('are there for whatever a record of the kind %s refers to', async (kind) => {
    let block = 0;
    // Each in a block of its own, which nothing else has loaded.
    const place = (each: Opaque): number => {
      block += 1;
      each.at = block * BLOCK;
      return 0;
    };
    await fc.assert(
      fc.asyncProperty(arbitraryImageOf(kind), async (record) => {
        encodeImage(new ByteWriter(), { take: place }, record);
        const missing = rows.missingFor(record);
        if (missing !== null) await rows.load(missing);
        const take = (each: Opaque): number => (each.length === 0 ? 0 : rows.read(each).length);
        encodeImage(new ByteWriter(), { take }, record);
      }),
    );
  });

  it('are whole where they go from one block into the next, and the one after', async () => {
    const long = opaque(BLOCK - 3, 2 * BLOCK);
    await carried(task(long), long);
    const last = opaque(8 * BLOCK - 10);
    await carried(task(last), last);
  });

  it('are read once while records lie side by side', async () => {
    for (let index = 0; index < 1_000; index++) await carried(task(opaque(100 * index)), opaque(100 * index));
    expect(reads).toBe(1);
  });

  it('are kept for the record that needs them, though others were needed more lately', async () => {
    for (let block = 0; block < KEPT; block++) await carried(task(opaque(block * BLOCK)));
    const [oldest, newest] = [opaque(0), opaque(KEPT * BLOCK)];
    await carried(task(oldest, newest), oldest, newest);
  });

  it('are forgotten in the end, those first that were needed longest ago', async () => {
    for (let block = 0; block < KEPT; block++) await carried(task(opaque(block * BLOCK)));
    await carried(task(opaque(0)));
    await carried(task(opaque(KEPT * BLOCK)));
    expect(rows.missingFor(task(opaque(0)))).toBeNull();
    expect(rows.missingFor(task(opaque(BLOCK)))).toEqual(new Set([1]));
  });
});
