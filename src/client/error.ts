/**
 * What is thrown when the world failed, or when a refusal is not an answer the caller asked for. `effect`
 * says what became of the call: 'none' (nothing happened), 'applied' (it did happen, something later went
 * wrong), 'unknown' (it may have). `retryable` says whether the same call may succeed later.
 */
import type { RefusalCode } from '../core/refusals.ts';
import { isRetryable, type Problem } from '../protocol/problem.ts';

export type Effect = 'none' | 'applied' | 'unknown';

/** Codes of our own beside those of the authority. */
export type ErrorCode =
  | RefusalCode
  /** The lease was lost: expired, superseded, broken or unreachable; `cause` and the message say which. */
  | 'LEASE_LOST'
  /** No server answered. */
  | 'UNREACHABLE'
  /** What answered is no leasehold server, or one we cannot talk to. */
  | 'PROTOCOL'
  /** The input or output of a task does not fit its definition. */
  | 'INVALID_TASK';

export class LeaseholdError extends Error {
  override readonly name: string = 'LeaseholdError';
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly effect: Effect;
  /** The whole answer, when the authority refused. */
  readonly problem: Problem | null;

  constructor(
    code: ErrorCode,
    message: string,
    more: {
      readonly retryable?: boolean;
      readonly effect?: Effect;
      readonly problem?: Problem;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.code = code;
    this.retryable = more.retryable ?? false;
    this.effect = more.effect ?? 'none';
    this.problem = more.problem ?? null;
  }

  /** For callers who cannot go on without a yes. */
  static of(problem: Problem): LeaseholdError {
    const { code, detail } = problem;
    return new LeaseholdError(code, detail, { retryable: isRetryable(code), problem });
  }
}
