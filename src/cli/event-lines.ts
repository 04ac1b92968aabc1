/**
 * What long-running commands say about themselves on stderr, one line an event: for people
 * `2026-01-01T00:00:00.000Z INFO  serving url=http://…`, with `--json` an object for programs.
 */
import { instant } from '../protocol/instant.ts';
import type { Logger } from '../server/logger.ts';
import { LOG_LEVELS, type LogLevel } from '../server/make-logger.ts';
import type { Shell } from './shell.ts';

type Level = Exclude<LogLevel, 'silent'>;
type Teller = Pick<Shell, 'err' | 'clock'>;

export function tellEvent({ err, clock }: Teller, level: Level, event: string, fields: object = {}): void {
  const words = Object.entries(fields).map(([key, value]) => `${key}=${textOf(value)}`);
  const at = instant(Math.floor(clock.wallMs()));
  err.write(`${[at, level.toUpperCase().padEnd(5), event, ...words].join(' ')}\n`);
}

export function tellEventAsJson(
  { err, clock }: Teller,
  level: Level,
  event: string,
  fields: object = {},
): void {
  err.write(`${JSON.stringify({ at: instant(Math.floor(clock.wallMs())), level, event, ...fields })}\n`);
}

/** A server's log as lines for people. */
export function lineLogger(teller: Teller, least: LogLevel): Logger {
  const isSaid = (level: Level): boolean => LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(least);
  const at = (level: Level) => (fields: object, says: string) => {
    if (isSaid(level)) tellEvent(teller, level, says, fields);
  };
  return {
    isLevelEnabled: isSaid,
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
  };
}

function textOf(value: unknown): string {
  if (value instanceof Error) return JSON.stringify(value.message);
  return typeof value === 'string' && /^[\x21-\x7e]+$/.test(value) ? value : JSON.stringify(value);
}
