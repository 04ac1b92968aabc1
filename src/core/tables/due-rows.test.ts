// Rows by the time they fall due, against a sorted list.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Int32Column } from './columns.ts';
import { DueRows } from './due-rows.ts';

const ROWS = 64;

function emptyRows(): DueRows {
  const columns = [new Int32Column(), new Int32Column(), new Int32Column()] as const;
  const rows = new DueRows(...columns);
  for (const column of [...columns, rows]) column.reserve(ROWS);
  return rows;
}

const step = fc.oneof(
  // Mostly one time to live on a clock that moves on, sometimes anything at all.
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('add' as const),
      row: fc.integer({ min: 1, max: ROWS }),
      ttl: fc.constantFrom(30, 30, 30, 10, 500),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('remove' as const), row: fc.integer({ min: 1, max: ROWS }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('postpone' as const), by: fc.integer({ min: 0, max: 100 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('pop' as const) }) },
);

describe('rows by the time they fall due', () => {
  it('give the earliest one first, whatever was added, removed and postponed', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
        const rows = emptyRows();
        const model = new Map<number, number>();
        let nowMs = 0;
        for (const each of steps) {
          if (each.do !== 'add') nowMs += 1;
          if (each.do === 'add' && !model.has(each.row)) {
            rows.add(each.row, nowMs + each.ttl);
            model.set(each.row, nowMs + each.ttl);
          } else if (each.do === 'remove' && model.has(each.row)) {
            rows.remove(each.row);
            model.delete(each.row);
          } else if (each.do === 'postpone' && model.size > 0) {
            const top = rows.topRow();
            rows.postponeTop(rows.topKey() + each.by);
            model.set(top, model.get(top)! + each.by);
          } else if (each.do === 'pop' && model.size > 0) {
            const top = rows.topRow();
            rows.remove(top);
            model.delete(top);
          }
          const [first] = [...model].sort(([a, keyA], [b, keyB]) => keyA - keyB || a - b);
          if (first !== undefined) expect(rows.topRow()).toBe(first[0]);
          const earliest = Math.min(...model.values());
          expect(rows.topKey()).toBe(earliest);
          expect(rows.size).toBe(model.size);
          if (model.size > 0) expect(model.get(rows.topRow())).toBe(earliest);
        }
        expect(new Set(rows.all())).toEqual(new Set(model.keys()));
      }),
      { seed: 11, numRuns: 300 },
    );
  });

  it('hold nothing at first', () => {
    const rows = emptyRows();
    expect([rows.size, rows.topRow(), rows.topKey()]).toEqual([0, 0, Number.POSITIVE_INFINITY]);
  });
});
