/**
 * A set of rows in the order of a column, such as the position at which a task was created: what lists are read from, in
 * either direction and from any position. Rows stand in leaves of up to 512, and a directory holds the leaves in order.
 *
 * Adding the newest row and removing the oldest cost a few writes, because that is what a queue mostly does. Anything
 * else is two binary searches and a move within one leaf. A row takes four bytes where leaves are full, and eight in the
 * worst case. The order column must not change while its row is in the set.
 */
import type { Float64Column } from './columns.ts';

const LEAF_MAX = 512;
const LEAF_MIN = 8;
/** A leaf this small is merged into its neighbour, if both then fill at most half a leaf. */
const SMALL_LEAF = LEAF_MAX / 4;

/** Rows that can be walked in order, in either direction. The rows must not change meanwhile. */
export interface SortedRows<Row extends number> {
  readonly size: number;
  /**
   * Rows above a value, ascending. The value is one of the order of the rows, or of another column that rises with it, such
   * as the time of creation.
   */
  ascending(above: number, column?: Float64Column<Row>): Generator<Row>;
  /** Rows below a value, descending; otherwise as `ascending`. */
  descending(below: number, column?: Float64Column<Row>): Generator<Row>;
}

interface Leaf {
  /** In use from `start` to before `end`. */
  rows: Int32Array;
  start: number;
  end: number;
}

export class OrderedRows<Row extends number = number> implements SortedRows<Row> {
  size = 0;
  private readonly order: Float64Column<Row>;
  /** None of them is empty, except perhaps the only one. */
  private readonly leaves: Leaf[] = [];

  constructor(order: Float64Column<Row>) {
    this.order = order;
  }

  add(row: Row): void {
    this.size += 1;
    const { leaves } = this;
    const key = this.order.get(row);
    const last = leaves[leaves.length - 1];
    if (last === undefined) {
      leaves.push(newLeaf(row));
      return;
    }
    if (last.start === last.end || this.order.get(last.rows[last.end - 1] as Row) < key) {
      this.append(last, row);
      return;
    }
    const at = Math.max(0, this.leafOf(key));
    const leaf = leaves[at]!;
    const place = this.placeIn(leaf, key);
    if (leaf.end - leaf.start < LEAF_MAX) insert(leaf, place, row);
    else this.splitAndAdd(at, place, row);
  }

  /** The newest row. */
  private append(leaf: Leaf, row: Row): void {
    if (leaf.end - leaf.start === LEAF_MAX) {
      this.leaves.push(newLeaf(row));
      return;
    }
    if (leaf.end === leaf.rows.length) makeRoom(leaf);
    leaf.rows[leaf.end] = row;
    leaf.end += 1;
  }

  remove(row: Row): void {
    this.size -= 1;
    const { leaves } = this;
    const oldest = leaves[0]!;
    const key = oldest.rows[oldest.start] === row ? 0 : this.order.get(row);
    const at = key === 0 ? 0 : this.leafOf(key);
    const leaf = leaves[at]!;
    if (leaf.rows[leaf.start] === row) leaf.start += 1;
    else {
      const place = leaf.rows[leaf.end - 1] === row ? leaf.end - 1 : this.placeIn(leaf, key);
      leaf.rows.copyWithin(place, place + 1, leaf.end);
      leaf.end -= 1;
    }
    if (leaf.start === leaf.end) {
      // A set that holds a few rows now and then keeps its leaf.
      if (leaves.length === 1 && leaf.rows.length === LEAF_MIN) leaf.start = leaf.end = 0;
      else leaves.splice(at, 1);
    } else if (leaf.end - leaf.start < SMALL_LEAF && leaves.length > 1) this.mergeWithNext(at);
  }

  *ascending(above: number, column = this.order): Generator<Row> {
    if (this.size === 0) return;
    for (let at = Math.max(0, this.leafOf(above, column)); at < this.leaves.length; at++) {
      const leaf = this.leaves[at]!;
      let place = this.placeIn(leaf, above, column);
      while (place < leaf.end && column.get(leaf.rows[place] as Row) === above) place += 1;
      for (; place < leaf.end; place++) yield leaf.rows[place] as Row;
    }
  }

  *descending(below: number, column = this.order): Generator<Row> {
    if (this.size === 0) return;
    for (let at = this.leafOf(below, column); at >= 0; at--) {
      const leaf = this.leaves[at]!;
      for (let place = this.placeIn(leaf, below, column) - 1; place >= leaf.start; place--)
        yield leaf.rows[place] as Row;
    }
  }

  /** The last leaf that begins at or below a value; -1 when all begin above it. */
  private leafOf(value: number, column = this.order): number {
    const { leaves } = this;
    const first = (at: number): number => {
      const leaf = leaves[at]!;
      return column.get(leaf.rows[leaf.start] as Row);
    };
    let low = 0;
    let high = leaves.length - 1;
    if (high < 0 || first(low) > value) return -1;
    if (first(high) <= value) return high;
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if (first(middle) <= value) low = middle;
      else high = middle;
    }
    return low;
  }

  /** The first place in a leaf whose row is not below a value. */
  private placeIn(leaf: Leaf, value: number, column = this.order): number {
    const { rows } = leaf;
    let low = leaf.start;
    let high = leaf.end;
    if (column.get(rows[high - 1] as Row) < value) return high;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (column.get(rows[middle] as Row) < value) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The leaf is full: its upper half becomes a leaf of its own. */
  private splitAndAdd(at: number, place: number, row: Row): void {
    const lower = this.leaves[at]!;
    const middle = (lower.start + lower.end) >>> 1;
    const upper: Leaf = { rows: new Int32Array(LEAF_MAX), start: 0, end: lower.end - middle };
    upper.rows.set(lower.rows.subarray(middle, lower.end));
    lower.end = middle;
    this.leaves.splice(at + 1, 0, upper);
    if (place <= middle) insert(lower, place, row);
    else insert(upper, place - middle, row);
  }

  private mergeWithNext(at: number): void {
    const lower = this.leaves[at]!;
    const upper = this.leaves[at + 1];
    if (upper === undefined) return;
    const lowerSize = lower.end - lower.start;
    const size = lowerSize + upper.end - upper.start;
    if (size > LEAF_MAX / 2) return;
    const rows = new Int32Array(LEAF_MAX);
    rows.set(lower.rows.subarray(lower.start, lower.end));
    rows.set(upper.rows.subarray(upper.start, upper.end), lowerSize);
    this.leaves.splice(at, 2, { rows, start: 0, end: size });
  }
}

function newLeaf(row: number): Leaf {
  const rows = new Int32Array(LEAF_MIN);
  rows[0] = row;
  return { rows, start: 0, end: 1 };
}

/** There is room for one more row in the leaf, if not always at its end. */
function insert(leaf: Leaf, place: number, row: number): void {
  let at = place;
  if (leaf.end === leaf.rows.length) {
    at -= leaf.start;
    makeRoom(leaf);
  }
  leaf.rows.copyWithin(at + 1, at, leaf.end);
  leaf.rows[at] = row;
  leaf.end += 1;
}

/** Moves the rows to the front; into a larger array unless at least half of this one is free. */
function makeRoom(leaf: Leaf): void {
  const { rows, start, end } = leaf;
  const size = end - start;
  if (size > rows.length / 2 && rows.length < LEAF_MAX) {
    leaf.rows = new Int32Array(rows.length * 2);
    leaf.rows.set(rows.subarray(start, end));
  } else rows.copyWithin(0, start, end);
  leaf.start = 0;
  leaf.end = size;
}
