/** Lengths of time for people. */
import { describe, expect, it } from 'vitest';
import { spanText } from './span-text.ts';

describe('a length of time', () => {
  it('has one unit up to a minute, and then two, of which none is rounded up', () => {
    const spans = [0, 999, 1_000, 59_999, 60_000, 3_592_147, 3_600_000, 7_500_000, 86_399_999, 273_600_000];
    expect(spans.map(spanText)).toEqual([
      '0 ms',
      '999 ms',
      '1.0 s',
      '59.9 s',
      '1 min',
      '59 min 52 s',
      '1 h',
      '2 h 5 min',
      '23 h 59 min',
      '3 d 4 h',
    ]);
  });
});
