/**
 * How many connections there may be at once. Each takes a file descriptor, and so does the log: a client that opens
 * connections without end would otherwise keep the log from its next segment.
 */
import type { Server } from 'node:net';
import type { Timer, Timers } from '../seams/clock.ts';
import type { HttpCounts } from './http-counts.ts';
import type { Logger } from './logger.ts';

/** Descriptors that connections do not get. */
const FILES_OF_OUR_OWN = 256;
/** It is said once in this time that connections are turned away, however many there are. */
const DROPS_SAID_MS = 10_000;

/** From how many files the process may have open; null when that is unknown. */
export function connectionLimit(filesMax: number | null): { readonly connectionsMax?: number } {
  if (filesMax === null) return {};
  return { connectionsMax: Math.max(filesMax - FILES_OF_OUR_OWN, Math.floor(filesMax / 2)) };
}

/** Further clients get no answer: for that the connection would have to be kept. */
export function limitConnections(
  server: Server,
  connectionsMax: number,
  { logger, timers }: { readonly logger: Logger; readonly timers: Timers },
  counts: HttpCounts,
): void {
  let quiet: Timer | null = null;
  server.maxConnections = connectionsMax;
  server.on('drop', () => {
    counts.refusedEarly();
    if (quiet !== null) return;
    logger.warn({ connections_max: connectionsMax }, 'no more connections are taken until some are closed');
    quiet = timers.after(DROPS_SAID_MS, () => {
      quiet = null;
    });
  });
}
