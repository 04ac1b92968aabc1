/**
 * The newest bytes of the log, in a ring buffer of fixed size: recently written bytes are read most. The ring holds
 * contiguous ranges of files, so a position in it is found by arithmetic.
 */
interface Stretch {
  readonly file: number;
  /** The position of the file's offset 0 in the endless stream of bytes. */
  readonly base: number;
  readonly from: number;
  to: number;
}

export class RecentBytes {
  readonly #bytesMax: number;
  #ring: Buffer = Buffer.alloc(0);
  #stretches: Stretch[] = [];
  /** How many bytes were ever added. */
  #total = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  put(file: number, offset: number, bytes: Buffer): void {
    const size = this.#bytesMax;
    if (bytes.length > size) return;
    // Zeroed pages from the operating system take no memory until they are written.
    if (this.#ring.length === 0) this.#ring = Buffer.alloc(size);
    const newest = this.#stretches.at(-1);
    if (newest && newest.file === file && newest.base + offset === this.#total) newest.to += bytes.length;
    else this.#begin(file, offset, bytes.length);
    const at = this.#total % size;
    const first = Math.min(bytes.length, size - at);
    bytes.copy(this.#ring, at, 0, first);
    if (first < bytes.length) bytes.copy(this.#ring, 0, first);
    this.#total += bytes.length;
  }

  /** A copy of the bytes, or null when they were overwritten. */
  get(file: number, offset: number, length: number): Buffer | null {
    for (let i = this.#stretches.length - 1; i >= 0; i--) {
      const stretch = this.#stretches[i]!;
      if (stretch.file !== file || offset < stretch.from) continue;
      const start = stretch.base + offset;
      if (offset + length > stretch.to || start < this.#total - this.#bytesMax) return null;
      const copy = Buffer.allocUnsafe(length);
      const at = start % this.#bytesMax;
      const first = Math.min(length, this.#bytesMax - at);
      this.#ring.copy(copy, 0, at, at + first);
      if (first < length) this.#ring.copy(copy, first, 0, length - first);
      return copy;
    }
    return null;
  }

  #begin(file: number, offset: number, length: number): void {
    const oldest = this.#total - this.#bytesMax;
    this.#stretches = this.#stretches.filter((stretch) => stretch.base + stretch.to > oldest);
    this.#stretches.push({ file, base: this.#total - offset, from: offset, to: offset + length });
  }
}
