/**
 * A doubly linked list of rows, its links kept in two columns of the table. Lists of one table may share
 * the columns as long as a row is in at most one of them at a time.
 */
import type { Int32Column } from './columns.ts';

export class RowList<Row extends number = number> {
  first: Row | 0 = 0;
  last: Row | 0 = 0;
  size = 0;
  private readonly before: Int32Column<Row, Row>;
  private readonly after: Int32Column<Row, Row>;

  constructor(before: Int32Column<Row, Row>, after: Int32Column<Row, Row>) {
    this.before = before;
    this.after = after;
  }

  append(row: Row): void {
    this.size += 1;
    this.before.set(row, this.last);
    this.after.set(row, 0);
    if (this.last === 0) this.first = row;
    else this.after.set(this.last, row);
    this.last = row;
  }

  remove(row: Row): void {
    this.size -= 1;
    const before = this.before.get(row);
    const after = this.after.get(row);
    if (before === 0) this.first = after;
    else this.after.set(before, after);
    if (after === 0) this.last = before;
    else this.before.set(after, before);
  }

  next(row: Row): Row | 0 {
    return this.after.get(row);
  }
}
