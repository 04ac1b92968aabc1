/**
 * From a hash to the rows that have it, by linear hashing: one bucket is split for one row added, so
 * growing costs the same small amount every time. Keys stay where they are, in their tables; the caller
 * compares. Equal hashes share a chain, so an index may hold several rows for one key.
 */
import type { Seq } from '../row-types.ts';
import { CHUNK_SHIFT, Int32Column } from './columns.ts';

const FIRST_BUCKETS = 1024;
const CHUNK_MASK = (1 << CHUNK_SHIFT) - 1;

export class HashIndex<Row extends number = number> {
  size = 0;
  private buckets = FIRST_BUCKETS;
  private base = FIRST_BUCKETS;
  private used = 0;
  private firstFree = 0;
  private readonly heads = new Int32Column();
  private readonly hashes = new Int32Column();
  private readonly rows = new Int32Column<number, Row>();
  private readonly nexts = new Int32Column();

  constructor() {
    this.heads.reserve(FIRST_BUCKETS - 1);
    this.reserveNode(0);
  }

  add(hash: number, row: Row): void {
    const node = this.takeNode();
    const bucket = this.bucketOf(hash);
    this.hashes.set(node, hash);
    this.rows.set(node, row);
    this.nexts.set(node, this.heads.get(bucket));
    this.heads.set(bucket, node);
    this.size += 1;
    if (this.size > this.buckets) this.split();
  }

  remove(hash: number, row: Row): void {
    const bucket = this.bucketOf(hash);
    let before = 0;
    for (let node = this.heads.get(bucket); node !== 0; node = this.nexts.get(node)) {
      if (this.rows.get(node) === row && this.hashes.get(node) === hash) {
        const next = this.nexts.get(node);
        if (before === 0) this.heads.set(bucket, next);
        else this.nexts.set(before, next);
        this.nexts.set(node, this.firstFree);
        this.firstFree = node;
        this.size -= 1;
        return;
      }
      before = node;
    }
    throw new Error('HashIndex.remove: the row is not in the index');
  }

  /** The first node with this hash, 0 when there is none; continue with `after`. */
  first(hash: number): number {
    return this.seek(this.heads.get(this.bucketOf(hash)), hash);
  }

  after(node: number): number {
    return this.seek(this.nexts.get(node), this.hashes.get(node));
  }

  row(node: number): Row {
    return this.rows.get(node);
  }

  private seek(from: number, hash: number): number {
    let node = from;
    while (node !== 0 && this.hashes.get(node) !== hash) node = this.nexts.get(node);
    return node;
  }

  private bucketOf(hash: number): number {
    const wide = hash & (2 * this.base - 1);
    return wide < this.buckets ? wide : hash & (this.base - 1);
  }

  /** Splits the next bucket in turn into itself and a new one at the end. */
  private split(): void {
    const from = this.buckets - this.base;
    const to = this.buckets;
    this.heads.reserve(to);
    this.heads.set(to, 0);
    this.buckets += 1;
    let node = this.heads.get(from);
    this.heads.set(from, 0);
    while (node !== 0) {
      const next = this.nexts.get(node);
      const bucket = this.bucketOf(this.hashes.get(node));
      this.nexts.set(node, this.heads.get(bucket));
      this.heads.set(bucket, node);
      node = next;
    }
    if (this.buckets === 2 * this.base) this.base *= 2;
  }

  private takeNode(): number {
    const node = this.firstFree;
    if (node !== 0) {
      this.firstFree = this.nexts.get(node);
      return node;
    }
    this.used += 1;
    if ((this.used & CHUNK_MASK) === 0) this.reserveNode(this.used);
    return this.used;
  }

  private reserveNode(node: number): void {
    this.hashes.reserve(node);
    this.rows.reserve(node);
    this.nexts.reserve(node);
  }
}

/** Hashes a log position; neighbours stay neighbours, which suits the CPU cache. */
export function hashOfSeq(seq: Seq): number {
  return (seq | 0) ^ Math.imul((seq / 0x1_0000_0000) | 0, 0x9e37_79b1);
}

/** The number of trailing digits that are read as a number. */
const COUNTED_DIGITS = 3;

/**
 * Seeded, so that a client cannot choose names that all fall into one bucket. A number at the end is added and not
 * mixed: texts that count up stay neighbours, as positions do.
 */
export function hashOfString(text: string, seed: number): number {
  let end = text.length;
  let count = 0;
  for (let scale = 1, least = end - COUNTED_DIGITS; end > 0 && end > least; scale *= 10) {
    const digit = text.charCodeAt(end - 1) - 0x30;
    if (digit < 0 || digit > 9) break;
    count += digit * scale;
    end -= 1;
  }
  let hash = seed ^ 0x811c_9dc5;
  for (let index = 0; index < end; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x0100_0193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b);
  return ((hash ^ (hash >>> 13)) + count) | 0;
}
