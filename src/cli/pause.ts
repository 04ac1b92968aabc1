/** Lets time pass, while the process stays alive. */
import type { Timers } from '../authority/seams.ts';

export async function pause(timers: Timers, ms: number): Promise<void> {
  const hold = timers.hold();
  await new Promise<void>((resolve) => {
    timers.after(ms, resolve);
  });
  hold.cancel();
}
