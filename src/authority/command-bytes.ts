/** How large a command is, and what it takes up while it waits in lines. */
import type { Command } from '../core/commands.ts';

export function commandBytes(command: Command): number {
  switch (command.type) {
    case 'CreateTask':
    case 'AcceptIntent':
    case 'SetSchedule':
      return command.payload.length;
    case 'RequeueTask':
      return command.origin?.payload?.length ?? 0;
    case 'BulkTasks':
      return command.tasks.reduce((sum, { payload }) => sum + (payload?.length ?? 0), 0);
    case 'CompleteTask':
      return command.writes.reduce((sum, write) => sum + write.value.length, command.result?.length ?? 0);
    case 'WriteObject':
    case 'CheckpointTask':
      return command.value.length;
    case 'AcquireNames':
      return command.metadata?.length ?? 0;
    default:
      return 0;
  }
}

/** What a place in a line takes up, and the line itself where it is the only one in it. */
const PLACE_BYTES = 256;

/** What a call takes up while it waits in lines; null for one that does not wait. */
export function waitingBytes(command: Command | null): number | null {
  if (command === null || !('waitMs' in command) || command.waitMs === 0) return null;
  const names = command.type === 'AcquireNames' ? command.names : command.queues;
  return names.reduce((sum, name) => sum + PLACE_BYTES + name.length, commandBytes(command));
}
