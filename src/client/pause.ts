/** Waits so long, or until one of the signals aborts. Keeps the process alive: somebody waits for what comes after. */
import type { Timers } from '../authority/seams.ts';

export async function pause(
  timers: Timers,
  ms: number,
  ...enders: readonly (AbortSignal | undefined)[]
): Promise<void> {
  if (enders.some((ender) => ender?.aborted)) return;
  const hold = timers.hold();
  await new Promise<void>((resolve) => {
    const timer = timers.after(ms, end);
    for (const ender of enders) ender?.addEventListener('abort', end);
    function end(): void {
      timer.cancel();
      for (const ender of enders) ender?.removeEventListener('abort', end);
      resolve();
    }
  });
  hold.cancel();
}
