/** What the loop needs to know about a command without deciding it: how large it is, who goes first, what a full disk forbids. */
import type { Command } from '../core/commands.ts';
import type { State } from '../core/state.ts';
import { writesNothing } from '../core/writes-nothing.ts';

export function commandBytes(command: Command): number {
  switch (command.type) {
    case 'CreateTask':
    case 'AcceptIntent':
      return command.payload.length;
    case 'CompleteTask':
      return command.writes.reduce((sum, write) => sum + write.value.length, command.result?.length ?? 0);
    case 'WriteObject':
      return command.value.length;
    case 'AcquireNames':
      return command.metadata?.length ?? 0;
    default:
      return 0;
  }
}

/** What a place in a line takes up, and the line itself where nobody else stands in it. */
const PLACE_BYTES = 256;

/** What a call takes up while it waits in lines; null for one that does not wait. */
export function waitingBytes(command: Command | null): number | null {
  if (command === null || !('waitMs' in command) || command.waitMs === 0) return null;
  const names = command.type === 'AcquireNames' ? command.names : command.queues;
  return names.reduce((sum, name) => sum + PLACE_BYTES + name.length, commandBytes(command));
}

/** What may not happen while the disk is full; renewals, completions, releases and ends still do. */
function makesNew(command: Command): boolean {
  switch (command.type) {
    case 'CreateTask':
    case 'LeaseTasks':
    case 'AcquireNames':
    case 'WriteObject':
    case 'AcceptIntent':
    case 'StartSession':
      return true;
    default:
      return false;
  }
}

/** Whether it is refused while the disk is full. What writes nothing is answered. */
export function isTooMuch(state: State, command: Command | null, nowMs: number): boolean {
  return command !== null && makesNew(command) && !writesNothing(state, command, nowMs);
}

/** What keeps or ends ownership goes before what creates it. */
export function isUrgent(command: Command | null): boolean {
  switch (command?.type) {
    case 'ExtendLease':
    case 'Heartbeat':
    case 'RenewName':
    case 'ReleaseName':
    case 'ReleaseTask':
    case 'CompleteTask':
    case 'FailTask':
    case 'StopSession':
    case 'ChangeSession':
    case 'RenewSessions':
    case 'HeartbeatSession':
      return true;
    default:
      return false;
  }
}
