/**
 * Whether a command writes nothing, because it repeats an earlier one or is refused. Such a command is decided on a full
 * disk, too: the reply to the first call may have been lost, and a caller that has lost a lease must get that refusal
 * instead of DISK_FULL, which it would retry.
 */
import type { AcquireNames, Command } from './commands.ts';
import { requeueTask } from './decide-tasks.ts';
import { writeObject } from './fences.ts';
import type { NameRow } from './row-types.ts';
import type { State } from './state.ts';

export function writesNothing(state: State, command: Command, nowMs: number): boolean {
  const { tasks, sessions } = state;
  switch (command.type) {
    case 'CreateTask': {
      const { taskId, queue, dedupKey } = command;
      if (taskId !== null && tasks.find(taskId) !== 0) return true;
      return dedupKey !== null && tasks.findByDedup(queue, dedupKey) !== 0;
    }
    case 'RequeueTask':
      return requeueTask(state, command, nowMs).entries.length === 0;
    case 'BulkTasks':
      return command.dryRun || command.tasks.length === 0;
    case 'LeaseTasks': {
      const { workerId, requestId } = command;
      if (requestId === null) return false;
      const found = tasks.leases.findByRequest(workerId, requestId);
      return found.some((lease) => tasks.leases.expiresAtMs.get(lease) > nowMs);
    }
    case 'CheckpointTask': {
      const row = tasks.find(command.taskId);
      if (row === 0 || tasks.stateOf(row) !== 'LEASED') return true;
      const lease = tasks.lease.get(row);
      const isOver = tasks.leases.expiresAtMs.get(lease) <= nowMs;
      return isOver || tasks.leases.seq.get(lease) !== command.leaseSeq;
    }
    case 'AcquireNames':
      return isAgain(state, command, nowMs) || isInTheWay(state, command, nowMs);
    case 'WriteObject':
      return writeObject(state, command).entries.length === 0;
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

/** The grant is live, and this is its token. */
function isAgain({ names }: State, command: AcquireNames, nowMs: number): boolean {
  return command.names.every((name) => {
    const row = names.find(name);
    return isHeld(names, row, nowMs) && names.tokens.matches(row, command.tokenHash);
  });
}

/** Another caller holds one of the names, and the command does not wait. */
function isInTheWay({ names }: State, command: AcquireNames, nowMs: number): boolean {
  const { waitMs, supersedes, holder } = command;
  if (waitMs > 0 || supersedes !== undefined) return false;
  return command.names.some((name) => {
    const row = names.find(name);
    return isHeld(names, row, nowMs) && !names.heldBy(row, holder);
  });
}

/** A lease that is due expires before the command is decided. */
function isHeld(names: State['names'], row: NameRow | 0, nowMs: number): row is NameRow {
  return row !== 0 && names.isLive(row) && names.expiresAtMs.get(row) > nowMs;
}
