/** What gives back a grant that nobody has heard of. */
import type { Answer, Command, GrantedTask } from '../core/commands.ts';
import { isRefusal } from '../core/decision.ts';
import type { Refusal } from '../core/refusals.ts';

export function returnsOf(command: Command, answer: Answer | Refusal): Command[] {
  // What only repeats an earlier grant is not ours to take back: the first answer may have arrived.
  if (isRefusal(answer) || !('leases' in answer) || answer.duplicate) return [];
  if (command.type === 'AcquireNames') {
    const { holder, tokenHash } = command;
    return command.names.map((name) => ({ type: 'ReleaseName', name, holder, tokenHash }));
  }
  if (command.type !== 'LeaseTasks') return [];
  const leases = answer.leases as readonly GrantedTask[];
  return leases.map(({ taskId, leaseSeq }) => ({ type: 'ReleaseTask', taskId, leaseSeq, delayMs: 0 }));
}
