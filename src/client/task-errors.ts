/**
 * What a handler throws to say more than "it failed". Anything else that is thrown fails the task with its
 * message, and the task's own policy says whether and when it is retried.
 */

import { LeaseholdError } from '../protocol/leasehold-error.ts';
import { LIMITS } from '../protocol/limits.ts';
import { type Duration, durationMs } from './durations.ts';

export interface TaskErrorOptions {
  readonly cause?: unknown;
}

/** No task may rest longer: the verdict would be refused, and nothing come of it but another attempt. */
function delayOf(name: string, delay: Duration | undefined): number {
  if (delay === undefined) throw new TypeError(`${name} needs the option delay.`);
  const delayMs = durationMs(delay, 'delay');
  if (delayMs > LIMITS.delayMaxMs) throw new TypeError(`The delay of ${name} may be 366 days at most.`);
  return delayMs;
}

/** A failure after which the next attempt waits this long, whatever the task's backoff says. */
export class RetryLater extends Error {
  override readonly name = 'RetryLater';
  readonly delayMs: number;

  constructor(message: string, options: TaskErrorOptions & { readonly delay: Duration }) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause });
    this.delayMs = delayOf('RetryLater', options?.delay);
  }
}

/** A failure that trying again cannot mend: the task has failed for good. */
export class NoRetry extends Error {
  override readonly name = 'NoRetry';

  constructor(message: string, options: TaskErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
  }
}

/**
 * Not now, not here: the task goes back to its queue, and that is neither a failure nor an attempt. Nothing counts how
 * often, so by default it waits for a second: a worker that cannot take it would be given it again at once.
 */
export class HandBack extends Error {
  override readonly name = 'HandBack';
  readonly delayMs: number;

  constructor(message = 'The task was handed back.', options: { readonly delay?: Duration } = {}) {
    super(message);
    this.delayMs = delayOf('HandBack', options.delay ?? '1s');
  }
}

/** Why a handler's signal aborts when it takes longer than it may: if it does not heed that either, the task has failed. */
export class TaskTimeout extends LeaseholdError {
  override readonly name: string = 'TaskTimeout';

  constructor(taskId: string, timeoutMs: number) {
    super('TASK_TIMEOUT', `The handler took longer than ${timeoutMs} ms.`, { details: { taskId } });
  }
}

/** Why a handler's signal aborts when its worker stops: what it has not finished is handed back. */
export class WorkerStopping extends LeaseholdError {
  override readonly name: string = 'WorkerStopping';

  constructor(message: string) {
    super('WORKER_STOPPING', message);
  }
}
