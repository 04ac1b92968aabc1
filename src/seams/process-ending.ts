/** Ends this process: at once with a message, or by a watchdog outside the event loop when a deadline passes. */
export interface ProcessEnding {
  /** Watches a deadline from another thread. When it passes, prints the message and kills the process. */
  startWatchdog(says: string, onDeath: (fault: Error) => void): Promise<Watchdog>;
  /** Prints the message to standard error and exits. */
  endProcess(code: number, says: string): void;
}

export interface Watchdog {
  /** Moves the deadline, given by both clocks. */
  moveTo(deadline: { readonly monotonicMs: number; readonly wallMs: number }): void;
  stop(): void;
}
