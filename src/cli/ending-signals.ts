/**
 * Signals that ask a program to end: the first one in order, another one at once. One Ctrl-C may be heard twice, because
 * npm and npx pass on what the terminal has sent to everybody already; that is not somebody in a hurry.
 */
import { constants } from 'node:os';
import type { ProcessEnding } from '../seams/process-ending.ts';
import { exitCodeOf, type Processes, type SignalName } from '../seams/processes.ts';
import { lastLine } from './ending.ts';

export interface SignalledWorld {
  readonly clock: { monotonicMs(): number };
  readonly processes: Pick<Processes, 'onSignals'>;
  readonly ending?: Pick<ProcessEnding, 'endProcess'>;
}

interface Wishes {
  asked(signal: SignalName): void;
  /** What must still be done before it ends at once. */
  hurried?(): void;
  /** Which signals ask for it, where not all do. */
  readonly signals?: readonly SignalName[];
}

const ENDING: readonly SignalName[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];
/** How long npm may take to pass it on; whoever means it presses once more. */
const SAME_MS = 2_000;

/** As long as the process lives: a second signal may also come when the last work is done, and all is being closed. */
export function onEndingSignals(
  world: SignalledWorld,
  options: { readonly json?: boolean | undefined },
  { asked, hurried, signals = ENDING }: Wishes,
): void {
  onRepeatedSignals(world, {
    asked,
    hurried(signal) {
      hurried?.();
      const exitCode = exitCodeOf({ code: null, signal }, constants.signals);
      world.ending?.endProcess(
        exitCode,
        lastLine(options, { exitCode, code: null, sentence: 'Ended at once.' }),
      );
    },
    signals,
  });
}

/** The same for whom ending at once is something else than that. */
export function onRepeatedSignals(
  { clock, processes }: Omit<SignalledWorld, 'ending'>,
  {
    asked,
    hurried,
    signals = ENDING,
  }: Pick<Wishes, 'asked' | 'signals'> & { hurried(signal: SignalName): void },
): void {
  let first: { readonly signal: SignalName; readonly atMs: number } | null = null;
  processes.onSignals(signals, (signal) => {
    const atMs = clock.monotonicMs();
    if (first === null) {
      first = { signal, atMs };
      asked(signal);
      return;
    }
    const isSame = signal === 'SIGINT' && first.signal === signal && atMs - first.atMs < SAME_MS;
    if (!isSame) hurried(signal);
  });
}
