// A disk counts as quick after a while of quick appends, and no longer after one slow append.
import { describe, expect, it } from 'vitest';
import { DiskPace } from './disk-pace.ts';

function append(disk: DiskPace, tookMs: number): number {
  disk.begin(1_000);
  return disk.end(1_000 + tookMs);
}

describe('the pace of a disk', () => {
  it('is known after sixteen quick appends in a row', () => {
    const disk = new DiskPace();
    for (let count = 0; count < 15; count++) append(disk, 0.5);
    expect(disk.isQuick).toBe(false);
    append(disk, 0.5);
    expect(disk.isQuick).toBe(true);
  });

  it('is slow again after one slow append', () => {
    const disk = new DiskPace();
    for (let count = 0; count < 20; count++) append(disk, 0.5);
    expect(append(disk, 1)).toBe(1);
    expect(disk.isQuick).toBe(false);
  });
});
