/** Sparse columns: rows without a value take no side row, and a side row that is used again holds nothing. */
import { describe, expect, it } from 'vitest';
import { Float64Column } from './columns.ts';
import { SideRows, SparseColumn } from './side-rows.ts';
import { StringSlab, TextColumn } from './text-column.ts';

function createTable() {
  const strings = new StringSlab();
  const side = new SideRows();
  const number = new SparseColumn(side, new Float64Column(), 0);
  const text = new SparseColumn<number, string | null, TextColumn>(side, new TextColumn(strings), null);
  side.reserve(100_000);
  return { strings, side, number, text };
}

describe('sparse columns', () => {
  it('give nothing for a row that was never set, and take no side row for nothing', () => {
    const { side, number, text } = createTable();
    number.set(7, 0);
    text.set(7, null);
    expect([number.get(7), text.get(7), side.rows.used]).toEqual([0, null, 0]);
  });

  it('share one side row', () => {
    const { side, number, text } = createTable();
    number.set(7, 1.5);
    text.set(7, 'seven');
    text.set(8, 'eight');
    expect([number.get(7), text.get(7), number.get(8), text.get(8)]).toEqual([1.5, 'seven', 0, 'eight']);
    text.set(7, null);
    expect([number.get(7), text.get(7), side.rows.live]).toEqual([1.5, null, 2]);
  });

  it('leave nothing behind for the next row', () => {
    const { strings, side, number, text } = createTable();
    number.set(7, 1);
    text.set(7, 'seven');
    side.free(7);
    side.free(7);
    expect([number.get(7), text.get(7), side.rows.live, strings.size]).toEqual([0, null, 0, 0]);
    number.set(9, 2);
    expect([text.get(9), side.rows.used]).toEqual([null, 1]);
  });

  it('grow with the rows that use them', () => {
    const { side, number } = createTable();
    for (let row = 1; row <= 20_000; row++) number.set(5 * row, row);
    expect([number.get(5), number.get(100_000), number.get(99_999), side.rows.live]).toEqual([
      1, 20_000, 0, 20_000,
    ]);
  });
});
