/**
 * Digests of eight bytes at most, one character a byte; a row may have none. As numbers, because as texts they would be
 * the only ones whose characters are not ASCII, and those have to be encoded.
 */
import { Int32Column, Uint8Column } from './columns.ts';

const BYTES_MAX = 8;
const HALF = BYTES_MAX / 2;

export class DigestColumn {
  /** One more than the length, so that 0 is "none". */
  private readonly sizes = new Uint8Column();
  private readonly firsts = new Int32Column();
  private readonly lasts = new Int32Column();

  reserve(row: number): void {
    this.sizes.reserve(row);
    this.firsts.reserve(row);
    this.lasts.reserve(row);
  }

  get(row: number): string | null {
    const size = this.sizes.get(row);
    if (size === 0) return null;
    let text = '';
    for (let index = 0; index < size - 1; index++) {
      const word = index < HALF ? this.firsts.get(row) : this.lasts.get(row);
      text += String.fromCharCode((word >>> (8 * (index % HALF))) & 0xff);
    }
    return text;
  }

  set(row: number, digest: string | null): void {
    if (digest === null) {
      this.sizes.set(row, 0);
      return;
    }
    if (digest.length > BYTES_MAX) throw new Error(`A digest of ${digest.length} bytes is too long.`);
    this.sizes.set(row, digest.length + 1);
    this.firsts.set(row, word(digest, 0));
    this.lasts.set(row, word(digest, HALF));
  }
}

function word(digest: string, from: number): number {
  let word = 0;
  const end = Math.min(digest.length, from + HALF);
  for (let index = from; index < end; index++) word |= digest.charCodeAt(index) << (8 * (index - from));
  return word;
}
