// A checker: a function from a parsed history to a list of complaints. Each complaint names the events that prove it,
// so that a reader can verify it.
import type { HistoryEvent } from '../history.ts';
import type { Reading } from './reading.ts';

export interface Violation {
  readonly checker: string;
  /** One sentence, with the numbers. */
  readonly says: string;
  /** In the order in which they happened. */
  readonly proof: readonly HistoryEvent[];
}

export interface Checker {
  readonly name: string;
  /** What holds in every history. */
  readonly promises: string;
  check(reading: Reading): Violation[];
}

/** A checker from its parts; `complain` takes the proof in any order and leaves out what is missing. */
export function checker(
  name: string,
  promises: string,
  find: (reading: Reading, complain: Complain) => void,
): Checker {
  return {
    name,
    promises,
    check(reading) {
      const found: Violation[] = [];
      find(reading, (says, ...proof) => {
        const events = proof.filter((event) => event !== undefined);
        const order = new Set([...events].sort((a, b) => reading.placeOf(a) - reading.placeOf(b)));
        found.push({ checker: name, says, proof: [...order] });
      });
      return found;
    },
  };
}

export type Complain = (says: string, ...proof: (HistoryEvent | undefined)[]) => void;
