/**
 * What may be sent again after a reply was lost, when the call may have been carried out. The rule for every operation:
 * once and once again must be the same as once. Each definition in `src/operations` says how that is ensured.
 */
import type { Retry as RetryRule } from '../operations/operation.ts';
import type { Operation } from '../operations/table.ts';
import { OPERATION_ROWS } from './operation-table.ts';

export type Retry = Exclude<RetryRule, 'safe'>;

/** Undefined for those that are safe as they are. */
export function retryOf(operation: Operation): Retry | undefined {
  return OPERATION_ROWS[operation].retry;
}

/** Whether the call may be sent again although its first try may have been carried out. */
export function isSafeAgain(operation: Operation, request: object): boolean {
  const needs = retryOf(operation)?.needs;
  return needs === undefined || (request as Record<string, unknown>)[needs] !== undefined;
}
