/** Trees of rows against sorted sets. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RowTree } from './row-tree.ts';

const ROWS = 500;

function rowsOf(tree: RowTree, root: number): number[] {
  const rows: number[] = [];
  for (let row = tree.above(root, 0); row !== 0; row = tree.above(root, row)) rows.push(row);
  return rows;
}

describe('trees of rows', () => {
  it('give the rows of each set in order, whatever came and went in the others', () => {
    const changes = fc.array(
      fc.record({ set: fc.nat(2), row: fc.integer({ min: 1, max: ROWS }), above: fc.nat(ROWS) }),
      { maxLength: 400 },
    );
    fc.assert(
      fc.property(changes, (list) => {
        const tree = new RowTree();
        tree.reserve(ROWS);
        const roots = [0, 0, 0];
        const sets = [new Set<number>(), new Set<number>(), new Set<number>()];
        for (const { set, row, above } of list) {
          const owner = sets.findIndex((rows) => rows.has(row));
          if (owner === -1) {
            roots[set] = tree.add(roots[set]!, row);
            sets[set]!.add(row);
          } else {
            roots[owner] = tree.remove(roots[owner]!, row);
            sets[owner]!.delete(row);
          }
          const next = [...sets[set]!].filter((each) => each > above);
          expect(tree.above(roots[set]!, above)).toBe(next.length === 0 ? 0 : Math.min(...next));
        }
        for (const [set, rows] of sets.entries())
          expect(rowsOf(tree, roots[set]!)).toEqual([...rows].sort((a, b) => a - b));
      }),
      { seed: 8, numRuns: 200 },
    );
  });

  it('stay shallow when rows come in order', () => {
    const tree = new RowTree();
    tree.reserve(100_000);
    let root = 0;
    // A tree as deep as it has rows would overflow the stack here.
    for (let row = 1; row <= 100_000; row++) root = tree.add(root, row);
    expect(rowsOf(tree, root)).toHaveLength(100_000);
  });
});
