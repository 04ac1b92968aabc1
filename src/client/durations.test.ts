// Durations as people write them.
import { describe, expect, it } from 'vitest';
import { durationMs } from './durations.ts';

describe('a duration', () => {
  it.each([
    [0, 0],
    [15_000, 15_000],
    [0.4, 0],
    ['500ms', 500],
    ['15s', 15_000],
    ['1.5s', 1_500],
    ['1m', 60_000],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
    [' 3 s ', 3_000],
  ])('reads %j as %d ms', (written, ms) => {
    expect(durationMs(written)).toBe(ms);
  });

  it.each([
    '',
    '15',
    's',
    '-1s',
    '1w',
    '1h30m',
    '1e3s',
    '15S',
    -1,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    2 ** 60,
  ])('refuses %j', (written) => {
    expect(() => durationMs(written)).toThrow(TypeError);
  });

  it('refuses what is neither a number nor a text', () => {
    for (const value of [null, undefined, {}, [], true, 1n]) {
      expect(() => durationMs(value as never)).toThrow(TypeError);
    }
  });

  it('is refused in a sentence that names it and shows how it is written', () => {
    expect(() => durationMs('soon', 'ttl')).toThrow(/^The ttl "soon" is not a duration: .*15s/);
  });
});
