/** Asserts that an entry fits the state. On in production, and never caught below `main`: the log is intact, the process is not. */
import type { Entry } from './entries.ts';
import type { Seq } from './row-types.ts';

export function check(holds: boolean, entry: Entry, seq: Seq, why: string): asserts holds {
  if (!holds) throw new Error(`INV-APPLY: ${entry.type} at seq ${seq} does not fit: ${why}.`);
}
