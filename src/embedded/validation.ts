/** Judges requests by their schemas, once, and says in one sentence what is wrong with a bad one. */
import type { Refusal } from '../core/refusals.ts';
import { compileCheck, type RequestCheck } from '../protocol/checks.ts';
import { type Operation, READS, REQUESTS, type ReadOperation } from '../protocol/requests.ts';

const checks = Object.fromEntries(
  Object.entries({ ...REQUESTS, ...READS }).map(([operation, schema]) => [operation, compileCheck(schema)]),
) as Record<Operation | ReadOperation, RequestCheck>;

export function checkOf(operation: Operation | ReadOperation): RequestCheck {
  return checks[operation];
}

/** Null when the request is well formed. */
export function invalid(operation: Operation | ReadOperation, request: unknown): Refusal | null {
  const check = checks[operation];
  if (check.accepts(request)) return null;
  return { refused: 'INVALID_ARGUMENT', detail: check.explain(request) };
}
