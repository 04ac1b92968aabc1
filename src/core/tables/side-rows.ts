/**
 * Columns that few rows of a table use. A row that has a value in one of them gets a row in a side table, which all sparse
 * columns of the table share; a row that has none pays four bytes. Rows of the side table are no part of an image.
 */
import { Int32Column } from './columns.ts';
import { type Reservable, Rows } from './rows.ts';

interface ValueColumn<Value> extends Reservable {
  get(row: number): Value;
  set(row: number, value: Value): void;
}

export class SideRows<Row extends number = number> {
  private readonly sides = new Int32Column<Row>();
  private readonly columns: SparseColumn<Row, unknown, ValueColumn<unknown>>[] = [];
  private readonly storage: Reservable[] = [];
  readonly rows = new Rows(this.storage);

  reserve(row: number): void {
    this.sides.reserve(row);
  }

  /** 0 when the row has none. All columns hold nothing at 0. */
  of(row: Row | 0): number {
    return this.sides.get(row);
  }

  /** The side row of a row, which gets one if it has none. */
  take(row: Row): number {
    const known = this.sides.get(row);
    if (known !== 0) return known;
    const side = this.rows.take();
    this.sides.set(row, side);
    return side;
  }

  /** Clears and frees the side row of a row that is freed. */
  free(row: Row): void {
    const side = this.sides.get(row);
    if (side === 0) return;
    for (const column of this.columns) column.clear(side);
    this.sides.set(row, 0);
    this.rows.free(side);
  }

  /** Must be called before the first row is taken. */
  add(column: SparseColumn<Row, unknown, ValueColumn<unknown>>): void {
    this.columns.push(column);
    this.addStorage(column);
  }

  /** Adds storage by side row that its owner clears. Must be called before the first row is taken. */
  addStorage(storage: Reservable): void {
    storage.reserve(0);
    this.storage.push(storage);
  }
}

export class SparseColumn<Row extends number, Value, Inner extends ValueColumn<Value>> {
  /** Holds the values, by side row. */
  readonly inner: Inner;
  private readonly nothing: Value;
  private readonly sideRows: SideRows<Row>;

  /** `nothing` is what `inner` holds for a row that was never set. */
  constructor(sideRows: SideRows<Row>, inner: Inner, nothing: Value) {
    this.sideRows = sideRows;
    this.inner = inner;
    this.nothing = nothing;
    sideRows.add(this as unknown as SparseColumn<Row, unknown, ValueColumn<unknown>>);
  }

  /** By side row: these grow independently of the rows of the table. */
  reserve(side: number): void {
    this.inner.reserve(side);
  }

  get(row: Row | 0): Value {
    return this.inner.get(this.sideRows.of(row));
  }

  set(row: Row, value: Value): void {
    if (value !== this.nothing) this.inner.set(this.sideRows.take(row), value);
    else this.clear(this.sideRows.of(row));
  }

  clear(side: number): void {
    if (side !== 0) this.inner.set(side, this.nothing);
  }
}
