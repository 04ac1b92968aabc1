// The hash of the state at every position of a log that was never compacted, by plain replay: what the time machine must show.
import { apply } from '../../src/core/apply.ts';
import { createState } from '../../src/core/state.ts';
import { stateHash } from '../../src/core/state-hash.ts';
import type { LoggedEntry } from '../../src/engines/log.ts';

export async function positionHashes(
  log: Iterable<LoggedEntry> | AsyncIterable<LoggedEntry>,
): Promise<Map<number, string>> {
  const state = createState();
  const hashes = new Map<number, string>();
  for await (const { entry, seq, atMs } of log) {
    apply(state, entry, seq, atMs);
    hashes.set(seq, stateHash(state));
  }
  return hashes;
}
