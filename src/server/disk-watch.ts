/**
 * Logs once when the disk is full, and once when it has room again. While it is full, the watch asks the log to look for
 * space, so that a server without requests also recovers.
 */
import type { Log } from '../engines/log.ts';
import type { Clock, Timer, Timers } from '../seams/clock.ts';
import type { Logger } from './logger.ts';

const LOOK_MS = 1_000;

export interface DiskWatchWorld {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Pick<Logger, 'info' | 'error'>;
  /** Free bytes on the file system of the log; absent where unknown. */
  readonly freeBytes?: () => Promise<number>;
}

/** Checks every second until the timer is cancelled. */
export function watchDisk(
  log: Pick<Log, 'full' | 'missingBytes' | 'size' | 'batchBytesMax' | 'seekSpace'>,
  { clock, timers, logger, freeBytes }: DiskWatchWorld,
): Timer {
  let fullSinceMs: number | null = null;
  let timer: Timer;

  const figures = async (): Promise<object> => {
    const log_bytes = log.size.bytes;
    const free = await freeBytes?.().catch(() => undefined);
    return { log_bytes, ...(free === undefined ? {} : { free_bytes: free }) };
  };

  const look = (): void => {
    timer = timers.after(LOOK_MS, look);
    const nowMs = clock.monotonicMs();
    if (log.full) {
      log.seekSpace();
      if (fullSinceMs !== null) return;
      fullSinceMs = nowMs;
      // The size limit of a batch of renewals, verdicts and releases; at 0 they are refused too.
      const { batchBytesMax: batch_bytes_max, missingBytes } = log;
      const needs = missingBytes === undefined ? {} : { needs_bytes: missingBytes };
      const says = 'the disk is full: nothing new is taken until there is room';
      void figures().then((known) => logger.error({ ...known, ...needs, batch_bytes_max }, says));
    } else if (fullSinceMs !== null) {
      const full_ms = Math.round(nowMs - fullSinceMs);
      fullSinceMs = null;
      void figures().then((known) => logger.info({ ...known, full_ms }, 'the disk has room again'));
    }
  };

  look();
  return { cancel: () => timer.cancel() };
}
