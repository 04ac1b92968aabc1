// The size of a batch follows what its calls cost.
import { describe, expect, it } from 'vitest';
import { BatchSize } from './batch-size.ts';

describe('the size of a batch', () => {
  it('begins small, doubles while full batches are quick, and has an end', () => {
    const size = new BatchSize();
    const seen = [size.max];
    for (let batch = 0; batch < 7; batch++) {
      size.note(size.max, 20);
      seen.push(size.max);
    }
    expect(seen).toEqual([256, 512, 1_024, 2_048, 4_096, 8_192, 8_192, 8_192]);
  });

  it('stays while batches are not full', () => {
    const size = new BatchSize();
    size.note(255, 1);
    expect(size.max).toBe(256);
  });

  it('halves when the loop was away for long, also when the batch was not full, and never to nothing', () => {
    const size = new BatchSize();
    size.note(1, 21);
    expect(size.max).toBe(128);
    for (let batch = 0; batch < 10; batch++) size.note(size.max, 1_000);
    expect(size.max).toBe(64);
    size.note(64, 1);
    expect(size.max).toBe(128);
  });
});
