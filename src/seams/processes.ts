/**
 * Other programs: a seam. Every program starts in its own process group, so that everything it started can be ended
 * with it, and nothing else.
 */
export type SignalName = NodeJS.Signals;

/** How a process ended: by its own code, or by a signal. */
export interface Ended {
  readonly code: number | null;
  readonly signal: SignalName | null;
}

export interface Child {
  /** Also its process group id. */
  readonly pid: number;
  /** Its start time in the process table; null where the system does not tell. */
  readonly startTime: string | null;
  /** Resolves when it has ended, its group is gone and its output has been read. */
  readonly ended: Promise<Ended>;
}

export interface Pipes {
  readonly input: Uint8Array;
  output(bytes: Uint8Array): void;
  errors(bytes: Uint8Array): void;
}

export interface StartOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Null: the program shares our input and output. */
  readonly pipes: Pipes | null;
  /**
   * Receives the process id before the program itself runs: the process waits at a gate until this returns, and if we
   * die first, the program never runs. With a gate, only a missing gate rejects; a missing program exits with 127.
   */
  readonly begun?: (pid: number) => void;
}

/** A keeper process beside this one, which ends its programs when this process is gone; see `keeper.ts`. */
export interface KeeperChannel {
  send(message: object): void;
  /** Disconnects. It ends by itself when it has no program left. */
  close(): void;
  /** Kills it at once, even when it is stopped. `gone` follows. */
  kill(): void;
}

export interface KeeperOptions {
  /** Whether programs it starts share our input and output. */
  readonly sharesInput: boolean;
  readonly received: (message: unknown) => void;
  /** It has ended, on request or not, and all its messages were delivered. */
  readonly gone: () => void;
}

export interface Processes {
  /** Rejects with the system error (`code` ENOENT, EACCES, …) when the program cannot be started. */
  start(command: readonly string[], options: StartOptions): Promise<Child>;
  /** Why a program could not be started (ENOENT, EACCES); null when it could. */
  lookFor(program: string, path: string): Promise<string | null>;
  startKeeper(options: KeeperOptions): KeeperChannel;
  /** False when the group has no process left. Signal 0 only checks. */
  signalGroup(pid: number, signal: SignalName | 0): boolean;
  /** Handles signals to this process instead of ending, until the returned function is called. */
  onSignals(signals: readonly SignalName[], call: (signal: SignalName) => void): () => void;
}

/** The exit code for how a process ended, as shells report it. */
export function exitCodeOf({ code, signal }: Ended, numbers: Readonly<Record<string, number>>): number {
  if (signal === null) return code ?? 1;
  return 128 + (numbers[signal] ?? 0);
}
