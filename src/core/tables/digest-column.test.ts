/** Digests, one a row, as numbers. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DigestColumn } from './digest-column.ts';

function createColumn(): DigestColumn {
  const column = new DigestColumn();
  column.reserve(5);
  return column;
}

describe('a column of digests', () => {
  it('has none until one is set, and none again after null', () => {
    const column = createColumn();
    expect(column.get(1)).toBeNull();
    column.set(1, 'digested');
    expect(column.get(1)).toBe('digested');
    column.set(1, null);
    expect(column.get(1)).toBeNull();
  });

  it('gives back whatever bytes it was given, up to eight, one character each', () => {
    const column = createColumn();
    const byte = fc.integer({ min: 0, max: 0xff });
    fc.assert(
      fc.property(fc.array(byte, { maxLength: 8 }), (bytes) => {
        const digest = String.fromCharCode(...bytes);
        column.set(3, digest);
        expect(column.get(3)).toBe(digest);
      }),
    );
    expect(column.get(2)).toBeNull();
    expect(column.get(4)).toBeNull();
  });

  it('tells none from one that is empty, and one from another with a zero more', () => {
    const column = createColumn();
    column.set(1, '');
    column.set(2, 'ab');
    column.set(3, 'ab\0');
    expect([column.get(1), column.get(2), column.get(3)]).toEqual(['', 'ab', 'ab\0']);
  });

  it('takes none that is longer', () => {
    expect(() => createColumn().set(1, '123456789')).toThrow('A digest of 9 bytes is too long.');
  });
});
