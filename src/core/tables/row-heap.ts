/**
 * Rows in the order of a number, and of their rank where that is equal: the order follows from the content of the heap
 * and not from its history, so a state restored from an image behaves the same. A four-way heap that stores the position
 * of each row, so that any row can be removed. Several heaps may share one column of positions as long as a row is in at
 * most one of them at a time; 0 in that column means "in none".
 */
import { Float64Column, Int32Column } from './columns.ts';

/** Small chunks, because there may be many small heaps. */
const HEAP_SHIFT = 8;

/** What decides between rows of equal number; rows of equal rank go by their own number. */
export type RankOf<Row extends number> = (row: Row | 0) => number;

export const itself: RankOf<number> = (row) => row;

export function goesBefore<Row extends number>(row: Row | 0, other: Row | 0, rankOf: RankOf<Row>): boolean {
  const rank = rankOf(row);
  const otherRank = rankOf(other);
  return rank < otherRank || (rank === otherRank && row < other);
}

export class RowHeap<Row extends number = number> {
  size = 0;
  private readonly keys = new Float64Column(HEAP_SHIFT);
  private readonly rows = new Int32Column<number, Row>(HEAP_SHIFT);
  private readonly positions: Int32Column<Row>;
  private readonly rankOf: RankOf<Row>;

  constructor(positions: Int32Column<Row>, rankOf: RankOf<Row> = itself) {
    this.positions = positions;
    this.rankOf = rankOf;
  }

  /** Only while it is not empty. */
  topRow(): Row {
    return this.rows.get(0);
  }

  topKey(): number {
    return this.size === 0 ? Number.POSITIVE_INFINITY : this.keys.get(0);
  }

  /** Of a row that is in this heap. */
  keyOf(row: Row): number {
    return this.keys.get(this.positions.get(row) - 1);
  }

  add(row: Row, key: number): void {
    const at = this.size;
    this.keys.reserve(at);
    this.rows.reserve(at);
    this.size += 1;
    this.rise(at, row, key);
  }

  remove(row: Row): void {
    const at = this.positions.get(row) - 1;
    this.positions.set(row, 0);
    this.size -= 1;
    const last = this.size;
    if (at === last) return;
    const movedRow = this.rows.get(last);
    const movedKey = this.keys.get(last);
    if (at > 0 && !this.isBefore((at - 1) >> 2, movedRow, movedKey)) this.rise(at, movedRow, movedKey);
    else this.sink(at, movedRow, movedKey);
  }

  /** In no particular order. */
  *all(): Generator<Row> {
    for (let at = 0; at < this.size; at++) yield this.rows.get(at);
  }

  /** How many rows have a lower key; counts no further than `max`, and looks at no more than four times as many. */
  countBelow(key: number, max: number): number {
    const open = [0];
    let count = 0;
    for (let at = open.pop(); at !== undefined && count < max; at = open.pop()) {
      if (at >= this.size || this.keys.get(at) >= key) continue;
      count += 1;
      for (let child = 4 * at + 4; child > 4 * at; child--) open.push(child);
    }
    return count;
  }

  private rise(from: number, row: Row, key: number): void {
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 2;
      if (this.isBefore(parent, row, key)) break;
      this.place(at, this.rows.get(parent), this.keys.get(parent));
      at = parent;
    }
    this.place(at, row, key);
  }

  private sink(from: number, row: Row, key: number): void {
    let at = from;
    for (;;) {
      const first = 4 * at + 1;
      if (first >= this.size) break;
      const end = Math.min(first + 4, this.size);
      let least = first;
      for (let child = first + 1; child < end; child++) {
        if (this.isBefore(child, this.rows.get(least), this.keys.get(least))) least = child;
      }
      if (!this.isBefore(least, row, key)) break;
      this.place(at, this.rows.get(least), this.keys.get(least));
      at = least;
    }
    this.place(at, row, key);
  }

  /** Whether the row at `at` comes before this row with this key. */
  private isBefore(at: number, row: Row, key: number): boolean {
    const other = this.keys.get(at);
    return other < key || (other === key && goesBefore(this.rows.get(at), row, this.rankOf));
  }

  private place(at: number, row: Row, key: number): void {
    this.keys.set(at, key);
    this.rows.set(at, row);
    this.positions.set(row, at + 1);
  }
}
