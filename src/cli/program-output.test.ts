// What programs print, as results and reasons.
import { describe, expect, it } from 'vitest';
import { isReasonText } from '../protocol/texts.ts';
import { OutputTail, ResultText } from './program-output.ts';

function resultOf(...pieces: (string | Uint8Array)[]): string | undefined {
  const result = new ResultText();
  for (const piece of pieces) result.add(Buffer.from(piece as string));
  return result.json()?.text();
}

describe('the result of a program', () => {
  it.each([
    ['{"b":1.0, "a":12345678901234567890}\n', '{"b":1.0, "a":12345678901234567890}'],
    ['  42  \n', '42'],
    ['"text"\n', '"text"'],
    ['hello\n', '"hello"'],
    ['hello\r\n', '"hello"'],
    ['two\nlines\n\n', '"two\\nlines\\n"'],
    ['{not json}', '"{not json}"'],
    ['NaN', '"NaN"'],
  ])('%j is %s', (printed, text) => {
    expect(resultOf(printed)).toBe(text);
  });

  it('is none when nothing was printed, or nothing but space', () => {
    expect(resultOf()).toBeUndefined();
    expect(resultOf('\n \t\n')).toBeUndefined();
  });

  it('is put together before it is read', () => {
    const bytes = Buffer.from('"Grüße"');
    expect(resultOf(bytes.subarray(0, 4), bytes.subarray(4))).toBe('"Grüße"');
  });

  it('may be as large as the authority takes it, and not larger', () => {
    expect(resultOf('x'.repeat(256 * 1024 - 2))).toHaveLength(256 * 1024);
    expect(() => resultOf('x'.repeat(256 * 1024 - 1))).toThrow('262145 bytes');
    expect(() => resultOf(...Array.from({ length: 64 }, () => 'x'.repeat(64 * 1024)))).toThrow('4194304');
  });
});

function tailOf(...pieces: string[]): string {
  const tail = new OutputTail();
  for (const piece of pieces) tail.add(Buffer.from(piece));
  return tail.text();
}

describe('the reason a program leaves', () => {
  it('is what it said last, without colours and bells', () => {
    expect(tailOf('warm up\n', '\u001b[31merror:\u001b[0m it broke\u0007\r\n')).toBe(
      'warm up\nerror: it broke\ufffd',
    );
    expect(tailOf('\u001b]0;title\u0007done')).toBe('done');
  });

  it('is empty when it said nothing', () => {
    expect(tailOf('  \n')).toBe('');
  });

  it('keeps the end of a long story, in whole characters the authority takes', () => {
    for (const character of ['x', 'ü', '日', '😀']) {
      const text = tailOf(...Array.from({ length: 5_000 }, () => character), 'the end');
      expect(text.startsWith('…')).toBe(true);
      expect(text.endsWith(`${character}the end`)).toBe(true);
      expect(text).not.toContain('\ufffd');
      expect(isReasonText(text)).toBe(true);
      expect(Buffer.byteLength(text)).toBeGreaterThan(4_080);
    }
  });

  it('is taken even when it is no text at all', () => {
    const tail = new OutputTail();
    tail.add(Buffer.from(Array.from({ length: 10_000 }, (_, index) => (index * 7) % 256)));
    expect(isReasonText(tail.text())).toBe(true);
  });
});
