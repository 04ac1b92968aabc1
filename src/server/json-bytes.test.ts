// JSON as bytes: what is written piece by piece is what JSON.stringify makes of it, however long it gets.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Json } from '../protocol/json.ts';
import { JsonBytes, Piece, SHORT_BYTES } from './json-bytes.ts';

const written = (write: (out: JsonBytes) => void): string => {
  const out = new JsonBytes();
  write(out);
  return String(out.take());
};

describe('JSON written as bytes', () => {
  it('quotes any string as JSON.stringify does', () => {
    const any = fc.oneof(fc.string(), fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary' }));
    fc.assert(
      fc.property(any, (text) => {
        expect(written((out) => out.string(text))).toBe(JSON.stringify(text));
      }),
    );
  });

  it.each([0, 7, 10, 99, 100, 999_999_999, 1e9, 2 ** 31, 2 ** 53 - 1, -1, -128, 0.5, 1e21])(
    'writes the number %d as JSON.stringify does',
    (value) => {
      expect(written((out) => out.number(value))).toBe(JSON.stringify(value));
    },
  );

  it('writes every whole number as JSON.stringify does', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), (value) => {
        expect(written((out) => out.number(value))).toBe(JSON.stringify(value));
      }),
    );
  });

  it('writes pieces and words of any length one behind the other', () => {
    const ascii = fc.stringMatching(/^[ !#-[\]-~]*$/);
    fc.assert(
      fc.property(fc.array(ascii, { maxLength: 40 }), (texts) => {
        const text = written((out) => {
          for (const each of texts) {
            out.piece(new Piece(each));
            out.word(each);
          }
        });
        expect(text).toBe(texts.map((each) => `${each}"${each}"`).join(''));
      }),
    );
  });

  it('writes a piece that ends where its room does, and goes on beyond', () => {
    const piece = new Piece('abcde');
    const count = Math.ceil(70_000 / 5);
    const text = written((out) => {
      for (let index = 0; index < count; index++) out.piece(piece);
    });
    expect(text).toBe('abcde'.repeat(count));
  });

  it('holds what is longer than its first room, piece after piece', () => {
    const pieces = Array.from({ length: 3_000 }, (_, index) => `é${'x'.repeat(index % 97)}`);
    const text = written((out) => {
      for (const [index, piece] of pieces.entries()) {
        out.json(index === 0 ? '[' : ',');
        out.string(piece);
      }
      out.json(']');
    });
    expect(JSON.parse(text)).toEqual(pieces);
  });

  it('takes opaque values as text and as bytes, of any length', () => {
    const long = JSON.stringify('é'.repeat(5_000_000));
    expect(written((out) => out.opaque(new Json(long)))).toBe(long);
    expect(written((out) => out.opaque(new Json(Buffer.from(long))))).toBe(long);
  });

  it('is empty again once taken, and what was taken does not change', () => {
    const out = new JsonBytes();
    const long = 'x'.repeat(SHORT_BYTES + 1);
    out.json(long);
    const first = out.take();
    out.json('y'.repeat(SHORT_BYTES + 1));
    expect(String(first)).toBe(long);
    expect(String(out.take())).toBe('y'.repeat(SHORT_BYTES + 1));
    expect(out.take()).toBe('');
  });

  it('takes long ones of any lengths, none of which changes or keeps much more in memory than it needs', () => {
    const out = new JsonBytes();
    const taken: [string, Buffer][] = [];
    // The first ones fill their buffer and leave in it; the others are copied out of one that is too large for them.
    for (const size of [60_000, 60_000, 61_000, 240_000, 70_000, 300_000, 5_000_000, 70_000, 40_000]) {
      const text = String(taken.length).repeat(size);
      for (let at = 0; at < size; at += 1_000) out.json(text.slice(at, at + 1_000));
      taken.push([text, out.take() as Buffer]);
    }
    for (const [text, bytes] of taken) {
      expect(bytes.equals(Buffer.from(text))).toBe(true);
      expect(bytes.buffer.byteLength).toBeLessThanOrEqual(1.25 * text.length);
    }
  });

  it('gives short ones as text and long ones as bytes', () => {
    const out = new JsonBytes();
    out.json('x'.repeat(SHORT_BYTES));
    expect(typeof out.take()).toBe('string');
    out.json('x'.repeat(SHORT_BYTES + 1));
    expect(out.take()).toBeInstanceOf(Buffer);
  });
});
