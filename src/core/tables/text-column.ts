/** Texts kept in a `StringSlab`, one handle a row; a row may have none. The column puts and frees what it keeps. */
import { Int32Column } from './columns.ts';
import type { StringSlab } from './string-slab.ts';

export class TextColumn<Row extends number = number> {
  private readonly handles = new Int32Column<Row>();
  private readonly strings: StringSlab;

  constructor(strings: StringSlab) {
    this.strings = strings;
  }

  reserve(row: number): void {
    this.handles.reserve(row);
  }

  has(row: Row | 0): boolean {
    return this.handles.get(row) !== 0;
  }

  get(row: Row | 0): string | null {
    const handle = this.handles.get(row);
    return handle === 0 ? null : this.strings.get(handle);
  }

  equals(row: Row | 0, text: string): boolean {
    const handle = this.handles.get(row);
    return handle !== 0 && this.strings.equals(handle, text);
  }

  /** Frees the text that was there. */
  set(row: Row, text: string | null): void {
    const handle = this.handles.get(row);
    if (handle !== 0) this.strings.free(handle);
    this.handles.set(row, text === null ? 0 : this.strings.put(text));
  }
}
