/**
 * Columns of numbers that grow a chunk at a time. Nothing is ever copied, so a table of ten million rows
 * grows without a pause where a Map or an array would stall; and the garbage collector scans none of it.
 * A row must have been allocated (`reserve`) before it is read or written.
 *
 * Chunks are SharedArrayBuffers: V8 does not count them as external memory. With ArrayBuffers it would start a
 * collection for every 64 MiB of rows, on a heap with nothing to collect.
 *
 * `Row` is the type of the rows that index a column, `Value` of what it holds. Row 0 may be read, and holds zero; it
 * is never written. 0 may be stored in a column of references, where it means "none".
 */
export const CHUNK_SHIFT = 13;

type Chunk = Float64Array | Int32Array | Uint32Array | Uint8Array;

abstract class Column<C extends Chunk> {
  protected readonly chunks: C[] = [];
  protected readonly shift: number;
  protected readonly mask: number;

  constructor(shift: number = CHUNK_SHIFT) {
    this.shift = shift;
    this.mask = (1 << shift) - 1;
  }

  protected abstract chunk(size: number): C;

  /** Makes rows 0 … row usable; new ones hold zero. */
  reserve(row: number): void {
    while (row >>> this.shift >= this.chunks.length) this.chunks.push(this.chunk(this.mask + 1));
  }
}

export class Float64Column<
  Row extends number = number,
  Value extends number = number,
> extends Column<Float64Array> {
  protected chunk(size: number): Float64Array {
    return new Float64Array(new SharedArrayBuffer(8 * size));
  }
  get(row: Row | 0): Value {
    return this.chunks[row >>> this.shift]![row & this.mask] as Value;
  }
  set(row: Row, value: Value | 0): void {
    this.chunks[row >>> this.shift]![row & this.mask] = value;
  }
}

export class Int32Column<
  Row extends number = number,
  Value extends number = number,
> extends Column<Int32Array> {
  protected chunk(size: number): Int32Array {
    return new Int32Array(new SharedArrayBuffer(4 * size));
  }
  get(row: Row | 0): Value {
    return this.chunks[row >>> this.shift]![row & this.mask] as Value;
  }
  set(row: Row, value: Value | 0): void {
    this.chunks[row >>> this.shift]![row & this.mask] = value;
  }
}

export class Uint32Column<Row extends number = number> extends Column<Uint32Array> {
  protected chunk(size: number): Uint32Array {
    return new Uint32Array(new SharedArrayBuffer(4 * size));
  }
  get(row: Row | 0): number {
    return this.chunks[row >>> this.shift]![row & this.mask]!;
  }
  set(row: Row, value: number): void {
    this.chunks[row >>> this.shift]![row & this.mask] = value;
  }
}

export class Uint8Column<Row extends number = number> extends Column<Uint8Array> {
  protected chunk(size: number): Uint8Array {
    return new Uint8Array(new SharedArrayBuffer(size));
  }
  get(row: Row | 0): number {
    return this.chunks[row >>> this.shift]![row & this.mask]!;
  }
  set(row: Row, value: number): void {
    this.chunks[row >>> this.shift]![row & this.mask] = value;
  }
}
