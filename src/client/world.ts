/** The world, as the client sees it: clocks, timers, ids that nobody else will ever make, and perhaps a process to end. */
import type { Clock, Timers } from '../authority/seams.ts';
import type { ReplyReader } from './reply-text.ts';

export interface ClientWorld extends ReplyReader {
  readonly clock: Clock;
  readonly timers: Timers;
  /** At least 128 random bits as visible ASCII without a slash: tokens, task ids, request ids, holders. */
  newToken(): string;
  /** Who we are, for people who read a list of holders; a host and a process, say. */
  readonly label?: string;
  /** Absent where a program cannot end itself, as in a browser; then there are no guards. */
  readonly ending?: ProcessEnding;
  /** Calls when this process is asked to end in order, and gives the call that takes it back; absent where nobody asks. */
  onTerminate?(call: () => void): () => void;
}

export interface ProcessEnding {
  /** Watches a deadline from outside the event loop and kills the process, saying why, once it has passed. */
  startWatchdog(says: string, onDeath: (fault: Error) => void): Promise<Watchdog>;
  /** Says why on the standard error and ends the process. */
  endProcess(code: number, says: string): void;
}

export interface Watchdog {
  /** Until when the process may live, by both clocks of this world. */
  moveTo(deadline: { readonly monotonicMs: number; readonly wallMs: number }): void;
  stop(): void;
}
