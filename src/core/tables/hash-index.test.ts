/** The hash index against a Map. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HashIndex, hashOfSeq, hashOfString } from './hash-index.ts';

function rowsOf(index: HashIndex, hash: number): number[] {
  const rows: number[] = [];
  for (let node = index.first(hash); node !== 0; node = index.after(node)) rows.push(index.row(node));
  return rows.sort((a, b) => a - b);
}

/** Few hashes and many rows, so that chains grow long and buckets split under them. */
const hashes = fc.oneof(fc.integer({ min: -4, max: 4 }), fc.integer());
const changes = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ add: fc.constant(true), hash: hashes, pick: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ add: fc.constant(false), hash: hashes, pick: fc.nat() }) },
  ),
  { maxLength: 300 },
);

describe('a hash index', () => {
  it('finds exactly the rows a Map of lists would', () => {
    fc.assert(
      fc.property(changes, (list) => {
        const index = new HashIndex();
        const model: { hash: number; row: number }[] = [];
        for (const { add, hash, pick } of list) {
          if (add) {
            model.push({ hash, row: model.length + pick + 1 });
            index.add(hash, model.at(-1)!.row);
          } else if (model.length > 0) {
            const [gone] = model.splice(pick % model.length, 1);
            index.remove(gone!.hash, gone!.row);
          }
        }
        expect(index.size).toBe(model.length);
        for (const { hash } of list) {
          const rows = model.filter((one) => one.hash === hash).map(({ row }) => row);
          expect(rowsOf(index, hash)).toEqual(rows.sort((a, b) => a - b));
        }
      }),
      { seed: 1, numRuns: 60 },
    );
  });

  it('finds everything again after thousands of splits, and nothing that was taken out', () => {
    const index = new HashIndex();
    const hash = (row: number): number => Math.imul(row, 0x9e37_79b1);
    for (let row = 1; row <= 20_000; row++) index.add(hash(row), row);
    for (let row = 1; row <= 20_000; row += 2) index.remove(hash(row), row);
    for (let row = 1; row <= 20_000; row++) {
      expect(rowsOf(index, hash(row))).toEqual(row % 2 === 0 ? [row] : []);
    }
    expect(index.size).toBe(10_000);
  });

  it('refuses to take out what is not in it', () => {
    const index = new HashIndex();
    index.add(7, 1);
    expect(() => index.remove(7, 2)).toThrow('not in the index');
    expect(() => index.remove(8, 1)).toThrow('not in the index');
  });
});

describe('hashes', () => {
  it('of positions tell positions above 2^32 apart', () => {
    const seqs = [1, 2 ** 32 + 1, 2 ** 40 + 1, 2 ** 53 - 1];
    expect(new Set(seqs.map(hashOfSeq)).size).toBe(seqs.length);
  });

  it('keeps texts that count up side by side, and spreads all others', () => {
    const hashes = Array.from({ length: 1_000 }, (_, count) => hashOfString(`id-${count + 1_000}`, 7));
    expect(hashes.map((hash) => (hash - hashes[0]!) | 0)).toEqual(hashes.map((_, count) => count));
    const spread = ['ida', 'idb', 'idc', 'id-1a', 'id-2a'].map((text) => hashOfString(text, 7) >>> 16);
    expect(new Set(spread).size).toBe(spread.length);
    expect(hashOfString('', 7)).toBe(hashOfString('0', 7));
  });

  it('of strings depend on the seed', () => {
    expect(hashOfString('name', 1)).not.toBe(hashOfString('name', 2));
    expect(hashOfString('name', 1)).toBe(hashOfString('name', 1));
  });

  it('are whole numbers of 32 bits, which is what the index keeps', () => {
    fc.assert(
      fc.property(fc.string(), fc.nat(), fc.maxSafeNat(), (text, seed, seq) => {
        for (const hash of [hashOfString(text, seed), hashOfSeq(seq)]) expect(hash).toBe(hash | 0);
      }),
      { seed: 1 },
    );
  });
});
