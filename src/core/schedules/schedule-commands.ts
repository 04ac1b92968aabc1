/**
 * Schedules in the machine: fires what is due when a batch begins, and runs the commands. Before a command the due times
 * of its schedule are written, so that changing a schedule never loses one.
 *
 * A due time that passed before `attendedSinceMs` was missed. That is the start of the epoch, or the end of a stall: no
 * batch began for `STILL_MS` after something was due to fire.
 */
import type { Answer } from '../answers.ts';
import type {
  FireSchedule,
  PauseSchedule,
  RemoveSchedule,
  ResumeSchedule,
  SetSchedule,
} from '../commands.ts';
import type { Machine, MachineBounds } from '../machine.ts';
import type { Refusal } from '../refusals.ts';
import { fireByHand, removeSchedule, setSchedule, switchSchedule } from './decide-schedules.ts';
import { type Firing, type FiringRoom, fireDue, fireSchedule, isDue } from './fire-schedules.ts';
import type { Calendar } from './schedule-times.ts';

const STILL_MS = 60_000;

export type ScheduleCommand = SetSchedule | RemoveSchedule | PauseSchedule | ResumeSchedule | FireSchedule;

export class ScheduleCommands {
  private readonly machine: Machine;
  private readonly bounds: MachineBounds;
  private readonly calendar: Calendar;
  private movedSinceMs = 0;
  private lastBeginMs = 0;
  /** The remaining room in this batch. */
  private room: FiringRoom = { firings: 0, bytes: 0 };

  constructor(machine: Machine, bounds: MachineBounds, calendar: Calendar) {
    this.machine = machine;
    this.bounds = bounds;
    this.calendar = calendar;
  }

  /** Fires due schedules; without room for new tasks they wait. */
  begin(hasRoom: boolean): void {
    const { state, batchAtMs } = this.machine;
    const firesAtMs = state.schedules.nextFiresAtMs();
    this.room = { firings: this.bounds.firings, bytes: this.bounds.firedBytes };
    if (firesAtMs <= batchAtMs) {
      if (batchAtMs - Math.max(firesAtMs, this.lastBeginMs) > STILL_MS) this.movedSinceMs = batchAtMs;
      if (hasRoom) fireDue(state, this.firing(), this.room);
    }
    this.lastBeginMs = batchAtMs;
  }

  run(command: ScheduleCommand): Answer | Refusal {
    const { machine, calendar } = this;
    const { state, batchAtMs } = machine;
    const { name } = command;
    fireSchedule(state, name, this.firing(), this.room);
    // More is due than one batch takes; further batches follow at once.
    if (isDue(state.schedules.find(name), batchAtMs)) return { refused: 'OVERLOADED' };
    switch (command.type) {
      case 'SetSchedule':
        return machine.enact(setSchedule(state, command, batchAtMs, calendar));
      case 'RemoveSchedule':
        return machine.enact(removeSchedule(state, name));
      case 'PauseSchedule':
        return machine.enact(switchSchedule(state, name, true, batchAtMs, calendar));
      case 'ResumeSchedule':
        return machine.enact(switchSchedule(state, name, false, batchAtMs, calendar));
      case 'FireSchedule':
        return machine.enact(fireByHand(state, command, batchAtMs));
    }
  }

  private firing(): Firing {
    const { state, batchAtMs, commit } = this.machine;
    const attendedSinceMs = Math.max(this.movedSinceMs, state.epochStartedAtMs);
    return { nowMs: batchAtMs, attendedSinceMs, calendar: this.calendar, commit };
  }
}
