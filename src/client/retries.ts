/**
 * Whether a call may be retried after a lost reply, when it may have been carried out. The rule: every retried call
 * must be idempotent. Each definition in `src/operations` says how that is ensured.
 */
import type { Retry as RetryRule } from '../operations/operation.ts';
import type { Operation } from '../operations/table.ts';
import { OPERATION_ROWS } from './operation-table.ts';

export type Retry = Exclude<RetryRule, 'safe'>;

/** Undefined for operations that are idempotent by themselves. */
export function retryOf(operation: Operation): Retry | undefined {
  return OPERATION_ROWS[operation].retry;
}

/** Whether the call may be retried although its first attempt may have been carried out. */
export function isSafeAgain(operation: Operation, request: object): boolean {
  const needs = retryOf(operation)?.needs;
  return needs === undefined || (request as Record<string, unknown>)[needs] !== undefined;
}
