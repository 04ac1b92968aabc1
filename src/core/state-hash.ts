/**
 * One number for a whole state: two states with the same hash answer every question alike. It is taken
 * over the image, so it sees rows, orders and free rows, and leaves out only where the log keeps opaque
 * bytes, because compaction moves them. A checksum for comparing, not cryptography.
 */
import { imageOf } from './image-io.ts';
import type { State } from './state.ts';

/** Marks that keep `['ab']` and `['a', 'b']`, null and 0, true and 1 apart. */
const TAGS = { none: 1, boolean: 2, number: 3, string: 4, list: 5, record: 6 } as const;

/** Fields of `Opaque` that say where bytes are, not what they are. */
const PLACES: readonly string[] = ['at', 'bytes'];

export function stateHash(state: State): string {
  const mix = new Mix();
  for (const record of imageOf(state)) mix.value(record);
  return mix.digest();
}

class Mix {
  private high = 0x811c_9dc5;
  private low = 0x9747_b28c;
  private readonly float = new DataView(new ArrayBuffer(8));

  value(value: unknown): void {
    if (value === null || value === undefined) this.word(TAGS.none);
    else if (typeof value === 'number') this.number(value);
    else if (typeof value === 'string') this.string(value);
    else if (typeof value === 'boolean') this.tagged(TAGS.boolean, value ? 1 : 0);
    else if (Array.isArray(value)) this.list(value);
    else this.record(value as Record<string, unknown>);
  }

  digest(): string {
    return hex(finish(this.high ^ this.low)) + hex(finish(Math.imul(this.low, 3) ^ this.high));
  }

  private number(value: number): void {
    // Minus zero is zero to every reader of the state.
    this.float.setFloat64(0, value + 0);
    this.tagged(TAGS.number, this.float.getUint32(0));
    this.word(this.float.getUint32(4));
  }

  private string(text: string): void {
    this.tagged(TAGS.string, text.length);
    for (let index = 0; index < text.length; index++) this.word(text.charCodeAt(index));
  }

  private list(values: readonly unknown[]): void {
    this.tagged(TAGS.list, values.length);
    for (const value of values) this.value(value);
  }

  /** Fields in the order of the image, which is fixed, so their names are not hashed. */
  private record(record: Record<string, unknown>): void {
    this.word(TAGS.record);
    for (const field in record) {
      if (!PLACES.includes(field)) this.value(record[field]);
    }
  }

  private tagged(tag: number, word: number): void {
    this.word(tag);
    this.word(word);
  }

  /** Two lanes that mix every word differently, so that a collision must happen in both at once. */
  private word(word: number): void {
    const high = Math.imul(this.high ^ word, 0x0100_0193);
    this.high = (high << 13) | (high >>> 19);
    const low = Math.imul(this.low ^ Math.imul(word, 0xcc9e_2d51), 0x1b87_3593);
    this.low = ((low << 15) | (low >>> 17)) + 0x6546_b64;
  }
}

function finish(word: number): number {
  let mixed = Math.imul(word ^ (word >>> 16), 0x85eb_ca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

function hex(word: number): string {
  return word.toString(16).padStart(8, '0');
}
