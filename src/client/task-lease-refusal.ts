/** Interprets a refused extension or checkpoint: the task's lease is lost, and how, or something else is wrong. */
import { LeaseholdError } from '../protocol/leasehold-error.ts';
import type { Problem } from '../protocol/problem.ts';
import { lossBy, type TaskRun } from './task-run.ts';
import type { Transport } from './transport.ts';

/** The error to throw. A lost lease ends the whole run. */
export async function refusedFor(
  run: TaskRun,
  problem: Problem,
  transport: Transport,
): Promise<LeaseholdError> {
  const { task_id, lease_id } = run.lease;
  if (problem.code === 'LEASE_EXPIRED') run.lose('expired');
  else if (problem.code === 'LEASE_NOT_CURRENT') {
    const task = await transport.call('task.get', { task_id });
    const end = task.ok ? task.leases.find((lease) => lease.lease_id === lease_id)?.end : undefined;
    run.lose(lossBy(end));
  } else return LeaseholdError.of(problem);
  return run.over ?? LeaseholdError.of(problem);
}
