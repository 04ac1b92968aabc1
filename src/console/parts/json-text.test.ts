// Opaque JSON for reading: indented, and otherwise as it was written.
import { describe, expect, it } from 'vitest';
import { fieldText, indented } from './json-text.ts';

describe('indented JSON', () => {
  it('keeps numbers and escapes as they were written', () => {
    expect(indented('{"n":9007199254740993123,"e":1.0e-0,"s":"\\u0041{,}","l":[1,[]],"o":{ }}')).toBe(
      '{\n  "n": 9007199254740993123,\n  "e": 1.0e-0,\n  "s": "\\u0041{,}",\n  "l": [\n    1,\n    []\n  ],\n  "o": {}\n}',
    );
  });

  it('does not grow with the square of the depth', () => {
    const nest = `${'['.repeat(20_000)}1${']'.repeat(20_000)}`;
    expect(indented(nest).length).toBeLessThan(100 * nest.length);
  });

  it.each(['1', '"a \\" b"', 'null', '[]', '{}'])('leaves %s as it is', (text) => {
    expect(indented(text)).toBe(text);
  });
});

describe('the text of a field', () => {
  it.each([
    [
      '{"a":1,"payload":{"n":9007199254740993123, "payload":2},"b":3}',
      '{"n":9007199254740993123, "payload":2}',
    ],
    ['{"x":{"payload":1},"payload" : "a,}\\"" }', '"a,}\\""'],
    ['{"pay\\u006coad":1.0}', '1.0'],
    ['{"x":["payload",1]}', null],
  ])('of %s is %s', (text, found) => {
    expect(fieldText(text, 'payload')).toBe(found);
  });
});
