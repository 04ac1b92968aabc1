// Strings as bytes: whatever was written is read back, wherever the memory of the writer ends and whatever was read before.
import { describe, expect, it } from 'vitest';
import { ByteReader } from './byte-reader.ts';
import { ByteWriter } from './byte-writer.ts';

function readerOf(writer: ByteWriter): ByteReader {
  const reader = new ByteReader();
  reader.open(writer.buffer.subarray(0, writer.length), 0);
  return reader;
}

describe('a string', () => {
  it.each([
    ['ASCII', 'a'.repeat(100)],
    ['long ASCII', 'a'.repeat(300)],
    ['UTF-8', '€'.repeat(100)],
    ['WTF-8', `${'€'.repeat(100)}\ud800`],
  ])('of %s makes room for itself and what follows it, however little there was', (_, text) => {
    for (let bytes = 1; bytes < 1_000; bytes++) {
      const writer = new ByteWriter(bytes);
      writer.string(text);
      for (let i = 0; i < 4; i++) writer.f64(i);
      const reader = readerOf(writer);
      expect(reader.string(), `with ${bytes} bytes`).toBe(text);
      for (let i = 0; i < 4; i++) expect(reader.f64(), `with ${bytes} bytes`).toBe(i);
    }
  });

  it('that comes again and again is never taken for another that begins like it', () => {
    const texts: string[] = [];
    for (let base = 0; base < 300; base++) {
      const whole = String(base).padEnd(64, 'queue-');
      for (let length = 64; length > 0; length--) texts.push(whole.slice(0, length));
    }
    const writer = new ByteWriter();
    for (const text of texts) writer.string(text);
    const reader = readerOf(writer);
    expect(texts.map(() => reader.cachedString())).toEqual(texts);
  });
});
