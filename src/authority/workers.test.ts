// The registry of workers, where there are more of them than it holds.
import { describe, expect, it } from 'vitest';
import { Workers } from './workers.ts';

const NO_LEASES = new Map<string, number>();

describe('the worker registry', () => {
  it('forgets the worker that was silent longest when there are too many, and never the newest', () => {
    const workers = new Workers();
    for (let index = 0; index < 100_000; index++) workers.note(`worker-${index}`, 1_000);
    workers.note('worker-0', 2_000);
    for (let index = 0; index < 5_000; index++) workers.note(`late-${index}`, 3_000);
    const known = workers.list(3_000, NO_LEASES).map(({ workerId }) => workerId);
    expect(known).toHaveLength(100_000);
    expect(known).toContain('worker-0');
    expect(known).toContain('late-4999');
    expect(known).not.toContain('worker-1');
  });

  it('knows the last contact of each, also of one that calls all the time', () => {
    const workers = new Workers();
    for (const atMs of [0, 1, 999, 1_000, 1_500]) workers.note('busy', atMs);
    workers.note('other', 1_600);
    for (const atMs of [1_700, 1_999]) workers.note('busy', atMs);
    expect(workers.list(2_000, NO_LEASES)).toMatchObject([
      { workerId: 'busy', lastHeartbeatMs: 1_999 },
      { workerId: 'other', lastHeartbeatMs: 1_600 },
    ]);
    // Its last contact is later than its place.
    expect(workers.list(601_500, NO_LEASES)).toMatchObject([{ workerId: 'busy' }, { workerId: 'other' }]);
    expect(workers.list(601_600, NO_LEASES)).toMatchObject([{ workerId: 'busy' }]);
  });

  it('forgets who has been silent for ten minutes', () => {
    const workers = new Workers();
    workers.note('first', 0);
    workers.note('second', 1_000);
    workers.note('first', 2_000);
    const known = workers.list(601_000, NO_LEASES).map(({ workerId }) => workerId);
    expect(known).toEqual(['first']);
  });
});
