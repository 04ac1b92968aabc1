/** Why a task is not running, as a code and a sentence: the question every operator asks first. */
import type { TaskRow } from './row-types.ts';
import type { State } from './state.ts';

export type WhyCode =
  | 'DELAYED'
  | 'BACKOFF'
  | 'WAITING_FOR_WORKER'
  | 'QUEUE_PAUSED'
  | 'LEASED'
  | 'COMPLETED'
  | 'FAILED'
  | 'DEAD';

export interface Why {
  readonly code: WhyCode;
  readonly says: string;
}

export function whyNotRunning({ tasks }: State, row: TaskRow, nowMs: number): Why {
  const state = tasks.stateOf(row);
  const queue = tasks.queueOf(row);
  const reason = tasks.reason.get(row);
  switch (state) {
    case 'LEASED': {
      const lease = tasks.lease.get(row);
      const worker = tasks.leases.workerOf(lease);
      // A standby may look at a lease that is over and not written off yet.
      const remainingMs = Math.max(0, tasks.leases.expiresAtMs.get(lease) - nowMs);
      return { code: 'LEASED', says: `It is running: ${worker} has it for another ${remainingMs} ms.` };
    }
    case 'COMPLETED':
      return { code: 'COMPLETED', says: 'It has been completed.' };
    case 'FAILED':
      return {
        code: 'FAILED',
        says: `It failed ${tasks.failures.get(row)} times, the last time with: ${reason}`,
      };
    case 'DEAD':
      return { code: 'DEAD', says: `It is dead: ${reason}` };
    case 'WAITING': {
      const waitMs = tasks.dueAtMs.get(row) - nowMs;
      if (waitMs > 0 && tasks.failures.get(row) > 0 && lastEnd(tasks, row) === 'fail') {
        return {
          code: 'BACKOFF',
          says: `It is tried again in ${waitMs} ms, after it failed with: ${reason}`,
        };
      }
      if (waitMs > 0) return { code: 'DELAYED', says: `It is not due for another ${waitMs} ms.` };
      if (queue.paused) return { code: 'QUEUE_PAUSED', says: `The queue ${queue.name} is paused.` };
      return {
        code: 'WAITING_FOR_WORKER',
        says: `It is due, and waits for a worker to ask the queue ${queue.name}.`,
      };
    }
  }
}

function lastEnd(tasks: State['tasks'], row: TaskRow): string {
  const lease = tasks.lease.get(row);
  return lease === 0 ? 'none' : tasks.leases.endOf(lease);
}
