/** A read view of a state that nothing writes to: a lease that is over shows as live until its expiry is written. */
import type { State } from '../core/state.ts';
import type { ReadView } from './reads.ts';

const NO_LINES = { size: 0 };
const NOTHING_IS_DUE = (): void => undefined;

export function stillView(state: State, nowMs: number): ReadView {
  return {
    state,
    batchAtMs: nowMs,
    expireTask: NOTHING_IS_DUE,
    expireTaskRow: NOTHING_IS_DUE,
    expireName: NOTHING_IS_DUE,
    expireNameRow: NOTHING_IS_DUE,
    lines: NO_LINES,
    sessions: state.sessions,
  };
}
