/**
 * Rings when time brings something to do. What is due and cannot be written, because the disk is full, would ring again at
 * once: it is tried again after a while instead.
 */
import type { Machine } from '../core/machine.ts';
import type { Log } from '../engines/log.ts';
import type { Alarm } from './alarm.ts';
import type { AuthorityClock } from './authority-clock.ts';

const NO_ROOM_MS = 250;

export class DueAlarm {
  private readonly machine: Machine;
  private readonly log: Log;
  private readonly clock: AuthorityClock;
  private readonly alarm: Alarm;

  constructor(machine: Machine, log: Log, clock: AuthorityClock, alarm: Alarm) {
    this.machine = machine;
    this.log = log;
    this.clock = clock;
    this.alarm = alarm;
  }

  /** At once when a caller has left a line, which may set others in motion. */
  set(hasDeparted: boolean): void {
    const { machine, log } = this;
    const againMs = this.clock.nowMs() + NO_ROOM_MS;
    const dueMs = hasDeparted ? 0 : machine.nextDueMs();
    this.alarm.setBy(Math.max(dueMs, log.batchBytesMax === 0 ? againMs : 0));
    this.alarm.setBy(Math.max(machine.state.schedules.nextFiresAtMs(), log.full ? againMs : 0));
  }

  cancel(): void {
    this.alarm.cancel();
  }

  /** While the disk is full schedules wait, and space is looked for on their behalf. */
  hasRoomForTasks(): boolean {
    const { log, machine } = this;
    if (log.full && machine.state.schedules.nextFiresAtMs() <= this.clock.nowMs()) log.seekSpace();
    return !log.full;
  }
}
