/** Where opaque bytes are, one reference a row; a row may have none. */
import type { Opaque } from '../opaque.ts';
import { Float64Column, Uint32Column } from './columns.ts';

/** Gives the new position of bytes, or the same one when they were left alone. */
export type Move = (at: number) => number;

export class OpaqueColumn<Row extends number = number> {
  /** One more than the position, so that 0 is "none". */
  private readonly ats = new Float64Column<Row>();
  private readonly lengths = new Uint32Column<Row>();
  private readonly crcs = new Uint32Column<Row>();

  reserve(row: number): void {
    this.ats.reserve(row);
    this.lengths.reserve(row);
    this.crcs.reserve(row);
  }

  has(row: Row | 0): boolean {
    return this.ats.get(row) !== 0;
  }

  /** The reference, without the bytes; null for a row that has none. */
  get(row: Row | 0): Opaque | null {
    const at = this.ats.get(row);
    if (at === 0) return null;
    return { bytes: null, at: at - 1, length: this.lengths.get(row), crc: this.crcs.get(row) };
  }

  set(row: Row, value: Opaque | null): void {
    if (value === null) {
      this.ats.set(row, 0);
      return;
    }
    this.ats.set(row, value.at + 1);
    this.lengths.set(row, value.length);
    this.crcs.set(row, value.crc);
  }

  /** Moves the reference after the log has moved the bytes. */
  relocate(row: Row | 0, move: Move): void {
    const at = this.ats.get(row);
    if (at !== 0) this.ats.set(row as Row, move(at - 1) + 1);
  }
}
