/**
 * Limits open connections. Each takes a file descriptor, and so does the log: without a limit, a client that keeps
 * opening connections would stop the log from opening its next segment.
 */
import type { Server } from 'node:net';
import type { Timer, Timers } from '../seams/clock.ts';
import type { HttpCounts } from './http-counts.ts';
import type { Logger } from './logger.ts';

/** File descriptors reserved for the log and everything else that is not a connection. */
const FILES_OF_OUR_OWN = 256;
/** Dropped connections are logged at most once in this time. */
const DROPS_SAID_MS = 10_000;

/** `filesMax`: how many files the process may have open; null when unknown. */
export function connectionLimit(filesMax: number | null): { readonly connectionsMax?: number } {
  if (filesMax === null) return {};
  return { connectionsMax: Math.max(filesMax - FILES_OF_OUR_OWN, Math.floor(filesMax / 2)) };
}

/** Connections beyond the limit are closed without an answer: answering would mean accepting them. */
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
