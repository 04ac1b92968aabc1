/**
 * Reads bytes from Postgres in binary. `pg` parses a bytea from hexadecimal text, which costs five times as much as
 * sending it; `COPY … TO STDOUT (FORMAT binary)` returns the bytes themselves. Format: a signature, flags and an
 * extension; then for every row the number of fields as i16 (-1 after the last row), and for each field its length as
 * i32 and its bytes.
 */
import type { Connection, Submittable } from 'pg';
import type { BytesRow } from '../seams/database.ts';

const SIGNATURE_BYTES = 11;
const HEAD_BYTES = SIGNATURE_BYTES + 8;

/** A statement with bigint columns and a final bytea. */
export class CopyQuery implements Submittable {
  readonly done: Promise<readonly BytesRow[]>;
  readonly #text: string;
  readonly #rows: BytesRow[] = [];
  #rest: Buffer | null = null;
  #isBehindHead = false;
  #resolve: (rows: readonly BytesRow[]) => void = () => {};
  #reject: (fault: unknown) => void = () => {};

  constructor(select: string) {
    this.#text = `COPY (${select}) TO STDOUT (FORMAT binary)`;
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  submit(connection: Connection): void {
    connection.query(this.#text);
  }

  handleCopyData({ chunk }: { readonly chunk: Buffer }): void {
    // The driver reuses its buffer.
    const bytes = this.#rest === null ? Buffer.from(chunk) : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    if (!this.#isBehindHead && bytes.length >= HEAD_BYTES) {
      const end = HEAD_BYTES + bytes.readInt32BE(SIGNATURE_BYTES + 4);
      this.#isBehindHead = bytes.length >= end;
      if (this.#isBehindHead) at = end;
    }
    while (this.#isBehindHead && at < bytes.length) {
      const end = this.#row(bytes, at);
      if (end === null) break;
      at = end;
    }
    this.#rest = at === bytes.length ? null : bytes.subarray(at);
  }

  handleReadyForQuery(): void {
    this.#resolve(this.#rows);
  }

  handleError(fault: unknown): void {
    this.#reject(fault);
  }

  handleCommandComplete(): void {}
  handleRowDescription(): void {}
  handleDataRow(): void {}
  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}

  /** The end of the row at `start`; null while it is incomplete. */
  #row(bytes: Buffer, start: number): number | null {
    if (start + 2 > bytes.length) return null;
    const fields = bytes.readInt16BE(start);
    let at = start + 2;
    if (fields === -1) return at;
    const numbers: number[] = [];
    for (let field = 1; field <= fields; field++) {
      if (at + 4 > bytes.length) return null;
      const from = at + 4;
      at = from + bytes.readInt32BE(at);
      if (at > bytes.length) return null;
      if (field < fields) numbers.push(Number(bytes.readBigInt64BE(from)));
      else this.#rows.push({ numbers, bytes: bytes.subarray(from, at) });
    }
    return at;
  }
}
