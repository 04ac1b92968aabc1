// What COPY sends, however the driver cuts it into pieces.
import { describe, expect, it } from 'vitest';
import { CopyQuery } from './pg-copy.ts';

const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1');

function sent(rows: readonly (readonly [number, number, string])[], extension = ''): Buffer {
  const pieces = [SIGNATURE, i32(0), i32(extension.length), Buffer.from(extension)];
  for (const [key, at, text] of rows) {
    pieces.push(i16(3), i32(8), i64(key), i32(8), i64(at), i32(text.length), Buffer.from(text));
  }
  return Buffer.concat([...pieces, i16(-1)]);
}

const numberOf = (bytes: number, write: (into: Buffer) => void): Buffer => {
  const into = Buffer.alloc(bytes);
  write(into);
  return into;
};
const i16 = (value: number): Buffer => numberOf(2, (into) => into.writeInt16BE(value));
const i32 = (value: number): Buffer => numberOf(4, (into) => into.writeInt32BE(value));
const i64 = (value: number): Buffer => numberOf(8, (into) => into.writeBigInt64BE(BigInt(value)));

async function read(chunks: readonly Buffer[]): Promise<unknown> {
  const query = new CopyQuery('SELECT 1');
  for (const chunk of chunks) {
    // The driver's own memory, which it uses again at once.
    const lent = Buffer.from(chunk);
    query.handleCopyData({ chunk: lent });
    lent.fill(0);
  }
  query.handleReadyForQuery();
  return (await query.done).map(({ numbers, bytes }) => [...numbers, bytes.toString('utf8')]);
}

describe('a binary copy', () => {
  const rows = [
    [1, 2 ** 32, 'first'],
    [2 ** 52, -7, ''],
    [3, 0, 'x'.repeat(300)],
  ] as const;

  it('is read whole', async () => {
    expect(await read([sent(rows)])).toEqual(rows);
    expect(await read([sent([])])).toEqual([]);
    expect(await read([sent(rows, 'an unknown extension')])).toEqual(rows);
  });

  it('is read in pieces, wherever they were cut', async () => {
    const all = sent(rows, 'an extension');
    for (let cut = 1; cut < all.length; cut++) {
      expect(await read([all.subarray(0, cut), all.subarray(cut)])).toEqual(rows);
    }
    expect(await read(Array.from(all, (byte) => Buffer.from([byte])))).toEqual(rows);
  });

  it('rejects with what the database says', async () => {
    const query = new CopyQuery('SELECT 1');
    query.handleError(new Error('no such table'));
    await expect(query.done).rejects.toThrow('no such table');
  });
});
