/** Which rows are in use. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CHUNK_SHIFT, Int32Column } from './columns.ts';
import { Rows } from './rows.ts';

describe('rows', () => {
  it('never gives out row 0, so that 0 can mean "none"', () => {
    expect(new Rows([]).take()).toBe(1);
  });

  it('gives freed rows out again, last freed first, and then new ones', () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.nat()), { maxLength: 100 }), (changes) => {
        const rows = new Rows([]);
        const inUse: number[] = [];
        const free: number[] = [];
        let used = 0;
        for (const pick of changes) {
          if (pick === null || inUse.length === 0) {
            const expected = free.pop() ?? ++used;
            expect(rows.take()).toBe(expected);
            inUse.push(expected);
          } else {
            const [row] = inUse.splice(pick % inUse.length, 1);
            rows.free(row!);
            free.push(row!);
          }
        }
        expect(rows).toMatchObject({ used, live: inUse.length });
        expect([...rows.freeRows()]).toEqual([...free].reverse());
      }),
      { seed: 4, numRuns: 200 },
    );
  });

  it('makes room in every column before a row is used', () => {
    const column = new Int32Column();
    const rows = new Rows([column]);
    const count = 2 ** CHUNK_SHIFT + 1;
    for (let taken = 0; taken < count; taken++) column.set(rows.take(), 5);
    expect(column.get(count)).toBe(5);
  });

  it('is the same after an image: free rows come back in the same order', () => {
    const rows = new Rows([]);
    for (let count = 0; count < 6; count++) rows.take();
    for (const row of [2, 6, 3]) rows.free(row);
    const restored = new Rows([]);
    restored.extend(6);
    for (let count = 0; count < 3; count++) restored.restoreLive();
    for (const row of [...rows.freeRows()].reverse()) restored.restoreFree(row);
    expect(restored).toMatchObject({ used: 6, live: 3 });
    for (const expected of [3, 6, 2, 7]) expect([rows.take(), restored.take()]).toEqual([expected, expected]);
  });
});
