/**
 * Other programs, as the command line sees them: a seam. Every program is started in a process group of its
 * own, so that all it has started can be ended with it, and nothing else is.
 */
export type SignalName = NodeJS.Signals;

/** How a process ended: by its own code, or by a signal. */
export interface Ended {
  readonly code: number | null;
  readonly signal: SignalName | null;
}

export interface Child {
  /** Also the number of its process group. */
  readonly pid: number;
  /** When it began, as the process table has it; null where the system does not tell. */
  readonly startTime: string | null;
  /** Once it has ended, nothing of its group is left and its output has been read. */
  readonly ended: Promise<Ended>;
}

export interface Pipes {
  readonly input: Uint8Array;
  output(bytes: Uint8Array): void;
  errors(bytes: Uint8Array): void;
}

export interface StartOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Null: the program shares our own input and output. */
  readonly pipes: Pipes | null;
  /**
   * Told the process number before the program itself runs: it stands at a gate until this has returned, and should we
   * die before that, it never runs. Then only a missing gate rejects; a missing program leaves with 127.
   */
  readonly begun?: (pid: number) => void;
}

/** A keeper that runs beside us and ends what it keeps when we are gone; see `keeper.ts`. */
export interface KeeperChannel {
  send(message: object): void;
  /** Lets it go; it ends by itself once nothing is left to keep. */
  close(): void;
  /** Ends it at once, also when it is stopped; `gone` follows. */
  kill(): void;
}

export interface KeeperOptions {
  /** Whether programs it starts share our own input and output. */
  readonly sharesInput: boolean;
  readonly heard: (message: unknown) => void;
  /** It has ended, asked or not, and everything it had to say has been heard. */
  readonly gone: () => void;
}

export interface Processes {
  /** Rejects with the fault of the system (`code` ENOENT, EACCES, …) when there is no such program. */
  start(command: readonly string[], options: StartOptions): Promise<Child>;
  /** Why a program could not be started, as the system would say (ENOENT, EACCES); null when it could. */
  lookFor(program: string, path: string): Promise<string | null>;
  startKeeper(options: KeeperOptions): KeeperChannel;
  /** False when nothing of the group is left. Signal 0 only asks. */
  signalGroup(pid: number, signal: SignalName | 0): boolean;
  /** Calls back for signals that are sent to us, instead of ending, until the returned function is called. */
  onSignals(signals: readonly SignalName[], call: (signal: SignalName) => void): () => void;
}

/** The exit code that stands for how a process ended, as shells have it. */
export function exitCodeOf({ code, signal }: Ended, numbers: Readonly<Record<string, number>>): number {
  if (signal === null) return code ?? 1;
  return 128 + (numbers[signal] ?? 0);
}
