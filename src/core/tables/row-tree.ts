/**
 * Sets of rows of one table, each a search tree in the order of row numbers or of a number that rows have, its links kept
 * in two columns: for many small sets that may become large. A row is in at most one set at a time; a set is known by its
 * root, 0 when empty.
 *
 * The trees are treaps: a parent ranks above its children by a hash of the row number. So the shape of a tree follows
 * from its rows alone, and its depth stays logarithmic without balancing.
 */
import { Int32Column } from './columns.ts';

export class RowTree<Row extends number = number> {
  private readonly left = new Int32Column<Row, Row>();
  private readonly right = new Int32Column<Row, Row>();
  private readonly orderOf: (row: Row) => number;

  /** `orderOf` differs between the rows of a set, and does not change while a row is in one. */
  constructor(orderOf: (row: Row) => number = (row) => row) {
    this.orderOf = orderOf;
  }

  reserve(row: number): void {
    this.left.reserve(row);
    this.right.reserve(row);
  }

  /** The root after the row was added. */
  add(root: Row | 0, row: Row): Row {
    if (root !== 0 && rank(root) > rank(row)) {
      const side = this.orderOf(row) < this.orderOf(root) ? this.left : this.right;
      side.set(root, this.add(side.get(root), row));
      return root;
    }
    this.split(root, row);
    return row;
  }

  /** The root after the row was removed. */
  remove(root: Row, row: Row): Row | 0 {
    if (root === row) return this.join(this.left.get(row), this.right.get(row));
    const side = this.orderOf(row) < this.orderOf(root) ? this.left : this.right;
    side.set(root, this.remove(side.get(root), row));
    return root;
  }

  /** The lowest row above a number, by the order of the tree or by another one that rises with it; 0 when there is none. */
  above(root: Row | 0, number: number, orderOf = this.orderOf): Row | 0 {
    let found: Row | 0 = 0;
    for (let row = root; row !== 0; ) {
      if (orderOf(row) > number) {
        found = row;
        row = this.left.get(row);
      } else row = this.right.get(row);
    }
    return found;
  }

  /** The highest row below a number; otherwise as `above`. */
  below(root: Row | 0, number: number, orderOf = this.orderOf): Row | 0 {
    let found: Row | 0 = 0;
    for (let row = root; row !== 0; ) {
      if (orderOf(row) < number) {
        found = row;
        row = this.right.get(row);
      } else row = this.left.get(row);
    }
    return found;
  }

  /** Splits a tree into the rows below and above `row`, and makes them its children. */
  private split(root: Row | 0, row: Row): void {
    const order = this.orderOf(row);
    let below = row;
    let above = row;
    let belowSide = this.left;
    let aboveSide = this.right;
    for (let node = root; node !== 0; ) {
      if (this.orderOf(node) < order) {
        belowSide.set(below, node);
        below = node;
        belowSide = this.right;
        node = this.right.get(node);
      } else {
        aboveSide.set(above, node);
        above = node;
        aboveSide = this.left;
        node = this.left.get(node);
      }
    }
    belowSide.set(below, 0);
    aboveSide.set(above, 0);
  }

  /** Joins two trees; all rows of the first are below those of the second. */
  private join(below: Row | 0, above: Row | 0): Row | 0 {
    if (below === 0) return above;
    if (above === 0) return below;
    if (rank(below) > rank(above)) {
      this.right.set(below, this.join(this.right.get(below), above));
      return below;
    }
    this.left.set(above, this.join(below, this.left.get(above)));
    return above;
  }
}

/** Different for different rows: every step can be reversed. */
function rank(row: number): number {
  let hash = Math.imul(row, 0x9e3779b1);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
