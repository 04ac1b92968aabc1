/**
 * The authority's answer to a verdict, as a value rather than an exception. COMMITTED: the verdict counts. LATE: the
 * lease was already over, and another worker may have the task. REJECTED: the authority does not know the task or the
 * lease.
 */
import type { RefusalCode } from '../core/refusals.ts';
import type { Loss } from '../protocol/leasehold-error.ts';

/** The task and lease a verdict is about. */
export interface VerdictSubject {
  readonly taskId: string;
  readonly queue: string;
  readonly leaseSeq: number;
  readonly attempt: number;
  /** What the worker requested. */
  readonly verb: 'complete' | 'fail' | 'release';
  /** What the handler threw, or why its result was refused; only with 'fail' and 'release'. */
  readonly error?: unknown;
}

export type TaskVerdict = VerdictSubject &
  (
    | {
        readonly outcome: 'COMMITTED';
        /** The new state of the task. */
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
