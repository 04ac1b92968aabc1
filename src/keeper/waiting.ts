/** Waiting for something that may be left undone. It keeps the process alive meanwhile. */
import type { Timer, Timers } from '../seams/clock.ts';

/** What the work came to; undefined when it took longer than this. Nobody waits for it any more then. */
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
