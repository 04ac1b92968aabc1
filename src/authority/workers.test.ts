// The registry of workers, where there are more of them than it holds.
import { describe, expect, it } from 'vitest';
import { Workers } from './workers.ts';

const NOBODY = new Map<string, number>();

describe('the worker registry', () => {
  it('forgets who was silent longest when there are too many, and never whom it heard last', () => {
    const workers = new Workers();
    for (let index = 0; index < 100_000; index++) workers.heard(`worker-${index}`, 1_000);
    workers.heard('worker-0', 2_000);
    for (let index = 0; index < 5_000; index++) workers.heard(`late-${index}`, 3_000);
    const known = workers.list(3_000, NOBODY).map(({ workerId }) => workerId);
    expect(known).toHaveLength(100_000);
    expect(known).toContain('worker-0');
    expect(known).toContain('late-4999');
    expect(known).not.toContain('worker-1');
  });

  it('knows when it heard of each, also of one that is heard of all the time', () => {
    const workers = new Workers();
    for (const atMs of [0, 1, 999, 1_000, 1_500]) workers.heard('busy', atMs);
    workers.heard('other', 1_600);
    for (const atMs of [1_700, 1_999]) workers.heard('busy', atMs);
    expect(workers.list(2_000, NOBODY)).toMatchObject([
      { workerId: 'busy', lastHeartbeatMs: 1_999 },
      { workerId: 'other', lastHeartbeatMs: 1_600 },
    ]);
    // Heard of later than it took its place.
    expect(workers.list(601_500, NOBODY)).toMatchObject([{ workerId: 'busy' }, { workerId: 'other' }]);
    expect(workers.list(601_600, NOBODY)).toMatchObject([{ workerId: 'busy' }]);
  });

  it('forgets who has been silent for ten minutes', () => {
    const workers = new Workers();
    workers.heard('first', 0);
    workers.heard('second', 1_000);
    workers.heard('first', 2_000);
    const known = workers.list(601_000, NOBODY).map(({ workerId }) => workerId);
    expect(known).toEqual(['first']);
  });
});
