/** Waiting that ends: for a while, or for something that may be left undone. Both keep the process alive meanwhile. */
import type { Timer, Timers } from '../authority/seams.ts';

export async function pause(timers: Timers, ms: number): Promise<void> {
  const hold = timers.hold();
  await new Promise<void>((resolve) => {
    timers.after(ms, resolve);
  });
  hold.cancel();
}

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
