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
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      messageKey: 'says',
      serializers: { err: faultFields },
    },
    destination,
  );
}

/** A fault as pino writes it, except that the message of a cause is not repeated where a message has it already. */
export function faultFields(fault: unknown): unknown {
  if (!(fault instanceof Error)) return fault;
  return Object.assign(pino.stdSerializers.err(fault), { message: messagesOf(fault) });
}

const CAUSES_MAX = 10;

function messagesOf(fault: Error): string {
  let text = fault.message;
  let { cause } = fault;
  for (let count = 0; cause instanceof Error && count < CAUSES_MAX; count++, cause = cause.cause) {
    if (!text.includes(cause.message)) text += `: ${cause.message}`;
  }
  return text;
}
