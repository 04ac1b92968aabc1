// The numbers of epochs that restores begin: above the backup's, different, and never used up.
import { describe, expect, it } from 'vitest';
import { restoredEpoch } from './restored-epoch.ts';

const SEEDS = [0, 1, -1, 0x7fff_ffff, -0x8000_0000, 12_345_678];

describe('the epoch of a restored log', () => {
  it('is above that of the backup, and another one for another seed', () => {
    for (const lastEpoch of [0, 1, 7, 1_000_000]) {
      const epochs = SEEDS.map((seed) => restoredEpoch(lastEpoch, seed));
      expect(Math.min(...epochs)).toBeGreaterThan(lastEpoch);
      expect(new Set(epochs).size).toBe(SEEDS.length);
    }
  });

  it('fits into the 32 bits that a frame has for it, after a thousand restores of restored logs too', () => {
    let epoch = 1;
    for (let restore = 0; restore < 1_000; restore++) epoch = restoredEpoch(epoch, -1);
    expect(epoch).toBeLessThan(2 ** 32);
    const steps = new Set(SEEDS.map((seed) => restoredEpoch(epoch, seed)));
    expect(steps.size).toBe(SEEDS.length);
    expect(restoredEpoch(2 ** 32 - 2, -1)).toBe(2 ** 32 - 1);
  });
});
