/**
 * Signals that ask a program to end: the first one in order, a second one at once. One request may arrive twice: npm and
 * npx forward the Ctrl-C that the terminal has already sent to the whole process group, and timeout(1) signals its
 * command and then the group. So the same signal twice in less than 200 ms counts once.
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

interface SignalHandlers {
  asked(signal: SignalName): void;
  /** Work that must be done before the process ends at once. */
  hurried?(): void;
  /** The signals that ask for an end, if not all of them. */
  readonly signals?: readonly SignalName[];
}

const ENDING: readonly SignalName[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];
/** Signals are forwarded at once, and a user does not press twice as fast. */
const SAME_MS = 200;

/** Listens as long as the process lives: a second signal may also arrive while connections are being closed. */
export function onEndingSignals(
  world: SignalledWorld,
  options: { readonly json?: boolean | undefined },
  { asked, hurried, signals = ENDING }: SignalHandlers,
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

/** The same with another reaction to the second signal. */
export function onRepeatedSignals(
  { clock, processes }: Omit<SignalledWorld, 'ending'>,
  {
    asked,
    hurried,
    signals = ENDING,
  }: Pick<SignalHandlers, 'asked' | 'signals'> & { hurried(signal: SignalName): void },
): void {
  let first: { readonly signal: SignalName; readonly atMs: number } | null = null;
  processes.onSignals(signals, (signal) => {
    const atMs = clock.monotonicMs();
    if (first === null) {
      first = { signal, atMs };
      asked(signal);
      return;
    }
    const isSame = first.signal === signal && atMs - first.atMs < SAME_MS;
    if (!isSame) hurried(signal);
  });
}

/** For `run`, whose program may take many a Ctrl-C: only one that soon follows another asks for an end at once. */
const AGAIN_MS = 5_000;

/** Tells of each signal whether it is such a Ctrl-C. */
export function hurriedInterrupts({ monotonicMs }: SignalledWorld['clock']): (signal: SignalName) => boolean {
  let lastMs = Number.NEGATIVE_INFINITY;
  return (signal) => {
    if (signal !== 'SIGINT') return false;
    const sinceMs = monotonicMs() - lastMs;
    if (sinceMs >= SAME_MS) lastMs = monotonicMs();
    return sinceMs >= SAME_MS && sinceMs <= AGAIN_MS;
  };
}
