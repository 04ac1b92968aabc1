/** The world, as the client sees it: clocks, timers, unique ids, and perhaps a process to end. */

import type { LeaseholdError } from '../protocol/leasehold-error.ts';
import type { Clock, Timers } from '../seams/clock.ts';
import type { ProcessEnding } from '../seams/process-ending.ts';
import type { Traces } from './traces.ts';

/** What a process is asked with to end in order. */
export type DrainSignal = 'SIGTERM' | 'SIGINT';

export interface ClientWorld {
  readonly clock: Clock;
  readonly timers: Timers;
  /** At least 128 random bits as visible ASCII without a slash: tokens, task ids, request ids, holders. */
  newToken(): string;
  /** Who we are, for people who read a list of holders; a host and a process, say. */
  readonly label?: string;
  /** Absent where a program cannot end itself, as in a browser; then there are no guards. */
  readonly ending?: ProcessEnding;
  /** Calls when this process gets the signal, and gives the call that takes it back; absent where there are none. */
  onSignal?(signal: DrainSignal, call: () => void): () => void;
  /** Told of faults in the background that no option of their own is told of; in a process, written to stderr. */
  onFault?(fault: unknown): void;
  /** Told once that a program uses something that will go; in a process, a warning of Node. */
  onDeprecated?(says: string): void;
  /** Told of tasks and leases, where the program traces them. */
  readonly traces?: Traces | undefined;
  /** Told of every failed try of a call that is followed by another after a pause. */
  onRetry?(fault: LeaseholdError): void;
}
