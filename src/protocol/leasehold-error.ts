/**
 * What is thrown when the world failed, or when a refusal is not an answer the caller asked for: one class, told apart
 * by `code`. `effect` says what became of the call: 'none' (nothing happened), 'applied' (it did happen, something later
 * went wrong), 'unknown' (it may have). `retryable` says whether the same call may succeed later. `cause` is the fault
 * underneath, if there is one.
 */
import type { SessionReason, SessionState } from '../core/entries.ts';
import type { RefusalCode } from '../core/refusals.ts';
import { camelCased } from './camel-case.ts';
import { isRetryable, type Problem } from './problem.ts';

export type Effect = 'none' | 'applied' | 'unknown';

/**
 * How a lease is lost, in one word:
 *
 *   expired      it ran out: by its own clocks (a blocked event loop, a suspended machine), or the authority says so
 *   superseded   its holder was granted the name again, which fences this grant out
 *   broken       an administrator broke it, or the holder of the guard wiped it
 *   unreachable  no renewal got through before its deadline, or the client was closed
 *   released     it was given back: through this very handle, or because the end of the task has been said
 *   killed       an administrator killed the task
 *   cancelled    the task was cancelled: its lease is still held, so that the end of the task can be said
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
  /** `open`: another process has the data directory. */
  | 'LOG_HELD'
  /** `open`: bytes that were durable are no longer what they were. */
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

/** What an error of a code knows; nothing for codes that are not listed. */
export interface ErrorDetails {
  /** Absent where the lease was free again before it could be asked who has it. */
  readonly LEASE_HELD: { readonly holder?: string; readonly remainingMs?: number };
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

/** An error whose code is one of these, with what such an error knows. */
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

/** The same in every copy of the package, so that one knows the errors of the other. */
const BRAND = Symbol.for('leasehold.error');

export class LeaseholdError extends Error {
  override readonly name: string = 'LeaseholdError';
  readonly code: ErrorCode;
  /** What is known beside the code; `LeaseholdError.is` narrows it. */
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

  /** For callers who cannot go on without a yes. */
  static of(problem: Problem): LeaseholdError {
    const { code, detail } = problem;
    return new LeaseholdError(code, detail, { retryable: isRetryable(code), problem });
  }
}

/** What the answer says beside what every answer says. */
function detailsOf(problem: Problem | null): object {
  if (problem === null) return {};
  // Over HTTP a problem also has what RFC 9457 gives it; `problem` shows that.
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
