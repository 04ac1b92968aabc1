/** Texts by row, each kept exactly as long as its row has it. */
import { describe, expect, it } from 'vitest';
import { StringSlab } from './string-slab.ts';
import { TextColumn } from './text-column.ts';

describe('a text column', () => {
  it('keeps a text until another one, or none, takes its place', () => {
    const strings = new StringSlab();
    const column = new TextColumn(strings);
    column.reserve(2);
    expect([column.get(1), column.has(1), column.equals(1, '')]).toEqual([null, false, false]);
    column.set(1, 'one');
    column.set(2, '');
    expect([column.get(1), column.get(2), strings.size]).toEqual(['one', '', 2]);
    expect([column.equals(1, 'one'), column.equals(1, 'on'), column.equals(2, '')]).toEqual([
      true,
      false,
      true,
    ]);
    column.set(1, 'another');
    expect([column.get(1), strings.size]).toEqual(['another', 2]);
    column.set(1, null);
    expect([column.get(1), column.has(2), strings.size]).toEqual([null, true, 1]);
  });
});
