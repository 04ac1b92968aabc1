/**
 * Old and new positions, collected in any order and sorted once. Typed arrays, because there are as many as payloads;
 * in chunks, because a doubling array needs three times its size.
 */
import { lowerBound } from './lower-bound.ts';

const PIECE = 64 * 1024;

export class RelocationList {
  readonly #oldAt: Float64Array[] = [];
  readonly #newAt: Float64Array[] = [];
  #length = 0;

  add(oldAt: number, newAt: number): void {
    const at = this.#length % PIECE;
    if (at === 0) {
      this.#oldAt.push(new Float64Array(PIECE));
      this.#newAt.push(new Float64Array(PIECE));
    }
    this.#oldAt.at(-1)![at] = oldAt;
    this.#newAt.at(-1)![at] = newAt;
    this.#length += 1;
  }

  /** Ascending, each old position once. Shared bytes were copied once per row, and any copy is valid. */
  sorted(): { oldAt: Float64Array; newAt: Float64Array } {
    const oldAt = unique(this.#all().sort());
    const newAt = new Float64Array(oldAt.length);
    for (let i = 0; i < this.#length; i++) {
      const piece = Math.floor(i / PIECE);
      newAt[lowerBound(this.#oldAt[piece]![i % PIECE]!, oldAt)] = this.#newAt[piece]![i % PIECE]!;
    }
    return { oldAt, newAt };
  }

  #all(): Float64Array {
    const all = new Float64Array(this.#length);
    for (const [i, piece] of this.#oldAt.entries()) {
      all.set(piece.subarray(0, this.#length - i * PIECE), i * PIECE);
    }
    return all;
  }
}

/** The list without repetitions; the same array when there are none. */
function unique(sorted: Float64Array): Float64Array {
  let count = 0;
  for (const at of sorted) if (count === 0 || sorted[count - 1] !== at) sorted[count++] = at;
  return count === sorted.length ? sorted : sorted.slice(0, count);
}
