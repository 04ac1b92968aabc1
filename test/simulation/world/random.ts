/**
 * Chance from a seed: xoshiro128**, seeded by splitmix32. Every part of the world draws from a stream of its own, named
 * after it, so that one part that draws more or less does not change what the others get.
 */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #d: number;

  constructor(seed: number, stream: string) {
    let state = (seed ^ Math.floor(seed / 2 ** 32)) >>> 0;
    for (let index = 0; index < stream.length; index++) {
      state = Math.imul(state ^ stream.charCodeAt(index), 0x0100_0193) >>> 0;
    }
    const next = (): number => {
      state = (state + 0x9e37_79b9) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 16), 0x21f0_aaad);
      mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a_2d97);
      return (mixed ^ (mixed >>> 15)) >>> 0;
    };
    this.#a = next();
    this.#b = next();
    this.#c = next();
    this.#d = next() | 1;
  }

  word(): number {
    const times5 = Math.imul(this.#b, 5);
    const result = Math.imul((times5 << 7) | (times5 >>> 25), 9) >>> 0;
    const shifted = this.#b << 9;
    this.#c ^= this.#a;
    this.#d ^= this.#b;
    this.#b ^= this.#c;
    this.#a ^= this.#d;
    this.#c ^= shifted;
    this.#d = (this.#d << 11) | (this.#d >>> 21);
    return result;
  }

  /** From 0 to 1, without 1. */
  unit(): number {
    return this.word() / 2 ** 32;
  }

  /** A whole number below `limit`. */
  below(limit: number): number {
    return Math.floor(this.unit() * limit);
  }

  /** A whole number, both ends included. */
  between(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }

  /** In milliseconds, with a resolution of a microsecond. */
  span(lowMs: number, highMs: number): number {
    return Math.round((lowMs + this.unit() * (highMs - lowMs)) * 1000) / 1000;
  }

  /** Between both ends, but every order of magnitude as likely as the next. */
  magnitude(lowMs: number, highMs: number): number {
    return Math.round(lowMs * (highMs / lowMs) ** this.unit());
  }

  chance(probability: number): boolean {
    return this.unit() < probability;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }

  /** As many different ones as asked for, in the order of the list. */
  some<T>(list: readonly T[], count: number): T[] {
    let wanted = Math.min(count, list.length);
    return list.filter((_, index) => {
      const isTaken = this.below(list.length - index) < wanted;
      if (isTaken) wanted -= 1;
      return isTaken;
    });
  }

  /** 128 bits, as the ids of the real world. */
  token(): string {
    let text = '';
    for (let part = 0; part < 4; part++) text += this.word().toString(16).padStart(8, '0');
    return text;
  }
}
