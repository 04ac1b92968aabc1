// How long a queue takes to drain, as the console says it.
import { describe, expect, it } from 'vitest';
import { drainTimeMs } from './drain-time.ts';

const queue = (ready: number, limited: number, leased: number) => ({ ready, limited, leased });

describe('the time in which a queue drains', () => {
  it('counts tasks that a limit holds back, at the pace of the last half minute', () => {
    expect(drainTimeMs(queue(40, 80, 2), [2, 4])).toBe(40_000);
    expect(drainTimeMs(queue(0, 80, 2), [100, ...new Array(15).fill(2)])).toBe(40_000);
    expect(drainTimeMs(queue(0, 0, 2), [2])).toBe('empty');
  });

  it('is not said before the pace was measured', () => {
    expect(drainTimeMs(queue(40, 0, 2), [])).toBe('unmeasured');
  });

  it('is never only while no worker has a task and no limit holds any back', () => {
    expect(drainTimeMs(queue(40, 0, 2), [0, 0])).toBe('slow');
    expect(drainTimeMs(queue(0, 80, 0), [0, 0])).toBe('slow');
    expect(drainTimeMs(queue(40, 0, 0), [0, 0])).toBe('never');
  });
});
