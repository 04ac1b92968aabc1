/** The linked list of rows against an array. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Int32Column } from './columns.ts';
import { RowList } from './row-list.ts';

function createLists(count: number): RowList[] {
  const before = new Int32Column();
  const after = new Int32Column();
  before.reserve(100);
  after.reserve(100);
  return Array.from({ length: count }, () => new RowList(before, after));
}

function rowsOf(list: RowList): number[] {
  const rows: number[] = [];
  for (let row = list.first; row !== 0; row = list.next(row)) rows.push(row);
  return rows;
}

const changes = fc.array(fc.record({ row: fc.integer({ min: 1, max: 30 }), list: fc.nat({ max: 1 }) }), {
  maxLength: 120,
});

describe('a list of rows', () => {
  it('holds what was appended and not removed, in order, beside another list on the same columns', () => {
    fc.assert(
      fc.property(changes, (list) => {
        const lists = createLists(2);
        const models: number[][] = [[], []];
        for (const { row, list: which } of list) {
          const at = models.findIndex((model) => model.includes(row));
          if (at === -1) {
            models[which]!.push(row);
            lists[which]!.append(row);
          } else {
            models[at] = models[at]!.filter((other) => other !== row);
            lists[at]!.remove(row);
          }
        }
        for (const [index, model] of models.entries()) {
          expect(rowsOf(lists[index]!)).toEqual(model);
          expect(lists[index]).toMatchObject({
            size: model.length,
            first: model[0] ?? 0,
            last: model.at(-1) ?? 0,
          });
        }
      }),
      { seed: 3, numRuns: 200 },
    );
  });
});
