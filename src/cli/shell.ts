/**
 * The environment of a command: input, output, connections and processes. `main.ts` passes the real one; tests pass
 * screens that they can read and an authority in memory.
 */

import type { Leasehold } from '../client/leasehold.ts';
import type { ClientWorld } from '../client/world.ts';
import type { LeaseholdError } from '../protocol/leasehold-error.ts';
import type { Clock, UptimeClock } from '../seams/clock.ts';
import type { Processes } from '../seams/processes.ts';
import type { TextFiles } from '../seams/text-files.ts';

export interface Screen {
  write(text: string): void;
  readonly isTerminal: boolean;
  readonly columns: number;
  readonly rows: number;
}

export interface Server {
  /** One URL, or several of a leader and its standbys, separated by commas. */
  readonly url: string;
  readonly token: string | null;
  /** Uses the live connection, for commands that must learn at once of a lost lease. Otherwise each call is one request. */
  readonly isLive?: boolean;
}

/** How long calls are retried while no server answers them; 0: not at all. */
export interface Retrying {
  readonly forMs: number;
  /** Called after every failed try that is followed by another. */
  readonly onRetry?: (fault: LeaseholdError) => void;
}

export interface Shell extends ClientWorld {
  readonly clock: UptimeClock;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly out: Screen;
  readonly err: Screen;
  /** All of standard input, as text. */
  input(): Promise<string>;
  /** Standard input line by line, as it arrives, until the signal aborts. */
  inputLines(signal: AbortSignal): AsyncIterable<string>;
  /** Keys as they are pressed, one by one, until the returned function is called. Only on a terminal. */
  keys(pressed: (key: string) => void): () => void;
  /** Without `retry`, a lost reply is retried for two seconds. */
  connect(server: Server, retry?: Retrying): Promise<Leasehold>;
  /** Clocks that all processes of this machine share. */
  readonly machineClock: Clock;
  readonly files: TextFiles;
  readonly processes: Processes;
  /** The process ends as soon as the command has ended. Outstanding calls do not keep it alive. */
  endWhenDone(): void;
  /** A closed standard output does not end the process: a server keeps serving. */
  outliveReaders(): void;
  /** For commands that exit with the code of a program they ran; every other failure is a `Failure`. */
  exitWith(code: number): void;
}
