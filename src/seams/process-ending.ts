/** Ending this process: at once with a sentence, or by a watchdog outside the event loop once a deadline has passed. */
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
