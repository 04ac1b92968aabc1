/**
 * Sees to it that something is called by the time it falls due. An alarm that is early does no harm, so a
 * later time never moves it: leases are renewed far more often than they end.
 */

import type { Timer, Timers } from '../seams/clock.ts';
import type { AuthorityClock } from './authority-clock.ts';

/** No timer is set further ahead, because a clock may be drifting. */
const AHEAD_MAX_MS = 3_600_000;

export class Alarm {
  private readonly clock: AuthorityClock;
  private readonly timers: Timers;
  private readonly ring: () => void;
  private timer: Timer | null = null;
  private atMs = Number.POSITIVE_INFINITY;

  constructor(clock: AuthorityClock, timers: Timers, ring: () => void) {
    this.clock = clock;
    this.timers = timers;
    this.ring = ring;
  }

  setBy(dueMs: number): void {
    if (dueMs >= this.atMs) return;
    this.cancel();
    const nowMs = this.clock.nowMs();
    if (dueMs <= nowMs) {
      this.ring();
      return;
    }
    this.atMs = Math.min(dueMs, nowMs + AHEAD_MAX_MS);
    this.timer = this.timers.after(this.atMs - nowMs, () => {
      this.cancel();
      this.ring();
    });
  }

  cancel(): void {
    this.timer?.cancel();
    this.timer = null;
    this.atMs = Number.POSITIVE_INFINITY;
  }
}
