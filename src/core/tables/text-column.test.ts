/** Texts by row, each kept exactly as long as its row has it, and the slab that keeps them, against an array of strings. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StringSlab, TextColumn } from './text-column.ts';

/** Slots of 16 bytes to 8 KiB, two of which are the length. */
const LARGEST_OF_CLASS = Array.from({ length: 10 }, (_, index) => 2 ** (4 + index) - 2);

const texts = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
  fc.constantFrom('', 'ä', '\ufeffname', 'name\ufeff', '\u{1f512}', 'é'.normalize('NFD')),
);

describe('a text column', () => {
  it('keeps a text until another one, or none, takes its place', () => {
    const strings = new StringSlab();
    const column = new TextColumn(strings);
    column.reserve(2);
    expect([column.get(1), column.has(1), column.equals(1, '')]).toEqual([null, false, false]);
    column.set(1, 'one');
    column.set(2, '');
    expect([column.get(1), column.get(2), strings.size]).toEqual(['one', '', 2]);
    expect([column.equals(1, 'one'), column.equals(1, 'on'), column.equals(2, '')]).toEqual([
      true,
      false,
      true,
    ]);
    column.set(1, 'another');
    expect([column.get(1), strings.size]).toEqual(['another', 2]);
    column.set(1, null);
    expect([column.get(1), column.has(2), strings.size]).toEqual([null, true, 1]);
  });
});

describe('a slab of strings', () => {
  it('gives back every string it was given, whatever was freed in between', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(texts, fc.option(fc.nat())), { maxLength: 80 }), (changes) => {
        const slab = new StringSlab();
        const kept: { handle: number; text: string }[] = [];
        for (const [text, drop] of changes) {
          kept.push({ handle: slab.put(text), text });
          if (drop !== null) slab.free(kept.splice(drop % kept.length, 1)[0]!.handle);
        }
        expect(slab.size).toBe(kept.length);
        for (const { handle, text } of kept) {
          expect(slab.get(handle)).toBe(text);
          expect(slab.equals(handle, text)).toBe(true);
          for (const other of kept) expect(slab.equals(handle, other.text)).toBe(text === other.text);
        }
      }),
      { seed: 5, numRuns: 200 },
    );
  });

  it.each(LARGEST_OF_CLASS)('keeps strings of %i bytes and of one more or less, side by side', (length) => {
    const slab = new StringSlab();
    const lengths = [length - 1, length, length + 1].filter((each) => each <= LARGEST_OF_CLASS.at(-1)!);
    const handles = lengths.flatMap((each) => ['a', 'b'].map((letter) => ({ text: letter.repeat(each) })));
    const kept = handles.map(({ text }) => ({ text, handle: slab.put(text) }));
    for (const { text, handle } of kept) expect(slab.get(handle)).toBe(text);
  });

  it('keeps strings whose bytes are more than their characters, up to the largest slot', () => {
    const slab = new StringSlab();
    for (const length of LARGEST_OF_CLASS) {
      const text = 'ä'.repeat(length / 2);
      const handle = slab.put(text);
      expect(slab.get(handle)).toBe(text);
      expect(slab.equals(handle, text)).toBe(true);
      expect(slab.equals(handle, `${text}a`)).toBe(false);
      expect(slab.equals(handle, text.slice(1))).toBe(false);
    }
  });

  it('refuses what is larger than its largest slot', () => {
    const slab = new StringSlab();
    expect(() => slab.put('a'.repeat(8191))).toThrow('too long');
    expect(() => slab.put('ä'.repeat(4096))).toThrow('too long');
    expect(slab.size).toBe(0);
  });

  it('never takes a prefix for the whole', () => {
    const slab = new StringSlab();
    const handle = slab.put('lease:tuner:1');
    expect(slab.equals(handle, 'lease:tuner:')).toBe(false);
    expect(slab.equals(handle, 'lease:tuner:11')).toBe(false);
    expect(slab.equals(handle, 'lease:tuner:1')).toBe(true);
  });

  it('never gives handle 0, so that 0 can mean "no string"', () => {
    const slab = new StringSlab();
    for (let count = 0; count < 5_000; count++) expect(slab.put('')).not.toBe(0);
  });

  it('uses a freed slot again, so that memory stays flat', () => {
    const slab = new StringSlab();
    const first = slab.put('one');
    slab.free(first);
    expect(slab.put('two')).toBe(first);
    // The slot tried for the ASCII form of a text that is not ASCII goes back as well.
    const wide = slab.put('ä');
    slab.free(wide);
    expect(slab.put('ö')).toBe(wide);
  });
});
