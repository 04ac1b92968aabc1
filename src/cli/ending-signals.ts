/**
 * Signals that ask a program to end: the first one in order, another one at once. One Ctrl-C may be heard twice, because
 * npm and npx pass on what the terminal has sent to everybody already; that is not somebody in a hurry.
 */
import type { Processes, SignalName } from '../orchestrator/processes.ts';

export interface SignalledWorld {
  readonly clock: { monotonicMs(): number };
  readonly processes: Pick<Processes, 'onSignals'>;
}

const ENDING: readonly SignalName[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];
/** How long npm may take to pass it on; whoever means it presses once more. */
const SAME_MS = 2_000;

/** Until the returned function is called. */
export function onEndingSignals(
  { clock, processes }: SignalledWorld,
  { asked, hurried }: { asked(): void; hurried(signal: SignalName): void },
): () => void {
  let first: { readonly signal: SignalName; readonly atMs: number } | null = null;
  return processes.onSignals(ENDING, (signal) => {
    const atMs = clock.monotonicMs();
    if (first === null) {
      first = { signal, atMs };
      asked();
      return;
    }
    const isSame = signal === 'SIGINT' && first.signal === signal && atMs - first.atMs < SAME_MS;
    if (!isSame) hurried(signal);
  });
}
