// Until when a client relies on a lease, by its own clocks.
import { describe, expect, it } from 'vitest';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { Deadline, marginMs, momentOf } from './deadline.ts';

describe('the margin', () => {
  it.each([
    [15_000, 750],
    [86_400_000, 4_320_000],
    [1_000, 50],
    [300, 50],
    [100, 25],
    [10, 2.5],
    [0, 0],
  ])('of %d ms is %d ms: a twentieth, at least 50 ms, at most a quarter', (lastsMs, margin) => {
    expect(marginMs(lastsMs)).toBe(margin);
  });
});

describe('a deadline', () => {
  it('counts from before the request was sent', () => {
    const world = new ManualWorld();
    const sent = momentOf(world.clock);
    world.monotonicMs += 4_000;
    world.wallMs += 4_000;
    expect(new Deadline(sent, 15_000).remainingMs(world.clock)).toBe(10_250);
  });

  it('is over at the very millisecond', () => {
    const world = new ManualWorld();
    const deadline = new Deadline(momentOf(world.clock), 15_000);
    world.monotonicMs += 14_249;
    world.wallMs += 14_249;
    expect(deadline.isOver(world.clock)).toBe(false);
    world.monotonicMs += 1;
    world.wallMs += 1;
    expect(deadline.isOver(world.clock)).toBe(true);
  });

  it('is over when only the wall clock says so: the machine slept', () => {
    const world = new ManualWorld();
    const deadline = new Deadline(momentOf(world.clock), 15_000);
    world.wallMs += 14_250;
    expect(deadline.isOver(world.clock)).toBe(true);
  });

  it('is over when only the monotonic clock says so: the wall clock was set back', () => {
    const world = new ManualWorld();
    const deadline = new Deadline(momentOf(world.clock), 15_000);
    world.wallMs -= 3_600_000;
    world.monotonicMs += 14_250;
    expect(deadline.isOver(world.clock)).toBe(true);
  });
});
