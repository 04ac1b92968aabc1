/**
 * Whether a command only asks again for what is there, so that deciding it writes nothing. On a full disk such a repeat
 * is answered: the reply to the first call may have been lost, and a refusal would say that it had not been carried out.
 */
import type { Command } from './commands.ts';
import type { State } from './state.ts';

export function isRepeat({ tasks, names, sessions }: State, command: Command): boolean {
  switch (command.type) {
    case 'CreateTask': {
      const { taskId, queue, dedupKey } = command;
      if (taskId !== null && tasks.find(taskId) !== 0) return true;
      return dedupKey !== null && tasks.findByDedup(queue, dedupKey) !== 0;
    }
    case 'LeaseTasks': {
      const { workerId, requestId } = command;
      return requestId !== null && tasks.leases.findByRequest(workerId, requestId).length > 0;
    }
    case 'AcquireNames':
      return command.names.every((name) => {
        const row = names.find(name);
        return row !== 0 && names.isLive(row) && names.tokens.matches(row, command.tokenHash);
      });
    case 'AcceptIntent':
      return sessions.findByKey(command.key) !== undefined;
    case 'StartSession':
      return (sessions.find(command.sessionId)?.state ?? 'NEW') !== 'NEW';
    default:
      return false;
  }
}
