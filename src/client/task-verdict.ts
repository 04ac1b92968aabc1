/**
 * What the authority said to the end of a piece of work. It is a value, never an exception: COMMITTED is what
 * counts; LATE came too late, the lease was over by then and another worker may have the task; REJECTED
 * means that the authority does not know the task or the lease.
 */
import type { RefusalCode } from '../core/refusals.ts';
import type { Loss } from '../protocol/leasehold-error.ts';

/** What a verdict is about. */
export interface VerdictSubject {
  readonly taskId: string;
  readonly queue: string;
  readonly leaseSeq: number;
  readonly attempt: number;
  /** What the worker asked for. */
  readonly verb: 'complete' | 'fail' | 'release';
  /** What the handler threw, or why its result was not taken; only beside 'fail' and 'release'. */
  readonly error?: unknown;
}

export type TaskVerdict = VerdictSubject &
  (
    | {
        readonly outcome: 'COMMITTED';
        /** What the task became. */
        readonly state: 'WAITING' | 'LEASED' | 'COMPLETED' | 'FAILED' | 'DEAD';
        readonly seq: number;
      }
    | {
        readonly outcome: 'LATE';
        /** How the lease had ended. */
        readonly loss: Loss;
      }
    | {
        readonly outcome: 'REJECTED';
        readonly code: RefusalCode;
        readonly detail: string;
      }
  );
