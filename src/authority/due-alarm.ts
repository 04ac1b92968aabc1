/**
 * The timer for the next expiry, delay or schedule. Waking up early does no harm, so a later due time never moves the timer:
 * leases are renewed far more often than they end. What is due but cannot be written, because the disk is full, is retried
 * after `NO_ROOM_MS`; otherwise the timer would fire again at once.
 */
import type { Machine } from '../core/machine.ts';
import type { Log } from '../engines/log.ts';
import type { Timer, Timers } from '../seams/clock.ts';
import type { AuthorityClock } from './authority-clock.ts';

const NO_ROOM_MS = 250;
/** Timers stop while the machine is suspended and the authority's time does not, so the clock is checked at this interval. */
const LOOK_MS = 10_000;

export class DueAlarm {
  private readonly machine: Machine;
  private readonly log: Log;
  private readonly clock: AuthorityClock;
  private readonly timers: Timers;
  private readonly onDue: () => void;
  private timer: Timer | null = null;
  private dueMs = Number.POSITIVE_INFINITY;

  constructor(machine: Machine, log: Log, clock: AuthorityClock, timers: Timers, onDue: () => void) {
    this.machine = machine;
    this.log = log;
    this.clock = clock;
    this.timers = timers;
    this.onDue = onDue;
  }

  /** Fires at once after an abandoned request: the waiters behind it may be served now. */
  set(hasAbandoned: boolean): void {
    const { machine, log } = this;
    const againMs = this.clock.nowMs() + NO_ROOM_MS;
    const dueMs = hasAbandoned ? 0 : machine.nextDueMs();
    this.setBy(Math.max(dueMs, log.batchBytesMax === 0 ? againMs : 0));
    this.setBy(Math.max(machine.state.schedules.nextFiresAtMs(), log.full ? againMs : 0));
  }

  cancel(): void {
    this.timer?.cancel();
    this.timer = null;
    this.dueMs = Number.POSITIVE_INFINITY;
  }

  /** While the disk is full schedules wait; a due one makes the log look for space. */
  hasRoomForTasks(): boolean {
    const { log, machine } = this;
    if (log.full && machine.state.schedules.nextFiresAtMs() <= this.clock.nowMs()) log.seekSpace();
    return !log.full;
  }

  private setBy(dueMs: number): void {
    if (dueMs >= this.dueMs) return;
    this.cancel();
    this.dueMs = dueMs;
    this.look();
  }

  private look(): void {
    const aheadMs = this.dueMs - this.clock.nowMs();
    if (aheadMs <= 0) {
      this.cancel();
      this.onDue();
      return;
    }
    this.timer = this.timers.after(Math.min(aheadMs, LOOK_MS), () => this.look());
  }
}
