/** Time for a lease in a database. Local clocks only measure durations; the instants are the database's. */
import type { Clock, Timers } from '../seams/clock.ts';

export interface LeaseWorld {
  readonly clock: Clock;
  readonly timers: Pick<Timers, 'after' | 'hold'>;
}

/** Keeps the process alive while it waits. */
export async function pause({ timers }: LeaseWorld, ms: number): Promise<void> {
  const hold = timers.hold();
  await new Promise<void>((resolve) => {
    timers.after(ms, resolve);
  });
  hold.cancel();
}
