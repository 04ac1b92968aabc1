/**
 * Whether a command only asks again for what is there, so that deciding it writes nothing. On a full disk such a repeat
 * is answered: the reply to the first call may have been lost, and a refusal would say that it had not been carried out.
 */
import type { Command } from './commands.ts';
import type { State } from './state.ts';

export function isRepeat({ tasks, names, sessions }: State, command: Command, nowMs: number): boolean {
  switch (command.type) {
    case 'CreateTask': {
      const { taskId, queue, dedupKey } = command;
      if (taskId !== null && tasks.find(taskId) !== 0) return true;
      return dedupKey !== null && tasks.findByDedup(queue, dedupKey) !== 0;
    }
    case 'LeaseTasks': {
      const { workerId, requestId } = command;
      if (requestId === null) return false;
      const found = tasks.leases.findByRequest(workerId, requestId);
      return found.some((lease) => tasks.leases.expiresAtMs.get(lease) > nowMs);
    }
    case 'AcquireNames':
      return command.names.every((name) => {
        const row = names.find(name);
        if (row === 0 || !names.isLive(row) || names.expiresAtMs.get(row) <= nowMs) return false;
        return names.tokens.matches(row, command.tokenHash);
      });
    case 'AcceptIntent': {
      const { key, previousKey } = command;
      if (sessions.findByKey(key) !== undefined) return true;
      return previousKey !== null && sessions.findByKey(previousKey) !== undefined;
    }
    case 'StartSession':
      return (sessions.find(command.sessionId)?.state ?? 'NEW') !== 'NEW';
    default:
      return false;
  }
}
