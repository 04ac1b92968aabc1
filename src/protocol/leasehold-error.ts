/**
 * The one error class, for faults and for refusals that are not returned as values; `code` distinguishes them. `effect`
 * says whether the call took effect: 'none' (it did not), 'applied' (it did, and something failed later), 'unknown' (it
 * may have). `retryable` says whether the same call may succeed later. `cause` is the underlying fault, if there is one.
 */
import type { SessionReason, SessionState } from '../core/entries.ts';
import type { RefusalCode } from '../core/refusals.ts';
import { camelCased } from './camel-case.ts';
import { isRetryable, type Problem } from './problem.ts';

export type Effect = 'none' | 'applied' | 'unknown';

/**
 * How a lease is lost, in one word:
 *
 *   expired      it ran out: by the client's own clocks (a blocked event loop, a suspended machine), or the authority says so
 *   superseded   its holder was granted the name again, which fences this grant out
 *   broken       an administrator broke it, or the holder of the guard wiped it
 *   unreachable  no renewal got through before its deadline, or the client was closed
 *   released     it was released: through this handle, or because a verdict on the task was sent
 *   killed       an administrator killed the task
 *   cancelled    the task was cancelled: its lease is still held, so that a verdict can still be sent
 *   restored     the log was restored from a backup
 */
export type Loss =
  | 'expired'
  | 'superseded'
  | 'broken'
  | 'unreachable'
  | 'released'
  | 'killed'
  | 'cancelled'
  | 'restored';

/** Codes of our own beside those of the authority. */
export type ErrorCode =
  | RefusalCode
  /** The lease was lost; `details.loss` says how. */
  | 'LEASE_LOST'
  /** Why the `asked` of a lease aborts: another caller wants it. */
  | 'LEASE_ASKED'
  /** No server answered. */
  | 'UNREACHABLE'
  /** The answer does not come from a leasehold server of a compatible version. */
  | 'PROTOCOL'
  /** The input, output or checkpoint of a task does not fit its definition. */
  | 'INVALID_TASK'
  /** `output` of a receipt: the task has failed, or is dead. */
  | 'TASK_FAILED'
  /** `output` of a receipt: the task was cancelled. */
  | 'TASK_CANCELLED'
  /** `output` of a receipt: the wait is over, and the task has not ended. */
  | 'TASK_PENDING'
  /** Why a handler's signal aborts when it takes longer than it may. */
  | 'TASK_TIMEOUT'
  /** Why a handler's signal aborts when its worker stops. */
  | 'WORKER_STOPPING'
  /** `ready` of a session: the wait is over, and the session is not READY. */
  | 'SESSION_PENDING'
  /** `open`: another process holds the data directory. */
  | 'LOG_HELD'
  /** `open`: durable bytes of the log have changed. */
  | 'LOG_DAMAGED'
  /** `open`: the log was written by a newer version of leasehold. */
  | 'LOG_TOO_NEW'
  /** `leasehold/postgres`: the command is not registered, or its name is not one of a governed command. */
  | 'COMMAND_NOT_GOVERNED'
  /** `leasehold/postgres`: there is no such gate. */
  | 'GATE_NOT_FOUND'
  /** `leasehold/postgres`: the run could not close its gates. */
  | 'GATES_NOT_CLOSED';

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly PropertyKey[];
}

/** The `details` of each code; empty for codes that are not listed. */
export interface ErrorDetails {
  /** Absent if the lease was free again before its holder could be read. `name`: which of several. */
  readonly LEASE_HELD: { readonly holder?: string; readonly remainingMs?: number; readonly name?: string };
  readonly LEASE_LOST: {
    readonly loss: Loss;
    readonly leaseSeq: number;
    /** Of a named lease. */
    readonly names?: readonly string[];
    /** Of the lease on a task. */
    readonly taskId?: string;
  };
  readonly LEASE_ASKED: {
    readonly reason: string;
    readonly leaseSeq: number;
    readonly names: readonly string[];
  };
  readonly LOG_COMPACTED: { readonly firstSeq?: number };
  readonly WRITE_STALE_FENCE: { readonly currentFence?: number };
  readonly WRITE_UNKNOWN_FENCE: { readonly currentFence?: number };
  readonly NOT_LEADER: { readonly leaderUrl?: string };
  readonly SESSION_TERMINAL: {
    readonly sessionId: string;
    readonly state: SessionState;
    readonly reason: SessionReason | null;
    readonly reasonDetail: string | null;
  };
  readonly SESSION_PENDING: { readonly sessionId: string };
  readonly INVALID_TASK: { readonly issues: readonly SchemaIssue[] };
  readonly TASK_FAILED: {
    readonly taskId: string;
    readonly state: 'FAILED' | 'DEAD';
    readonly reason: string;
    /** The task that runs it again, if it was requeued. */
    readonly requeuedAs?: string;
  };
  /** `reason` is what the caller of `cancel` said. */
  readonly TASK_CANCELLED: { readonly taskId: string; readonly reason: string };
  readonly TASK_PENDING: { readonly taskId: string; readonly state: 'WAITING' | 'LEASED' };
  readonly TASK_TIMEOUT: { readonly taskId: string };
  readonly LOG_HELD: { readonly holder: string };
  readonly LOG_DAMAGED: { readonly file: string; readonly offset: number };
}

/** An error with one of these codes, and its `details`. */
export type Failure<Code extends ErrorCode = ErrorCode> = {
  [C in Code]: LeaseholdError & {
    readonly code: C;
    readonly details: C extends keyof ErrorDetails ? ErrorDetails[C] : object;
  };
}[Code];

export interface ErrorMore {
  readonly retryable?: boolean;
  readonly effect?: Effect;
  readonly details?: object;
  readonly problem?: Problem;
  readonly cause?: unknown;
}

/** Shared by all copies of the package, so that each recognises the errors of the others. */
const BRAND = Symbol.for('leasehold.error');

export class LeaseholdError extends Error {
  override readonly name: string = 'LeaseholdError';
  readonly code: ErrorCode;
  /** More about the error, by its code; `LeaseholdError.is` narrows it. */
  readonly details: object;
  readonly retryable: boolean;
  readonly effect: Effect;
  /** The whole answer, when the authority refused. */
  readonly problem: Problem | null;

  constructor(code: ErrorCode, message: string, more: ErrorMore = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause });
    this.code = code;
    this.retryable = more.retryable ?? false;
    this.effect = more.effect ?? 'none';
    this.problem = more.problem ?? null;
    this.details = more.details ?? detailsOf(this.problem);
  }

  get [BRAND](): true {
    return true;
  }

  /**
   * Whether this is an error of leasehold, with one of the codes if any are given: narrows `code` and `details`
   * together. Also true for errors of another copy of the package, where `instanceof` is not.
   */
  static is<Code extends ErrorCode = ErrorCode>(
    error: unknown,
    ...codes: readonly Code[]
  ): error is Failure<Code> {
    const { [BRAND]: isOurs, code } = Object(error) as { [BRAND]?: true; code?: Code };
    return isOurs === true && (codes.length === 0 || codes.includes(code!));
  }

  /** The error for a refusal, for callers that cannot continue after one. */
  static of(problem: Problem): LeaseholdError {
    const { code, detail } = problem;
    return new LeaseholdError(code, detail, { retryable: isRetryable(code), problem });
  }
}

/** The fields of a problem besides those that every problem has. */
function detailsOf(problem: Problem | null): object {
  if (problem === null) return {};
  // Over HTTP a problem also has the fields of RFC 9457, which `problem` shows.
  const {
    ok: _,
    code,
    status,
    title,
    detail,
    type,
    instance,
    requestId,
    ...more
  } = problem as Problem & Readonly<Record<'type' | 'instance', string>>;
  return camelCased(more);
}
