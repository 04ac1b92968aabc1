/** The server's log: one JSON object a line on stderr, by pino. */
import { pino } from 'pino';
import type { Logger } from './logger.ts';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

const STDERR = 2;

export function makeLogger(level: LogLevel): Logger {
  // Synchronous: the last lines before an exit matter most.
  const destination = pino.destination({ dest: STDERR, sync: true });
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, messageKey: 'says' },
    destination,
  );
}
