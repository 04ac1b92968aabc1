/** What a rule returns: the entries that follow from a command (none for a refusal or a repeat) and the answer. */
import type { Entry } from './entries.ts';
import type { Refusal, RefusalCode } from './refusals.ts';

export interface Decision<A> {
  readonly entries: readonly Entry[];
  readonly answer: A | Refusal;
}

const NONE: readonly Entry[] = [];

export function append<A>(entry: Entry, answer: A): Decision<A> {
  return { entries: [entry], answer };
}

/** An answer that changes nothing. */
export function unchanged<A>(answer: A): Decision<A> {
  return { entries: NONE, answer };
}

export function refuse(code: RefusalCode, more: Omit<Refusal, 'refused'> = {}): Decision<never> {
  return { entries: NONE, answer: { refused: code, ...more } };
}

/** For input that is not a valid command and never reaches a rule. */
export function invalid(detail: string): Refusal {
  return { refused: 'INVALID_ARGUMENT', detail };
}

export function isRefusal(answer: object): answer is Refusal {
  return (answer as Partial<Refusal>).refused !== undefined;
}
