/**
 * Rows by due time. Most callers use one time to live, so most rows arrive in the order of their times: those go
 * to the end of a lane, where adding and removing takes constant time. There are a few lanes, for a few times to
 * live; a row that fits none goes into a heap. The interface is that of `RowHeap`, and so is the use of the table's
 * columns. Rows of equal time are ordered by rank, so that the order does not depend on the order of arrival: a
 * state restored from an image behaves the same.
 */
import { Float64Column, type Int32Column, Uint8Column } from './columns.ts';
import { goesBefore, itself, type RankOf, RowHeap } from './row-heap.ts';
import { RowList } from './row-list.ts';

const LANES = 4;

export class DueRows<Row extends number = number> {
  private readonly keys = new Float64Column<Row>();
  /** One more than the lane a row stands in; 0 in the heap, or nowhere. */
  private readonly laneOf = new Uint8Column<Row>();
  private readonly lanes: readonly RowList<Row>[];
  private readonly heap: RowHeap<Row>;
  private readonly rankOf: RankOf<Row>;
  private top: Row | 0 = 0;
  private topDue = Number.POSITIVE_INFINITY;
  private isTopKnown = true;

  constructor(
    before: Int32Column<Row, Row>,
    after: Int32Column<Row, Row>,
    positions: Int32Column<Row>,
    rankOf: RankOf<Row> = itself,
  ) {
    this.lanes = Array.from({ length: LANES }, () => new RowList<Row>(before, after));
    this.heap = new RowHeap(positions, rankOf);
    this.rankOf = rankOf;
  }

  get size(): number {
    let size = this.heap.size;
    for (const lane of this.lanes) size += lane.size;
    return size;
  }

  reserve(row: number): void {
    this.keys.reserve(row);
    this.laneOf.reserve(row);
  }

  /** Only while it is not empty. */
  topRow(): Row {
    if (!this.isTopKnown) this.findTop();
    return this.top as Row;
  }

  /** Infinity when it is empty. */
  topKey(): number {
    if (!this.isTopKnown) this.findTop();
    return this.topDue;
  }

  add(row: Row, key: number): void {
    this.keys.set(row, key);
    const lane = this.laneFor(row, key);
    this.laneOf.set(row, lane + 1);
    if (lane < 0) this.heap.add(row, key);
    else this.lanes[lane]!.append(row);
    if (this.isTopKnown && this.isBefore(row, this.top, this.topDue)) {
      this.top = row;
      this.topDue = key;
    }
  }

  remove(row: Row): void {
    const lane = this.laneOf.get(row) - 1;
    if (lane < 0) this.heap.remove(row);
    else this.lanes[lane]!.remove(row);
    if (row === this.top) this.isTopKnown = false;
  }

  /** Gives the top row a later time. */
  postponeTop(key: number): void {
    const row = this.topRow();
    this.remove(row);
    this.add(row, key);
  }

  keyOf(row: Row): number {
    return this.keys.get(row);
  }

  /** In no particular order. */
  *all(): Generator<Row> {
    for (const lane of this.lanes)
      for (let row: Row | 0 = lane.first; row !== 0; row = lane.next(row)) yield row;
    yield* this.heap.all();
  }

  /** The lane whose end is latest and still before the row; an empty one where there is none; else -1, the heap. */
  private laneFor(row: Row, key: number): number {
    let best = -1;
    let bestLast: Row | 0 = 0;
    let empty = -1;
    for (let index = 0; index < LANES; index++) {
      const last = this.lanes[index]!.last;
      if (last === 0) {
        empty = index;
        continue;
      }
      if (!this.isBefore(last, row, key)) continue;
      if (best < 0 || this.isBefore(bestLast, last, this.keys.get(last))) {
        best = index;
        bestLast = last;
      }
    }
    return best < 0 ? empty : best;
  }

  private findTop(): void {
    this.isTopKnown = true;
    this.topDue = this.heap.topKey();
    this.top = this.heap.size === 0 ? 0 : this.heap.topRow();
    for (const lane of this.lanes) {
      const row = lane.first;
      if (row === 0) continue;
      if (this.isBefore(row, this.top, this.topDue)) {
        this.top = row;
        this.topDue = this.keys.get(row);
      }
    }
  }

  /** Whether a row of this set comes before another one with this time. */
  private isBefore(row: Row | 0, other: Row | 0, otherKey: number): boolean {
    const key = this.keys.get(row);
    return key < otherKey || (key === otherKey && goesBefore(row, other, this.rankOf));
  }
}
