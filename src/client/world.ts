/** What the client needs from its environment: clocks, timers, unique ids, and optionally a process to end. */

import type { LeaseholdError } from '../protocol/leasehold-error.ts';
import type { Clock, Timers } from '../seams/clock.ts';
import type { ProcessEnding } from '../seams/process-ending.ts';
import type { Traces } from './traces.ts';

/** Signals that request an orderly shutdown. */
export type DrainSignal = 'SIGTERM' | 'SIGINT';

export interface ClientWorld {
  readonly clock: Clock;
  readonly timers: Timers;
  /** At least 128 random bits as visible ASCII without a slash: tokens, task ids, request ids, holders. */
  newToken(): string;
  /** Identifies this client in lists of holders: host and process, for example. */
  readonly label?: string;
  /** Absent where a program cannot end itself, as in a browser; guards need it. */
  readonly ending?: ProcessEnding;
  /** Calls `call` when this process gets the signal; returns the function that unsubscribes. Absent where there are no signals. */
  onSignal?(signal: DrainSignal, call: () => void): () => void;
  /** Called with background faults that no option handles; on Node they are written to stderr. */
  onFault?(fault: unknown): void;
  /** Called once when a program uses something deprecated; on Node a process warning. */
  onDeprecated?(says: string): void;
  /** The tracing hooks, if the program uses tracing. */
  readonly traces?: Traces | undefined;
  /** Called with every failed attempt that is retried after a pause. */
  onRetry?(fault: LeaseholdError): void;
}
