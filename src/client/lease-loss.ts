/**
 * How a lease is lost, in one word:
 *
 *   expired      it ran out: by its own clocks (a blocked event loop, a suspended machine), or the authority says so
 *   superseded   its holder was granted the name again, which fences this grant out
 *   broken       an administrator broke it, or the holder of the guard wiped it
 *   unreachable  no renewal got through before its deadline, or the client was closed
 *   released     it was given back through this very handle
 */
import type { Problem } from '../protocol/problem.ts';
import { LeaseholdError } from './error.ts';

export type LossCause = 'expired' | 'superseded' | 'broken' | 'unreachable' | 'released';

const SAYS: Readonly<Record<LossCause, string>> = {
  expired: 'has run out',
  superseded: 'was granted again to its holder, and the newer grant fences this one out',
  broken: 'was ended before its time: broken, or wiped',
  unreachable: 'could not be renewed in time',
  released: 'has been given back',
};

/** The reason of the `signal` of a lost lease, and what `assertHeld` throws. */
export class LeaseLostError extends LeaseholdError {
  override readonly name = 'LeaseLostError';
  declare readonly cause: LossCause;
  /** What went wrong underneath: the failed renewal, or the error of the work that was going on. */
  readonly fault: unknown;

  constructor(
    names: readonly string[],
    cause: LossCause,
    more: { readonly fault?: unknown; readonly problem?: Problem } = {},
  ) {
    const [first = ''] = names;
    const which = names.length === 1 ? `"${first}"` : `"${first}" and ${names.length - 1} more`;
    const { problem } = more;
    super('LEASE_LOST', `The lease on ${which} ${SAYS[cause]}.`, {
      cause,
      ...(problem === undefined ? {} : { problem }),
    });
    this.fault = more.fault;
  }
}
