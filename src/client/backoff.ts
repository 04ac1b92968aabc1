/**
 * Retries transient failures: the server is unreachable, overloaded, or not yet writing. Delays grow from a tenth of a
 * second to five seconds. Permanent faults are thrown and permanent refusals returned at once.
 */

import { LeaseholdError } from '../protocol/leasehold-error.ts';
import { isRetryable, type Reply } from '../protocol/problem.ts';
import type { Timers } from '../seams/clock.ts';
import { sleep } from './sleep.ts';

const FIRST_DELAY_MS = 100;
const DELAY_MAX_MS = 5_000;

export function isTransient(fault: unknown): fault is LeaseholdError {
  return fault instanceof LeaseholdError && fault.retryable;
}

/** The delays between retries of one call. */
export class Backoff {
  private nextMs = FIRST_DELAY_MS;
  private readonly maxMs: number;

  constructor(maxMs = DELAY_MAX_MS) {
    this.maxMs = maxMs;
  }

  /** How long to wait before the next attempt. */
  take(): number {
    const ms = Math.min(this.nextMs, this.maxMs);
    this.nextMs = ms * 2;
    return ms;
  }

  reset(): void {
    this.nextMs = FIRST_DELAY_MS;
  }
}

/**
 * Repeats the call until its answer is not transient. Rejects with the signal's reason if it aborts between two calls.
 */
export async function retryUntilAnswered<T extends { readonly ok: true }>(
  timers: Timers,
  signal: AbortSignal,
  call: () => Promise<Reply<T>>,
): Promise<Reply<T>> {
  let delay: Backoff | null = null;
  for (;;) {
    try {
      const reply = await call();
      if (reply.ok || !isRetryable(reply.code)) return reply;
    } catch (fault) {
      if (signal.aborted || !isTransient(fault)) throw fault;
    }
    delay ??= new Backoff();
    await sleep(timers, delay.take(), signal);
    signal.throwIfAborted();
  }
}
