// Intervals of schedules and limits, as the console says them.
import { expect, it } from 'vitest';
import { intervalText } from './interval-text.ts';

it.each([
  [500, '500 ms'],
  [1_500, '1 s 500 ms'],
  [5_000, '5 s'],
  [5_400_000, '1 h 30 min'],
  [90_061_001, '1 d 1 h 1 min 1 s 1 ms'],
])('an interval of %i ms reads %s', (ms, text) => {
  expect(intervalText(ms)).toBe(text);
});
