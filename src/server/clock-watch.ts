/**
 * Logs once when the authority's time is more than a minute off the machine's wall clock, and once when it agrees again.
 * Leases are not affected, but schedules fire by the authority's time.
 */
import type { Authority } from '../authority/authority.ts';
import type { Timers } from '../seams/clock.ts';
import type { Logger } from './logger.ts';

const LOOK_MS = 10_000;
const OFF_MS_MAX = 60_000;

export interface ClockWatchWorld {
  readonly timers: Timers;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
}

/** Checks every ten seconds until the authority has ended. */
export function watchClock(
  authority: Pick<Authority, 'whenEnded'> & { readonly clock: Pick<Authority['clock'], 'aheadMs'> },
  { timers, logger }: ClockWatchWorld,
): void {
  let isOff = false;
  const look = (): void => {
    timer = timers.after(LOOK_MS, look);
    const off_ms = authority.clock.aheadMs();
    const wasOff = isOff;
    isOff = Math.abs(off_ms) > OFF_MS_MAX;
    if (isOff === wasOff) return;
    if (isOff) {
      logger.warn(
        { off_ms },
        'the time of this server is more than a minute off the wall clock, and corrects itself by at most 1 %',
      );
    } else logger.info({ off_ms }, 'the time of this server agrees with the wall clock again');
  };
  let timer = timers.after(LOOK_MS, look);
  authority.whenEnded(() => timer.cancel());
}
