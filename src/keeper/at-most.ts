/** A wait with a time limit. It keeps the process alive in the meantime. */
import type { Timer, Timers } from '../seams/clock.ts';

/** The result of the work, or undefined when it took longer. The result is then ignored. */
export async function atMost<T>(timers: Timers, ms: number, work: Promise<T>): Promise<T | undefined> {
  const hold = timers.hold();
  let timer: Timer | null = null;
  const late = new Promise<undefined>((resolve) => {
    timer = timers.after(ms, () => resolve(undefined));
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    (timer as Timer | null)?.cancel();
    hold.cancel();
  }
}
