/**
 * What the command line lives in: what it reads, where it writes, whom it can reach and what it can start.
 * `main.ts` brings the real ones; tests bring screens they can read and an authority in memory.
 */

import type { Leasehold } from '../client/leasehold.ts';
import type { RetryOptions } from '../client/retry-schedule.ts';
import type { ClientWorld } from '../client/world.ts';
import type { Clock } from '../seams/clock.ts';
import type { Processes } from '../seams/processes.ts';
import type { TextFiles } from '../seams/text-files.ts';

export interface Screen {
  write(text: string): void;
  readonly isTerminal: boolean;
  readonly columns: number;
  readonly rows: number;
}

export interface Server {
  /** One URL, or several of servers that stand in for each other, with commas. */
  readonly url: string;
  readonly token: string | null;
}

export interface Shell extends ClientWorld {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly out: Screen;
  readonly err: Screen;
  /** All of standard input, as text. */
  input(): Promise<string>;
  /** Keys as they are pressed, one by one, until the returned function is called. Only on a terminal. */
  keys(pressed: (key: string) => void): () => void;
  /** Calls are tried again as a person would want it, unless told otherwise. */
  connect(server: Server, retry?: RetryOptions): Promise<Leasehold>;
  /** Clocks that every process of this machine reads alike. */
  readonly machineClock: Clock;
  readonly files: TextFiles;
  readonly processes: Processes;
  /** Calls that nobody waits for any more must not keep the process: it ends as soon as the command has. */
  endWhenDone(): void;
  /** Nobody may read any more what a server says, and it serves all the same. */
  outliveReaders(): void;
  /** For commands that leave with somebody else's code; everything else fails with a `Failure`. */
  exitWith(code: number): void;
}
