/** Ordered sets of rows against sorting. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Float64Column } from './columns.ts';
import { OrderedRows } from './ordered-rows.ts';

const ROWS = 4_000;

/** Row n was created at position 10 × (a permutation of n), so that neither row numbers nor additions come in order. */
function createSet(step: number): { set: OrderedRows; order: Float64Column } {
  const order = new Float64Column();
  order.reserve(ROWS);
  for (let row = 1; row <= ROWS; row++) order.set(row, 10 * (1 + ((row * step) % (ROWS + 1))));
  return { set: new OrderedRows(order), order };
}

function sorted(model: ReadonlySet<number>, order: Float64Column): number[] {
  return [...model].sort((a, b) => order.get(a) - order.get(b));
}

// 4 001 is prime, so each step gives a permutation. Step 1 adds in order, as a queue does.
const steps = fc.constantFrom(1, 7, 1_999, 4_000);
const runs = fc.array(
  fc.record({
    what: fc.constantFrom('add', 'add', 'remove'),
    from: fc.integer({ min: 1, max: ROWS }),
    count: fc.integer({ min: 1, max: 900 }),
  }),
  { minLength: 1, maxLength: 14 },
);

describe('an ordered set of rows', () => {
  it('gives its rows in the order of the column, in both directions and from any position', () => {
    fc.assert(
      fc.property(steps, runs, fc.integer({ min: 0, max: 10 * ROWS + 20 }), (step, list, position) => {
        const { set, order } = createSet(step);
        const model = new Set<number>();
        for (const { what, from, count } of list) {
          for (let row = from; row < from + count && row <= ROWS; row++) {
            if (what === 'add' && !model.has(row)) {
              model.add(row);
              set.add(row);
            } else if (what === 'remove' && model.has(row)) {
              model.delete(row);
              set.remove(row);
            }
          }
          expect(set.size).toBe(model.size);
        }
        const all = sorted(model, order);
        expect([...set.ascending(0)]).toEqual(all);
        expect([...set.descending(Number.POSITIVE_INFINITY)]).toEqual(all.toReversed());
        expect([...set.ascending(position)]).toEqual(all.filter((row) => order.get(row) > position));
        expect([...set.descending(position)]).toEqual(
          all.filter((row) => order.get(row) < position).toReversed(),
        );
      }),
      { seed: 5, numRuns: 120 },
    );
  });

  it('is read from a value of another column that rises with its own, equal values included', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.integer({ min: 1, max: ROWS }), { maxLength: 1_500 }),
        fc.integer({ min: 1, max: 900 }),
        fc.integer({ min: 0, max: ROWS }),
        (rows, run, value) => {
          const { set, order } = createSet(7);
          const times = new Float64Column();
          times.reserve(ROWS);
          for (const row of rows) {
            times.set(row, Math.floor(order.get(row) / (10 * run)));
            set.add(row);
          }
          const all = sorted(new Set(rows), order);
          expect([...set.ascending(value, times)]).toEqual(all.filter((row) => times.get(row) > value));
          expect([...set.descending(value, times)]).toEqual(
            all.filter((row) => times.get(row) < value).toReversed(),
          );
        },
      ),
      { seed: 5, numRuns: 100 },
    );
  });

  it('stays sorted while the oldest leave and the newest come, as in a queue', () => {
    const { set } = createSet(1);
    for (let row = 1; row <= 1_500; row++) set.add(row);
    for (let row = 1_501; row <= ROWS; row++) {
      set.add(row);
      set.remove(row - 1_500);
    }
    expect(set.size).toBe(1_500);
    expect([...set.ascending(0)]).toEqual(Array.from({ length: 1_500 }, (_, index) => ROWS - 1_499 + index));
  });

  it('is empty after all rows have left, and can be filled again', () => {
    const { set } = createSet(7);
    for (let row = 1; row <= ROWS; row++) set.add(row);
    for (let row = ROWS; row >= 1; row--) set.remove(row);
    expect([...set.ascending(0)]).toEqual([]);
    set.add(3);
    expect([...set.descending(Number.POSITIVE_INFINITY)]).toEqual([3]);
  });
});
