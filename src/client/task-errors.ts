/**
 * Errors with which a handler controls what happens next. Any other error fails the attempt with its message, and the
 * task's retry policy applies.
 */

import { LeaseholdError } from '../protocol/leasehold-error.ts';
import { LIMITS } from '../protocol/limits.ts';
import { type Duration, durationMs } from './durations.ts';

export interface TaskErrorOptions {
  readonly cause?: unknown;
}

/** Checks the delay: with a longer one the verdict would be refused, and the task simply attempted again. */
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

/** A failure that a retry cannot fix: the task is FAILED. */
export class NoRetry extends Error {
  override readonly name = 'NoRetry';

  constructor(message: string, options: TaskErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
  }
}

/**
 * Returns the task to its queue; this counts neither as a failure nor as an attempt. It is not limited, so the default
 * delay is one second: without it, the same worker could get the task again at once.
 */
export class HandBack extends Error {
  override readonly name = 'HandBack';
  readonly delayMs: number;

  constructor(message = 'The task was handed back.', options: { readonly delay?: Duration } = {}) {
    super(message);
    this.delayMs = delayOf('HandBack', options.delay ?? '1s');
  }
}

/** The abort reason of a handler's signal at its timeout. If the handler does not stop, the attempt fails. */
export class TaskTimeout extends LeaseholdError {
  override readonly name: string = 'TaskTimeout';

  constructor(taskId: string, timeoutMs: number) {
    super('TASK_TIMEOUT', `The handler took longer than ${timeoutMs} ms.`, { details: { taskId } });
  }
}

/** The abort reason of a handler's signal when its worker stops: unfinished tasks are handed back. */
export class WorkerStopping extends LeaseholdError {
  override readonly name: string = 'WorkerStopping';

  constructor(message: string) {
    super('WORKER_STOPPING', message);
  }
}
