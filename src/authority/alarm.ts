/**
 * Sees to it that something is called by the time it falls due. An alarm that is early does no harm, so a
 * later time never moves it: leases are renewed far more often than they end.
 */

import type { Timer, Timers } from '../seams/clock.ts';
import type { AuthorityClock } from './authority-clock.ts';

/** Timers stop while the machine is suspended and the authority's time does not, so it is looked at this often. */
const LOOK_MS = 10_000;

export class Alarm {
  private readonly clock: AuthorityClock;
  private readonly timers: Timers;
  private readonly ring: () => void;
  private timer: Timer | null = null;
  private dueMs = Number.POSITIVE_INFINITY;

  constructor(clock: AuthorityClock, timers: Timers, ring: () => void) {
    this.clock = clock;
    this.timers = timers;
    this.ring = ring;
  }

  setBy(dueMs: number): void {
    if (dueMs >= this.dueMs) return;
    this.cancel();
    this.dueMs = dueMs;
    this.look();
  }

  cancel(): void {
    this.timer?.cancel();
    this.timer = null;
    this.dueMs = Number.POSITIVE_INFINITY;
  }

  private look(): void {
    const aheadMs = this.dueMs - this.clock.nowMs();
    if (aheadMs <= 0) {
      this.cancel();
      this.ring();
      return;
    }
    this.timer = this.timers.after(Math.min(aheadMs, LOOK_MS), () => this.look());
  }
}
