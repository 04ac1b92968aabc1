/**
 * Which rows of a table are in use. Freed rows are used again, last freed first, so that the same
 * history always gives the same row numbers: cursors and checkpoints rely on it.
 *
 * Row 0 is never used, so that 0 can mean "none" in every column that refers to a row.
 */
import { CHUNK_SHIFT, Int32Column } from './columns.ts';

/** A column, or something made of columns. */
export interface Reservable {
  reserve(row: number): void;
}

export class Rows<Row extends number = number> {
  /** Rows 1 … used have been taken at least once. */
  used = 0;
  live = 0;
  /** Rows below this can be written; columns grow a whole chunk at a time. */
  private reserved = 1 << CHUNK_SHIFT;
  private firstFree: Row | 0 = 0;
  private readonly nextFree = new Int32Column<Row, Row>();
  private readonly columns: readonly Reservable[];

  constructor(columns: readonly Reservable[]) {
    this.columns = columns;
    this.nextFree.reserve(0);
    for (const column of columns) column.reserve(0);
  }

  take(): Row {
    this.live += 1;
    const row = this.firstFree;
    if (row !== 0) {
      this.firstFree = this.nextFree.get(row);
      return row;
    }
    this.used += 1;
    if (this.used >= this.reserved) this.extend(this.used);
    return this.used as Row;
  }

  free(row: Row): void {
    this.live -= 1;
    this.nextFree.set(row, this.firstFree);
    this.firstFree = row;
  }

  /** Free rows in the order in which `take` returns them. */
  *freeRows(): Generator<Row> {
    for (let row: Row | 0 = this.firstFree; row !== 0; row = this.nextFree.get(row)) yield row;
  }

  /** Allocates rows 1 … used. While an image is restored, its records name their rows, and `take` is not called. */
  extend(used: number): void {
    if (used > this.used) this.used = used;
    this.nextFree.reserve(this.used);
    for (const column of this.columns) column.reserve(this.used);
    this.reserved = ((this.used >>> CHUNK_SHIFT) + 1) << CHUNK_SHIFT;
  }

  /** While an image is restored: marks one row as in use. */
  restoreLive(): void {
    this.live += 1;
  }

  /** While an image is restored: free rows arrive in the order in which they were freed. */
  restoreFree(row: number): void {
    this.live += 1;
    this.free(row as Row);
  }
}
