/** Waits for a time or until a signal aborts. Keeps the process alive, because a caller awaits it. */
import type { Timers } from '../seams/clock.ts';
import { AbortWatch } from './abort-watch.ts';

/** While its server is away a worker sleeps once per task, all on one signal. */
const watch = new AbortWatch();

export async function sleep(
  timers: Timers,
  ms: number,
  ...enders: readonly (AbortSignal | undefined)[]
): Promise<void> {
  if (enders.some((ender) => ender?.aborted)) return;
  const hold = timers.hold();
  await new Promise<void>((resolve) => {
    const timer = timers.after(ms, end);
    const unwatches = enders.map((ender) => ender && watch.watch(ender, end));
    function end(): void {
      timer.cancel();
      for (const unwatch of unwatches) unwatch?.();
      resolve();
    }
  });
  hold.cancel();
}
