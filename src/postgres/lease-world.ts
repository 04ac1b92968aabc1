/** Time, as a lease in a database sees it. The clocks only measure; the instants are the database's. */
import type { Clock, Timers } from '../seams/clock.ts';

export interface LeaseWorld {
  readonly clock: Clock;
  readonly timers: Pick<Timers, 'after' | 'hold'>;
}

/** Keeps the process alive meanwhile. */
export async function pause({ timers }: LeaseWorld, ms: number): Promise<void> {
  const hold = timers.hold();
  await new Promise<void>((resolve) => {
    timers.after(ms, resolve);
  });
  hold.cancel();
}
