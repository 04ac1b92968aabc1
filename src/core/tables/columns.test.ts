/** Columns: numbers by row, in chunks. */
import { describe, expect, it } from 'vitest';
import { CHUNK_SHIFT, Float64Column, Int32Column, Uint8Column, Uint32Column } from './columns.ts';

const CHUNK = 2 ** CHUNK_SHIFT;

describe('a column', () => {
  it.each([
    ['Float64Column', new Float64Column(), 2 ** 53 - 1],
    ['Int32Column', new Int32Column(), -(2 ** 31)],
    ['Uint32Column', new Uint32Column(), 2 ** 32 - 1],
    ['Uint8Column', new Uint8Column(), 255],
  ] as const)(
    '%s keeps the largest number it is made for, on both sides of a chunk',
    (_, column, largest) => {
      column.reserve(CHUNK);
      for (const row of [0, CHUNK - 1, CHUNK]) column.set(row, largest);
      expect([0, CHUNK - 1, CHUNK].map((row) => column.get(row))).toEqual([largest, largest, largest]);
    },
  );

  it('holds zero in rows that were never written', () => {
    const column = new Float64Column();
    column.reserve(3 * CHUNK);
    column.set(CHUNK, 7);
    expect([CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK].map((row) => column.get(row))).toEqual([0, 7, 0, 0]);
  });

  it('keeps what it has when it grows', () => {
    const column = new Int32Column(2);
    for (let row = 0; row < 40; row++) {
      column.reserve(row);
      column.set(row, row * row);
    }
    expect(Array.from({ length: 40 }, (_, row) => column.get(row))).toEqual(
      Array.from({ length: 40 }, (_, row) => row * row),
    );
  });
});
