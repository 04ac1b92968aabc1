// Numbers as readers type them: nothing is sent in place of what cannot be read.
import { describe, expect, it } from 'vitest';
import { numberIn } from './number-field.ts';

describe('a field for a number', () => {
  it.each([
    ['', null],
    [' ', null],
    [' 20 ', 20],
    ['0.5', 0.5],
  ])('%j is %j', (text, number) => {
    expect(numberIn(text)).toBe(number);
  });

  it.each(['1O', '1,000', 'Infinity', '1e999', 'NaN'])('%s is refused, and is no empty field', (text) => {
    expect(() => numberIn(text)).toThrow(`${text} is not a number`);
  });
});
