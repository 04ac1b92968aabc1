/**
 * A map from numbers to short-lived objects: calls in flight, held leases. A built-in `Map` is slow for these. V8 links
 * each table that a `Map` has outgrown to the next one; once such a table is in the old generation, every later table
 * and everything that was ever in it survives young collections, until the next full one.
 *
 * Open addressing with linear probing, at most half full. A deletion moves later entries of its run back, so that no
 * marks of deleted entries are left. Keys are scattered: numbers that count up would make one long run.
 */
const CAPACITY_MIN = 16;
const SCATTER = 0x9e3779b1;

export class ChurnMap<V extends object> {
  #keys = new Float64Array(CAPACITY_MIN);
  #values: (V | null)[] = new Array(CAPACITY_MIN).fill(null);
  #mask = CAPACITY_MIN - 1;
  #shift = Math.clz32(CAPACITY_MIN) + 1;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: number): V | undefined {
    return this.#values[this.#placeOf(key)] ?? undefined;
  }

  has(key: number): boolean {
    return this.#values[this.#placeOf(key)] !== null;
  }

  set(key: number, value: V): void {
    const place = this.#placeOf(key);
    const isNew = this.#values[place] === null;
    this.#keys[place] = key;
    this.#values[place] = value;
    if (!isNew) return;
    this.#size += 1;
    if (2 * this.#size > this.#mask) this.#grow();
  }

  delete(key: number): boolean {
    let free = this.#placeOf(key);
    if (this.#values[free] === null) return false;
    this.#size -= 1;
    const mask = this.#mask;
    for (let place = (free + 1) & mask; this.#values[place] !== null; place = (place + 1) & mask) {
      const home = this.#homeOf(this.#keys[place]!);
      // It may move back if its home is not behind the free place.
      if (((place - home) & mask) < ((place - free) & mask)) continue;
      this.#keys[free] = this.#keys[place]!;
      this.#values[free] = this.#values[place]!;
      free = place;
    }
    this.#values[free] = null;
    return true;
  }

  /** A copy of all entries, lowest number first, so that the map can change during iteration. */
  entries(): [number, V][] {
    return this.#unordered().sort(([a], [b]) => a - b);
  }

  #unordered(): [number, V][] {
    const found: [number, V][] = [];
    for (let place = 0; place <= this.#mask; place++) {
      const value = this.#values[place]!;
      if (value !== null) found.push([this.#keys[place]!, value]);
    }
    return found;
  }

  values(): V[] {
    return this.entries().map(([, value]) => value);
  }

  clear(): void {
    this.#values.fill(null);
    this.#size = 0;
  }

  #homeOf(key: number): number {
    return Math.imul(key, SCATTER) >>> this.#shift;
  }

  /** Where the key is, or where it would be put. */
  #placeOf(key: number): number {
    const mask = this.#mask;
    let place = this.#homeOf(key);
    while (this.#values[place] !== null && this.#keys[place] !== key) place = (place + 1) & mask;
    return place;
  }

  #grow(): void {
    const all = this.#unordered();
    const capacity = 2 * (this.#mask + 1);
    this.#keys = new Float64Array(capacity);
    this.#values = new Array(capacity).fill(null);
    this.#mask = capacity - 1;
    this.#shift -= 1;
    for (const [key, value] of all) {
      const place = this.#placeOf(key);
      this.#keys[place] = key;
      this.#values[place] = value;
    }
  }
}
