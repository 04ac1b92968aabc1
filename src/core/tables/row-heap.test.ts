/** The heap against sorting. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Int32Column } from './columns.ts';
import { RowHeap } from './row-heap.ts';

const ROWS = 400;

function createHeap(): { heap: RowHeap; positions: Int32Column } {
  const positions = new Int32Column();
  positions.reserve(ROWS);
  return { heap: new RowHeap(positions), positions };
}

function drain(heap: RowHeap): number[] {
  const rows: number[] = [];
  while (heap.size > 0) {
    rows.push(heap.topRow());
    heap.remove(heap.topRow());
  }
  return rows;
}

/** By key, and for equal keys by row. */
function sorted(model: ReadonlyMap<number, number>): number[] {
  return [...model].sort(([a, keyA], [b, keyB]) => keyA - keyB || a - b).map(([row]) => row);
}

const keys = fc.integer({ min: 0, max: 20 });
const changes = fc.array(
  fc.record({
    what: fc.constantFrom('add', 'add', 'add', 'remove'),
    row: fc.integer({ min: 1, max: ROWS }),
    key: keys,
  }),
  { maxLength: 200 },
);

describe('a heap of rows', () => {
  it('gives its rows out in the order of their keys, equal keys in the order of their rows', () => {
    fc.assert(
      fc.property(changes, (list) => {
        const { heap } = createHeap();
        const model = new Map<number, number>();
        for (const { what, row, key } of list) {
          if (what === 'add' && !model.has(row)) {
            model.set(row, key);
            heap.add(row, key);
          } else if (what === 'remove' && model.has(row)) {
            model.delete(row);
            heap.remove(row);
          }
          expect(heap.size).toBe(model.size);
          if (model.size > 0) expect(heap.topRow()).toBe(sorted(model)[0]);
        }
        expect([...heap.all()].sort((a, b) => a - b)).toEqual([...model.keys()].sort((a, b) => a - b));
        for (const [row, key] of model) expect(heap.keyOf(row)).toBe(key);
        expect(drain(heap)).toEqual(sorted(model));
      }),
      { seed: 2, numRuns: 150 },
    );
  });

  it('lets a rank decide between equal keys, and rows between equal ranks', () => {
    const positions = new Int32Column();
    positions.reserve(ROWS);
    const heap = new RowHeap(positions, (row) => -(row >> 1));
    for (let row = 1; row <= 9; row++) heap.add(row, 7);
    expect(drain(heap)).toEqual([8, 9, 6, 7, 4, 5, 2, 3, 1]);
  });

  it('has no top key while it is empty, so that nothing is ever due in it', () => {
    const { heap } = createHeap();
    expect(heap.topKey()).toBe(Number.POSITIVE_INFINITY);
    heap.add(3, 5);
    expect(heap.topKey()).toBe(5);
    heap.remove(3);
    expect(heap.topKey()).toBe(Number.POSITIVE_INFINITY);
  });

  it('says of a row that has left that it stands nowhere, so that heaps may share positions', () => {
    const { heap, positions } = createHeap();
    const other = new RowHeap(positions);
    for (let row = 1; row <= 50; row++) (row % 2 ? heap : other).add(row, 50 - row);
    for (let row = 1; row <= 50; row += 2) heap.remove(row);
    expect(positions.get(1)).toBe(0);
    expect(drain(other)).toEqual(Array.from({ length: 25 }, (_, index) => 50 - 2 * index));
  });

  it('keeps its order beyond one chunk', () => {
    const { heap } = createHeap();
    for (let row = 1; row <= ROWS; row++) heap.add(row, (row * 7919) % ROWS);
    const order = drain(heap).map((row) => (row * 7919) % ROWS);
    expect(order).toEqual([...order].sort((a, b) => a - b));
  });
});
