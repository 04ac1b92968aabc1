/**
 * The token hash of the newest grant of each name, and the first eight bytes of the hashes of the sixteen
 * grants before it: an old token must never be taken for a new one.
 */
import type { NameRow, TokenRow } from './row-types.ts';
import { Int32Column, Uint32Column } from './tables/columns.ts';
import { Rows } from './tables/rows.ts';

export const PAST_TOKENS_MAX = 16;
const WORDS = 8;

export class TokenMemory {
  private readonly words: readonly Uint32Column<NameRow>[] = Array.from(
    { length: WORDS },
    () => new Uint32Column<NameRow>(),
  );
  private readonly present = new Int32Column<NameRow>();
  private readonly pastFirst = new Int32Column<NameRow, TokenRow>();
  private readonly pastHigh = new Uint32Column<TokenRow>();
  private readonly pastLow = new Uint32Column<TokenRow>();
  private readonly older = new Int32Column<TokenRow, TokenRow>();
  readonly pastRows = new Rows<TokenRow>([this.pastHigh, this.pastLow, this.older]);

  reserve(row: number): void {
    for (const column of this.words) column.reserve(row);
    this.present.reserve(row);
    this.pastFirst.reserve(row);
  }

  /** Sets the hash of the new token; the previous one, if any, becomes the newest past token. */
  set(row: NameRow, tokenHash: string): void {
    if (this.present.get(row) !== 0) {
      this.pushPast(row, this.words[0]!.get(row), this.words[1]!.get(row));
    }
    this.present.set(row, 1);
    for (let word = 0; word < WORDS; word++) this.words[word]!.set(row, wordAt(tokenHash, word));
  }

  /** Compares in constant time, so that timing reveals nothing about the hash. */
  matches(row: NameRow | 0, tokenHash: string): boolean {
    let difference = this.present.get(row) ^ 1;
    for (let word = 0; word < WORDS; word++)
      difference |= this.words[word]!.get(row) ^ wordAt(tokenHash, word);
    return difference === 0;
  }

  /** Whether an earlier grant had this token. */
  isPast(row: NameRow, tokenHash: string): boolean {
    const high = wordAt(tokenHash, 0);
    const low = wordAt(tokenHash, 1);
    for (let past = this.pastFirst.get(row); past !== 0; past = this.older.get(past)) {
      if (this.pastHigh.get(past) === high && this.pastLow.get(past) === low) return true;
    }
    return false;
  }

  hashOf(row: NameRow): string {
    if (this.present.get(row) === 0) return '';
    return this.words.map((column) => textOf(column.get(row))).join('');
  }

  /** Newest first. */
  pastOf(row: NameRow): string[] {
    const hashes: string[] = [];
    for (let past = this.pastFirst.get(row); past !== 0; past = this.older.get(past)) {
      hashes.push(textOf(this.pastHigh.get(past)) + textOf(this.pastLow.get(past)));
    }
    return hashes;
  }

  clear(row: NameRow): void {
    for (let past = this.pastFirst.get(row); past !== 0; ) {
      const older = this.older.get(past);
      this.pastRows.free(past);
      past = older;
    }
    this.pastFirst.set(row, 0);
    this.present.set(row, 0);
  }

  restore(row: NameRow, tokenHash: string, pastTokens: readonly string[]): void {
    for (const past of [...pastTokens].reverse()) this.pushPast(row, wordAt(past, 0), wordAt(past, 1));
    if (tokenHash !== '') this.set(row, tokenHash);
  }

  private pushPast(row: NameRow, high: number, low: number): void {
    const past = this.pastRows.take();
    this.pastHigh.set(past, high);
    this.pastLow.set(past, low);
    this.older.set(past, this.pastFirst.get(row));
    this.pastFirst.set(row, past);
    let last = past;
    for (let kept = 1; kept < PAST_TOKENS_MAX && last !== 0; kept++) last = this.older.get(last);
    const dropped = last === 0 ? 0 : this.older.get(last);
    if (dropped !== 0) {
      this.older.set(last, 0);
      this.pastRows.free(dropped);
    }
  }
}

function wordAt(hash: string, word: number): number {
  const at = 4 * word;
  return (
    ((hash.charCodeAt(at) << 24) |
      (hash.charCodeAt(at + 1) << 16) |
      (hash.charCodeAt(at + 2) << 8) |
      hash.charCodeAt(at + 3)) >>>
    0
  );
}

function textOf(word: number): string {
  return String.fromCharCode(word >>> 24, (word >>> 16) & 0xff, (word >>> 8) & 0xff, word & 0xff);
}
