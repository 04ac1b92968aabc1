// Percentiles, medians and the summary of rounds.
import { describe, expect, it } from 'vitest';
import { median, percentile, summary } from './statistics.mjs';

describe('statistics of the peers', () => {
  it('take the middle value, or the mean of the two in the middle', () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(median([])).toBeNull();
  });

  it('sort samples by number', () => {
    const samples = Array.from({ length: 100 }, (_, index) => 100 - index);
    expect(percentile(samples, 0.5)).toBe(51);
    expect(percentile(samples, 0.99)).toBe(100);
    expect(percentile([7], 0.99)).toBe(7);
    expect(percentile([], 0.5)).toBeNull();
  });

  it('summarise each figure over the rounds that have it', () => {
    expect(
      summary([
        { perSecond: 10, serverUs: null },
        { perSecond: 30, serverUs: null, p99Ms: 4 },
        { perSecond: 20, serverUs: null },
      ]),
    ).toEqual({ perSecond: { median: 20, min: 10, max: 30 }, p99Ms: { median: 4, min: 4, max: 4 } });
  });
});
