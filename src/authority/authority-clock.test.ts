// The authority's time, from the clock of its machine or from one that the log has, moved by hand.
import { beforeEach, describe, expect, it } from 'vitest';
import { ManualWorld } from '../../test/support/manual-world.ts';
import { AuthorityClock } from './authority-clock.ts';

const NONE = { nowMs: () => null };

let world: ManualWorld;

beforeEach(() => {
  world = new ManualWorld();
});

describe('time without a clock of the log', () => {
  it('starts with the wall clock, or at the end of the log if that is later, and counts by itself', () => {
    const plain = new AuthorityClock(world.clock, 0, NONE);
    const ahead = new AuthorityClock(world.clock, world.wallMs + 5_000, NONE);
    const fromMs = world.wallMs;
    world.monotonicMs += 1_000;
    expect([plain.nowMs(), ahead.nowMs()]).toEqual([fromMs + 1_000, fromMs + 6_000]);
  });
});

describe('time by the clock of the log', () => {
  const FROM_MS = 1_700_000_000_000;
  let sharedMs: number;
  const shared = { nowMs: () => sharedMs };

  beforeEach(() => {
    sharedMs = FROM_MS;
  });

  const pass = (ms: number): void => {
    sharedMs += ms;
    world.monotonicMs += ms;
  };

  it('follows it all the time, whatever the clock of the machine does', () => {
    const clock = new AuthorityClock(world.clock, FROM_MS - 1, shared);
    pass(1_000);
    sharedMs += 7;
    world.setWall(0);
    expect(clock.nowMs()).toBe(FROM_MS + 1_007);
  });
});
