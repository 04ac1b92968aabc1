/** References to opaque bytes, one a row. */
import { describe, expect, it } from 'vitest';
import { OpaqueColumn } from './opaque-column.ts';

function createColumn(): OpaqueColumn {
  const column = new OpaqueColumn();
  column.reserve(5);
  return column;
}

describe('a column of opaque references', () => {
  it('has none until one is set, and none again after null', () => {
    const column = createColumn();
    expect([column.has(1), column.get(1)]).toEqual([false, null]);
    column.set(1, { bytes: new Uint8Array(3), at: 0, length: 3, crc: 0xffff_ffff });
    expect(column.get(1)).toEqual({ bytes: null, at: 0, length: 3, crc: 0xffff_ffff });
    column.set(1, null);
    expect([column.has(1), column.get(1)]).toEqual([false, null]);
  });

  it('keeps the place and never the bytes, however far into the log', () => {
    const column = createColumn();
    column.set(2, { bytes: new Uint8Array(9), at: 2 ** 50, length: 9, crc: 1 });
    expect(column.get(2)).toEqual({ bytes: null, at: 2 ** 50, length: 9, crc: 1 });
  });

  it('follows the bytes when the log moves them, and leaves rows without any alone', () => {
    const column = createColumn();
    column.set(1, { bytes: null, at: 10, length: 3, crc: 4 });
    column.relocate(1, (at) => at + 90);
    column.relocate(2, () => 7);
    expect(column.get(1)).toEqual({ bytes: null, at: 100, length: 3, crc: 4 });
    expect(column.get(2)).toBeNull();
  });
});
