/** The LEASE_LOST error, for named leases and for leases on tasks. */

import { type ErrorDetails, LeaseholdError, type Loss } from '../protocol/leasehold-error.ts';
import type { Problem } from '../protocol/problem.ts';

const SAYS: Readonly<Record<Loss, string>> = {
  expired: 'has run out',
  superseded: 'was granted again to its holder, and the newer grant fences this one out',
  broken: 'was ended before its time: broken, or wiped',
  unreachable: 'could not be renewed in time',
  released: 'has been released',
  killed: 'ended because the task was killed',
  cancelled: 'will end because the task was cancelled',
  restored: 'ended because the log was restored from a backup',
};

/** The fault or refusal behind the loss. */
export interface LossDetails {
  readonly cause?: unknown;
  readonly problem?: Problem;
}

/** The abort reason of a lost lease's `signal`, and what `assertHeld` throws. `cause` is the underlying fault or refusal. */
export class LeaseLostError extends LeaseholdError {
  override readonly name: string = 'LeaseLostError';
  declare readonly code: 'LEASE_LOST';
  declare readonly details: ErrorDetails['LEASE_LOST'];

  constructor(details: ErrorDetails['LEASE_LOST'], more: LossDetails = {}) {
    super('LEASE_LOST', `The lease on ${subjectOf(details)} ${endOf(details)}.`, { ...more, details });
  }
}

function endOf({ loss, taskId }: ErrorDetails['LEASE_LOST']): string {
  const isSaid = loss === 'released' && taskId !== undefined;
  return isSaid ? 'has been released: the task has already ended for this handler' : SAYS[loss];
}

function subjectOf({ names = [], taskId }: ErrorDetails['LEASE_LOST']): string {
  if (taskId !== undefined) return `task ${taskId}`;
  const [first = ''] = names;
  return names.length === 1 ? `"${first}"` : `"${first}" and ${names.length - 1} more`;
}
